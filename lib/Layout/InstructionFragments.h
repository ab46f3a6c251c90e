//===- InstructionFragments.h - Building fragments of atoms -----*- C++ -*-===//
//
// Private to the library: checks of sizes, and the construction, that fragments
// of mma.sync and of wgmma have in common.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LIB_LAYOUT_INSTRUCTIONFRAGMENTS_H
#define TILEMLIR_LIB_LAYOUT_INSTRUCTIONFRAGMENTS_H

#include "Digits.h"

#include "tilemlir/Layout/MmaFragments.h"

#include <string>

namespace tilemlir::layout::detail {

/// Empty when `parts` equal parts of `extent` are multiples of `atom`.
inline std::string checkDivides(const char *dim, int64_t extent, int64_t parts,
                                const char *partName, int64_t atom) {
  if (extent >= 1 && parts >= 1 && extent % (parts * atom) == 0)
    return "";
  std::string text = std::string(dim) + " = " + std::to_string(extent) +
                     " is not a multiple of " + std::to_string(atom);
  if (partName)
    text += " for each of " + std::to_string(parts) + " " + partName;
  return text;
}

inline std::string checkElementBits(int64_t elementBits) {
  if (elementBits == 8 || elementBits == 16 || elementBits == 32)
    return "";
  return "matrix operands have elements of 8, 16 or 32 bits, not " +
         std::to_string(elementBits);
}

inline std::string checkAtomK(int64_t k, int64_t elementBits, int64_t atomK) {
  std::string message = checkElementBits(elementBits);
  if (!message.empty())
    return message;
  const int64_t full = mmaAtomK(elementBits);
  if (atomK != full && atomK * 2 != full)
    return "instructions on " + std::to_string(elementBits) +
           "-bit elements have k = " + std::to_string(full / 2) + " or " +
           std::to_string(full) + ", not " + std::to_string(atomK);
  return checkDivides("K", k, 1, nullptr, atomK);
}

inline Result<MmaFragment> makeFragment(std::vector<int64_t> shape,
                                        std::vector<Mode> threads,
                                        std::vector<Mode> registers,
                                        int64_t outerAtoms, int64_t innerAtoms,
                                        int64_t registersPerAtom) {
  Result<FragmentLayout> layout = FragmentLayout::create(
      std::move(shape), std::move(threads), std::move(registers));
  if (!layout)
    return Error{layout.error()};
  return MmaFragment{layout->canonical(), outerAtoms, innerAtoms,
                     registersPerAtom};
}

} // namespace tilemlir::layout::detail

#endif // TILEMLIR_LIB_LAYOUT_INSTRUCTIONFRAGMENTS_H
