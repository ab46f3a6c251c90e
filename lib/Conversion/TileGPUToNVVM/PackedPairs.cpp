//===- PackedPairs.cpp - Arithmetic on two halves at once -------*- C++ -*-===//
//
// Vectors of 16-bit floats whose elements are computed one by one are computed
// pair by pair, which is one instruction for both. Small integers, fields of
// packed words, become floats without a conversion, of which a multiprocessor
// does few per cycle: a field ORed to the last bits of a power of two, whose
// unit they are, is that power plus the number, and one exact multiply-add
// takes the power away again.
//
// An instruction holds one constant. ptxas moves every other one into a
// register again and again before its uses, a quarter of all instructions here,
// unless it does not know that it is constant.
//
//===----------------------------------------------------------------------===//
#include "ElementaryFunctions.h"
#include "Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;
using namespace tilemlir::to_nvvm;

namespace {

/// The power of two whose unit in the last place is 1.
struct Magic {
  uint32_t bits;
  int64_t value;
};

Magic magicOf(Type type) {
  return type.isF16() ? Magic{0x6400, 1024} : Magic{0x4300, 128};
}

/// `width` bits of `source`, a byte or a 32-bit word, from `bit` on, as a
/// non-negative number plus `offset`.
struct Field {
  Value source;
  int64_t bit = 0, width = 0;
  double offset = 0;
};

/// Registers with constants, by function: ptxas keeps them.
class KeptConstants {
public:
  /// `value` in a register, for the users of `user`'s function.
  Value get(Operation *user, uint32_t value);

private:
  llvm::MapVector<Operation *, Value> zeros;
  llvm::DenseMap<std::pair<Operation *, uint32_t>, Value> constants;
};

class PairPacker {
public:
  PairPacker(vector::FromElementsOp op, KeptConstants &kept)
      : op(op), b(op), loc(op.getLoc()), type(op.getType().getElementType()),
        pairType(VectorType::get({2}, type)), kept(kept) {}

  /// Computes the vector pair by pair if that saves instructions.
  void run();

private:
  /// (lo, hi) as a vector; null where the elements stay apart.
  Value pack(Value lo, Value hi, int depth);
  Value packArithmetic(Value lo, Value hi, int depth);
  Value packFields(const Field &lo, const Field &hi);
  /// A conversion from an integer, plus or minus a constant.
  std::optional<Field> matchNumber(Value value);
  /// Only the last `used` bits of `value` count.
  std::optional<Field> matchField(Value value, int64_t used, int depth);
  /// The 32-bit word that holds `field`, whose position becomes that in it.
  Value wordOf(Field &field);
  Value constant32(int64_t value);
  Value constantPair(double lo, double hi);

  vector::FromElementsOp op;
  OpBuilder b;
  Location loc;
  Type type;
  VectorType pairType;
  KeptConstants &kept;
};

} // namespace

Value KeptConstants::get(Operation *user, uint32_t value) {
  auto function = user->getParentOfType<FunctionOpInterface>();
  Value &constant = constants[{function, value}];
  if (constant)
    return constant;
  OpBuilder b = OpBuilder::atBlockBegin(&function.getFunctionBody().front());
  Location loc = function.getLoc();
  Value &zero = zeros[function];
  if (!zero)
    zero = inlineAsm(b, loc, b.getI32Type(),
                     "{ .reg .b32 m; mov.u32 m, %smid; shr.u32 $0, m, 31; }",
                     "=r", {},
                     /*volatileMemory=*/false);
  else
    b.setInsertionPointAfterValue(zero);
  Value known = arith::ConstantOp::create(
      b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  constant = arith::AddIOp::create(b, loc, zero, known);
  return constant;
}

/// Operands that are not packed themselves are put together by moves, which the
/// operation has to be worth.
static bool isPairable(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::MaximumFOp,
             arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op);
}

Value PairPacker::constant32(int64_t value) {
  return arith::ConstantOp::create(
      b, loc, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value PairPacker::constantPair(double lo, double hi) {
  SmallVector<Attribute> values = {b.getFloatAttr(type, lo),
                                   b.getFloatAttr(type, hi)};
  return arith::ConstantOp::create(b, loc,
                                   DenseElementsAttr::get(pairType, values));
}

std::optional<Field> PairPacker::matchField(Value value, int64_t used,
                                            int depth) {
  Operation *def = value.getDefiningOp();
  if (depth > 8)
    return std::nullopt;
  if (auto extend = dyn_cast_or_null<arith::ExtUIOp>(def))
    return matchField(extend.getIn(), used, depth + 1);
  auto constantOperand = [&]() -> std::optional<int64_t> {
    APInt constant;
    if (matchPattern(def->getOperand(1), m_ConstantInt(&constant)))
      return constant.getSExtValue();
    return std::nullopt;
  };
  if (isa_and_nonnull<arith::AndIOp>(def)) {
    std::optional<int64_t> mask = constantOperand();
    if (mask && *mask > 0 && llvm::isMask_64(*mask)) {
      used = std::min<int64_t>(used, llvm::Log2_64(*mask + 1));
      if (std::optional<Field> field =
              matchField(def->getOperand(0), used, depth + 1)) {
        field->width = std::min(field->width, used);
        return field;
      }
    }
  }
  if (isa_and_nonnull<arith::ShRUIOp, arith::ShRSIOp>(def)) {
    std::optional<int64_t> amount = constantOperand();
    std::optional<Field> field;
    if (amount && *amount >= 0)
      field = matchField(def->getOperand(0), used + *amount, depth + 1);
    // What is wider than the field has no sign, and copies of a sign may not
    // count.
    int64_t bits = value.getType().getIntOrFloatBitWidth();
    if (field && *amount < field->width &&
        (isa<arith::ShRUIOp>(def) || field->width < bits ||
         used + *amount <= bits)) {
      field->bit += *amount;
      field->width -= *amount;
      return field;
    }
  }
  if (value.getType().isInteger(8) || value.getType().isInteger(32))
    return Field{value, 0, value.getType().getIntOrFloatBitWidth(), 0};
  return std::nullopt;
}

std::optional<Field> PairPacker::matchNumber(Value value) {
  double offset = 0;
  if (auto sum = value.getDefiningOp();
      isa_and_nonnull<arith::AddFOp, arith::SubFOp>(sum)) {
    APFloat constant(0.0);
    if (!sum->hasOneUse() ||
        !matchPattern(sum->getOperand(1), m_ConstantFloat(&constant)))
      return std::nullopt;
    bool inexact;
    constant.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &inexact);
    offset = constant.convertToDouble();
    if (isa<arith::SubFOp>(sum))
      offset = -offset;
    // Sums of integers up to there are exact.
    if (offset != std::floor(offset) ||
        std::abs(offset) > magicOf(type).value / 4.0)
      return std::nullopt;
    value = sum->getOperand(0);
  }
  Operation *conversion = value.getDefiningOp();
  if (!isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(conversion) ||
      !conversion->hasOneUse())
    return std::nullopt;
  Value integer = conversion->getOperand(0);
  std::optional<Field> field =
      matchField(integer, integer.getType().getIntOrFloatBitWidth(), 0);
  // A field that fills the integer may be negative.
  if (!field ||
      (isa<arith::SIToFPOp>(conversion) &&
       field->width >=
           static_cast<int64_t>(integer.getType().getIntOrFloatBitWidth())))
    return std::nullopt;
  field->offset = offset;
  return field;
}

Value PairPacker::wordOf(Field &field) {
  if (field.source.getType().isInteger(32))
    return field.source;
  if (auto parts = field.source.getDefiningOp<vector::ToElementsOp>()) {
    VectorType bytes = parts.getSource().getType();
    int64_t index = cast<OpResult>(field.source).getResultNumber();
    if (bytes.getRank() == 1 && bytes.getNumElements() % 4 == 0) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(parts);
      Value words = vector::BitCastOp::create(
          b, loc, VectorType::get({bytes.getNumElements() / 4}, b.getI32Type()),
          parts.getSource());
      field.bit += 8 * (index % 4);
      return vector::ExtractOp::create(b, loc, words, index / 4);
    }
  }
  return arith::ExtUIOp::create(b, loc, b.getI32Type(), field.source);
}

Value PairPacker::packFields(const Field &loField, const Field &hiField) {
  Magic magic = magicOf(type);
  Field lo = loField, hi = hiField;
  auto fits = [&](const Field &field, int64_t shift) {
    return ((int64_t(1) << field.width) - 1) << shift < magic.value;
  };
  if (lo.width > 8 || hi.width > 8 || !fits(lo, 0) || !fits(hi, 0))
    return {};
  bool sameSource = lo.source == hi.source;
  Value loWord = wordOf(lo);
  Value hiWord = wordOf(hi);
  auto extractOf = [](Value value) {
    return value.getDefiningOp<vector::ExtractOp>();
  };
  // Two bytes of one vector may be of one word.
  if (!sameSource && extractOf(loWord) && extractOf(hiWord)) {
    auto loParts = lo.source.getDefiningOp<vector::ToElementsOp>();
    auto hiParts = hi.source.getDefiningOp<vector::ToElementsOp>();
    sameSource = loParts && loParts == hiParts &&
                 extractOf(loWord).getStaticPosition() ==
                     extractOf(hiWord).getStaticPosition();
  }
  if (sameSource)
    hiWord = loWord;
  // The bytes that begin with the fields, each with the next one behind it.
  int64_t loByte = lo.bit / 8, hiByte = hi.bit / 8;
  int64_t loShift = lo.bit % 8, hiShift = hi.bit % 8;
  Value both = loWord;
  if (!sameSource || loByte != 0 || hiByte != 2) {
    auto byte = [](int64_t index, int64_t word) {
      return 4 * word + std::min<int64_t>(index, 3);
    };
    int64_t second = sameSource ? 0 : 1;
    int64_t selector = byte(loByte, 0) | byte(loByte + 1, 0) << 4 |
                       byte(hiByte, second) << 8 |
                       byte(hiByte + 1, second) << 12;
    both = callIntrinsic(b, loc, b.getI32Type(), "llvm.nvvm.prmt",
                         {loWord, hiWord, constant32(selector)});
  }
  if (!fits(lo, loShift) || !fits(hi, hiShift)) {
    if (loShift != hiShift)
      return {};
    both = arith::ShRUIOp::create(b, loc, both, constant32(loShift));
    loShift = hiShift = 0;
  }
  int64_t mask = ((int64_t(1) << lo.width) - 1) << loShift |
                 ((int64_t(1) << hi.width) - 1) << hiShift << 16;
  both = arith::AndIOp::create(b, loc, both, kept.get(op, mask));
  both = arith::OrIOp::create(
      b, loc, both, constant32(magic.bits | int64_t(magic.bits) << 16));
  Value halves = LLVM::BitcastOp::create(b, loc, pairType, both);
  auto correction = [&](const Field &field, int64_t shift) {
    return field.offset - std::ldexp(magic.value, -shift);
  };
  Value added = constantPair(correction(lo, loShift), correction(hi, hiShift));
  if (loShift == 0 && hiShift == 0)
    return arith::AddFOp::create(b, loc, halves, added);
  auto bitsOf = [&](int64_t shift) {
    APFloat factor(std::ldexp(1.0, -shift));
    bool inexact;
    factor.convert(cast<FloatType>(type).getFloatSemantics(),
                   APFloat::rmNearestTiesToEven, &inexact);
    return factor.bitcastToAPInt().getZExtValue();
  };
  Value scale = LLVM::BitcastOp::create(
      b, loc, pairType, kept.get(op, bitsOf(loShift) | bitsOf(hiShift) << 16));
  return LLVM::FMAOp::create(b, loc, pairType, halves, scale, added);
}

Value PairPacker::packArithmetic(Value lo, Value hi, int depth) {
  Operation *first = lo.getDefiningOp(), *second = hi.getDefiningOp();
  if (!first || !second || first == second ||
      first->getName() != second->getName() || !isPairable(first) ||
      first->getAttrDictionary() != second->getAttrDictionary() ||
      !first->hasOneUse() || !second->hasOneUse() || !type.isF16())
    return {};
  SmallVector<Value> operands;
  for (auto [one, other] :
       llvm::zip_equal(first->getOperands(), second->getOperands())) {
    Value packed = pack(one, other, depth + 1);
    operands.push_back(packed ? packed
                              : vector::FromElementsOp::create(
                                    b, loc, pairType, ValueRange{one, other})
                                    .getResult());
  }
  OperationState state(loc, first->getName());
  state.addOperands(operands);
  state.addTypes(pairType);
  state.addAttributes(first->getAttrs());
  return b.create(state)->getResult(0);
}

Value PairPacker::pack(Value lo, Value hi, int depth) {
  if (depth > 16)
    return {};
  std::optional<Field> loField = matchNumber(lo), hiField = matchNumber(hi);
  if (loField && hiField)
    if (Value packed = packFields(*loField, *hiField))
      return packed;
  return packArithmetic(lo, hi, depth);
}

void PairPacker::run() {
  SmallVector<Value> words;
  bool any = false;
  OperandRange elements = op.getElements();
  for (size_t i = 0; i < elements.size(); i += 2) {
    Value packed = pack(elements[i], elements[i + 1], 0);
    any |= packed != nullptr;
    if (!packed)
      packed = vector::FromElementsOp::create(
          b, loc, pairType, ValueRange{elements[i], elements[i + 1]});
    words.push_back(LLVM::BitcastOp::create(b, loc, b.getI32Type(), packed));
  }
  if (!any)
    return;
  auto count = static_cast<int64_t>(words.size());
  Value vector = vector::FromElementsOp::create(
      b, loc, VectorType::get({count}, b.getI32Type()), words);
  Value result = vector::BitCastOp::create(b, loc, op.getType(), vector);
  op.replaceAllUsesWith(result);
}

/// Loops and branches forget registers that nobody reads, which would count as
/// users of their elements.
static void forgetDeadRegisters(Operation *root) {
  bool changed = true;
  while (changed) {
    changed = false;
    root->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
    root->walk([&](Operation *op) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
        for (auto [result, argument, operand] :
             llvm::zip_equal(loop.getResults(), loop.getRegionIterArgs(),
                             yield->getOpOperands())) {
          if (!result.use_empty() || operand.get() == argument ||
              !llvm::all_of(argument.getUses(),
                            [&](OpOperand &use) { return &use == &operand; }))
            continue;
          operand.set(argument);
          changed = true;
        }
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        for (OpResult result : branch.getResults()) {
          if (!result.use_empty())
            continue;
          for (Block *block : {branch.thenBlock(), branch.elseBlock()}) {
            OpOperand &operand =
                block->getTerminator()->getOpOperand(result.getResultNumber());
            if (operand.get().getDefiningOp<ub::PoisonOp>())
              continue;
            OpBuilder b(block->getTerminator());
            operand.set(
                ub::PoisonOp::create(b, op->getLoc(), result.getType()));
            changed = true;
          }
        }
      }
    });
  }
}

void tilemlir::to_nvvm::packPairs(Operation *root) {
  forgetDeadRegisters(root);
  SmallVector<vector::FromElementsOp> worklist;
  root->walk([&](vector::FromElementsOp op) {
    VectorType type = op.getType();
    Type element = type.getElementType();
    if (type.getRank() == 1 && type.getNumElements() % 2 == 0 &&
        (element.isF16() || element.isBF16()))
      worklist.push_back(op);
  });
  KeptConstants kept;
  for (vector::FromElementsOp op : worklist)
    PairPacker(op, kept).run();
}
