//===- SyncClusters.cpp - blocks of a cluster in an execution -------------===//
//
// What blocks do to each other: the barrier of the cluster, and uses of the
// shared memory of another block, which must be over when that block leaves.
//
//===----------------------------------------------------------------------===//
#include "SyncExecution.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mlir::tile;

/// A value that nothing computes. Block indices are the place in the cluster
/// plus a multiple of its extent, which is the same for all of its blocks.
SymbolicValue SyncExecution::makeSymbol(int index, Value value, int block) {
  bool isBit = value.getType().isInteger(1);
  SymbolicValue symbol = expressions.makeOpaque(
      value.getAsOpaquePointer(), nullptr, {}, 0, isBit ? 1 : 64, false);
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && program.blocks > 1 &&
      isa<KernelOp>(argument.getOwner()->getParentOp())) {
    unsigned axis = argument.getArgNumber();
    int64_t extent = program.clusterExtents[axis], coordinate = block;
    for (unsigned below = 0; below < axis; ++below)
      coordinate /= program.clusterExtents[below];
    // A grid of one cluster.
    auto kernel = cast<KernelOp>(argument.getOwner()->getParentOp());
    if (getConstantIntValue(kernel.getGrid()[axis]) == extent)
      return SymbolicValue{coordinate % extent, true};
    if (extent > 1) {
      SymbolicValue first = expressions.apply(
          Calculation::Mul, {symbol, SymbolicValue{extent, true}}, 64, 64);
      symbol = expressions.apply(
          Calculation::Add, {first, SymbolicValue{coordinate % extent, true}},
          64, 64);
    }
  }
  auto bound = program.bounds.find(index);
  if (bound != program.bounds.end())
    expressions.getNode(symbol).loop = bound->second;
  return symbol;
}

SmallVector<int64_t, 4> SyncExecution::getTargets(const Agent &agent,
                                                  const SyncStep &step) const {
  if (step.reach < 0)
    return {agent.block};
  return program.reached[step.reach][agent.block];
}

void SyncExecution::noteRemoteUse(int index, const SyncStep &step, int block,
                                  int component, int32_t time) {
  remoteUses[{block, component}] = {&step, index, time};
}

bool SyncExecution::arriveInCluster(int index, const SyncStep &step) {
  Agent &agent = agents[index];
  remember(agent, step);
  if (agent.clusterArrivals > agent.clusterWaits) {
    fail(step, nameAgent(index) +
                   " arrives at the barrier of the cluster again "
                   "without tile.cluster_wait in between");
    return false;
  }
  ++agent.clusterArrivals;
  tick(index);
  join(clusterBarrier.clock, agent.clock);
  clusterBarrier.arrived += threadsOf(agent);
  if (clusterBarrier.arrived < program.threads * program.blocks)
    return true;
  // No thread can be two phases ahead: it waits for the first one.
  ++clusterBarrier.phase;
  clusterBarrier.arrived = 0;
  clusterBarrier.release = clusterBarrier.clock;
  llvm::fill(clusterBarrier.clock, 0);
  for (Agent &other : agents) {
    if (other.state != State::AtCluster)
      continue;
    join(other.clock, clusterBarrier.release);
    other.state = State::Ready;
    other.clusterWaits = clusterBarrier.phase;
    ++other.position;
  }
  return true;
}

bool SyncExecution::waitForCluster(int index, const SyncStep &step) {
  Agent &agent = agents[index];
  remember(agent, step);
  if (agent.clusterWaits == agent.clusterArrivals) {
    fail(step, nameAgent(index) + " waits for the cluster without "
                                  "tile.cluster_arrive before");
    return false;
  }
  if (clusterBarrier.phase < agent.clusterArrivals) {
    agent.state = State::AtCluster;
    return false;
  }
  agent.clusterWaits = agent.clusterArrivals;
  join(agent.clock, clusterBarrier.release);
  return true;
}

/// A block is there until its last thread leaves: some thread has to know that
/// what others did to the block is over.
void SyncExecution::checkExits() {
  for (const auto &[where, use] : remoteUses) {
    auto [block, component] = where;
    bool known = llvm::any_of(agents, [&, block = block, component = component,
                                       &use = use](const Agent &agent) {
      return agent.block == block && agent.clock[component] >= use.time;
    });
    if (!known)
      return fail(*use.step,
                  "early exit: block " + Twine(block) +
                      " of the cluster may have left the kernel when " +
                      nameAgent(use.agent) +
                      " uses its shared memory here; a tile.cluster_arrive and "
                      "tile.cluster_wait at the end is missing");
  }
}
