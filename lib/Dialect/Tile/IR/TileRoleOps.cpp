//===- TileRoleOps.cpp - warp roles and barriers ----------------*- C++ -*-===//
//
// Verification and queries of the operations that warp roles consist of.
//
//===----------------------------------------------------------------------===//
#include "tilemlir/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::tile;

LogicalResult RoleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               RoleKind, int64_t first, int64_t warps,
                               int64_t registers, bool) {
  if (first < 0 || warps < 1 || first + warps > 32)
    return emitError() << "a role has warps of the 32 that a block may have, "
                          "found warps "
                       << first << " to " << first + warps - 1;
  if (registers != 0 &&
      (registers % 8 != 0 || registers < 24 || registers > 256))
    return emitError() << "registers must be 0 or a multiple of 8 from 24 to "
                          "256, found "
                       << registers;
  return success();
}

LogicalResult WarpSpecializeOp::verify() {
  if (getRoles().size() != getRegions().size())
    return emitOpError("has ") << getRoles().size() << " roles, but "
                               << getRegions().size() << " regions";
  if (getRoles().empty())
    return emitOpError("needs at least one role");
  if (!(*this)->getParentOfType<KernelOp>())
    return emitOpError("must be inside of a tile.kernel");
  if ((*this)->getParentOfType<WarpSpecializeOp>())
    return emitOpError("roles cannot be nested");
  llvm::SmallDenseSet<int64_t> taken;
  for (unsigned index = 0; index < getRoles().size(); ++index) {
    RoleAttr role = getRole(index);
    for (int64_t warp = role.getFirst();
         warp < role.getFirst() + role.getWarps(); ++warp)
      if (!taken.insert(warp).second)
        return emitOpError("gives warp ") << warp << " to two roles";
    if (role.getRegisters() && (role.getFirst() % 4 || role.getWarps() % 4))
      return emitOpError("registers are set for whole warp groups, but the "
                         "role has warps ")
             << role.getFirst() << " to "
             << role.getFirst() + role.getWarps() - 1;
  }
  return success();
}

LogicalResult SetMaxRegistersOp::verify() {
  if (getCount() % 8 != 0 || getCount() < 24 || getCount() > 256)
    return emitOpError("count must be a multiple of 8 from 24 to 256, found ")
           << getCount();
  return success();
}

LogicalResult BarrierArriveOp::verify() {
  if (getExpect() && getScope() != ArrivalScope::Single)
    return emitOpError("expects bytes, which one thread does: the scope must "
                       "be single");
  if (getExpect() && getCpAsync())
    return emitOpError("expects bytes of TMA, or waits for cp.async, not both");
  return success();
}

int64_t KernelOp::getLaunchThreads() {
  int64_t warps = 0;
  bool automatic = false;
  for (auto op : getBodyBlock()->getOps<WarpSpecializeOp>())
    for (unsigned index = 0; index < op.getRoles().size(); ++index) {
      RoleAttr role = op.getRole(index);
      automatic |= role.getKind() != RoleKind::User;
      warps = std::max(warps, role.getFirst() + role.getWarps());
    }
  return automatic ? warps * 32 : static_cast<int64_t>(getThreads());
}

RoleAttr mlir::tile::getRole(Operation *op) {
  while (op) {
    Region *region = op->getParentRegion();
    op = op->getParentOp();
    if (auto roles = dyn_cast_or_null<WarpSpecializeOp>(op))
      return roles.getRole(region->getRegionNumber());
  }
  return {};
}

int64_t mlir::tile::getCollectiveThreads(Operation *op) {
  if (RoleAttr role = getRole(op))
    return role.getThreads();
  return getKernel(op).getThreads();
}
