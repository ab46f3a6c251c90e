//===- BlockedLayout.cpp - Layouts for copies and elementwise -------------===//
//
// Chooses how many threads to put along each dimension.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/BlockedLayout.h"

#include "Digits.h"

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

namespace {
/// Threads along each dim (in `order`) and what that costs.
struct ThreadFactors {
  std::vector<int64_t> factors;
  /// Accesses per thread in percent, more where rows are read piecemeal.
  int64_t accessCost = 0;
  /// (thread, vector) slots, without replicas: more than the work is padding.
  int64_t slots = 0;

  bool isBetterThan(const ThreadFactors &other) const {
    if (accessCost != other.accessCost)
      return accessCost < other.accessCost;
    if (slots != other.slots)
      return slots < other.slots;
    return factors.front() > other.factors.front();
  }
};
} // namespace

/// A vector is at most 16 bytes, so 8 neighbouring threads fill a 128-byte line
/// and 2 a 32-byte sector. Percent of the cost of whole lines.
static int64_t lineCost(int64_t threadsAlongRow, int64_t vectorsPerRow) {
  const int64_t neighbours = std::min(threadsAlongRow, vectorsPerRow);
  if (neighbours >= 8 || neighbours == vectorsPerRow)
    return 100;
  if (neighbours >= 4)
    return 105;
  return neighbours >= 2 ? 115 : 150;
}

static void searchFactors(const std::vector<int64_t> &work, size_t position,
                          int64_t threads, std::vector<int64_t> &factors,
                          std::optional<ThreadFactors> &best) {
  if (position == work.size()) {
    ThreadFactors candidate;
    candidate.factors = factors;
    candidate.accessCost = lineCost(factors[0], work[0]);
    candidate.slots = 1;
    for (size_t i = 0; i < work.size(); ++i) {
      const int64_t rounds = ceilDiv(work[i], factors[i]);
      candidate.accessCost *= rounds;
      candidate.slots *= rounds * factors[i];
    }
    if (!best || candidate.isBetterThan(*best))
      best = std::move(candidate);
    return;
  }
  for (int64_t factor = 1; factor <= threads; ++factor) {
    if (threads % factor != 0)
      continue;
    factors[position] = factor;
    searchFactors(work, position + 1, threads / factor, factors, best);
    if (factor >= work[position])
      break; // More threads along this dim would be idle.
  }
}

Result<FragmentLayout>
tilemlir::layout::blocked(const std::vector<int64_t> &shape, int64_t threads,
                          int64_t vectorElements,
                          const std::vector<int> &order) {
  const int rank = static_cast<int>(shape.size());
  if (threads < 1 || vectorElements < 1)
    return Error{"a blocked layout needs at least one thread and one element "
                 "per vector"};
  for (int64_t extent : shape)
    if (extent < 1)
      return Error{"a blocked layout of the empty tile " + shapeText(shape)};
  if (rank == 0)
    return FragmentLayout::create({}, {replicaMode(threads)}, {});

  std::vector<int> dims = order;
  if (dims.empty())
    for (int dim = rank - 1; dim >= 0; --dim)
      dims.push_back(dim);
  std::vector<int> sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  for (int dim = 0; dim < static_cast<int>(sorted.size()); ++dim)
    if (sorted[dim] != dim || static_cast<int>(sorted.size()) != rank)
      return Error{
          "the order of a blocked layout is not a permutation of the " +
          std::to_string(rank) + " dims"};

  const int64_t vector = std::gcd(vectorElements, shape[dims[0]]);
  std::vector<int64_t> work;
  for (int dim : dims)
    work.push_back(shape[dim]);
  work[0] /= vector;

  std::vector<int64_t> factors(rank, 1);
  std::optional<ThreadFactors> best;
  searchFactors(work, 0, threads, factors, best);

  std::vector<Mode> threadModes, registerModes;
  registerModes.push_back(Mode{vector, dims[0], 1});
  int64_t used = 1;
  for (int i = 0; i < rank; ++i) {
    const int64_t step = i == 0 ? vector : 1;
    const int64_t factor = best->factors[i];
    used *= factor;
    threadModes.push_back(Mode{factor, dims[i], step});
    registerModes.push_back(
        Mode{ceilDiv(work[i], factor), dims[i], step * factor});
  }
  threadModes.push_back(replicaMode(threads / used));
  Result<FragmentLayout> layout = FragmentLayout::create(
      shape, std::move(threadModes), std::move(registerModes));
  if (!layout)
    return layout;
  return layout->canonical();
}

Result<FragmentLayout>
tilemlir::layout::fullyReplicated(const std::vector<int64_t> &shape,
                                  int64_t threads) {
  std::vector<Mode> registers;
  for (int dim = static_cast<int>(shape.size()) - 1; dim >= 0; --dim)
    registers.push_back(Mode{shape[dim], dim, 1});
  Result<FragmentLayout> layout = FragmentLayout::create(
      shape, {replicaMode(threads)}, std::move(registers));
  if (!layout)
    return layout;
  return layout->canonical();
}
