//===- TileExpr.cpp - host integer expressions ------------------*- C++ -*-===//
//
// Syntax and construction of `#tile.expr`.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tile;

ExprAttr ExprAttr::getConstant(MLIRContext *context, int64_t value) {
  return get(context, ExprKind::Constant, value, 0, "", {});
}
ExprAttr ExprAttr::getSymbol(MLIRContext *context, StringRef name) {
  return get(context, ExprKind::Symbol, 0, 0, name, {});
}
ExprAttr ExprAttr::getDim(MLIRContext *context, int64_t argument,
                          int64_t axis) {
  return get(context, ExprKind::Dim, argument, axis, "", {});
}
ExprAttr ExprAttr::getStride(MLIRContext *context, int64_t argument,
                             int64_t axis) {
  return get(context, ExprKind::Stride, argument, axis, "", {});
}
ExprAttr ExprAttr::getScalar(MLIRContext *context, int64_t argument) {
  return get(context, ExprKind::Scalar, argument, 0, "", {});
}
ExprAttr ExprAttr::getSmCount(MLIRContext *context) {
  return get(context, ExprKind::SmCount, 0, 0, "", {});
}

/// Value of a node of two constants; nothing when it must stay an error of
/// the launch.
static std::optional<int64_t> evaluate(ExprKind kind, int64_t a, int64_t b) {
  int64_t result;
  switch (kind) {
  case ExprKind::Add:
    return llvm::AddOverflow(a, b, result) ? std::nullopt
                                           : std::optional<int64_t>(result);
  case ExprKind::Sub:
    return llvm::SubOverflow(a, b, result) ? std::nullopt
                                           : std::optional<int64_t>(result);
  case ExprKind::Mul:
    return llvm::MulOverflow(a, b, result) ? std::nullopt
                                           : std::optional<int64_t>(result);
  case ExprKind::FloorDiv:
    return b ? std::optional<int64_t>(llvm::divideFloorSigned(a, b))
             : std::nullopt;
  case ExprKind::CeilDiv:
    return b ? std::optional<int64_t>(llvm::divideCeilSigned(a, b))
             : std::nullopt;
  case ExprKind::Mod:
    return b ? std::optional<int64_t>(a - b * llvm::divideFloorSigned(a, b))
             : std::nullopt;
  case ExprKind::Min:
    return std::min(a, b);
  case ExprKind::Max:
    return std::max(a, b);
  default:
    return std::nullopt;
  }
}

ExprAttr ExprAttr::getBinary(ExprKind kind, ExprAttr lhs, ExprAttr rhs) {
  if (lhs.isConstant() && rhs.isConstant())
    if (std::optional<int64_t> value =
            evaluate(kind, lhs.getValue(), rhs.getValue()))
      return getConstant(lhs.getContext(), *value);
  return get(lhs.getContext(), kind, 0, 0, "", {lhs, rhs});
}

ParseResult mlir::tile::parseExpression(AsmParser &parser, ExprAttr &result) {
  MLIRContext *context = parser.getContext();
  int64_t value = 0;
  OptionalParseResult integer = parser.parseOptionalInteger(value);
  if (integer.has_value()) {
    result = ExprAttr::getConstant(context, value);
    return *integer;
  }
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<ExprKind> kind = symbolizeExprKind(keyword);
  if (!kind || *kind == ExprKind::Constant)
    return parser.emitError(loc) << "unknown expression '" << keyword << "'";
  if (parser.parseLParen())
    return failure();
  switch (*kind) {
  case ExprKind::Symbol: {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    result = ExprAttr::getSymbol(context, name);
    break;
  }
  case ExprKind::Dim:
  case ExprKind::Stride: {
    int64_t axis;
    if (parser.parseInteger(value) || parser.parseComma() ||
        parser.parseInteger(axis))
      return failure();
    result = *kind == ExprKind::Dim ? ExprAttr::getDim(context, value, axis)
                                    : ExprAttr::getStride(context, value, axis);
    break;
  }
  case ExprKind::Scalar:
    if (parser.parseInteger(value))
      return failure();
    result = ExprAttr::getScalar(context, value);
    break;
  case ExprKind::SmCount:
    result = ExprAttr::getSmCount(context);
    break;
  default: {
    ExprAttr lhs, rhs;
    if (parseExpression(parser, lhs) || parser.parseComma() ||
        parseExpression(parser, rhs))
      return failure();
    result = ExprAttr::getBinary(*kind, lhs, rhs);
  }
  }
  return parser.parseRParen();
}

void mlir::tile::printExpression(AsmPrinter &printer, ExprAttr expr) {
  if (expr.isConstant()) {
    printer << expr.getValue();
    return;
  }
  printer << stringifyExprKind(expr.getKind()) << '(';
  switch (expr.getKind()) {
  case ExprKind::Symbol:
    printer.printString(expr.getName());
    break;
  case ExprKind::Dim:
  case ExprKind::Stride:
    printer << expr.getValue() << ", " << expr.getAxis();
    break;
  case ExprKind::Scalar:
    printer << expr.getValue();
    break;
  case ExprKind::SmCount:
    break;
  default:
    printExpression(printer, expr.getOperands()[0]);
    printer << ", ";
    printExpression(printer, expr.getOperands()[1]);
  }
  printer << ')';
}

Attribute ExprAttr::parse(AsmParser &parser, Type) {
  ExprAttr result;
  if (parser.parseLess() || parseExpression(parser, result) ||
      parser.parseGreater())
    return {};
  return result;
}

void ExprAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printExpression(printer, *this);
  printer << '>';
}
