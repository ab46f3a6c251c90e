//===- BlockedLayout.h - Layouts for copies and elementwise -----*- C++ -*-===//
//
// Layouts that no matrix instruction dictates: vectors along the fastest
// dimension, neighbouring threads at neighbouring addresses.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_BLOCKEDLAYOUT_H
#define TILEMLIR_LAYOUT_BLOCKEDLAYOUT_H

#include "tilemlir/Layout/FragmentLayout.h"

namespace tilemlir::layout {

/// Distributes `shape` over `threads` threads for coalesced accesses.
///
/// `order` lists the dims from the fastest in memory to the slowest; empty
/// means row-major (last dim fastest). Along the fastest dim each thread holds
/// vectors of gcd(vectorElements, extent) elements. The threads are factored
/// over the dims; the factors minimise vectors per thread, weighted by the
/// bytes of a memory line left unused when a row gets few threads, then
/// padding. Threads for which there is no work become replicas if that is
/// possible without padding, else padding.
Result<FragmentLayout> blocked(const std::vector<int64_t> &shape,
                               int64_t threads, int64_t vectorElements,
                               const std::vector<int> &order = {});

/// Every thread holds the whole tile, registers in row-major order.
Result<FragmentLayout> fullyReplicated(const std::vector<int64_t> &shape,
                                       int64_t threads);

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_BLOCKEDLAYOUT_H
