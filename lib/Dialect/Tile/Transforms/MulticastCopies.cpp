//===- MulticastCopies.cpp - tile-multicast-copies --------------*- C++ -*-===//
//
// Finds loads that are the same for blocks of a cluster. Only what a producer
// role loads into a ring is shared: there the blocks fill and release the slots
// in the same order, so that barriers can count for all of them.
//
//===----------------------------------------------------------------------===//
#include "ClusterDependence.h"

#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/GemmLayouts.h"
#include "tilemlir/Dialect/Tile/Transforms/Passes.h"
#include "tilemlir/Dialect/Tile/Transforms/PipelineExpansion.h"
#include "tilemlir/Dialect/Tile/Transforms/TmaPlan.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEMULTICASTCOPIES
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;
namespace layout = ::tilemlir::layout;

namespace {
class Multicast {
public:
  explicit Multicast(KernelOp kernel)
      : kernel(kernel), cluster(kernel), integers(kernel) {}

  void run();

private:
  std::string refuse(CopyOp copy);
  std::string refuseAxis(CopyOp copy, int64_t axis);
  void share(CopyOp copy);
  void setChoice(CopyOp copy, const Twine &reason, ArrayRef<int64_t> axes);
  ClusterDependence &getDependence(int64_t axis);

  KernelOp kernel;
  ClusterShape cluster;
  IntegerAnalysis integers;
  std::map<int64_t, ClusterDependence> dependences;
  /// Sets of blocks along which copies are shared.
  SmallVector<ClusterAxes> reach;
};
} // namespace

ClusterDependence &Multicast::getDependence(int64_t axis) {
  auto found = dependences.find(axis);
  if (found == dependences.end())
    found = dependences
                .emplace(std::piecewise_construct, std::forward_as_tuple(axis),
                         std::forward_as_tuple(kernel, axis, integers))
                .first;
  return found->second;
}

/// Why no block may take part in the load of another one; empty if it may.
std::string Multicast::refuse(CopyOp copy) {
  RoleAttr role = getRole(copy);
  if (!copy->hasAttr("tile.produce") || !role)
    return "only loads of a producer role are";
  if (!role.getSingle())
    return "threads of the producer load with cp.async too";
  // In an iteration without loads no block hears from the others, and could
  // arrive twice at a barrier where one of them has not arrived yet.
  auto pipeline =
      copy->getParentOp()->getAttrOfType<PipelineAttr>("tile.pipeline");
  if (!pipeline || pipeline.getRole() != PipelineRole::Ring)
    return "it stands under a condition";
  // Arrivals at barriers of other blocks order what wgmma read, and nothing
  // that threads read themselves.
  AllocOp buffer = getAllocation(copy.getDest());
  for (Operation *user : getHandleUsers(buffer.getResult())) {
    if (user == copy || isa<SubviewOp, ReshapeOp, BitcastOp>(user))
      continue;
    auto other = dyn_cast<CopyOp>(user);
    if (other && other->hasAttr("tile.produce"))
      continue;
    auto gemm = dyn_cast<GemmOp>(user);
    if (!gemm || !getWgmmaChoice(gemm.getChoiceAttr()))
      return "threads read " + getUserName(buffer) + " themselves";
  }
  return "";
}

/// Why the blocks along `axis` do not all load the same; empty if they do.
std::string Multicast::refuseAxis(CopyOp copy, int64_t axis) {
  ClusterDependence &dependence = getDependence(axis);
  std::string along = " along " + nameAxes(axis);
  if (Operation *branch = dependence.getDifferingBranch(copy))
    return describeForUser(branch) + " depends on the block" + along;
  for (Value offset : copy.getSourceOffsets())
    if (!dependence.isShared(offset))
      return "its place depends on the block" + along;
  SmallVector<BufferAccess> accesses;
  collectAccesses(copy, accesses);
  for (const BufferAccess &access : accesses)
    for (const IndexRange &range : access.region)
      if (range.base && !dependence.isShared(range.base))
        return "its slot depends on the block" + along;
  return "";
}

void Multicast::setChoice(CopyOp copy, const Twine &reason,
                          ArrayRef<int64_t> axes) {
  ChoiceAttr choice = copy.getChoiceAttr();
  Builder builder(copy.getContext());
  NamedAttrList arguments(choice.getArguments());
  if (!axes.empty()) {
    arguments.set("multicast", builder.getDenseI64ArrayAttr(axes));
    if (arguments.get("box"))
      if (layout::Result<TmaPlan> plan = planTma(copy, cluster.getBlocks(axes)))
        arguments.set("box", builder.getI64ArrayAttr(plan->box));
  }
  copy.setChoiceAttr(ChoiceAttr::get(
      copy.getContext(), choice.getPath(),
      (choice.getReason() + "; " + reason).str(),
      arguments.empty() ? DictionaryAttr()
                        : arguments.getDictionary(copy.getContext())));
}

void Multicast::share(CopyOp copy) {
  std::string reason = refuse(copy);
  ClusterAxes axes;
  if (reason.empty())
    for (int64_t axis = 0; axis < 3; ++axis) {
      if (cluster.extents[axis] == 1)
        continue;
      std::string why = refuseAxis(copy, axis);
      if (why.empty())
        axes.push_back(axis);
      else if (reason.empty())
        reason = why;
    }
  // Fewer blocks where the tile does not fall into so many parts.
  SmallVector<ClusterAxes> sets;
  for (unsigned bits = 1; bits < (1u << axes.size()); ++bits) {
    sets.emplace_back();
    for (auto [index, axis] : llvm::enumerate(axes))
      if (bits & (1u << index))
        sets.back().push_back(axis);
  }
  llvm::stable_sort(sets, [&](const ClusterAxes &a, const ClusterAxes &b) {
    return cluster.getBlocks(a) > cluster.getBlocks(b);
  });
  std::string whyNone;
  auto *chosen = llvm::find_if(sets, [&](const ClusterAxes &candidate) {
    layout::Result<TmaPlan> plan = planTma(copy, cluster.getBlocks(candidate));
    if (plan && addReach(reach, candidate))
      return true;
    whyNone = plan ? "other copies are shared along other axes"
                   : std::string(plan.error());
    return false;
  });
  if (chosen == sets.end()) {
    setChoice(copy,
              "not shared in the cluster: " +
                  (whyNone.empty() ? reason : whyNone),
              {});
    return;
  }
  axes = *chosen;
  setChoice(copy,
            "the " + Twine(cluster.getBlocks(axes)) +
                " blocks of the cluster along " + nameAxes(axes) +
                " load it together",
            axes);
}

void Multicast::run() {
  if (cluster.getBlocks() == 1)
    return;
  SmallVector<CopyOp> copies;
  kernel.walk([&](CopyOp copy) {
    if (isTmaCopy(copy) && isa<MemRefType>(copy.getSource().getType()))
      copies.push_back(copy);
  });
  for (CopyOp copy : copies)
    share(copy);
}

namespace {
class TileMulticastCopiesPass
    : public mlir::tile::impl::TileMulticastCopiesBase<
          TileMulticastCopiesPass> {
  void runOnOperation() override {
    TargetAttr target = getTarget(getOperation());
    bool hasClusters = !target || target.getComputeCapability() >= 90;
    getOperation()->walk([&](KernelOp kernel) {
      if (hasClusters)
        Multicast(kernel).run();
      else
        kernel.removeClusterAttr();
    });
  }
};
} // namespace
