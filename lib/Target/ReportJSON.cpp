//===- ReportJSON.cpp - the compiler's report as JSON -----------*- C++ -*-===//
//
// `tile-translate --tile-to-report`: dictionaries become objects, lists arrays,
// and what has no JSON form its text.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Target/ReportJSON.h"

#include "tilemlir/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
namespace json = llvm::json;

/// The form of launch plans, with symbols by name.
static json::Value toJSON(tile::ExprAttr expr) {
  StringRef kind = tile::stringifyExprKind(expr.getKind());
  switch (expr.getKind()) {
  case tile::ExprKind::Constant:
    return expr.getValue();
  case tile::ExprKind::Symbol:
    return json::Array({kind, expr.getName()});
  case tile::ExprKind::Dim:
  case tile::ExprKind::Stride:
    return json::Array({kind, expr.getValue(), expr.getAxis()});
  case tile::ExprKind::Scalar:
    return json::Array({kind, expr.getValue()});
  case tile::ExprKind::SmCount:
    return json::Array({kind});
  default:
    return json::Array(
        {kind, toJSON(expr.getOperands()[0]), toJSON(expr.getOperands()[1])});
  }
}

static json::Value toJSON(Attribute attribute) {
  return llvm::TypeSwitch<Attribute, json::Value>(attribute)
      .Case([](tile::ExprAttr expr) { return toJSON(expr); })
      .Case([](DictionaryAttr dictionary) {
        json::Object object;
        for (NamedAttribute entry : dictionary)
          object[entry.getName().getValue()] = toJSON(entry.getValue());
        return object;
      })
      .Case([](ArrayAttr list) {
        json::Array array;
        for (Attribute element : list)
          array.push_back(toJSON(element));
        return array;
      })
      .Case(
          [](DenseI64ArrayAttr list) { return json::Array(list.asArrayRef()); })
      .Case([](StringAttr text) { return text.getValue(); })
      .Case([](BoolAttr flag) { return flag.getValue(); })
      .Case([](UnitAttr) { return true; })
      .Case(
          [](IntegerAttr integer) { return integer.getValue().getSExtValue(); })
      .Case([](FloatAttr real) { return real.getValueAsDouble(); })
      .Default([](Attribute other) {
        std::string text;
        llvm::raw_string_ostream(text) << other;
        return text;
      });
}

LogicalResult tilemlir::translateToReport(ModuleOp module,
                                          llvm::raw_ostream &os) {
  auto report = module->getAttrOfType<ArrayAttr>("tile.report");
  os << (report ? toJSON(report) : json::Value(json::Array())) << "\n";
  return success();
}

void tilemlir::registerToReportTranslation(
    void (*registerDialects)(DialectRegistry &)) {
  TranslateFromMLIRRegistration registration(
      "tile-to-report", "print what the compiler decided as JSON",
      [](Operation *op, llvm::raw_ostream &os) -> LogicalResult {
        auto module = dyn_cast<ModuleOp>(op);
        if (!module)
          return op->emitError("expected a module");
        return translateToReport(module, os);
      },
      registerDialects);
}
