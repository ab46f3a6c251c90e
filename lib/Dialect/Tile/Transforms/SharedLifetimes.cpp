//===- SharedLifetimes.cpp - when shared buffers hold data ------*- C++ -*-===//
#include "tilemlir/Dialect/Tile/Transforms/SharedLifetimes.h"
#include "tilemlir/Dialect/Tile/Transforms/AsyncGroups.h"
#include "tilemlir/Dialect/Tile/Transforms/BufferAccess.h"
#include "tilemlir/Dialect/Tile/Transforms/WarpStores.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

int64_t mlir::tile::getSharedBytes(BufferType type) {
  if (SharedLayoutAttr layout = type.getSharedLayout())
    return layout.getLayout(type.getShape(), type.getElementBits()).sizeBytes();
  return (type.getNumElements() * type.getElementBits() + 7) / 8;
}

static bool isSteady(Operation *op) {
  auto attr = op->getAttrOfType<PipelineAttr>(kPipelineName);
  return attr && attr.getRole() == PipelineRole::Steady;
}

namespace {
class LifetimeBuilder {
public:
  LifetimeBuilder(KernelOp kernel, bool slotsEndWithLoops)
      : kernel(kernel), slotsEndWithLoops(slotsEndWithLoops) {
    number(kernel);
    collectNestedAccesses(kernel, accesses);
  }

  SmallVector<SharedLifetime> run() {
    SmallVector<SharedLifetime> result;
    kernel.walk([&](AllocOp alloc) {
      auto type = cast<BufferType>(alloc.getType());
      if (type.isShared())
        result.push_back(getLifetime(alloc, type));
    });
    return result;
  }

private:
  void number(Operation *op) {
    begin[op] = next++;
    if (!isa<ParallelOp>(op))
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Operation &inner : block)
            number(&inner);
    end[op] = next++;
  }

  /// Nothing in `buffer` survives from one iteration of `loop` to the next.
  bool isPrivate(Operation *loop, AllocOp alloc) {
    // Filled by pipelines only; the pipeline itself keeps slots.
    if (alloc->hasAttr("tile.slots"))
      return !isSteady(loop);
    for (const BufferAccess &read : accesses) {
      if (read.root != alloc.getResult() || !loop->isAncestor(read.op) ||
          (read.isWrite && !read.isAtomic))
        continue;
      // Scratch memory is written by the operation that reads it.
      if (!read.isScratch && !isWrittenBefore(read, accesses, loop))
        return false;
    }
    return true;
  }

  SharedLifetime getLifetime(AllocOp alloc, BufferType type) {
    SharedLifetime lifetime;
    lifetime.alloc = alloc;
    lifetime.bytes = getSharedBytes(type);
    if (SharedLayoutAttr layout = type.getSharedLayout())
      lifetime.alignment =
          layout.getLayout(type.getShape(), type.getElementBits())
              .requiredAlignment();
    SmallVector<Operation *> users;
    for (const BufferAccess &access : accesses)
      if (access.root == alloc.getResult())
        users.push_back(access.op);
    if (users.empty())
      return lifetime;

    // Barriers are initialised once, and used until the last thread is done.
    if (isa<BarrierType>(type.getElementType())) {
      lifetime.alignment = std::max<int64_t>(lifetime.alignment, 8);
      lifetime.first = begin[kernel];
      lifetime.last = end[kernel];
      return lifetime;
    }
    lifetime.first = next;
    lifetime.last = -1;
    auto extend = [&](int64_t from, int64_t to) {
      lifetime.first = std::min(lifetime.first, from);
      lifetime.last = std::max(lifetime.last, to);
    };
    for (Operation *user : users) {
      extend(begin[user], end[user]);
      bool innermost = true;
      for (Operation *parent = user->getParentOp(); parent != kernel;
           parent = parent->getParentOp()) {
        if (!isLoop(parent))
          continue;
        if (innermost && isLeaf(parent))
          lifetime.innermostLoops.insert(parent);
        innermost = false;
        bool allInside = llvm::all_of(users, [&](Operation *other) {
          return parent->isProperAncestor(other);
        });
        if (!allInside || !isPrivate(parent, alloc))
          extend(begin[parent], end[parent]);
      }
      // Memory that is still being written is not free; tile-insert-sync waits
      // for what still reads.
      auto copy = dyn_cast<CopyAsyncOp>(user);
      if (copy && isa<BufferType>(copy.getDest().getType()) &&
          !user->hasAttr(kProduceName))
        extend(begin[user], getNextWait(copy));
      // A store by single warps is on its way when the next buffer is written;
      // two that alternate in a loop are to stay apart.
      Operation *loop = user->getParentOp();
      if (isPerWarp(user) && isLoop(loop))
        extend(begin[loop], end[loop]);
      if (isTmaCopy(user))
        lifetime.alignment = std::max<int64_t>(lifetime.alignment, 128);
    }
    // Several roles of consumers run at the same time.
    for (Operation *user : users)
      if (auto roles = user->getParentOfType<WarpSpecializeOp>();
          roles && roles.getRoles().size() > 2)
        extend(begin[roles], end[roles]);
    // Warp groups of the program run at the same time, in an order that only
    // the program knows.
    if (kernel->hasAttr("tile.explicit"))
      extend(begin[kernel], end[kernel]);
    return lifetime;
  }

  static bool isLeaf(Operation *loop) {
    return !loop->walk<WalkOrder::PreOrder>([&](Operation *inner) {
                  return inner != loop && isLoop(inner)
                             ? WalkResult::interrupt()
                             : WalkResult::advance();
                })
                .wasInterrupted();
  }

  /// Position of the first wait behind `copy`; the end of the kernel if none.
  int64_t getNextWait(CopyAsyncOp copy) {
    Operation *loop = slotsEndWithLoops ? getLoopAhead(copy) : nullptr;
    int64_t position = end[kernel];
    kernel.walk([&](Operation *op) {
      auto onBarrier = dyn_cast<BarrierWaitOp>(op);
      bool waits = copy.getBarrier()
                       ? onBarrier && getAllocation(onBarrier.getBarriers()) ==
                                          getAllocation(copy.getBarrier())
                       : isa<AsyncWaitOp>(op);
      if (waits && begin[op] > begin[copy])
        position = std::min(position, begin[op]);
      else if (waits && loop && loop->isProperAncestor(op))
        position = std::min(position, end[loop]);
    });
    return position;
  }

  /// The loop of a pipeline in which `copy` loads for a later iteration: only
  /// for one that comes, and that waits for it.
  static Operation *getLoopAhead(CopyAsyncOp copy) {
    bool isIssued = false;
    for (Operation *op = copy->getParentOp(); !isa<KernelOp>(op);
         op = op->getParentOp()) {
      isIssued |= getPipeline(op, PipelineRole::Issue) != nullptr;
      if (isSteady(op))
        return isIssued ? op : nullptr;
    }
    return nullptr;
  }

  KernelOp kernel;
  bool slotsEndWithLoops;
  SmallVector<BufferAccess> accesses;
  llvm::DenseMap<Operation *, int64_t> begin, end;
  int64_t next = 0;
};
} // namespace

SmallVector<SharedLifetime>
mlir::tile::getSharedLifetimes(KernelOp kernel, bool slotsEndWithLoops) {
  return LifetimeBuilder(kernel, slotsEndWithLoops).run();
}
