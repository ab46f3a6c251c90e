//===- PromoteFragments.cpp - fragments become SSA vectors ------*- C++ -*-===//
//
// Structured promotion: one walk in program order that keeps the current vector
// of every buffer, and adds the buffers written in a region to its operation's
// iteration arguments and results.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/TileGPU/Transforms/Passes.h"

#include "tilemlir/Dialect/TileGPU/IR/TileGPU.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile_gpu {
#define GEN_PASS_DEF_TILEGPUPROMOTEFRAGMENTS
#include "tilemlir/Dialect/TileGPU/Transforms/Passes.h.inc"
} // namespace mlir::tile_gpu

using namespace mlir;
using namespace mlir::tile_gpu;

namespace {

using Buffers = llvm::SetVector<Value>;
using State = llvm::DenseMap<Value, Value>;

class Promoter {
public:
  explicit Promoter(tile::KernelOp kernel) : kernel(kernel) {}

  LogicalResult run() {
    State state;
    if (failed(promote(*kernel.getBodyBlock(), state)))
      return failure();
    simplify();
    return success();
  }

private:
  /// Buffers written anywhere below `op`.
  static Buffers writtenIn(Operation *op) {
    Buffers buffers;
    op->walk([&](WriteFragmentOp write) { buffers.insert(write.getBuffer()); });
    return buffers;
  }

  /// Buffers written below `op` whose contents matter after it: accessed
  /// elsewhere, or in a later iteration of a loop around it. What a role alone
  /// uses stays in the role's region, so that other roles carry no registers
  /// for it.
  Buffers outliving(scf::IfOp op, const Buffers &written) {
    bool repeated = false;
    for (Operation *parent = op->getParentOp(); parent != kernel;
         parent = parent->getParentOp())
      repeated |= !isa<scf::IfOp>(parent);
    if (repeated)
      return written;
    Buffers result;
    for (Value buffer : written)
      if (llvm::any_of(buffer.getUsers(), [&](Operation *user) {
            return isa<ReadFragmentOp, WriteFragmentOp>(user) &&
                   !op->isProperAncestor(user);
          }))
        result.insert(buffer);
    return result;
  }

  /// The current vector of a buffer; zero before the first write.
  Value current(State &state, Value buffer) {
    Value &value = state[buffer];
    if (!value) {
      // At the top of the kernel it dominates every use.
      OpBuilder b = OpBuilder::atBlockBegin(kernel.getBodyBlock());
      VectorType type =
          getRegisterType(cast<tile::BufferType>(buffer.getType()));
      value =
          arith::ConstantOp::create(b, buffer.getLoc(), b.getZeroAttr(type));
    }
    return value;
  }

  SmallVector<Value> currentAll(State &state, const Buffers &buffers) {
    SmallVector<Value> values;
    for (Value buffer : buffers)
      values.push_back(current(state, buffer));
    return values;
  }

  /// Appends `values` to the operands of the terminator of `block`.
  static void appendToTerminator(Block &block, ValueRange values) {
    Operation *terminator = block.getTerminator();
    terminator->insertOperands(terminator->getNumOperands(), values);
  }

  /// Adds one block argument per buffer and makes it the current vector.
  static void enter(Block &block, State &state, const Buffers &buffers) {
    for (Value buffer : buffers)
      state[buffer] = block.addArgument(
          getRegisterType(cast<tile::BufferType>(buffer.getType())),
          buffer.getLoc());
  }

  /// Replaces `op` by `replacement`, which has additional results for
  /// `buffers`.
  static void leave(Operation *op, Operation *replacement, State &state,
                    const Buffers &buffers) {
    unsigned own = op->getNumResults();
    replacement->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op->replaceAllUsesWith(replacement->getResults().take_front(own));
    for (auto [buffer, result] :
         llvm::zip_equal(buffers, replacement->getResults().drop_front(own)))
      state[buffer] = result;
    op->erase();
  }

  static SmallVector<Type> typesWith(TypeRange own, const Buffers &buffers) {
    SmallVector<Type> types(own);
    for (Value buffer : buffers)
      types.push_back(
          getRegisterType(cast<tile::BufferType>(buffer.getType())));
    return types;
  }

  LogicalResult promote(Block &block, State &state) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto read = dyn_cast<ReadFragmentOp>(op)) {
        read.getResult().replaceAllUsesWith(current(state, read.getBuffer()));
        read.erase();
      } else if (auto write = dyn_cast<WriteFragmentOp>(op)) {
        state[write.getBuffer()] = write.getValue();
        write.erase();
      } else if (op.getNumRegions()) {
        if (failed(promoteRegions(&op, state)))
          return failure();
      }
    }
    return success();
  }

  LogicalResult promoteRegions(Operation *op, State &state) {
    Buffers buffers = writtenIn(op);
    if (buffers.empty()) {
      // Reads only: the vectors are the same inside.
      for (Region &region : op->getRegions())
        for (Block &block : region)
          if (failed(promote(block, state)))
            return failure();
      return success();
    }
    // Warps of a role never meet the code behind it with their registers.
    if (op->hasAttr("tile_gpu.role")) {
      for (Region &region : op->getRegions())
        for (Block &block : region) {
          State inner = state;
          if (failed(promote(block, inner)))
            return failure();
        }
      return success();
    }
    OpBuilder b(op);
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      SmallVector<Value> inits(loop.getInitArgs());
      inits.append(currentAll(state, buffers));
      auto created =
          scf::ForOp::create(b, loop.getLoc(), loop.getLowerBound(),
                             loop.getUpperBound(), loop.getStep(), inits);
      created.getRegion().takeBody(loop.getRegion());
      State inner = state;
      enter(*created.getBody(), inner, buffers);
      if (failed(promote(*created.getBody(), inner)))
        return failure();
      appendToTerminator(*created.getBody(), currentAll(inner, buffers));
      leave(op, created, state, buffers);
      return success();
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      buffers = outliving(branch, buffers);
      if (buffers.empty()) {
        for (Region &region : op->getRegions())
          for (Block &block : region) {
            State inner = state;
            if (failed(promote(block, inner)))
              return failure();
          }
        return success();
      }
      SmallVector<Value> before = currentAll(state, buffers);
      auto created = scf::IfOp::create(
          b, branch.getLoc(), typesWith(branch.getResultTypes(), buffers),
          branch.getCondition(), /*withElse=*/true);
      for (auto [from, to] :
           llvm::zip_equal(branch->getRegions(), created->getRegions())) {
        if (from.empty()) {
          if (to.front().empty()) {
            OpBuilder inside = OpBuilder::atBlockEnd(&to.front());
            scf::YieldOp::create(inside, branch.getLoc(), before);
          } else {
            appendToTerminator(to.front(), before);
          }
          continue;
        }
        to.takeBody(from);
        State inner = state;
        if (failed(promote(to.front(), inner)))
          return failure();
        appendToTerminator(to.front(), currentAll(inner, buffers));
      }
      leave(op, created, state, buffers);
      return success();
    }
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      SmallVector<Value> inits(loop.getInits());
      inits.append(currentAll(state, buffers));
      auto created = scf::WhileOp::create(
          b, loop.getLoc(), typesWith(loop.getResultTypes(), buffers), inits);
      State inner = state;
      for (auto [from, to] :
           llvm::zip_equal(loop->getRegions(), created->getRegions())) {
        to.takeBody(from);
        enter(to.front(), inner, buffers);
        if (failed(promote(to.front(), inner)))
          return failure();
        appendToTerminator(to.front(), currentAll(inner, buffers));
      }
      leave(op, created, state, buffers);
      return success();
    }
    return op->emitOpError()
           << "writes '" << tile::getUserName(buffers.front())
           << "' inside of control flow that registers cannot pass through; "
              "only scf.for, scf.if and scf.while are supported";
  }

  /// Vectors that are put together only to be taken apart, and dead handles.
  void simplify() {
    SmallVector<vector::ToElementsOp> splits;
    kernel.walk([&](vector::ToElementsOp op) { splits.push_back(op); });
    for (vector::ToElementsOp split : splits) {
      auto joined = split.getSource().getDefiningOp<vector::FromElementsOp>();
      if (joined) {
        split->replaceAllUsesWith(joined.getElements());
        split.erase();
        if (joined->use_empty())
          joined.erase();
        continue;
      }
      auto constant = split.getSource().getDefiningOp<arith::ConstantOp>();
      auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                            : DenseElementsAttr();
      if (!dense || !dense.isSplat())
        continue;
      OpBuilder b(constant);
      Value scalar = arith::ConstantOp::create(
          b, constant.getLoc(), dense.getSplatValue<TypedAttr>());
      for (Value element : split.getElements())
        element.replaceAllUsesWith(scalar);
      split.erase();
    }
    // Reverse order: users before what they use.
    SmallVector<Operation *> dead;
    kernel.walk([&](Operation *op) {
      if (isa<vector::FromElementsOp, tile::AllocOp>(op))
        dead.push_back(op);
    });
    for (Operation *op : llvm::reverse(dead)) {
      auto alloc = dyn_cast<tile::AllocOp>(op);
      if (op->use_empty() &&
          (!alloc || !cast<tile::BufferType>(alloc.getType()).isShared()))
        op->erase();
    }
  }

  tile::KernelOp kernel;
};

struct PromoteFragments
    : mlir::tile_gpu::impl::TileGPUPromoteFragmentsBase<PromoteFragments> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](tile::KernelOp kernel) {
      if (failed(Promoter(kernel).run()))
        return WalkResult::interrupt();
      WalkResult left = kernel.walk([](Operation *op) {
        if (!isa<ReadFragmentOp, WriteFragmentOp>(op))
          return WalkResult::advance();
        op->emitOpError("was not promoted to registers");
        return WalkResult::interrupt();
      });
      return left.wasInterrupted() ? WalkResult::interrupt()
                                   : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
