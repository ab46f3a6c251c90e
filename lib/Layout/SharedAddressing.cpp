//===- SharedAddressing.cpp - Cheap addresses in swizzled tiles -----------===//
//
// A swizzle XORs chunk bits with row bits. Adding a constant before it is the
// same as adding after it where no row bit below the period of the pattern
// changes, and the same as an XOR where no carry occurs. Candidates are made
// from one coordinate and checked on all.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/SharedAddressing.h"

#include <cassert>

using namespace tilemlir::layout;

namespace {
/// Offsets of one delta from all base coordinates, before and after the
/// swizzle.
struct OffsetTable {
  std::vector<int64_t> linear;
  std::vector<int64_t> swizzled;
};
} // namespace

static OffsetTable offsetsOf(const SharedLayout &layout,
                             const std::vector<std::vector<int64_t>> &bases,
                             const std::vector<int64_t> &delta) {
  OffsetTable table;
  std::vector<int64_t> coordinate;
  for (const std::vector<int64_t> &base : bases) {
    coordinate = base;
    for (size_t dim = 0; dim < delta.size(); ++dim)
      coordinate[dim] += delta[dim];
    table.linear.push_back(layout.linearByteOffset(coordinate));
    table.swizzled.push_back(layout.byteOffset(coordinate));
  }
  return table;
}

static std::optional<AddressDelta> relate(const SharedLayout &layout,
                                          const OffsetTable &from,
                                          const OffsetTable &to) {
  if (from.swizzled.empty())
    return AddressDelta{};
  auto holds = [&](const AddressDelta &candidate) {
    for (size_t i = 0; i < from.swizzled.size(); ++i)
      if ((from.swizzled[i] ^ candidate.xorBytes) + candidate.addBytes !=
          to.swizzled[i])
        return false;
    return true;
  };
  AddressDelta add{0, to.swizzled[0] - from.swizzled[0]};
  if (holds(add))
    return add;
  if (layout.swizzleBytes() == 0)
    return std::nullopt;

  const int64_t period = layout.requiredAlignment();
  const int64_t distance = to.linear[0] - from.linear[0];
  const int64_t low = ((distance % period) + period) % period;
  const int64_t flipped = applySwizzle(low, layout.swizzleBytes());
  // Chunk bits alone in the XOR let more deltas share one derived base.
  const int64_t chunkMask = layout.swizzleBytes() - 16;
  AddressDelta chunks{flipped & chunkMask,
                      distance - low + (flipped & ~chunkMask)};
  if (holds(chunks))
    return chunks;
  AddressDelta whole{flipped, distance - low};
  if (holds(whole))
    return whole;
  return std::nullopt;
}

std::optional<AddressDelta>
tilemlir::layout::addressDelta(const SharedLayout &layout,
                               const std::vector<std::vector<int64_t>> &bases,
                               const std::vector<int64_t> &delta) {
  return relate(layout,
                offsetsOf(layout, bases, std::vector<int64_t>(delta.size(), 0)),
                offsetsOf(layout, bases, delta));
}

AddressPlan tilemlir::layout::planAddresses(
    const SharedLayout &layout, const std::vector<std::vector<int64_t>> &bases,
    const std::vector<std::vector<int64_t>> &deltas) {
  AddressPlan plan;
  std::vector<OffsetTable> tables;
  std::vector<size_t> seeds;
  for (size_t i = 0; i < deltas.size(); ++i) {
    tables.push_back(offsetsOf(layout, bases, deltas[i]));
    std::optional<AddressPlan::Use> use;
    std::optional<std::pair<AddressPlan::Base, int64_t>> derived;
    for (size_t seed : seeds) {
      std::optional<AddressDelta> delta =
          relate(layout, tables[seed], tables[i]);
      if (!delta)
        continue;
      for (size_t b = 0; b < plan.bases.size() && !use; ++b)
        if (plan.bases[b].seed == seed &&
            plan.bases[b].xorBytes == delta->xorBytes)
          use = AddressPlan::Use{b, delta->addBytes};
      if (use)
        break;
      if (!derived)
        derived = std::make_pair(AddressPlan::Base{seed, delta->xorBytes},
                                 delta->addBytes);
    }
    if (!use) {
      if (!derived) {
        seeds.push_back(i);
        derived = std::make_pair(AddressPlan::Base{i, 0}, int64_t(0));
      }
      plan.bases.push_back(derived->first);
      use = AddressPlan::Use{plan.bases.size() - 1, derived->second};
    }
    plan.uses.push_back(*use);
  }
  return plan;
}
