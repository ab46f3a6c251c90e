//===- LaunchPlan.h - the host half of a function as data -------*- C++ -*-===//
//
// Shared by all back ends: which parameters each kernel takes, and the typed
// launch plan of a function.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_DIALECT_TILE_TRANSFORMS_LAUNCHPLAN_H
#define TILEMLIR_DIALECT_TILE_TRANSFORMS_LAUNCHPLAN_H

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::tile {

/// Converts values of the host half (arith on integers, memref.dim of
/// arguments, tile.sm_count, scalar arguments) to closed expressions.
class HostExpressions {
public:
  explicit HostExpressions(func::FuncOp function) : function(function) {}

  /// The expression of an integer value. Emits an error at the operation that
  /// has no host form.
  FailureOr<ExprAttr> convert(Value value);

  /// A boolean as an expression that is 1 or 0. Null when it has no host form
  /// (no error is emitted).
  ExprAttr convertCondition(Value value);

  /// The expression of any integer value; null when it has none (no error is
  /// emitted).
  ExprAttr convertOrNull(Value value) { return convertCondition(value); }

  /// Gives a value of a kernel, such as a block index, an expression that is
  /// not negative.
  void bind(Value value, ExprAttr expr) { known[value] = expr; }

  /// Extent of a tensor argument or workspace in elements.
  FailureOr<ExprAttr> getExtent(Value tensor, int64_t axis);

  /// Stride of a tensor argument or workspace in elements: of a contiguous one
  /// the product of the inner extents.
  FailureOr<ExprAttr> getStride(Value tensor, int64_t axis);

private:
  ExprAttr tryConvert(Value value, Operation *&culprit);

  func::FuncOp function;
  DenseMap<Value, ExprAttr> known;
};

/// A size or stride of a tensor inside of a kernel: a constant, or the kernel
/// parameter that carries it (i64).
struct TensorExtent {
  int64_t constant = 0;
  std::optional<unsigned> parameter;
};

/// What a kernel knows of a tensor from outside of it.
struct TensorBinding {
  unsigned pointer; ///< parameter with the base address
  SmallVector<TensorExtent> sizes;
  SmallVector<TensorExtent> strides; ///< elements
};

/// The parameters of a kernel in order, and what each value that the kernel
/// uses from outside of its body is bound to. It depends on nothing but the
/// function, so that computing it twice gives the same order.
struct KernelSignature {
  SmallVector<LaunchParameterAttr> parameters;
  llvm::MapVector<Value, TensorBinding> tensors;
  /// Scalars and host integers: their parameter. Constants are not here.
  llvm::MapVector<Value, unsigned> scalars;

  static FailureOr<KernelSignature> compute(KernelOp kernel);
};

/// Symbol of the entry point of a kernel: its name, made a valid identifier,
/// with a number appended when the module has an earlier kernel of that name.
std::string getEntryName(KernelOp kernel);

/// Name of an element type in launch plans ("f16", "u8", "bool"); empty when it
/// has none.
StringRef getDataTypeName(Type type);

/// How the kernels of a function use the tensor arguments.
Access getAccess(BlockArgument argument);

/// The launch plan of a function that holds kernels: arguments, symbols,
/// outputs, workspaces, one launch per kernel with the parameters of
/// `KernelSignature` and the guards that follow from the options. The kernels
/// must still be inside. Tensor maps are left empty: a back end that makes
/// them appends parameters and tensor maps with `LaunchPlanAttr::get`.
FailureOr<LaunchPlanAttr> buildLaunchPlan(func::FuncOp function);

} // namespace mlir::tile

#endif // TILEMLIR_DIALECT_TILE_TRANSFORMS_LAUNCHPLAN_H
