//===- SyncRoles.cpp - who runs what in a kernel --------------------------===//
//
// Roles are regions of tile.warp_specialize, of which a kernel may have several
// over different warps. Agents are the runs of warps between which no role
// begins or ends; the first warp of a role is one of its own, because it also
// does what one thread does.
//
//===----------------------------------------------------------------------===//
#include "SyncProgram.h"

#include "tilemlir/Dialect/Tile/IR/TileThreadOps.h"

#include <map>
#include <set>

using namespace mlir;
using namespace mlir::tile;

bool mlir::tile::needsSyncVerification(KernelOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return isa<WarpSpecializeOp, BarrierInitOp, BarrierWaitOp,
                   BarrierArriveOp, GemmAsyncOp, CopyAsyncOp, NamedArriveOp,
                   ClusterArriveOp, ClusterWaitOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// "producer"; "T.ws(0, 1)" or "warps 4 to 5" for a role that the program
/// names.
static std::string getRoleName(WarpSpecializeOp roles, unsigned index) {
  constexpr int64_t kWarpsOfGroup = 4;
  RoleAttr role = roles.getRole(index);
  if (role.getKind() == RoleKind::User) {
    int64_t first = role.getFirst(), count = role.getWarps();
    if (first % kWarpsOfGroup != 0 || count % kWarpsOfGroup != 0)
      return count == 1 ? "warp " + std::to_string(first)
                        : "warps " + std::to_string(first) + " to " +
                              std::to_string(first + count - 1);
    first /= kWarpsOfGroup;
    std::string name = "T.ws(" + std::to_string(first);
    for (int64_t group = 1; group < count / kWarpsOfGroup; ++group)
      name += ", " + std::to_string(first + group);
    return name + ")";
  }
  int64_t same = 0;
  for (unsigned other = 0; other < roles.getRoles().size(); ++other)
    same += roles.getRole(other).getKind() == role.getKind();
  if (same > 1)
    return "role " + std::to_string(index);
  return stringifyRoleKind(role.getKind()).str();
}

/// Whether inline PTX does what this analysis would have to follow.
static bool maySynchronise(PtxOp op) {
  constexpr StringLiteral kWords[] = {"mbarrier", "bar.", "barrier.",
                                      "cp.async", "wgmma"};
  return llvm::any_of(
      kWords, [&](StringRef word) { return op.getText().contains(word); });
}

std::pair<Operation *, std::string>
mlir::tile::findSyncRoles(KernelOp kernel, SyncProgram &program) {
  std::pair<Operation *, std::string> unsupported = {nullptr, ""};
  int specialize = 0;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto ptx = dyn_cast<PtxOp>(op); ptx && maySynchronise(ptx))
      unsupported = {op, "its inline PTX synchronises or copies"};
    auto roles = dyn_cast<WarpSpecializeOp>(op);
    if (!roles)
      return;
    if (op->getParentOfType<WarpSpecializeOp>())
      unsupported = {op, "warp_specialize is inside of another one"};
    for (unsigned index = 0; index < roles.getRoles().size(); ++index)
      program.roles.push_back(
          {roles.getRole(index), specialize, -1, getRoleName(roles, index)});
    ++specialize;
  });
  return unsupported;
}

void mlir::tile::findSyncWarps(KernelOp kernel, SyncProgram &program) {
  int64_t total = (kernel.getLaunchThreads() + 31) / 32;
  for (const SyncRole &role : program.roles)
    total = std::max(total, role.attr.getFirst() + role.attr.getWarps());
  program.threads = total * 32;
  std::set<int64_t> borders = {0, 1, total};
  int numSpecialize = 0;
  for (const SyncRole &role : program.roles) {
    int64_t first = role.attr.getFirst();
    borders.insert({first, first + 1, first + role.attr.getWarps()});
    numSpecialize = std::max(numSpecialize, role.specialize + 1);
  }
  if (program.hasThreadConditions)
    for (int64_t warp = 0; warp < total; ++warp)
      borders.insert(warp);
  std::map<SmallVector<int, 2>, int> families;
  for (auto border = borders.begin(); std::next(border) != borders.end();
       ++border) {
    SyncWarps warps;
    warps.first = *border;
    warps.count = *std::next(border) - *border;
    warps.roles.assign(numSpecialize, -1);
    for (auto [index, role] : llvm::enumerate(program.roles)) {
      if (!role.holds(warps.first))
        continue;
      warps.roles[role.specialize] = index;
      if (warps.name.empty())
        warps.name = role.name;
    }
    if (warps.name.empty())
      warps.name = program.roles.empty() ? "block" : "other warps";
    warps.family =
        families.try_emplace(warps.roles, families.size()).first->second;
    program.warps.push_back(std::move(warps));
  }
}

void mlir::tile::levelSyncLoops(SyncProgram &program) {
  llvm::DenseSet<Attribute> innermost;
  for (const SyncLoop &loop : program.loops)
    if (loop.synchronises && !loop.isOuter &&
        !isa<UnknownLoc>(loop.op->getLoc()))
      innermost.insert(loop.op->getLoc());
  for (SyncLoop &loop : program.loops)
    loop.isOuter &= !innermost.contains(loop.op->getLoc());
}

const SyncBarriers &SyncProgram::getBarriers(int slot) const {
  for (const SyncBarriers &candidate : barriers)
    if (slot >= candidate.first && slot < candidate.first + candidate.count)
      return candidate;
  llvm_unreachable("no such barrier");
}
