//===- MmaFragments.h - Fragments of mma.sync -------------------*- C++ -*-===//
//
// Register layouts of the operands and accumulators of warp-level matrix
// instructions (mma.sync m16n8k*) for whole tiles, and where in the fragment
// the registers of one instruction are. WgmmaFragments.h has those of warp
// groups, which repeat the same pattern.
//
// Source: PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions" (the
// "Matrix Fragments for mma.m16n8k4 / k8 / k16 / k32" subsections) and
// "Asynchronous Warpgroup Level Matrix Instructions" (the register fragments of
// wgmma.mma_async.m64nNk8 / k16 / k32). All of these are one pattern: with
// E = 32 / elementBits elements per 32-bit register, group g = lane / 4 and
// t = lane % 4,
//   A: row = g + 8 h, k = E t + e + 4 E q   register bits, fastest first: e h q
//   B: col = g,       k = E t + e + 4 E q                                 e q
//   C: row = g + 8 h, col = 2 t + e                                       e h
// where the k extent of the instruction is 8 E, or 4 E for its half-depth form
// (which has no q digit). A wgmma warp w of its group adds 16 w to the row; its
// accumulator repeats the C pattern for every 8 columns.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_MMAFRAGMENTS_H
#define TILEMLIR_LAYOUT_MMAFRAGMENTS_H

#include "tilemlir/Layout/FragmentLayout.h"
#include "tilemlir/Layout/WarpPartition.h"

namespace tilemlir::layout {

/// A fragment made of instruction operands ("atoms"). The registers of one atom
/// are consecutive and in the order of the instruction. For an accumulator
/// outer = M atoms and inner = N atoms; for A outer = M atoms and inner = K
/// atoms; for B outer = N atoms and inner = K atoms.
struct MmaFragment {
  FragmentLayout layout;
  /// Atoms per warp (per warp group for wgmma).
  int64_t outerAtoms = 1;
  int64_t innerAtoms = 1;
  /// Elements (not 32-bit registers) of one atom in one thread.
  int64_t registersPerAtom = 1;

  /// First register of atom (outer, inner): inner atoms are neighbours.
  int64_t firstRegister(int64_t outer, int64_t inner) const {
    return registersPerAtom * (inner + innerAtoms * outer);
  }
};

/// k extent of the full-depth instruction: 8 * (32 / elementBits), that is 8
/// for tf32, 16 for f16 and bf16, 32 for 8-bit types.
int64_t mmaAtomK(int64_t elementBits);

/// How the warps of a block share a tile. Thread digits, fastest first: lane,
/// warp along M, warp along N, replica. A warp owns a contiguous block of rows
/// and columns.
///
/// mma.sync m16n8 accumulator of an m x n tile; dims are (m, n).
Result<MmaFragment> mmaAccumulator(int64_t m, int64_t n, const WarpGrid &grid);

/// A operand of mma.sync m16n8k<atomK> of an m x k tile, replicated over the
/// warps along N. `elementBits` is 8, 16 or 32 (tf32); `atomK` is
/// mmaAtomK(elementBits) or half of it. Dims are (m, k), or (k, m) when
/// `transposed` (the tile is stored k x m).
///
/// The sum over k may be taken in any order that both operands share. `run`, a
/// multiple of atomK / 4 that divides k / 4, makes each thread take so many
/// neighbours along K for its part of 4 run / atomK instructions; 0 is the
/// order of the instruction.
Result<MmaFragment> mmaOperandA(int64_t m, int64_t k, int64_t elementBits,
                                int64_t atomK, const WarpGrid &grid,
                                bool transposed = false, int64_t run = 0);

/// B operand of mma.sync m16n8k<atomK> of a k x n tile, replicated over the
/// warps along M. Dims are (k, n), or (n, k) when `transposed`.
Result<MmaFragment> mmaOperandB(int64_t k, int64_t n, int64_t elementBits,
                                int64_t atomK, const WarpGrid &grid,
                                bool transposed = false, int64_t run = 0);

/// Layout of per-row values (row maximum, row sum) of a matrix accumulator:
/// dimension 1 projected out.
Result<FragmentLayout> rowStatistics(const FragmentLayout &accumulator);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_MMAFRAGMENTS_H
