//===- WarpPartition.cpp - Dividing a matrix tile among warps -------------===//
//
// The warp policies of a tile-level gemm.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/WarpPartition.h"

#include "Digits.h"

#include <string>

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

static std::string verifySizes(int64_t m, int64_t n, int64_t warps,
                               int64_t atomM, int64_t atomN) {
  const std::string tile = std::to_string(m) + "x" + std::to_string(n);
  if (atomM < 1 || atomN < 1)
    return "the instruction tile " + std::to_string(atomM) + "x" +
           std::to_string(atomN) + " is empty";
  if (m < 1 || m % atomM != 0)
    return "M = " + std::to_string(m) + " of the " + tile +
           " tile is not a positive multiple of " + std::to_string(atomM);
  if (n < 1 || n % atomN != 0)
    return "N = " + std::to_string(n) + " of the " + tile +
           " tile is not a positive multiple of " + std::to_string(atomN);
  if (warps < 1)
    return "the " + tile + " tile needs at least one warp";
  return "";
}

Result<WarpGrid> tilemlir::layout::partitionWarps(int64_t m, int64_t n,
                                                  int64_t warps,
                                                  WarpPolicy policy,
                                                  int64_t atomM,
                                                  int64_t atomN) {
  std::string message = verifySizes(m, n, warps, atomM, atomN);
  if (!message.empty())
    return Error{std::move(message)};
  const int64_t atomsM = m / atomM;
  const int64_t atomsN = n / atomN;

  WarpGrid grid;
  switch (policy) {
  case WarpPolicy::FullRow:
    grid.warpsM = std::gcd(warps, atomsM);
    grid.warpsN = std::gcd(warps / grid.warpsM, atomsN);
    break;
  case WarpPolicy::FullCol:
    grid.warpsN = std::gcd(warps, atomsN);
    grid.warpsM = std::gcd(warps / grid.warpsN, atomsM);
    break;
  case WarpPolicy::Square: {
    // Use as many warps as the atoms allow. Among equals minimise rows +
    // columns of a warp tile, the operand elements it reads per k; prefer more
    // warps along M, which keeps the rows of a reduction inside fewer warps.
    int64_t bestUsed = 0, bestEdge = 0;
    for (int64_t warpsM = warps; warpsM >= 1; --warpsM) {
      if (warps % warpsM != 0 || atomsM % warpsM != 0)
        continue;
      const int64_t warpsN = std::gcd(warps / warpsM, atomsN);
      const int64_t used = warpsM * warpsN;
      const int64_t edge = m / warpsM + n / warpsN;
      if (used > bestUsed || (used == bestUsed && edge < bestEdge)) {
        bestUsed = used;
        bestEdge = edge;
        grid.warpsM = warpsM;
        grid.warpsN = warpsN;
      }
    }
    break;
  }
  }
  grid.replicas = warps / (grid.warpsM * grid.warpsN);
  return grid;
}

int64_t tilemlir::layout::rowsOfWarp(int64_t m, const WarpGrid &grid,
                                     int64_t atomM) {
  return ceilDiv(ceilDiv(m, atomM), std::max<int64_t>(grid.warpsM, 1)) * atomM;
}

Result<WarpGrid> tilemlir::layout::partitionRows(int64_t m, int64_t n,
                                                 int64_t warps, int64_t atomM,
                                                 int64_t atomN) {
  std::string message = verifySizes(m, n, warps, atomM, atomN);
  if (!message.empty())
    return Error{std::move(message)};
  const int64_t atomsM = m / atomM;
  const int64_t needed = ceilDiv(atomsM, ceilDiv(atomsM, warps));
  WarpGrid grid;
  grid.warpsM = warps % needed == 0 ? needed : warps;
  grid.replicas = warps / grid.warpsM;
  return grid;
}

Result<WarpGrid> tilemlir::layout::checkWarpGrid(int64_t m, int64_t n,
                                                 int64_t warps, int64_t warpsM,
                                                 int64_t warpsN, int64_t atomM,
                                                 int64_t atomN) {
  std::string message = verifySizes(m, n, warps, atomM, atomN);
  if (!message.empty())
    return Error{std::move(message)};
  const std::string name =
      std::to_string(warpsM) + "x" + std::to_string(warpsN) + " warps";
  if (warpsM < 1 || warpsN < 1 || warps % (warpsM * warpsN) != 0)
    return Error{"a grid of " + name + " does not divide " +
                 std::to_string(warps) + " warps"};
  if ((m / atomM) % warpsM != 0)
    return Error{"M = " + std::to_string(m) + " has " +
                 std::to_string(m / atomM) + " row blocks of " +
                 std::to_string(atomM) + ", which do not divide among " +
                 std::to_string(warpsM) + " warps"};
  if ((n / atomN) % warpsN != 0)
    return Error{"N = " + std::to_string(n) + " has " +
                 std::to_string(n / atomN) + " column blocks of " +
                 std::to_string(atomN) + ", which do not divide among " +
                 std::to_string(warpsN) + " warps"};
  return WarpGrid{warpsM, warpsN, warps / (warpsM * warpsN)};
}
