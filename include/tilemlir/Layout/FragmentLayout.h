//===- FragmentLayout.h - Distribution of a tile over registers -*- C++ -*-===//
//
// A fragment is a tile held in the registers of a group of threads. Its layout
// is a strided mixed-radix map (thread, register) -> coordinate with replica
// modes. Extents need not be powers of two.
//
// Everything here factorises by dimension: the modes of one dimension form a
// mixed-radix number system for its coordinates. Queries therefore cost in the
// order of the number of modes or of the extent of one dimension, never of the
// number of elements of the tile.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_FRAGMENTLAYOUT_H
#define TILEMLIR_LAYOUT_FRAGMENTLAYOUT_H

#include "tilemlir/Layout/Result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilemlir::layout {

/// The `dim` of a mode along which all threads hold the same elements.
constexpr int kReplica = -1;

/// Threads of a warp.
constexpr int64_t kWarpSize = 32;

/// One digit of the thread id or of the register index. The digit runs over
/// [0, extent) and adds `digit * stride` to coordinate `dim`. Replica modes
/// (thread modes only) have `dim == kReplica` and stride 0.
struct Mode {
  int64_t extent = 1;
  int dim = kReplica;
  int64_t stride = 0;

  bool isReplica() const { return dim == kReplica; }
  bool operator==(const Mode &other) const {
    return extent == other.extent && dim == other.dim && stride == other.stride;
  }
  bool operator!=(const Mode &other) const { return !(*this == other); }
};

/// A mode of extent `extent` along which threads hold copies.
inline Mode replicaMode(int64_t extent) { return Mode{extent, kReplica, 0}; }

/// Where an element lives: the copy in the primary replica.
struct ElementLocation {
  /// Linear thread id; every replica digit is 0.
  int64_t thread = 0;
  /// One digit per thread mode, fastest first.
  std::vector<int64_t> threadDigits;
  int64_t registerIndex = 0;
};

/// `(thread / threadStride) % extent` is the replica digit. A thread is primary
/// iff this is 0 for every term of FragmentLayout::primaryPredicate().
struct ReplicaTerm {
  int64_t threadStride = 1;
  int64_t extent = 1;

  bool operator==(const ReplicaTerm &other) const {
    return threadStride == other.threadStride && extent == other.extent;
  }
};

/// Does a register hold an element?
enum class Occupancy {
  /// In every thread.
  Always,
  /// In some threads only: accesses need the predicate coordinate < shape.
  Sometimes,
  /// In no thread.
  Never,
};

/// Result of FragmentLayout::sliceRegisters.
struct RegisterSlice;

/// A valid layout of a tile over threads and registers. Only create() makes
/// one, so an instance always satisfies verify(): within one replica every
/// element is held exactly once.
class FragmentLayout {
public:
  /// An empty-rank layout of one thread and one register.
  FragmentLayout() = default;

  /// Builds a layout or says what is wrong with the modes (see verify).
  static Result<FragmentLayout> create(std::vector<int64_t> shape,
                                       std::vector<Mode> threadModes,
                                       std::vector<Mode> registerModes);

  /// Returns an empty string for a valid layout, else the reason. Checks:
  /// extents and shape are at least 1, dims are in range, register modes are no
  /// replicas, replica strides are 0, products fit 31 bits, and for every dim
  /// the modes reach each coordinate in [0, shape[dim]) by exactly one digit
  /// vector. Coordinates beyond the shape (padding) may be reached any number
  /// of times.
  static std::string verify(const std::vector<int64_t> &shape,
                            const std::vector<Mode> &threadModes,
                            const std::vector<Mode> &registerModes);

  const std::vector<int64_t> &shape() const { return shapeOfTile; }
  const std::vector<Mode> &threadModes() const { return modesOfThread; }
  const std::vector<Mode> &registerModes() const { return modesOfRegister; }
  int rank() const { return static_cast<int>(shapeOfTile.size()); }

  /// Product of the thread extents.
  int64_t numThreads() const { return threadCount; }
  /// Registers (elements) per thread, padding included.
  int64_t numRegisters() const { return registerCount; }
  /// Product of the shape.
  int64_t numElements() const;
  /// Copies of every element: product of the replica extents.
  int64_t numReplicas() const;

  /// The coordinate map is a sum: coordinates(t, r) == threadOffset(t) +
  /// registerOffset(r). Code generators compute the first once per thread and
  /// fold the second into constants.
  std::vector<int64_t> threadOffset(int64_t thread) const;
  std::vector<int64_t> registerOffset(int64_t registerIndex) const;
  std::vector<int64_t> coordinates(int64_t thread, int64_t registerIndex) const;

  /// True if that register of that thread holds no element.
  bool isPadding(int64_t thread, int64_t registerIndex) const;
  /// Occupancy of a register over all threads.
  Occupancy occupancy(int64_t registerIndex) const;
  /// True if some (thread, register) is padding.
  bool hasPadding() const;
  /// True if register `registerIndex` may lie outside the shape along `dim`
  /// in some thread: the only case in which that coordinate needs a predicate.
  bool needsPredicate(int64_t registerIndex, int dim) const;

  /// Linear index of the copy that `thread` holds (0 = primary).
  int64_t replicaIndex(int64_t thread) const;
  bool isPrimary(int64_t thread) const { return replicaIndex(thread) == 0; }
  /// The terms that must all be 0 in the thread that stores or does an atomic.
  /// Adjacent replica modes are merged. Empty without replicas.
  std::vector<ReplicaTerm> primaryPredicate() const;
  /// True if every thread holds the whole tile.
  bool isFullyReplicated() const;

  /// Where `coordinate` lives; nullopt outside the shape.
  std::optional<ElementLocation>
  find(const std::vector<int64_t> &coordinate) const;
  /// All threads that hold `coordinate`, ascending.
  std::vector<int64_t> holders(const std::vector<int64_t> &coordinate) const;

  /// Every element is held by exactly one (thread, register) of each replica.
  /// True for each instance; recomputed for assertions and tests.
  bool isBijectiveModuloReplicas() const;

  /// Same modes, written the same way.
  bool operator==(const FragmentLayout &other) const {
    return shapeOfTile == other.shapeOfTile &&
           modesOfThread == other.modesOfThread &&
           modesOfRegister == other.modesOfRegister;
  }
  bool operator!=(const FragmentLayout &other) const {
    return !(*this == other);
  }
  /// Same shape and the same element (or padding) in every register of every
  /// thread, however the modes are written. The replica *numbering* is not
  /// compared, only which elements a thread holds and which threads are
  /// primary.
  bool isSameMap(const FragmentLayout &other) const;

  /// Canonical form, the same for all layouts of one map: extent-1 modes
  /// dropped, adjacent modes that continue each other merged, digits no longer
  /// than the shape needs, modes that only reach padding written along dim 0
  /// with the next free stride. Same map, same number of threads and registers.
  FragmentLayout canonical() const;

  /// If every thread holds the same elements in both layouts: the table with
  /// `registerOfOther = table[registerOfThis]`. Registers without an element in
  /// any thread are matched with the leftover registers of `other` in ascending
  /// order, or are -1 where none is left; nullopt if the sets differ.
  std::optional<std::vector<int64_t>>
  registerPermutation(const FragmentLayout &other) const;

  /// Every thread holds at least the elements it holds under `other`.
  bool contains(const FragmentLayout &other) const;

  /// Length of the vectors held in consecutive registers (starting at any
  /// multiple of the length) with consecutive, length-aligned coordinates along
  /// `dim`, none of them straddling the shape. 1 if there is no such vector.
  int64_t contiguousElements(int dim) const;

  /// Dimension `i` of the result is dimension `permutation[i]` of this.
  Result<FragmentLayout> permuteDims(const std::vector<int> &permutation) const;

  /// The same registers seen under another row-major shape of equally many
  /// elements. Refused when a mode would straddle a new dimension, or when a
  /// regrouped dimension other than the slowest of its group has padding.
  Result<FragmentLayout> reshape(const std::vector<int64_t> &newShape) const;
  Result<FragmentLayout> flatten() const;

  /// The part [start, start + extent) of `dim`, for every thread the same
  /// registers. Refused when the part is not made of whole register digits,
  /// that is, when a thread digit decides whether an element belongs to it.
  Result<RegisterSlice> sliceRegisters(int dim, int64_t start,
                                       int64_t extent) const;

  /// Inserts a dimension of `extent` at position `dim`, held entirely by every
  /// thread in new slowest register digits.
  Result<FragmentLayout> insertDimInRegisters(int dim, int64_t extent) const;

  /// Inserts a dimension of `extent` at position `dim` and spreads it over the
  /// replicas: the inverse of projecting it out. `vectorElements` (a divisor of
  /// `extent`) neighbours stay in the fastest registers, the replica digits
  /// take the next factors as far as `extent` needs them (the rest stays
  /// replicated), what then remains goes to the slowest registers. The new
  /// dimension may be padded when the factors do not divide it.
  Result<FragmentLayout>
  insertDimOverReplicas(int dim, int64_t extent,
                        int64_t vectorElements = 1) const;

  /// Adds a unit dimension at position `dim`.
  FragmentLayout insertUnitDim(int dim) const;
  /// Drops dimension `dim`, which must have extent 1.
  Result<FragmentLayout> dropUnitDim(int dim) const;

  /// Splits thread modes such that one mode starts at each of `threadStrides`
  /// (each a boundary of the thread id, e.g. kWarpSize); nullopt if a boundary
  /// cuts a mode where its extent does not factor.
  std::optional<FragmentLayout>
  splitThreadModes(const std::vector<int64_t> &threadStrides) const;

  /// One line, e.g. "16x8 threads(4@1*2, 8@0*1, 2@r) registers(2@1*1, 2@0*8)":
  /// extent@dim*stride, fastest digit first, r = replica.
  std::string str() const;

private:
  std::vector<int64_t> shapeOfTile;
  std::vector<Mode> modesOfThread;
  std::vector<Mode> modesOfRegister;
  int64_t threadCount = 1;
  int64_t registerCount = 1;
};

struct RegisterSlice {
  /// Layout of the part; coordinates start at 0.
  FragmentLayout layout;
  /// `registers[r]` is the register of the whole fragment that holds what
  /// register `r` of the part holds.
  std::vector<int64_t> registers;
};

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_FRAGMENTLAYOUT_H
