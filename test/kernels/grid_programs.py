"""Kernels whose blocks meet: barriers of the whole grid."""

import tilemlir.language as T


def pass_on(blocks, width, rounds, grid=None):
    """Each block adds one to its row and gives it to the next block, again and again, within one launch.

    Args:
        blocks: number of rows, and of blocks.
        width: elements of a row.
        rounds: how often.
        grid: extents of the grid, if it has several dimensions.
    """
    extents = grid or (blocks,)

    @T.prim_func
    def kernel(rows: T.Tensor((blocks, width), "float32"), out: T.Tensor((blocks, width), "float32")):
        with T.Kernel(*extents, threads=128) as indices:
            block = indices
            if grid is not None:
                block = indices[0] + extents[0] * indices[1]
            part = T.alloc_fragment((width,), "float32")
            for _ in T.serial(rounds):
                for j in T.Parallel(width):
                    part[j] = rows[block, j] + 1
                T.sync_grid()
                for j in T.Parallel(width):
                    rows[(block + 1) % blocks, j] = part[j]
                T.sync_grid()
            T.copy(rows[block, 0:width], out[block, 0:width])

    return kernel


def normalise(rows, columns, block):
    """Divides a matrix by the sum of all its elements: every block needs what all others have added."""

    @T.prim_func
    def kernel(a: T.Tensor((rows, columns), "float32"), b: T.Tensor((rows, columns), "float32")):
        sums = T.alloc_global((T.ceildiv(rows, block),), "float32")
        with T.Kernel(T.ceildiv(rows, block), threads=128) as bx:
            tile = T.alloc_fragment((block, columns), "float32")
            row = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(a[bx * block, 0], tile)
            T.reduce_sum(tile, row, dim=1)
            T.reduce_sum(row, total, dim=0)
            for i in T.Parallel(1):
                sums[bx + i] = total[i]
            T.sync_grid()
            everything = T.alloc_var("float32", init=0.0)
            for other in T.serial(T.ceildiv(rows, block)):
                everything += sums[other]
            for i, j in T.Parallel(block, columns):
                tile[i, j] = tile[i, j] / everything
            T.copy(tile, b[bx * block, 0])

    return kernel
