//===- VerifyTurns.cpp - warp groups that take turns ------------*- C++ -*-===//
//
// Turns are a protocol of their own: the warp groups of a role, which all run
// the same program, hand one turn around in a circle of named barriers. If each
// of them takes and passes the turn alternately, starting with `begins` and
// ending with `ends`, then every barrier is complete whenever a group leaves
// it, and nobody waits for ever, provided that a group that has the turn waits
// for nothing else. That can be told from the text of the program.
//
//===----------------------------------------------------------------------===//
#include "VerifyTurns.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"
#include "tilemlir/Dialect/Tile/IR/TileTurnOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

namespace {
/// What a warp group has to do with the turn.
enum class Turn { None, Waits, Has };

class TurnVerifier {
public:
  LogicalResult verify(Region &region);

private:
  FailureOr<Turn> run(Block &block, Turn turn);
  FailureOr<Turn> run(Operation *op, Turn turn);

  /// The barriers in use, of the operation that began.
  Operation *begin = nullptr;
};
} // namespace

static StringRef describe(Turn turn) {
  switch (turn) {
  case Turn::None:
    return "no turns have begun";
  case Turn::Waits:
    return "the warp group does not have the turn";
  case Turn::Has:
    return "the warp group has the turn";
  }
  llvm_unreachable("unknown state");
}

static bool usesSameBarriers(Operation *lhs, Operation *rhs) {
  return lhs->getAttr("id") == rhs->getAttr("id") &&
         lhs->getAttr("groups") == rhs->getAttr("groups");
}

/// Operations that may have to wait for other warp groups, or for a role that
/// waits for them.
static bool mayWait(Operation *op) {
  return isa<BarrierWaitOp, SyncThreadsOp, ClusterWaitOp>(op);
}

FailureOr<Turn> TurnVerifier::run(Operation *op, Turn turn) {
  auto change = [&](Turn from, Turn to) -> FailureOr<Turn> {
    if (turn != from)
      return op->emitError("cannot be done here: ") << describe(turn);
    if (from == Turn::None)
      begin = op;
    else if (!usesSameBarriers(begin, op)) {
      InFlightDiagnostic error =
          op->emitError("uses other barriers than the turns that have begun");
      error.attachNote(begin->getLoc()) << "begun here";
      return error;
    }
    return to;
  };
  if (auto pass = dyn_cast<PassTurnOp>(op))
    return pass.getBegins() ? change(Turn::None, Turn::Waits)
                            : change(Turn::Has, Turn::Waits);
  if (auto take = dyn_cast<TakeTurnOp>(op))
    return take.getEnds() ? change(Turn::Waits, Turn::None)
                          : change(Turn::Waits, Turn::Has);
  if (turn == Turn::Has && mayWait(op))
    return op->emitError("may wait for a warp group that waits for the turn");

  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    FailureOr<Turn> taken = run(*branch.thenBlock(), turn), other = turn;
    if (Block *block = branch.elseBlock())
      other = run(*block, turn);
    if (failed(taken) || failed(other))
      return failure();
    if (*taken != *other)
      return op->emitError("turns differ between the branches: ")
             << describe(*taken) << ", or " << describe(*other);
    return *taken;
  }
  if (op->getNumRegions() == 0 || isa<ParallelOp>(op))
    return turn;
  // Loops go on as they began.
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      FailureOr<Turn> after = run(block, turn);
      if (failed(after))
        return failure();
      if (*after != turn)
        return op->emitError("turns are not balanced: ")
               << describe(turn) << " in front of it, and behind it "
               << describe(*after);
    }
  return turn;
}

FailureOr<Turn> TurnVerifier::run(Block &block, Turn turn) {
  for (Operation &op : block) {
    FailureOr<Turn> next = run(&op, turn);
    if (failed(next))
      return failure();
    turn = *next;
  }
  return turn;
}

LogicalResult TurnVerifier::verify(Region &region) {
  for (Block &block : region) {
    FailureOr<Turn> last = run(block, Turn::None);
    if (failed(last))
      return failure();
    if (*last != Turn::None)
      return begin->emitError("turns begin here, but do not end");
  }
  return success();
}

LogicalResult mlir::tile::verifyTurns(KernelOp kernel) {
  bool any = kernel
                 .walk([](Operation *op) {
                   return isa<TakeTurnOp, PassTurnOp>(op)
                              ? WalkResult::interrupt()
                              : WalkResult::advance();
                 })
                 .wasInterrupted();
  if (!any)
    return success();
  // Each role has turns of its own; outside of roles there are none.
  WalkResult result = kernel.walk([](Operation *op) {
    auto roles = dyn_cast<WarpSpecializeOp>(op);
    if (isa<TakeTurnOp, PassTurnOp>(op) &&
        !op->getParentOfType<WarpSpecializeOp>()) {
      op->emitError("only warp groups of a role take turns");
      return WalkResult::interrupt();
    }
    if (roles)
      for (Region &region : roles.getRegions())
        if (failed(TurnVerifier().verify(region)))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
