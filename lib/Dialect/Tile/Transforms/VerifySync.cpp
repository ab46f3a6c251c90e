//===- VerifySync.cpp - tile-verify-sync ------------------------*- C++ -*-===//
//
// Executes the protocol of a kernel for a set of trip counts and conditions,
// and reports the first fault. One execution decides for all orders in which
// the roles may run (SyncExecution.h); what is enumerated is the input.
//
//===----------------------------------------------------------------------===//
#include "SyncExecution.h"
#include "VerifyTurns.h"

#include "tilemlir/Dialect/Tile/Transforms/Passes.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEVERIFYSYNC
#include "tilemlir/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {
/// Runs scenarios until one fails or all are done.
class Enumeration {
public:
  Enumeration(const SyncProgram &program, int64_t maxSteps)
      : program(program), maxSteps(maxSteps) {}

  void run();

  std::optional<SyncFault> fault;
  std::optional<SyncNote> unverified;

private:
  struct Outcome {
    bool usedInner, usedOuter;
    int numConditions, numTrips;
  };
  /// False when there is nothing more to find out.
  bool execute(const SyncScenario &scenario);
  bool executeConditions(SyncScenario scenario);

  const SyncProgram &program;
  int64_t maxSteps, steps = 0;
  SymbolicExpressions expressions;
  Outcome last = {};
};
} // namespace

bool Enumeration::execute(const SyncScenario &scenario) {
  expressions.forgetAssignments();
  SyncExecution execution(program, expressions, scenario);
  execution.run();
  steps += execution.numSteps;
  last = {execution.usedInner, execution.usedOuter, execution.numConditions,
          execution.numTrips};
  fault = std::move(execution.fault);
  unverified = std::move(execution.unverified);
  return !fault && !unverified && steps < maxSteps;
}

/// All values of few conditions, patterns of many.
bool Enumeration::executeConditions(SyncScenario scenario) {
  constexpr int kFew = 3;
  scenario.pattern = SyncScenario::AllTrue;
  if (!execute(scenario))
    return false;
  Outcome first = last;
  if (first.numConditions > 0 && first.numConditions <= kFew) {
    scenario.pattern = SyncScenario::Bits;
    for (unsigned bits = 0; bits + 1 < (1u << first.numConditions); ++bits) {
      scenario.choices = bits;
      if (!execute(scenario))
        return false;
    }
  }
  if (first.numConditions > 0)
    for (auto pattern : {SyncScenario::AllFalse, SyncScenario::TrueFirst,
                         SyncScenario::FalseFirst, SyncScenario::OnlyFirst,
                         SyncScenario::AllButFirst, SyncScenario::Random,
                         SyncScenario::OtherRandom}) {
      scenario.pattern = pattern;
      if (!execute(scenario))
        return false;
    }
  if (first.numTrips > 1) {
    scenario.pattern = SyncScenario::AllTrue;
    scenario.spread = true;
    if (!execute(scenario))
      return false;
  }
  last = first;
  return true;
}

void Enumeration::run() {
  int64_t maxInner = 2 * program.slots + 3;
  constexpr int64_t kMaxOuter = 3;
  // Which choices there are shows when they are made: first with some of
  // everything.
  SyncScenario scenario;
  scenario.innerTrips = program.slots + 1;
  scenario.outerTrips = 2;
  if (!executeConditions(scenario))
    return;
  bool inner = last.usedInner, outer = last.usedOuter;
  for (int64_t outerTrips = 0; outerTrips <= (outer ? kMaxOuter : 0);
       ++outerTrips)
    for (int64_t innerTrips = 0; innerTrips <= (inner ? maxInner : 0);
         ++innerTrips) {
      if (!inner && !outer)
        return;
      scenario.outerTrips = outer ? outerTrips : scenario.outerTrips;
      scenario.innerTrips = inner ? innerTrips : scenario.innerTrips;
      if (!executeConditions(scenario))
        return;
    }
}

namespace {
class TileVerifySyncPass
    : public mlir::tile::impl::TileVerifySyncBase<TileVerifySyncPass> {
public:
  using TileVerifySyncBase::TileVerifySyncBase;

private:
  static void warn(KernelOp kernel, Location location, const Twine &reason) {
    InFlightDiagnostic warning = kernel.emitWarning(
        "the synchronisation of this kernel is not verified");
    warning.attachNote(location) << reason;
  }

  /// False when the kernel has a fault.
  bool verify(KernelOp kernel) {
    SyncProgram program = buildSyncProgram(kernel);
    if (program.unsupported) {
      warn(kernel, program.unsupported->getLoc(), program.unsupportedReason);
      return true;
    }
    Enumeration enumeration(program, maxSteps);
    enumeration.run();
    if (enumeration.unverified)
      warn(kernel, enumeration.unverified->location,
           enumeration.unverified->text);
    if (!enumeration.fault)
      return true;
    InFlightDiagnostic error =
        emitError(enumeration.fault->location, enumeration.fault->message);
    for (const SyncNote &note : enumeration.fault->notes)
      error.attachNote(note.location) << note.text;
    return false;
  }

  void runOnOperation() override {
    bool ok = true;
    getOperation()->walk([&](KernelOp kernel) {
      ok &= succeeded(verifyTurns(kernel));
      if (needsSyncVerification(kernel))
        ok &= verify(kernel);
    });
    if (!ok)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
