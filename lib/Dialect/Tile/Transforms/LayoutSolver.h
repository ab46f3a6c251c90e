//===- LayoutSolver.h - Finding layouts of fragments and loops --*- C++ -*-===//
//
// Decides the layout of every fragment allocation and every parallel loop of a
// kernel. The IR is not changed: where decisions do not fit together,
// LayoutLegalizer inserts conversions.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_LAYOUTSOLVER_H
#define TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_LAYOUTSOLVER_H

#include "MemoryAccess.h"

#include "tilemlir/Layout/FragmentLayout.h"

namespace mlir::tile {

/// A load or store of a fragment inside of a parallel loop.
struct FragmentUse {
  Operation *op = nullptr;
  Value buffer;
  bool isWrite = false;
  LoopAccess access;
};

/// An operation that uses a fragment, which tells the threads that it is spread
/// over: those of the kernel, or of a role. The allocation if nothing does.
Operation *getFirstUser(AllocOp fragment);

/// All accesses of `loop` to fragments, in program order.
SmallVector<FragmentUse> getFragmentUses(ParallelOp loop);

class LayoutSolver {
public:
  using FragmentLayout = ::tilemlir::layout::FragmentLayout;
  template <typename T> using Result = ::tilemlir::layout::Result<T>;

  LayoutSolver(KernelOp kernel, IntegerAnalysis &integers);

  /// Fails only after a diagnostic.
  LogicalResult solve();

  /// Layout of an allocation; null before solve() has reached it.
  const FragmentLayout *getLayout(AllocOp alloc) const;
  void setLayout(AllocOp alloc, const FragmentLayout &layout, StringRef reason);
  const FragmentLayout *getLayout(ParallelOp loop) const;
  StringRef getReason(ParallelOp loop) const;
  void setLayout(ParallelOp loop, const FragmentLayout &layout,
                 StringRef reason);
  /// Leaves the replicas of `loop`, which has a layout, without work.
  void runOnce(ParallelOp loop);

  /// Layout of a handle, seen through views.
  Result<FragmentLayout> getViewLayout(Value buffer) const;

  /// Layout for iterations that access a buffer of layout `operand` at `access`
  /// such that each thread runs the iterations of the elements it holds.
  static Result<FragmentLayout>
  getIterationLayout(const FragmentLayout &operand,
                     ArrayRef<::tilemlir::layout::AccessIndex> access,
                     ArrayRef<int64_t> extents);

  /// The inverse: layout for a buffer of `shape` accessed at `access`.
  static Result<FragmentLayout>
  getOperandLayout(const FragmentLayout &iteration,
                   ArrayRef<::tilemlir::layout::AccessIndex> access,
                   ArrayRef<int64_t> shape);

  /// Distribution for coalesced access: vectors of up to `vectorElements` along
  /// dimension `fastest`, shortened while threads would have no work. Over the
  /// threads that do `user` together.
  static FragmentLayout getBlocked(Operation *user, ArrayRef<int64_t> shape,
                                   int64_t vectorElements, int64_t fastest);

private:
  LogicalResult assignPinned();
  LogicalResult assignAccumulators();
  LogicalResult assignRegisterOperands();
  void assignReplicated();
  void propagate();
  bool propagateThrough(Operation *op);
  bool propagateThrough(ParallelOp loop);
  bool propagateThrough(CopyOp copy);
  bool propagateThrough(ReduceOp reduce);
  /// Chooses the layout of the largest open fragment or loop.
  bool assignFree();
  void assignFree(AllocOp alloc);
  void assignFree(ParallelOp loop);
  /// Gives the allocation of `buffer` a layout under which the view has
  /// `layout`; false if it has one already or cannot have one.
  bool assignView(Value buffer, const FragmentLayout &layout, StringRef reason);
  /// Elements per access when this fragment is copied to or from memory.
  int64_t getPreferredVector(AllocOp alloc);

  KernelOp kernel;
  IntegerAnalysis &integers;
  struct Entry {
    FragmentLayout layout;
    std::string reason;
  };
  llvm::MapVector<AllocOp, std::optional<Entry>> fragments;
  llvm::MapVector<ParallelOp, std::optional<Entry>> loops;
};

} // namespace mlir::tile

#endif // TILEMLIR_LIB_DIALECT_TILE_TRANSFORMS_LAYOUTSOLVER_H
