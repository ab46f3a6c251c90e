//===- Clusters.cpp - blocks that share loads -------------------*- C++ -*-===//
#include "tilemlir/Dialect/Tile/Transforms/Clusters.h"

using namespace mlir;
using namespace mlir::tile;

ClusterShape::ClusterShape(KernelOp kernel) {
  if (std::optional<ArrayRef<int64_t>> declared = kernel.getCluster())
    for (auto [axis, extent] : llvm::enumerate(declared->take_front(3)))
      extents[axis] = extent;
}

int64_t ClusterShape::getBlocks(ArrayRef<int64_t> axes) const {
  int64_t blocks = 1;
  for (int64_t axis : axes)
    blocks *= extents[axis];
  return blocks;
}

int64_t ClusterShape::getStride(int64_t axis) const {
  int64_t stride = 1;
  for (int64_t below = 0; below < axis; ++below)
    stride *= extents[below];
  return stride;
}

SmallVector<int64_t> ClusterShape::getGroup(int64_t rank,
                                            ArrayRef<int64_t> axes) const {
  int64_t first = rank;
  for (int64_t axis : axes)
    first -= getCoordinate(rank, axis) * getStride(axis);
  SmallVector<int64_t> group;
  for (int64_t number = 0; number < getBlocks(axes); ++number) {
    int64_t member = first, rest = number;
    for (int64_t axis : axes) {
      member += rest % extents[axis] * getStride(axis);
      rest /= extents[axis];
    }
    group.push_back(member);
  }
  return group;
}

ClusterAxes mlir::tile::getMulticastAxes(Operation *op) {
  auto choice = op->getAttrOfType<ChoiceAttr>("choice");
  if (!choice || !choice.getArguments())
    return {};
  auto axes = choice.getArguments().getAs<DenseI64ArrayAttr>("multicast");
  return axes ? ClusterAxes(axes.asArrayRef()) : ClusterAxes();
}

int64_t mlir::tile::getMulticastBlocks(Operation *copy) {
  ClusterAxes axes = getMulticastAxes(copy);
  return axes.empty() ? 1 : ClusterShape(getKernel(copy)).getBlocks(axes);
}

SmallVector<ClusterAxes> mlir::tile::getReach(Operation *arrival) {
  SmallVector<ClusterAxes> reach;
  if (auto sets = arrival->getAttrOfType<ArrayAttr>(kReach))
    for (auto axes : sets.getAsRange<DenseI64ArrayAttr>())
      reach.emplace_back(axes.asArrayRef());
  return reach;
}

void mlir::tile::setReach(Operation *arrival, ArrayRef<ClusterAxes> reach) {
  Builder builder(arrival->getContext());
  SmallVector<Attribute> sets;
  for (const ClusterAxes &axes : reach)
    sets.push_back(builder.getDenseI64ArrayAttr(axes));
  if (!sets.empty())
    arrival->setAttr(kReach, builder.getArrayAttr(sets));
}

bool mlir::tile::addReach(SmallVectorImpl<ClusterAxes> &reach,
                          ArrayRef<int64_t> axes) {
  auto holds = [](ArrayRef<int64_t> outer, ArrayRef<int64_t> inner) {
    return llvm::all_of(
        inner, [&](int64_t axis) { return llvm::is_contained(outer, axis); });
  };
  if (llvm::any_of(
          reach, [&](const ClusterAxes &other) { return holds(other, axes); }))
    return true;
  for (const ClusterAxes &other : reach)
    if (!holds(axes, other) && llvm::any_of(other, [&](int64_t axis) {
          return llvm::is_contained(axes, axis);
        }))
      return false;
  llvm::erase_if(reach,
                 [&](const ClusterAxes &other) { return holds(axes, other); });
  reach.emplace_back(axes);
  return true;
}

SmallVector<int64_t> mlir::tile::getReached(const ClusterShape &cluster,
                                            int64_t rank,
                                            ArrayRef<ClusterAxes> reach) {
  SmallVector<int64_t> reached;
  for (const ClusterAxes &axes : reach)
    for (int64_t member : cluster.getGroup(rank, axes))
      if (!llvm::is_contained(reached, member))
        reached.push_back(member);
  if (reached.empty())
    reached.push_back(rank);
  return reached;
}

std::string mlir::tile::nameAxes(ArrayRef<int64_t> axes) {
  std::string text;
  for (auto [index, axis] : llvm::enumerate(axes)) {
    if (index)
      text += index + 1 == axes.size() ? " and " : ", ";
    text += "xyz"[axis];
  }
  return text;
}
