//===- CPUCodeGen.h - machine code for the host -----------------*- C++ -*-===//
//
// Object code from modules in the LLVM dialect, and its loading into the
// process. The object is all that a cache has to keep: loading it runs no LLVM
// pass.
//
//===----------------------------------------------------------------------===//
#ifndef TILEMLIR_TARGET_CPUCODEGEN_H
#define TILEMLIR_TARGET_CPUCODEGEN_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace tilemlir {

/// What code generation asks about the CPU of this machine.
struct HostFeatures {
  std::string cpu;      ///< LLVM's name, such as "znver3"
  std::string features; ///< "+avx2,-avx512f,..."
  int64_t vectorBits;   ///< width of the vector registers to use
  bool nativeF16;       ///< converts between f16 and f32 by instructions
};
const HostFeatures &getHostFeatures();

/// Optimised object code of a module in the LLVM dialect for the CPU of this
/// machine. Errors are reported as diagnostics.
mlir::FailureOr<std::string> compileToObject(mlir::ModuleOp module);

/// Names that an object needs from its environment.
llvm::Expected<std::vector<std::string>>
getUndefinedSymbols(llvm::StringRef object);

/// Names of the functions that an object offers.
llvm::Expected<std::vector<std::string>>
getDefinedFunctions(llvm::StringRef object);

/// Object code linked into this process; the code lives as long as the image.
class CPUImage {
public:
  using Symbol = std::pair<std::string, uint64_t>;
  /// `symbols` are functions of the runtime by name, preferred to those of the
  /// process.
  static llvm::Expected<std::unique_ptr<CPUImage>>
  load(llvm::StringRef object, llvm::ArrayRef<Symbol> symbols);
  ~CPUImage();

  /// Address of a function of the object.
  llvm::Expected<uint64_t> lookup(llvm::StringRef name);
  /// All functions of the object with their addresses.
  const std::vector<Symbol> &getEntries() const { return entries; }

private:
  struct State;
  explicit CPUImage(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
  std::vector<Symbol> entries;
};

} // namespace tilemlir

#endif // TILEMLIR_TARGET_CPUCODEGEN_H
