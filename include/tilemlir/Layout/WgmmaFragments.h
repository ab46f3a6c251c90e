//===- WgmmaFragments.h - Fragments of wgmma --------------------*- C++ -*-===//
//
// Register layouts of accumulators and of A operands of warp-group-level matrix
// instructions (wgmma m64nNk*) for whole tiles.
//
// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", the
// register fragments of wgmma.mma_async.m64nNk8 / k16 / k32: those of
// MmaFragments.h, where warp w of the group adds 16 w to the row, and the
// accumulator repeats the C pattern for every 8 columns. An f16 accumulator has
// the same elements in the same order, two to a 32-bit register.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_WGMMAFRAGMENTS_H
#define TILEMLIR_LAYOUT_WGMMAFRAGMENTS_H

#include "tilemlir/Layout/MmaFragments.h"

namespace tilemlir::layout {

/// Threads of a warp group, rows of a wgmma instruction, and its largest number
/// of columns.
inline constexpr int64_t kWarpGroupSize = 128;
inline constexpr int64_t kWgmmaRows = 64;
inline constexpr int64_t kWgmmaMaxColumns = 256;

/// Columns of the instructions that together cover `columns` columns: the
/// largest legal N up to `limit` that divides it; 0 if there is none. Legal are
/// multiples of 8 up to 256; with 8-bit integers 8, 16, 24 and multiples of 16.
int64_t wgmmaColumns(int64_t columns, bool integers,
                     int64_t limit = kWgmmaMaxColumns);

/// Registers of a thread at most (CUDA C++ programming guide).
inline constexpr int64_t kMaxThreadRegisters = 255;

/// Registers that each of `threads` threads of a block can have at launch:
/// equal parts of the 65536 of a multiprocessor, in eights.
int64_t registersAtLaunch(int64_t threads);

/// The largest N for which the assembler finds registers in a block of
/// `threads` threads. The sums of an instruction have to fit in what a thread
/// has at launch, whatever the block asks for later (ptxas C7602: m64n256 with
/// 32-bit sums needs 154 registers, 26 beside the sums).
int64_t wgmmaColumnsForThreads(int64_t threads, int64_t sumBits);

/// Accumulator of an m x n tile. `groups` counts warp groups (4 warps each); a
/// group owns m / groups.warpsM rows, in atoms of 64, and n / groups.warpsN
/// columns, in atoms of `instructionN` (0: all of them in one instruction).
/// Thread digits, fastest first: lane, warp of the group, group along M, group
/// along N, replica. Dims are (m, n).
Result<MmaFragment> wgmmaAccumulator(int64_t m, int64_t n,
                                     const WarpGrid &groups,
                                     int64_t instructionN = 0);

/// A operand in registers of wgmma m64nNk<mmaAtomK(elementBits)>, replicated
/// over the groups along N. Dims are (m, k), or (k, m) when `transposed` (the
/// tile is stored k x m).
Result<MmaFragment> wgmmaOperandA(int64_t m, int64_t k, int64_t elementBits,
                                  const WarpGrid &groups,
                                  bool transposed = false);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_WGMMAFRAGMENTS_H
