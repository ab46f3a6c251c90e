//===- SyncMeetings.cpp - barriers of threads in an execution -------------===//
//
// Of the block, of a role, or with a number. Who arrives without waiting has to
// know that the phase before is complete, else its arrival may count for that.
//
//===----------------------------------------------------------------------===//
#include "SyncExecution.h"

using namespace mlir;
using namespace mlir::tile;

int SyncExecution::getMeeting(const Agent &agent, const SyncStep &step) const {
  int numMeetings = kNamedBarriers + program.roles.size();
  int own = step.subject >= 0 ? step.subject
            : agent.role >= 0 ? kNamedBarriers + agent.role
                              : 0;
  return agent.block * numMeetings + own;
}

std::string SyncExecution::nameMeeting(int index) const {
  int own = index % (kNamedBarriers + program.roles.size());
  if (own > 0 && own < kNamedBarriers)
    return "named barrier " + std::to_string(own);
  return "tile.sync_threads";
}

bool SyncExecution::meet(int index, const SyncStep &step, bool waits) {
  Agent &agent = agents[index];
  remember(agent, step);
  int number = getMeeting(agent, step);
  Meeting &meeting = meetings[number];
  const SyncRole *role = roleOf(agent);
  int64_t count = step.number         ? step.number
                  : step.subject >= 0 ? program.threads
                  : role              ? role->attr.getWarps() * 32
                                      : program.threads;
  auto other = [&]() -> SmallVector<SyncNote> {
    return {{meeting.lastArrive->op->getLoc(), "another arrival is here"}};
  };
  if (agent.clock[phasesOfMeeting(number)] < meeting.phase) {
    fail(step,
         "over-arrival: " + nameAgent(index) + " arrives at " +
             nameMeeting(number) +
             " and may count for a phase before, which it does not know to be "
             "complete",
         other());
    return false;
  }
  if (llvm::is_contained(meeting.arrivals, index)) {
    fail(step,
         "over-arrival: " + nameAgent(index) + " arrives at " +
             nameMeeting(number) + " again in the same phase",
         other());
    return false;
  }
  if (!meeting.arrivals.empty() && meeting.count != count) {
    fail(step,
         "barrier clash: " + nameAgent(index) + " is at " +
             nameMeeting(number) + " of " + Twine(count) +
             " threads, while others are at the same one with " +
             Twine(meeting.count),
         other());
    return false;
  }
  meeting.count = count;
  tick(index);
  agent.laneWrites.clear();
  agent.laneWait = nullptr;
  meeting.arrived += threadsOf(agent);
  meeting.lastArrive = &step;
  join(meeting.clock, agent.clock);
  meeting.arrivals.push_back(index);
  if (meeting.arrived > meeting.count) {
    fail(step, "over-arrival: " + nameMeeting(number) + " of " +
                   Twine(meeting.count) + " threads, but " +
                   Twine(meeting.arrived) + " arrive");
    return false;
  }
  if (meeting.arrived < meeting.count) {
    if (!waits)
      return true;
    agent.state = State::AtSync;
    agent.waitsFor = number;
    meeting.waiting.push_back(index);
    return false;
  }
  meeting.clock[phasesOfMeeting(number)] = ++meeting.phase;
  if (waits)
    join(agent.clock, meeting.clock);
  for (int blocked : meeting.waiting) {
    join(agents[blocked].clock, meeting.clock);
    agents[blocked].state = State::Ready;
    agents[blocked].waitsFor = -1;
    ++agents[blocked].position;
  }
  meeting.waiting.clear();
  meeting.arrivals.clear();
  meeting.arrived = 0;
  llvm::fill(meeting.clock, 0);
  return true;
}
