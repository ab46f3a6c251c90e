//===- CpuLauncher.h - Running a plan's kernels on the CPU ------*- C++ -*-===//
//
// Calls compiled kernels over their grids with the process's thread pool.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_CPULAUNCHER_H
#define TILEMLIR_RUNTIME_CPULAUNCHER_H

#include "tilemlir/Runtime/HostHooks.h"
#include "tilemlir/Runtime/LaunchProgram.h"

#include <map>

namespace tilemlir::runtime {

class CpuLauncher {
public:
  /// `entries` maps each kernel of the plan to its entry's address. `program`
  /// must outlive the launcher; so must the code.
  CpuLauncher(const LaunchProgram &program,
              const std::map<std::string, uintptr_t> &entries);

  /// Runs all launches of a finished call in order and returns when they are
  /// done. Throws Failure("device-assert") after a failed device assertion: the
  /// launches after it do not run. Touches no Python state.
  void launch(Call &call) const;

private:
  const LaunchProgram &program;
  std::vector<HostLaunch::Entry> entries; ///< per launch
};

} // namespace tilemlir::runtime

#endif // TILEMLIR_RUNTIME_CPULAUNCHER_H
