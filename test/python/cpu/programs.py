"""IR texts shared by the tests of the CPU target."""
# ruff: noqa: E501  (lines of IR text)


def gemm(
    m: int | str,
    n: int | str,
    k: int | str,
    *,
    a: str = "f16",
    b: str = "f16",
    c: str = "f16",
    accumulator: str = "f32",
    blocks: tuple[int, int, int] = (128, 128, 64),
    transpose_a: bool = False,
    transpose_b: bool = False,
    attributes: str = "",
    stages: int = 3,
) -> str:
    """A gemm of whole tensors: A (MxK or KxM), B (KxN or NxK), C (MxN). ``?`` is a dynamic size."""  # fmt: skip
    block_m, block_n, block_k = blocks

    def shape(rows: int | str, columns: int | str, swap: bool) -> str:
        return f"{columns}x{rows}" if swap else f"{rows}x{columns}"

    a_shape, b_shape = shape(m, k, transpose_a), shape(k, n, transpose_b)
    a_tile, b_tile = shape(block_m, block_k, transpose_a), shape(block_k, block_n, transpose_b)
    a_at = "%ko, %y" if transpose_a else "%y, %ko"
    b_at = "%x, %ko" if transpose_b else "%ko, %x"
    flags = ["transpose_a"] * transpose_a + ["transpose_b"] * transpose_b + ([attributes] if attributes else [])
    zero = "0 " if accumulator.startswith("i") else "0.0 "
    a_box, b_box = a_tile.replace("x", ", "), b_tile.replace("x", ", ")
    m_dim, k_dim = ("%c1", "%c0") if transpose_a else ("%c0", "%c1")
    n_dim = "%c0" if transpose_b else "%c1"
    return f"""
func.func @gemm(%A: memref<{a_shape}x{a}>, %B: memref<{b_shape}x{b}>, %C: memref<{m}x{n}x{c}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %block_m = arith.constant {block_m} : i32
  %block_n = arith.constant {block_n} : i32
  %block_k = arith.constant {block_k} : i32
  %md = memref.dim %A, {m_dim} : memref<{a_shape}x{a}>
  %kd = memref.dim %A, {k_dim} : memref<{a_shape}x{a}>
  %nd = memref.dim %B, {n_dim} : memref<{b_shape}x{b}>
  %M = arith.index_cast %md : index to i32
  %K = arith.index_cast %kd : index to i32
  %N = arith.index_cast %nd : index to i32
  %gx = arith.ceildivsi %N, %block_n : i32
  %gy = arith.ceildivsi %M, %block_m : i32
  %steps = arith.ceildivsi %K, %block_k : i32
  tile.kernel "gemm" grid(%gx, %gy) threads(128) {{
  ^bb0(%bx: i32, %by: i32):
    %z = arith.constant 0 : i32
    %A_shared = tile.alloc "A_shared" : !tile.buffer<{a_tile}x{a}, shared>
    %B_shared = tile.alloc "B_shared" : !tile.buffer<{b_tile}x{b}, shared>
    %acc = tile.alloc "C_local" : !tile.buffer<{block_m}x{block_n}x{accumulator}, fragment>
    %zero = arith.constant {zero}: {accumulator}
    tile.fill %acc, %zero : !tile.buffer<{block_m}x{block_n}x{accumulator}, fragment>, {accumulator}
    %y = arith.muli %by, %block_m : i32
    %x = arith.muli %bx, %block_n : i32
    tile.pipelined %z to %steps stages({stages}) {{
    ^bb1(%k: i32):
      %ko = arith.muli %k, %block_k : i32
      tile.copy %A[{a_at}] [{a_box}] to %A_shared[%z, %z] [{a_box}] : memref<{a_shape}x{a}> to !tile.buffer<{a_tile}x{a}, shared>
      tile.copy %B[{b_at}] [{b_box}] to %B_shared[%z, %z] [{b_box}] : memref<{b_shape}x{b}> to !tile.buffer<{b_tile}x{b}, shared>
      tile.gemm %A_shared, %B_shared, %acc {{{", ".join(flags)}}} : !tile.buffer<{a_tile}x{a}, shared>, !tile.buffer<{b_tile}x{b}, shared>, !tile.buffer<{block_m}x{block_n}x{accumulator}, fragment>
    }}
    tile.copy %acc[%z, %z] [{block_m}, {block_n}] to %C[%y, %x] [{block_m}, {block_n}] : !tile.buffer<{block_m}x{block_n}x{accumulator}, fragment> to memref<{m}x{n}x{c}>
  }}
  return
}}
"""


def elementwise(body: str, inputs: list[str], output: str, count: int | str = "?", block: int = 256) -> str:
    """``out[i] = body`` over 1-D tensors. The body defines %r from %x0, %x1, ... (loaded elements)."""
    arguments = "".join(f"%X{i}: memref<{count}x{dtype}>, " for i, dtype in enumerate(inputs))
    signless = [dtype.removeprefix("u") if dtype.startswith("ui") else dtype for dtype in [*inputs, output]]
    loads = "\n".join(
        f"      %x{i} = tile.load %X{i}[%at] : memref<{count}x{dtype}> -> {signless[i]}"
        for i, dtype in enumerate(inputs)
    )
    return f"""
func.func @elementwise({arguments}%Out: memref<{count}x{output}>) {{
  %c0 = arith.constant 0 : index
  %block = arith.constant {block} : i32
  %nd = memref.dim %Out, %c0 : memref<{count}x{output}>
  %n = arith.index_cast %nd : index to i32
  %blocks = arith.ceildivsi %n, %block : i32
  tile.kernel "elementwise" grid(%blocks) threads(128) {{
  ^bb0(%bx: i32):
    %start = arith.muli %bx, %block : i32
    tile.parallel [{block}] {{
    ^bb1(%i: i32):
      %at = arith.addi %start, %i : i32
{loads}
      {body}
      tile.store %r, %Out[%at] : {signless[-1]}, memref<{count}x{output}>
    }}
  }}
  return
}}
"""


def kernel(arguments: str, body: str, grid: str = "1", threads: int = 128, indices: str = "%bx: i32") -> str:
    """One kernel with a constant grid around ``body``."""
    extents = [part.strip() for part in grid.split(",")]
    constants = "\n".join(f"  %g{i} = arith.constant {extent} : i32" for i, extent in enumerate(extents))
    names = ", ".join(f"%g{i}" for i in range(len(extents)))
    return f"""
func.func @program({arguments}) {{
{constants}
  tile.kernel "kernel" grid({names}) threads({threads}) {{
  ^bb0({indices}):
    %z = arith.constant 0 : i32
{body}
  }}
  return
}}
"""
