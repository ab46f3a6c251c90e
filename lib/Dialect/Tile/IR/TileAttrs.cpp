//===- TileAttrs.cpp - attributes of the `tile` dialect ---------*- C++ -*-===//
//
// Syntax, verification and queries of layouts, targets, options and arguments.
// Host expressions are in TileExpr.cpp.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/IR/Tile.h"
#include "tilemlir/Layout/PanelOrder.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

#define GET_ATTRDEF_CLASSES
#include "tilemlir/Dialect/Tile/IR/TileAttrs.cpp.inc"

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tilemlir/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Fragment layouts
//===----------------------------------------------------------------------===//

static ParseResult parseIntegers(AsmParser &parser,
                                 SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(values.emplace_back());
  });
}

static void printIntegers(AsmPrinter &printer, ArrayRef<int64_t> values) {
  printer << '[';
  llvm::interleaveComma(values, printer);
  printer << ']';
}

/// `[(extent, dim, stride), ...]`, flattened.
static ParseResult parseModes(AsmParser &parser,
                              SmallVectorImpl<int64_t> &modes) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        return failure(
            parser.parseLParen() || parser.parseInteger(modes.emplace_back()) ||
            parser.parseComma() || parser.parseInteger(modes.emplace_back()) ||
            parser.parseComma() || parser.parseInteger(modes.emplace_back()) ||
            parser.parseRParen());
      });
}

static void printModes(AsmPrinter &printer, ArrayRef<int64_t> modes) {
  printer << '[';
  for (size_t i = 0; i < modes.size(); i += 3)
    printer << (i ? ", (" : "(") << modes[i] << ", " << modes[i + 1] << ", "
            << modes[i + 2] << ')';
  printer << ']';
}

Attribute FragmentLayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> shape, threads, registers;
  if (parser.parseLess() || parseIntegers(parser, shape) ||
      parser.parseComma() || parser.parseKeyword("threads") ||
      parser.parseEqual() || parseModes(parser, threads) ||
      parser.parseComma() || parser.parseKeyword("registers") ||
      parser.parseEqual() || parseModes(parser, registers) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<FragmentLayoutAttr>(parser.getContext(), shape,
                                               threads, registers);
}

void FragmentLayoutAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printIntegers(printer, getShape());
  printer << ", threads = ";
  printModes(printer, getThreadModes());
  printer << ", registers = ";
  printModes(printer, getRegisterModes());
  printer << '>';
}

static std::vector<tilemlir::layout::Mode> toModes(ArrayRef<int64_t> flat) {
  std::vector<tilemlir::layout::Mode> modes;
  for (size_t i = 0; i < flat.size(); i += 3)
    modes.push_back({flat[i], static_cast<int>(flat[i + 1]), flat[i + 2]});
  return modes;
}

LogicalResult FragmentLayoutAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
    ArrayRef<int64_t> threadModes, ArrayRef<int64_t> registerModes) {
  if (threadModes.size() % 3 || registerModes.size() % 3)
    return emitError() << "layout modes must be (extent, dim, stride) triples";
  std::string problem = tilemlir::layout::FragmentLayout::verify(
      shape.vec(), toModes(threadModes), toModes(registerModes));
  if (!problem.empty())
    return emitError() << problem;
  return success();
}

static int64_t multiplyExtents(ArrayRef<int64_t> modes) {
  int64_t product = 1;
  for (size_t i = 0; i < modes.size(); i += 3)
    product *= modes[i];
  return product;
}

int64_t FragmentLayoutAttr::getNumThreads() const {
  return multiplyExtents(getThreadModes());
}

int64_t FragmentLayoutAttr::getNumRegisters() const {
  return multiplyExtents(getRegisterModes());
}

static SmallVector<int64_t>
fromModes(const std::vector<tilemlir::layout::Mode> &modes) {
  SmallVector<int64_t> flat;
  for (const tilemlir::layout::Mode &mode : modes)
    flat.append({mode.extent, mode.dim, mode.stride});
  return flat;
}

tilemlir::layout::FragmentLayout FragmentLayoutAttr::getLayout() const {
  // The verifier of the attribute has accepted these modes.
  return *tilemlir::layout::FragmentLayout::create(
      getShape().vec(), toModes(getThreadModes()), toModes(getRegisterModes()));
}

FragmentLayoutAttr
FragmentLayoutAttr::get(MLIRContext *context,
                        const tilemlir::layout::FragmentLayout &layout) {
  return get(context, layout.shape(), fromModes(layout.threadModes()),
             fromModes(layout.registerModes()));
}

//===----------------------------------------------------------------------===//
// Shared layouts
//===----------------------------------------------------------------------===//

LogicalResult
SharedLayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         ArrayRef<int64_t> order, int64_t panel,
                         int64_t swizzle) {
  // The fastest dimension may be listed again, where its panels lie.
  SmallVector<int64_t> dims(order);
  if (size_t panels = tilemlir::layout::findPanels(order);
      panels < order.size())
    dims.erase(dims.begin() + panels);
  order = dims;
  SmallVector<bool> seen(order.size(), false);
  for (int64_t dim : order) {
    if (dim < 0 || dim >= static_cast<int64_t>(order.size()) || seen[dim])
      return emitError() << "order must be a permutation of the dimensions";
    seen[dim] = true;
  }
  if (panel < 1)
    return emitError() << "panel must be positive, found " << panel;
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return emitError() << "swizzle must be 0, 32, 64 or 128 bytes, found "
                       << swizzle;
  return success();
}

tilemlir::layout::SharedLayout
SharedLayoutAttr::getLayout(ArrayRef<int64_t> shape,
                            int64_t elementBits) const {
  // The verifier of the buffer type has accepted this combination.
  return *tilemlir::layout::SharedLayout::create(
      shape.vec(), elementBits,
      std::vector<int>(getOrder().begin(), getOrder().end()), getPanel(),
      getSwizzle());
}

SharedLayoutAttr
SharedLayoutAttr::get(MLIRContext *context,
                      const tilemlir::layout::SharedLayout &layout) {
  SmallVector<int64_t> order(layout.order().begin(), layout.order().end());
  return get(context, order, layout.panelElements(), layout.swizzleBytes());
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static ParseResult parseExprs(AsmParser &parser,
                              SmallVectorImpl<ExprAttr> &exprs) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseAttribute(exprs.emplace_back());
  });
}

Attribute ArgumentAttr::parse(AsmParser &parser, Type) {
  std::string name;
  StringRef kind;
  SmallVector<ExprAttr> shape, strides;
  int64_t alignment = 0;
  if (parser.parseLess() || parser.parseString(&name) || parser.parseComma() ||
      parser.parseKeyword(&kind))
    return {};
  if (kind == "scalar") {
    if (parser.parseGreater())
      return {};
    return get(parser.getContext(), name, false, shape, strides, 0);
  }
  if (kind != "tensor") {
    parser.emitError(parser.getCurrentLocation())
        << "expected 'tensor' or 'scalar', found '" << kind << "'";
    return {};
  }
  if (parser.parseComma() || parser.parseKeyword("shape") ||
      parser.parseEqual() || parseExprs(parser, shape) || parser.parseComma() ||
      parser.parseKeyword("strides") || parser.parseEqual() ||
      parseExprs(parser, strides) || parser.parseComma() ||
      parser.parseKeyword("alignment") || parser.parseEqual() ||
      parser.parseInteger(alignment) || parser.parseGreater())
    return {};
  return get(parser.getContext(), name, true, shape, strides, alignment);
}

void ArgumentAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printString(getName());
  if (!getTensor()) {
    printer << ", scalar>";
    return;
  }
  auto printExprs = [&](ArrayRef<ExprAttr> exprs) {
    printer << '[';
    llvm::interleaveComma(exprs, printer,
                          [&](ExprAttr expr) { printer << expr; });
    printer << ']';
  };
  printer << ", tensor, shape = ";
  printExprs(getShape());
  printer << ", strides = ";
  printExprs(getStrides());
  printer << ", alignment = " << getAlignment() << '>';
}

//===----------------------------------------------------------------------===//
// Target and options
//===----------------------------------------------------------------------===//

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef arch, int64_t ptx) {
  if (arch == "cpu")
    return success();
  StringRef number = arch;
  int64_t capability = 0;
  if (!number.consume_front("sm_") || number.consumeInteger(10, capability) ||
      !(number.empty() || number == "a"))
    return emitError() << "unknown architecture '" << arch
                       << "', expected cpu or sm_<NN>[a]";
  if (capability < 80)
    return emitError() << "sm_" << capability
                       << " is too old, the first supported one is sm_80";
  return success();
}

int64_t TargetAttr::getComputeCapability() const {
  StringRef number = getArch();
  int64_t capability = 0;
  if (!number.consume_front("sm_") || number.consumeInteger(10, capability))
    return 0;
  return capability;
}

bool TargetAttr::hasArchSpecificFeatures() const {
  return getArch().starts_with("sm_") && getArch().ends_with("a");
}

int64_t TargetAttr::getSharedMemoryLimit() const {
  // CUDA C++ Programming Guide, table of technical specifications per compute
  // capability, "maximum amount of shared memory per thread block".
  switch (getComputeCapability()) {
  case 80:
  case 87:
    return 163 * 1024;
  case 86:
  case 89:
  case 120:
  case 121:
    return 99 * 1024;
  default:
    return 227 * 1024;
  }
}

LogicalResult OptionsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  DictionaryAttr values) {
  static const char *const flags[] = {"fast_math",
                                      "noalias",
                                      "disable_tma",
                                      "disable_wgmma",
                                      "disable_warp_specialized",
                                      "disable_shared_reuse",
                                      "disable_vectorize_256",
                                      "disable_async_copy",
                                      "disable_bounds_checks",
                                      "disable_defer_stores",
                                      "disable_thread_sync",
                                      "line_info"};
  for (NamedAttribute entry : values) {
    StringRef key = entry.getName();
    if (llvm::is_contained(flags, key)) {
      if (!isa<BoolAttr>(entry.getValue()))
        return emitError() << "option '" << key << "' must be a bool, found "
                           << entry.getValue();
    } else if (key == "alignment" || key == "shared_limit") {
      if (!isa<IntegerAttr>(entry.getValue()))
        return emitError() << "option '" << key
                           << "' must be an integer, found "
                           << entry.getValue();
    } else if (key == "ptxas_options") {
      auto list = dyn_cast<ArrayAttr>(entry.getValue());
      if (!list || !llvm::all_of(list, llvm::IsaPred<StringAttr>))
        return emitError() << "option '" << key
                           << "' must be an array of strings, found "
                           << entry.getValue();
    } else {
      return emitError() << "unknown option '" << key << "'";
    }
  }
  return success();
}

bool OptionsAttr::getFlag(StringRef key, bool defaultValue) const {
  auto value = getValues().getAs<BoolAttr>(key);
  return value ? value.getValue() : defaultValue;
}

int64_t OptionsAttr::getInteger(StringRef key, int64_t defaultValue) const {
  auto value = getValues().getAs<IntegerAttr>(key);
  return value ? value.getInt() : defaultValue;
}

OptionsAttr OptionsAttr::of(Operation *op) {
  MLIRContext *context = op->getContext();
  for (; op; op = op->getParentOp())
    if (auto options = op->getAttrOfType<OptionsAttr>("tile.options"))
      return options;
  return get(context, DictionaryAttr::get(context));
}

//===----------------------------------------------------------------------===//
// Software pipelines
//===----------------------------------------------------------------------===//

LogicalResult PipelineAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   PipelineRole role, int64_t slots,
                                   int64_t ahead) {
  if (role == PipelineRole::Ring) {
    if (slots < 1 || ahead != 0)
      return emitError() << "a ring has at least one slot and ahead = 0, found "
                            "slots = "
                         << slots << ", ahead = " << ahead;
    return success();
  }
  if (slots < 2 || ahead < 1 || ahead >= slots)
    return emitError() << "a pipeline runs 1 to slots - 1 iterations ahead in "
                          "at least 2 slots, found slots = "
                       << slots << ", ahead = " << ahead;
  return success();
}
