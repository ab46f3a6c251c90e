//===- MatrixAccess.cpp - ldmatrix and stmatrix of a fragment -------------===//
//
// Matches fragments against the 8x8 matrices of ldmatrix and stmatrix.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/MatrixAccess.h"

#include "Digits.h"

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

/// Checks that element `e` of a register group lies at +e along `elementDim`,
/// and lane l at `packed * (l % 4)` along elementDim and l / 4 along
/// `otherDim`, in every warp. Returns the reason if not.
static std::string matchLanes(const FragmentLayout &fragment, int elementDim,
                              int otherDim, int64_t packed) {
  for (int64_t r = 0; r < fragment.numRegisters(); ++r) {
    std::vector<int64_t> expected = fragment.registerOffset(r - r % packed);
    expected[elementDim] += r % packed;
    if (fragment.registerOffset(r) != expected)
      return "elements " + std::to_string(r - r % packed) + " and " +
             std::to_string(r) + " of a thread are no neighbours along dim " +
             std::to_string(elementDim);
  }
  for (int64_t thread = 0; thread < fragment.numThreads(); ++thread) {
    const int64_t lane = thread % kWarpSize;
    std::vector<int64_t> expected = fragment.threadOffset(thread - lane);
    expected[elementDim] += packed * (lane % 4);
    expected[otherDim] += lane / 4;
    if (fragment.threadOffset(thread) != expected)
      return "lane " + std::to_string(lane) + " holds coordinate " +
             coordinateText(fragment.threadOffset(thread)) + " instead of " +
             coordinateText(expected);
  }
  return "";
}

Result<MatrixAccess>
tilemlir::layout::matchMatrixAccess(const FragmentLayout &fragment,
                                    int64_t elementBits, int contiguousDim,
                                    bool allowPadding) {
  if (elementBits != 8 && elementBits != 16 && elementBits != 32)
    return Error{"8x8 matrices hold elements of 8, 16 or 32 bits, not " +
                 std::to_string(elementBits)};
  if (fragment.rank() != 2 || contiguousDim < 0 || contiguousDim > 1)
    return Error{"8x8 matrices need a 2-D tile"};
  if (fragment.numThreads() % kWarpSize != 0)
    return Error{std::to_string(fragment.numThreads()) +
                 " threads are not whole warps"};
  const int64_t packed = 32 / elementBits;
  if (fragment.hasPadding() &&
      (!allowPadding || fragment.shape()[1 - contiguousDim] % 8 != 0 ||
       fragment.shape()[contiguousDim] % std::max<int64_t>(8, 4 * packed) != 0))
    return Error{"the fragment has padding"};
  if (fragment.numRegisters() % packed != 0)
    return Error{"the elements of a thread do not fill 32-bit registers"};

  MatrixAccess access;
  access.columnDim = contiguousDim;
  access.rowDim = 1 - contiguousDim;
  access.registersPerMatrix = packed;
  access.numMatrices = fragment.numRegisters() / packed;
  std::string message =
      matchLanes(fragment, access.columnDim, access.rowDim, packed);
  if (message.empty())
    return access;
  if (elementBits == 16 &&
      matchLanes(fragment, access.rowDim, access.columnDim, packed).empty()) {
    access.transposed = true;
    return access;
  }
  return Error{std::move(message)};
}

std::vector<int64_t>
tilemlir::layout::matrixOffset(const FragmentLayout &fragment,
                               const MatrixAccess &access, int64_t matrix) {
  return fragment.registerOffset(matrix * access.registersPerMatrix);
}

std::vector<int64_t>
tilemlir::layout::matrixThreadOffset(const FragmentLayout &fragment,
                                     const MatrixAccess &access,
                                     int64_t thread) {
  const int64_t lane = thread % kWarpSize;
  std::vector<int64_t> offset = fragment.threadOffset(thread - lane);
  offset[access.rowDim] += lane % 8;
  return offset;
}

std::vector<int64_t> tilemlir::layout::matrixRowCoordinate(
    const FragmentLayout &fragment, const MatrixAccess &access, int64_t thread,
    const std::vector<int64_t> &matrices) {
  assert(!matrices.empty() && "no matrix to move");
  const size_t position =
      static_cast<size_t>(thread % kWarpSize / 8) % matrices.size();
  std::vector<int64_t> coordinate =
      matrixThreadOffset(fragment, access, thread);
  std::vector<int64_t> offset =
      matrixOffset(fragment, access, matrices[position]);
  for (size_t dim = 0; dim < coordinate.size(); ++dim) {
    coordinate[dim] += offset[dim];
    const int64_t extent = fragment.shape()[dim];
    const int64_t width = static_cast<int>(dim) == access.rowDim
                              ? 8
                              : 4 * access.registersPerMatrix;
    if (coordinate[dim] >= extent)
      coordinate[dim] = extent - width + coordinate[dim] % width;
  }
  return coordinate;
}
