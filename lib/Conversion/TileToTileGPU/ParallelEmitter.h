//===- ParallelEmitter.h - the body of a parallel loop ----------*- C++ -*-===//
//
// The state of lowering one `tile.parallel`; LowerParallel.cpp says how it is
// done.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_PARALLELEMITTER_H
#define TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_PARALLELEMITTER_H

#include "KernelLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace tilemlir::to_gpu {

/// Emits the body of one `tile.parallel`.
class ParallelEmitter {
public:
  ParallelEmitter(KernelLowering &kernel, tile::ParallelOp op)
      : kernel(kernel), op(op), ix(kernel.ix), b(kernel.b),
        layout(op.getLayout()->getLayout()) {}

  LogicalResult run();

private:
  /// One iteration of the executing thread.
  struct Lane {
    int64_t reg = 0;
    Coordinates iteration;
    Value predicate;
    IRMapping map;
  };
  using Lanes = MutableArrayRef<Lane>;

  /// The body for all lanes.
  LogicalResult emitLanes(std::vector<Lane> &lanes);
  LogicalResult emitBlock(Block &block, Lanes lanes);
  LogicalResult emitOp(Operation *source, Lanes lanes);
  /// An operation without regions and effects.
  void emitScalar(Operation *source, Lane &lane);
  LogicalResult emitLoad(tile::LoadOp load, Lanes lanes);
  LogicalResult emitStore(tile::StoreOp store, Lanes lanes);
  LogicalResult emitAtomic(tile::AtomicOp atomic, Lanes lanes);
  LogicalResult emitIf(scf::IfOp source, Lane &lane);
  LogicalResult emitFor(scf::ForOp source, Lane &lane);
  LogicalResult emitWhile(scf::WhileOp source, Lane &lane);
  /// The body under `lane.predicate`, as control flow.
  LogicalResult emitGuarded(Block &block, Lane &lane);

  // Registers that control flow writes travel as additional operands, region
  // arguments and results, behind those of the operation itself.
  using Slots = llvm::SetVector<RegisterSlot>;
  /// `own` for this lane, then the registers.
  SmallVector<Value> withRegisters(ValueRange own, const Slots &slots,
                                   Lane &lane);
  /// Arguments of a new region, or results of a new operation, stand for `own`
  /// and for the registers.
  void bind(ValueRange own, ValueRange values, const Slots &slots, Lane &lane);
  /// The same for results, which leave the registers written.
  void bindResults(ValueRange own, Operation *created, const Slots &slots,
                   Lane &lane);

  // LowerUnitFactors.cpp: multiplications that are skipped by a vote.
  /// The body for all lanes, unless all factors of the warp are 1.
  LogicalResult emitUnlessUnit(std::vector<Lane> &lanes);
  /// A factor of the body for one lane; equal computations are one.
  FailureOr<Value> emitFactor(Value factor, Lane &lane);

  /// An index of the body for one lane, as far as it is affine.
  Coordinate evaluate(Value value, Lane &lane);
  /// The same of a quotient or remainder by a constant: of neighbours in packed
  /// storage, say.
  std::optional<Coordinate> evaluateQuotient(Operation *def, Lane &lane);
  Value mapped(Value value, Lane &lane);
  /// Whether `value` is index `dim` of the loop plus constants.
  bool dependsOnlyOn(Value value, int dim);
  FailureOr<SmallVector<LaneAccess>> accesses(ValueRange indices, Lanes lanes);

  bool isRegisterBuffer(Value storage);
  /// Registers by lane register that an access to a fragment or a local buffer
  /// in registers means; cached by operation.
  FailureOr<RegisterSlot> slotOf(Operation *access, Value storage,
                                 ValueRange indices, Lane &lane);
  Value &current(RegisterSlot slot);
  /// Slots that operations in `region` write, for this lane.
  LogicalResult collectWrites(Region &region, Lane &lane,
                              llvm::SetVector<RegisterSlot> &slots);

  KernelLowering &kernel;
  tile::ParallelOp op;
  IndexBuilder &ix;
  OpBuilder &b;
  layout::FragmentLayout layout;
  Value primary;
  /// Lanes that go through the body together, and whether those that are
  /// switched off must not.
  size_t together = 1;
  bool guard = false;
  /// Current scalars of the register buffers that the body uses.
  llvm::MapVector<Operation *, SmallVector<Value>> registers;
  llvm::SetVector<Operation *> written;
  struct FragmentAccess {
    FragmentView view;
    std::vector<int64_t> table;
  };
  llvm::DenseMap<Operation *, FragmentAccess> fragmentAccesses;
  /// Computations of factors: the operation, its operands, its result.
  std::vector<std::tuple<Operation *, SmallVector<Value>, Value>> factors;
};

} // namespace tilemlir::to_gpu

#endif // TILEMLIR_LIB_CONVERSION_TILETOTILEGPU_PARALLELEMITTER_H
