//===- HostExpressions.cpp - host integer code as expressions ---*- C++ -*-===//
//
// Translates the integer arithmetic outside of kernels to `#tile.expr`.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/Transforms/LaunchPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Shorthand for building folded expressions.
struct ExprBuilder {
  MLIRContext *context;

  ExprAttr constant(int64_t value) const {
    return ExprAttr::getConstant(context, value);
  }
  ExprAttr binary(ExprKind kind, ExprAttr lhs, ExprAttr rhs) const {
    auto is = [](ExprAttr expr, int64_t value) {
      return expr.isConstant() && expr.getValue() == value;
    };
    if ((kind == ExprKind::Add || kind == ExprKind::Sub) && is(rhs, 0))
      return lhs;
    if (kind == ExprKind::Add && is(lhs, 0))
      return rhs;
    if ((kind == ExprKind::Mul || kind == ExprKind::FloorDiv ||
         kind == ExprKind::CeilDiv) &&
        is(rhs, 1))
      return lhs;
    if (kind == ExprKind::Mul && is(lhs, 1))
      return rhs;
    return ExprAttr::getBinary(kind, lhs, rhs);
  }
  ExprAttr add(ExprAttr a, ExprAttr b) const {
    return binary(ExprKind::Add, a, b);
  }
  ExprAttr sub(ExprAttr a, ExprAttr b) const {
    return binary(ExprKind::Sub, a, b);
  }
  ExprAttr mul(ExprAttr a, ExprAttr b) const {
    return binary(ExprKind::Mul, a, b);
  }
  ExprAttr min(ExprAttr a, ExprAttr b) const {
    return binary(ExprKind::Min, a, b);
  }
  ExprAttr max(ExprAttr a, ExprAttr b) const {
    return binary(ExprKind::Max, a, b);
  }
  /// 1 - a, for a condition.
  ExprAttr negate(ExprAttr a) const { return sub(constant(1), a); }
  /// 1 when a < b, else 0.
  ExprAttr less(ExprAttr a, ExprAttr b) const {
    return min(max(sub(b, a), constant(0)), constant(1));
  }
  /// 1 when a != b, else 0.
  ExprAttr differs(ExprAttr a, ExprAttr b) const {
    return min(max(sub(a, b), sub(b, a)), constant(1));
  }
};

} // namespace

/// Sizes and what is computed from them without subtraction.
static bool isNonNegative(ExprAttr expr) {
  switch (expr.getKind()) {
  case ExprKind::Constant:
    return expr.getValue() >= 0;
  case ExprKind::Symbol:
  case ExprKind::Dim:
  case ExprKind::SmCount:
    return true;
  case ExprKind::Stride:
  case ExprKind::Scalar:
  case ExprKind::Sub:
    return false;
  case ExprKind::Max:
    return llvm::any_of(expr.getOperands(), isNonNegative);
  default:
    return llvm::all_of(expr.getOperands(), isNonNegative);
  }
}

/// Division that rounds to zero: floor for positive, ceiling for negative
/// quotients.
static ExprAttr divideTruncating(ExprBuilder build, ExprAttr a, ExprAttr b) {
  ExprAttr floor = build.binary(ExprKind::FloorDiv, a, b);
  if (isNonNegative(a) && isNonNegative(b))
    return floor;
  ExprAttr ceil = build.binary(ExprKind::CeilDiv, a, b);
  return build.add(build.max(floor, build.constant(0)),
                   build.min(ceil, build.constant(0)));
}

static ExprAttr compare(ExprBuilder build, arith::CmpIPredicate predicate,
                        ExprAttr a, ExprAttr b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return build.negate(build.differs(a, b));
  case arith::CmpIPredicate::ne:
    return build.differs(a, b);
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return build.less(a, b);
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return build.less(b, a);
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return build.negate(build.less(b, a));
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return build.negate(build.less(a, b));
  }
  llvm_unreachable("all predicates are handled");
}

FailureOr<ExprAttr> HostExpressions::getExtent(Value tensor, int64_t axis) {
  auto type = cast<MemRefType>(tensor.getType());
  MLIRContext *context = tensor.getContext();
  if (!type.isDynamicDim(axis))
    return ExprAttr::getConstant(context, type.getDimSize(axis));
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    unsigned number = argument.getArgNumber();
    if (auto declared =
            function.getArgAttrOfType<ArgumentAttr>(number, "tile.argument"))
      if (axis < static_cast<int64_t>(declared.getShape().size()))
        return declared.getShape()[axis];
    return ExprAttr::getDim(context, number, axis);
  }
  if (auto workspace = tensor.getDefiningOp<WorkspaceOp>())
    return convert(workspace.getDynamicSizes()[type.getDynamicDimIndex(axis)]);
  return emitError(tensor.getLoc(),
                   "a kernel uses arguments and workspaces of its function "
                   "only");
}

FailureOr<ExprAttr> HostExpressions::convert(Value value) {
  Operation *culprit = nullptr;
  if (ExprAttr expr = tryConvert(value, culprit))
    return expr;
  InFlightDiagnostic error =
      emitError(culprit ? culprit->getLoc() : value.getLoc())
      << "has no host form: launch values are integer arithmetic on sizes, "
         "scalar arguments and the number of multiprocessors";
  if (culprit)
    error.attachNote(culprit->getLoc())
        << "found '" << culprit->getName() << "'";
  return failure();
}

ExprAttr HostExpressions::convertCondition(Value value) {
  Operation *culprit = nullptr;
  return tryConvert(value, culprit);
}

ExprAttr HostExpressions::tryConvert(Value value, Operation *&culprit) {
  if (ExprAttr expr = known.lookup(value))
    return expr;
  ExprBuilder build{value.getContext()};
  auto operand = [&](Operation *op, unsigned index) {
    return tryConvert(op->getOperand(index), culprit);
  };
  auto binary = [&](Operation *op, auto combine) -> ExprAttr {
    ExprAttr lhs = operand(op, 0);
    ExprAttr rhs = lhs ? operand(op, 1) : ExprAttr();
    return rhs ? combine(lhs, rhs) : ExprAttr();
  };
  auto node = [&](Operation *op, ExprKind kind) {
    return binary(
        op, [&](ExprAttr a, ExprAttr b) { return build.binary(kind, a, b); });
  };

  ExprAttr result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == &function.getBody().front() &&
        value.getType().isInteger())
      result = ExprAttr::getScalar(build.context, argument.getArgNumber());
  } else {
    Operation *op = value.getDefiningOp();
    bool isCondition = value.getType().isInteger(1);
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant))) {
      result = build.constant(isCondition ? constant.getZExtValue()
                                          : constant.getSExtValue());
    } else {
      result =
          llvm::TypeSwitch<Operation *, ExprAttr>(op)
              .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
                    arith::ExtUIOp, arith::TruncIOp>([&](Operation *cast) {
                // A sign-extended i1 is 0 or -1.
                ExprAttr inner = operand(cast, 0);
                if (inner && isa<arith::ExtSIOp>(cast) &&
                    cast->getOperand(0).getType().isInteger(1))
                  return build.sub(build.constant(0), inner);
                return inner;
              })
              .Case([&](memref::DimOp dim) -> ExprAttr {
                std::optional<int64_t> axis = dim.getConstantIndex();
                if (!axis || !isa<MemRefType>(dim.getSource().getType()) ||
                    *axis >=
                        cast<MemRefType>(dim.getSource().getType()).getRank())
                  return {};
                if (!isa<BlockArgument>(dim.getSource()) &&
                    !dim.getSource().getDefiningOp<WorkspaceOp>())
                  return {};
                FailureOr<ExprAttr> extent = getExtent(dim.getSource(), *axis);
                return failed(extent) ? ExprAttr() : *extent;
              })
              .Case([&](SmCountOp) {
                return ExprAttr::getSmCount(build.context);
              })
              .Case([&](arith::AddIOp add) { return node(add, ExprKind::Add); })
              .Case([&](arith::SubIOp sub) { return node(sub, ExprKind::Sub); })
              .Case([&](arith::MulIOp mul) { return node(mul, ExprKind::Mul); })
              .Case<arith::FloorDivSIOp, arith::DivUIOp>(
                  [&](Operation *div) { return node(div, ExprKind::FloorDiv); })
              .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>(
                  [&](Operation *div) { return node(div, ExprKind::CeilDiv); })
              .Case([&](arith::DivSIOp div) {
                return binary(div, [&](ExprAttr a, ExprAttr b) {
                  return divideTruncating(build, a, b);
                });
              })
              .Case(
                  [&](arith::RemUIOp rem) { return node(rem, ExprKind::Mod); })
              .Case([&](arith::RemSIOp rem) {
                return binary(rem, [&](ExprAttr a, ExprAttr b) {
                  if (isNonNegative(a) && isNonNegative(b))
                    return build.binary(ExprKind::Mod, a, b);
                  return build.sub(a,
                                   build.mul(b, divideTruncating(build, a, b)));
                });
              })
              .Case<arith::MinSIOp, arith::MinUIOp>(
                  [&](Operation *min) { return node(min, ExprKind::Min); })
              .Case<arith::MaxSIOp, arith::MaxUIOp>(
                  [&](Operation *max) { return node(max, ExprKind::Max); })
              .Case([&](arith::ShLIOp shift) -> ExprAttr {
                APInt bits;
                ExprAttr inner = operand(shift, 0);
                if (!inner ||
                    !matchPattern(shift.getRhs(), m_ConstantInt(&bits)) ||
                    bits.uge(32))
                  return {};
                return build.mul(
                    inner, build.constant(int64_t(1) << bits.getZExtValue()));
              })
              .Case([&](arith::ShRSIOp shift) -> ExprAttr {
                APInt bits;
                ExprAttr inner = operand(shift, 0);
                if (!inner ||
                    !matchPattern(shift.getRhs(), m_ConstantInt(&bits)) ||
                    bits.uge(63))
                  return {};
                return build.binary(
                    ExprKind::FloorDiv, inner,
                    build.constant(int64_t(1) << bits.getZExtValue()));
              })
              .Case([&](arith::CmpIOp cmp) {
                return binary(cmp, [&](ExprAttr a, ExprAttr b) {
                  return compare(build, cmp.getPredicate(), a, b);
                });
              })
              .Case([&](arith::AndIOp both) -> ExprAttr {
                if (isCondition)
                  return node(both, ExprKind::Min);
                // The low bits of a size.
                APInt mask;
                if (!matchPattern(both.getRhs(), m_ConstantInt(&mask)) ||
                    !mask.isMask())
                  return {};
                ExprAttr inner = operand(both, 0);
                if (!inner || !isNonNegative(inner))
                  return {};
                return build.binary(ExprKind::Mod, inner,
                                    build.constant(mask.getSExtValue() + 1));
              })
              .Case([&](arith::OrIOp either) -> ExprAttr {
                return isCondition ? node(either, ExprKind::Max) : ExprAttr();
              })
              .Case([&](arith::XOrIOp differs) -> ExprAttr {
                if (!isCondition)
                  return {};
                return binary(differs, [&](ExprAttr a, ExprAttr b) {
                  return build.differs(a, b);
                });
              })
              .Case([&](arith::SelectOp select) -> ExprAttr {
                ExprAttr condition = operand(select, 0);
                ExprAttr yes = condition ? operand(select, 1) : ExprAttr();
                ExprAttr no = yes ? operand(select, 2) : ExprAttr();
                if (!no)
                  return {};
                return build.add(build.mul(condition, yes),
                                 build.mul(build.negate(condition), no));
              })
              .Default([](Operation *) { return ExprAttr(); });
    }
    if (!result && !culprit)
      culprit = op;
  }
  if (result)
    known[value] = result;
  return result;
}
