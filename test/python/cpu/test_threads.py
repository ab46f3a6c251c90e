"""Kernels that use their thread id: loops over threads split at barriers and tile operations."""

import numpy as np
import pytest
from harness import Kernel, check_guards, guarded
from programs import kernel


@pytest.mark.parametrize("threads", [1, 32, 96, 256])
def test_reversal_through_shared_memory(threads):
    """Values loaded before a barrier are used after it; the shared tile is written by one thread, read by another."""
    body = f"""
    %t = tile.thread_id 0 : i32
    %n = arith.constant {threads} : i32
    %last = arith.constant {threads - 1} : i32
    %start = arith.muli %bx, %n : i32
    %at = arith.addi %start, %t : i32
    %s = tile.alloc : !tile.buffer<{threads}xf32, shared>
    %v = tile.load %A[%at] : memref<{3 * threads}xf32> -> f32
    tile.store %v, %s[%t] : f32, !tile.buffer<{threads}xf32, shared>
    tile.sync_threads
    %back = arith.subi %last, %t : i32
    %w = tile.load %s[%back] : !tile.buffer<{threads}xf32, shared> -> f32
    %sum = arith.addf %v, %w : f32
    tile.store %sum, %B[%at] : f32, memref<{3 * threads}xf32>
"""
    a = np.random.default_rng().standard_normal(3 * threads).astype(np.float32)
    b = guarded(a.shape, np.float32, 0xFF)
    Kernel(kernel(f"%A: memref<{3 * threads}xf32>, %B: memref<{3 * threads}xf32>", body, "3", threads))(a, b, workers=2)
    check_guards(b)
    assert np.array_equal(b, (a.reshape(3, -1) + a.reshape(3, -1)[:, ::-1]).reshape(-1))


@pytest.mark.parametrize("threads", [64, 128])
def test_tree_reduction_in_a_loop(threads):
    """A barrier inside of a while loop with a carried offset, under conditions that differ between threads."""
    body = f"""
    %t = tile.thread_id 0 : i32
    %half = arith.constant {threads // 2} : i32
    %two = arith.constant 2 : i32
    %s = tile.alloc : !tile.buffer<{threads}xf32, shared>
    %v = tile.load %A[%t] : memref<{threads}xf32> -> f32
    tile.store %v, %s[%t] : f32, !tile.buffer<{threads}xf32, shared>
    tile.sync_threads
    %end = scf.while (%offset = %half) : (i32) -> i32 {{
      %more = arith.cmpi sgt, %offset, %z : i32
      scf.condition(%more) %offset : i32
    }} do {{
    ^bb1(%offset: i32):
      %active = arith.cmpi slt, %t, %offset : i32
      scf.if %active {{
        %other = arith.addi %t, %offset : i32
        %x = tile.load %s[%t] : !tile.buffer<{threads}xf32, shared> -> f32
        %y = tile.load %s[%other] : !tile.buffer<{threads}xf32, shared> -> f32
        %sum = arith.addf %x, %y : f32
        tile.store %sum, %s[%t] : f32, !tile.buffer<{threads}xf32, shared>
      }}
      tile.sync_threads
      %next = arith.divsi %offset, %two : i32
      scf.yield %next : i32
    }}
    %total = tile.load %s[%z] : !tile.buffer<{threads}xf32, shared> -> f32
    tile.store %total, %B[%t] : f32, memref<{threads}xf32>
"""
    a = np.random.default_rng().integers(-50, 50, threads).astype(np.float32)
    b = guarded((threads,), np.float32, 0xFF)
    Kernel(kernel(f"%A: memref<{threads}xf32>, %B: memref<{threads}xf32>", body, "1", threads))(a, b)
    assert np.array_equal(b, np.full(threads, a.sum()))


def test_local_buffers_and_variables_are_per_thread():
    """A local array and a scalar variable live across barriers; a varying value is carried by a loop with a barrier."""
    body = """
    %t = tile.thread_id 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    %local = tile.alloc : !tile.buffer<4xi32, local>
    %var = tile.alloc : !tile.buffer<i32, local>
    %s = tile.alloc : !tile.buffer<64xi32, shared>
    tile.store %t, %var[] : i32, !tile.buffer<i32, local>
    scf.for %i = %z to %four step %one : i32 {
      %x = arith.muli %t, %i : i32
      tile.store %x, %local[%i] : i32, !tile.buffer<4xi32, local>
    }
    %final = scf.for %i = %z to %four step %one iter_args(%carried = %t) -> (i32) : i32 {
      %x = tile.load %local[%i] : !tile.buffer<4xi32, local> -> i32
      tile.store %x, %s[%t] : i32, !tile.buffer<64xi32, shared>
      tile.sync_threads
      %c63 = arith.constant 63 : i32
      %mirror = arith.subi %c63, %t : i32
      %y = tile.load %s[%mirror] : !tile.buffer<64xi32, shared> -> i32
      tile.sync_threads
      %old = tile.load %var[] : !tile.buffer<i32, local> -> i32
      %new = arith.addi %old, %y : i32
      tile.store %new, %var[] : i32, !tile.buffer<i32, local>
      %next = arith.addi %carried, %x : i32
      scf.yield %next : i32
    }
    %sum = tile.load %var[] : !tile.buffer<i32, local> -> i32
    tile.store %sum, %B[%z, %t] : i32, memref<2x64xi32>
    tile.store %final, %B[%one, %t] : i32, memref<2x64xi32>
"""
    b = guarded((2, 64), np.int32, 0xFF)
    Kernel(kernel("%B: memref<2x64xi32>", body, "1", 64))(b)
    t = np.arange(64)
    assert np.array_equal(b[0], t + 6 * (63 - t))
    assert np.array_equal(b[1], t + 6 * t)


def test_tile_operations_between_thread_code():
    """Tile operations act once, between loops of each thread over its own local buffer."""
    body = """
    %t = tile.thread_id 0 : i32
    %four = arith.constant 4 : i32
    %fz = arith.constant 0.0 : f32
    %s = tile.alloc : !tile.buffer<32x4xf32, shared>
    %r = tile.alloc : !tile.buffer<32xf32, fragment>
    %local = tile.alloc : !tile.buffer<4xf32, local>
    tile.copy %A[%z, %z] [32, 4] to %s[%z, %z] [32, 4] : memref<32x4xf32> to !tile.buffer<32x4xf32, shared>
    %one = arith.constant 1 : i32
    tile.fill %local, %fz : !tile.buffer<4xf32, local>, f32
    scf.for %i = %z to %four step %one : i32 {
      %x = tile.load %s[%t, %i] : !tile.buffer<32x4xf32, shared> -> f32
      tile.store %x, %local[%i] : f32, !tile.buffer<4xf32, local>
    }
    tile.sync_threads
    tile.parallel [32, 4] {
    ^bb1(%i: i32, %j: i32):
      %x = tile.load %s[%i, %j] : !tile.buffer<32x4xf32, shared> -> f32
      %y = arith.addf %x, %x : f32
      tile.store %y, %s[%i, %j] : f32, !tile.buffer<32x4xf32, shared>
    }
    tile.reduce sum %s, %r {dim = 1 : i64, clear} : !tile.buffer<32x4xf32, shared>, !tile.buffer<32xf32, fragment>
    %at = arith.muli %t, %four : i32
    scf.for %i = %z to %four step %one : i32 {
      %x = tile.load %local[%i] : !tile.buffer<4xf32, local> -> f32
      %to = arith.addi %at, %i : i32
      tile.store %x, %B[%to] : f32, memref<128xf32>
    }
    tile.copy %r[%z] [32] to %C[%z] [32] : !tile.buffer<32xf32, fragment> to memref<32xf32>
"""
    a = np.random.default_rng().integers(-9, 9, (32, 4)).astype(np.float32)
    b, c = guarded((128,), np.float32, 0xFF), guarded((32,), np.float32, 0xFF)
    Kernel(kernel("%A: memref<32x4xf32>, %B: memref<128xf32>, %C: memref<32xf32>", body, "1", 32))(a, b, c)
    assert np.array_equal(b.reshape(32, 4), a)
    assert np.array_equal(c, 2 * a.sum(1))


def test_thread_shape():
    body = """
    %x = tile.thread_id 0 : i32
    %y = tile.thread_id 1 : i32
    %zz = tile.thread_id 2 : i32
    %hundred = arith.constant 100 : i32
    %ten = arith.constant 10 : i32
    %p = arith.muli %zz, %hundred : i32
    %q = arith.muli %y, %ten : i32
    %pq = arith.addi %p, %q : i32
    %v = arith.addi %pq, %x : i32
    tile.store %v, %B[%zz, %y, %x] : i32, memref<2x3x4xi32>
"""
    text = kernel("%B: memref<2x3x4xi32>", body, "1", 24).replace(
        "threads(24)", "threads(24) attributes {thread_shape = array<i64: 4, 3, 2>}"
    )
    b = guarded((2, 3, 4), np.int32, 0xFF)
    Kernel(text)(b)
    z, y, x = np.indices((2, 3, 4))
    assert np.array_equal(b, 100 * z + 10 * y + x)


def test_atomics_of_every_thread():
    """An atomic outside of a parallel loop acts once per thread, and its old values are distinct."""
    body = """
    %one = arith.constant 1 : i32
    %old = tile.atomic add %one, %C[%z] : i32, memref<1xi32> -> i32
    tile.store %one, %B[%old] : i32, memref<640xi32>
"""
    b, c = guarded((640,), np.int32, 0), guarded((1,), np.int32, 0)
    Kernel(kernel("%B: memref<640xi32>, %C: memref<1xi32>", body, "10", 64))(b, c, workers=2)
    assert c[0] == 640 and (b == 1).all()
