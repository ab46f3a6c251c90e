//===- FragmentAccess.cpp - Reading one fragment under another ------------===//
//
// projectedAccess decides per operand dimension, digit by digit. Iteration dims
// are independent of each other, so the conditions on one operand dimension
// only involve the modes of the iteration dimension that indexes it.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Layout/FragmentAccess.h"

#include "Digits.h"

using namespace tilemlir::layout;
using namespace tilemlir::layout::detail;

std::vector<AccessIndex> tilemlir::layout::identityAccess(int rank) {
  std::vector<AccessIndex> access;
  for (int dim = 0; dim < rank; ++dim)
    access.push_back(AccessIndex::iteration(dim));
  return access;
}

static std::string verifyAccess(const FragmentLayout &iteration,
                                const FragmentLayout &operand,
                                const std::vector<AccessIndex> &access) {
  if (static_cast<int>(access.size()) != operand.rank())
    return "the access has " + std::to_string(access.size()) +
           " indices, the operand has rank " + std::to_string(operand.rank());
  if (iteration.numThreads() != operand.numThreads())
    return "the iterations run on " + std::to_string(iteration.numThreads()) +
           " threads, the operand is held by " +
           std::to_string(operand.numThreads());
  for (size_t dim = 0; dim < access.size(); ++dim) {
    const AccessIndex &index = access[dim];
    if (index.iterationDim != AccessIndex::kConstant &&
        (index.iterationDim < 0 || index.iterationDim >= iteration.rank()))
      return "index " + std::to_string(dim) + " uses iteration dim " +
             std::to_string(index.iterationDim) + " of " +
             std::to_string(iteration.rank());
    int64_t last = index.offset;
    if (index.iterationDim != AccessIndex::kConstant)
      last += iteration.shape()[index.iterationDim] - 1;
    if (index.offset < 0 || last >= operand.shape()[dim])
      return "indices [" + std::to_string(index.offset) + ", " +
             std::to_string(last) + "] leave dim " + std::to_string(dim) +
             " of extent " + std::to_string(operand.shape()[dim]);
  }
  return "";
}

/// Both layouts with their thread modes cut at the same places, or nullopt if
/// the two factorisations of the thread id have no common refinement.
static std::optional<std::pair<FragmentLayout, FragmentLayout>>
refineThreads(const FragmentLayout &a, const FragmentLayout &b) {
  std::vector<int64_t> boundaries;
  for (const FragmentLayout *layout : {&a, &b}) {
    int64_t threadStride = 1;
    for (const Mode &mode : layout->threadModes())
      boundaries.push_back(threadStride *= mode.extent);
  }
  std::optional<FragmentLayout> fineA = a.splitThreadModes(boundaries);
  std::optional<FragmentLayout> fineB = b.splitThreadModes(boundaries);
  if (!fineA || !fineB)
    return std::nullopt;
  return std::make_pair(std::move(*fineA), std::move(*fineB));
}

static std::string threadDigitText(const Digit &digit) {
  std::string text = "thread";
  if (digit.weight > 1)
    text += " / " + std::to_string(digit.weight);
  return text + " % " + std::to_string(digit.extent);
}

namespace {
/// Which register of the operand the register digits of one iteration dim
/// select.
struct DimTable {
  /// Indexed by the part of the register index that belongs to the iteration
  /// dim; -1 where no element is.
  std::vector<int64_t> contribution;
  int iterationDim = AccessIndex::kConstant;
};
} // namespace

static AccessTable combineTables(const FragmentLayout &iteration,
                                 const std::vector<DimTable> &tables) {
  const std::vector<Digit> digits = registerDigits(iteration);
  AccessTable result;
  result.operandRegister.assign(iteration.numRegisters(), -1);
  for (int64_t r = 0; r < iteration.numRegisters(); ++r) {
    if (iteration.occupancy(r) == Occupancy::Never)
      continue;
    int64_t sum = 0;
    for (const DimTable &table : tables) {
      int64_t part = 0;
      for (const Digit &digit : digits)
        if (digit.dim == table.iterationDim)
          part += digit.ofIndex(r) * digit.weight;
      sum += table.contribution[part];
    }
    result.operandRegister[r] = sum;
  }
  return result;
}

/// The digit-wise decision; thread modes of both layouts are the same digits.
static Result<AccessTable>
accessByDigits(const FragmentLayout &iteration, const FragmentLayout &operand,
               const std::vector<AccessIndex> &access, bool needRegisters) {
  // Drop the extent-1 modes, which need not be the same on both sides.
  auto properDigits = [](const FragmentLayout &layout) {
    std::vector<Digit> digits;
    for (const Digit &digit : threadDigits(layout))
      if (digit.extent > 1)
        digits.push_back(digit);
    return digits;
  };
  const std::vector<Digit> iterationThreads = properDigits(iteration);
  const std::vector<Digit> operandThreads = properDigits(operand);
  const std::vector<Digit> iterationRegisters = registerDigits(iteration);
  assert(iterationThreads.size() == operandThreads.size());

  std::vector<DimTable> tables;
  for (int dim = 0; dim < operand.rank(); ++dim) {
    const AccessIndex &index = access[dim];
    const bool isConstant = index.iterationDim == AccessIndex::kConstant;
    const int64_t count =
        isConstant ? 1 : iteration.shape()[index.iterationDim];
    const std::string where = "dim " + std::to_string(dim) + " of the operand";

    // Thread digits that decide who holds the element, each with the digit of
    // the thread that runs the iteration.
    struct ThreadCondition {
      const Digit *operand, *iteration;
      bool operandIsZero, iterationIsZero;
    };
    std::vector<ThreadCondition> conditions;
    for (size_t i = 0; i < operandThreads.size(); ++i) {
      const Digit &theirs = operandThreads[i];
      const Digit &ours = iterationThreads[i];
      if (theirs.dim != dim)
        continue;
      const bool operandIsZero = theirs.stride >= operand.shape()[dim];
      const bool iterationIsZero =
          ours.dim != kReplica && ours.stride >= iteration.shape()[ours.dim];
      const bool known =
          iterationIsZero || (!isConstant && ours.dim == index.iterationDim);
      if (!known)
        return Error{where + " lies along digit " + threadDigitText(theirs) +
                     ", which does not follow its index"};
      conditions.push_back({&theirs, &ours, operandIsZero, iterationIsZero});
    }
    std::vector<Digit> registerPart;
    for (const Digit &digit : coordinateDigits(operand, dim))
      if (!digit.isThread)
        registerPart.push_back(digit);

    std::vector<Digit> iterationPart;
    if (!isConstant)
      for (const Digit &digit : coordinateDigits(iteration, index.iterationDim))
        if (!digit.isThread)
          iterationPart.push_back(digit);

    DimTable table;
    table.iterationDim = index.iterationDim;
    table.contribution.assign(iteration.numRegisters(), -1);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t coordinate = i + index.offset;
      for (const ThreadCondition &condition : conditions) {
        const int64_t needed =
            condition.operandIsZero
                ? 0
                : condition.operand->ofCoordinate(coordinate);
        const int64_t actual = condition.iterationIsZero
                                   ? 0
                                   : condition.iteration->ofCoordinate(i);
        if (needed != actual)
          return Error{where + ": index " + std::to_string(coordinate) +
                       " is held where " + threadDigitText(*condition.operand) +
                       " is " + std::to_string(needed) +
                       " but used where it is " + std::to_string(actual)};
      }
      if (!needRegisters)
        continue;
      int64_t ours = 0, theirs = 0;
      for (const Digit &digit : iterationPart)
        ours += digit.ofCoordinate(i) * digit.weight;
      for (const Digit &digit : registerPart)
        theirs += digit.ofCoordinate(coordinate) * digit.weight;
      int64_t &entry = table.contribution[ours];
      if (entry >= 0 && entry != theirs)
        return Error{where + ": the register that holds index " +
                     std::to_string(coordinate) + " depends on the thread"};
      entry = theirs;
    }
    tables.push_back(std::move(table));
  }
  if (!needRegisters)
    return AccessTable{};
  return combineTables(iteration, tables);
}

/// The same decision by enumerating all elements, for factorisations of the
/// thread id without a common refinement (such as 2 x 3 against 3 x 2).
static Result<AccessTable> accessByEnumeration(
    const FragmentLayout &iteration, const FragmentLayout &operand,
    const std::vector<AccessIndex> &access, bool needRegisters) {
  // Thread and register parts of the location of an operand element add up over
  // the dims.
  std::vector<std::vector<int64_t>> threadPart(operand.rank());
  std::vector<std::vector<int64_t>> registerPart(operand.rank());
  for (int dim = 0; dim < operand.rank(); ++dim) {
    threadPart[dim].assign(operand.shape()[dim], 0);
    registerPart[dim].assign(operand.shape()[dim], 0);
    for (const Digit &digit : coordinateDigits(operand, dim))
      for (int64_t c = 0; c < operand.shape()[dim]; ++c)
        (digit.isThread ? threadPart : registerPart)[dim][c] +=
            digit.ofCoordinate(c) * digit.weight;
  }
  std::vector<std::vector<int64_t>> registerOffsets;
  for (int64_t r = 0; r < iteration.numRegisters(); ++r)
    registerOffsets.push_back(iteration.registerOffset(r));

  AccessTable result;
  if (needRegisters)
    result.operandRegister.assign(iteration.numRegisters(), -1);
  const std::vector<Digit> operandThreads = threadDigits(operand);
  for (int64_t thread = 0; thread < iteration.numThreads(); ++thread) {
    int64_t primary = thread;
    for (const Digit &digit : operandThreads)
      if (digit.dim == kReplica)
        primary -= digit.ofIndex(thread) * digit.weight;
    const std::vector<int64_t> threadOffset = iteration.threadOffset(thread);
    for (int64_t r = 0; r < iteration.numRegisters(); ++r) {
      bool isPadding = false;
      for (int dim = 0; dim < iteration.rank(); ++dim)
        isPadding |= threadOffset[dim] + registerOffsets[r][dim] >=
                     iteration.shape()[dim];
      if (isPadding)
        continue;
      int64_t holder = 0, operandRegister = 0;
      for (int dim = 0; dim < operand.rank(); ++dim) {
        const AccessIndex &index = access[dim];
        int64_t coordinate = index.offset;
        if (index.iterationDim != AccessIndex::kConstant)
          coordinate += threadOffset[index.iterationDim] +
                        registerOffsets[r][index.iterationDim];
        holder += threadPart[dim][coordinate];
        operandRegister += registerPart[dim][coordinate];
      }
      if (holder != primary)
        return Error{"thread " + std::to_string(thread) +
                     " needs an element that thread " + std::to_string(holder) +
                     " holds"};
      if (!needRegisters)
        continue;
      int64_t &entry = result.operandRegister[r];
      if (entry >= 0 && entry != operandRegister)
        return Error{"the register that holds the element of register " +
                     std::to_string(r) + " depends on the thread"};
      entry = operandRegister;
    }
  }
  return result;
}

static Result<AccessTable> analyseAccess(const FragmentLayout &iteration,
                                         const FragmentLayout &operand,
                                         const std::vector<AccessIndex> &access,
                                         bool needRegisters) {
  std::string message = verifyAccess(iteration, operand, access);
  if (!message.empty())
    return Error{std::move(message)};
  if (auto refined = refineThreads(iteration, operand))
    return accessByDigits(refined->first, refined->second, access,
                          needRegisters);
  return accessByEnumeration(iteration, operand, access, needRegisters);
}

Result<AccessTable>
tilemlir::layout::projectedAccess(const FragmentLayout &iteration,
                                  const FragmentLayout &operand,
                                  const std::vector<AccessIndex> &access) {
  return analyseAccess(iteration, operand, access, /*needRegisters=*/true);
}

bool FragmentLayout::contains(const FragmentLayout &other) const {
  return shapeOfTile == other.shapeOfTile &&
         analyseAccess(other, *this, identityAccess(rank()),
                       /*needRegisters=*/false);
}

Result<FragmentLayout>
tilemlir::layout::layoutForAccess(const FragmentLayout &iteration,
                                  const std::vector<AccessIndex> &access,
                                  const std::vector<int64_t> &shape) {
  if (access.size() != shape.size())
    return Error{"the access has " + std::to_string(access.size()) +
                 " indices, the operand has rank " +
                 std::to_string(shape.size())};
  std::vector<int> operandDim(iteration.rank(), kReplica);
  for (size_t dim = 0; dim < access.size(); ++dim) {
    const AccessIndex &index = access[dim];
    const std::string where = "index " + std::to_string(dim);
    if (index.offset != 0)
      return Error{where + " has offset " + std::to_string(index.offset)};
    if (index.iterationDim == AccessIndex::kConstant) {
      if (shape[dim] != 1)
        return Error{where + " is constant on a dim of extent " +
                     std::to_string(shape[dim])};
      continue;
    }
    if (index.iterationDim < 0 || index.iterationDim >= iteration.rank() ||
        operandDim[index.iterationDim] != kReplica)
      return Error{where + " uses iteration dim " +
                   std::to_string(index.iterationDim) +
                   " again or out of range"};
    if (shape[dim] != iteration.shape()[index.iterationDim])
      return Error{where + " runs over " +
                   std::to_string(iteration.shape()[index.iterationDim]) +
                   " iterations on a dim of extent " +
                   std::to_string(shape[dim])};
    operandDim[index.iterationDim] = static_cast<int>(dim);
  }
  std::vector<Mode> threads, registers;
  for (const Mode &mode : iteration.threadModes()) {
    int dim = mode.isReplica() ? kReplica : operandDim[mode.dim];
    threads.push_back(dim == kReplica ? replicaMode(mode.extent)
                                      : Mode{mode.extent, dim, mode.stride});
  }
  for (const Mode &mode : iteration.registerModes())
    if (operandDim[mode.dim] != kReplica)
      registers.push_back(Mode{mode.extent, operandDim[mode.dim], mode.stride});
  return FragmentLayout::create(shape, std::move(threads),
                                std::move(registers));
}
