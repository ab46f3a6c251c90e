//===- CpuLauncher.cpp - Running a plan's kernels on the CPU ----*- C++ -*-===//
//
// The blocks of a launch are independent: they are cut into ranges of the
// linear block id (x fastest), and each range is one call of the kernel's
// entry.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Runtime/CpuLauncher.h"
#include "tilemlir/Runtime/ThreadPool.h"

#include <cstring>
#include <limits>

using namespace tilemlir::runtime;

CpuLauncher::CpuLauncher(const LaunchProgram &program,
                         const std::map<std::string, uintptr_t> &addresses)
    : program(program) {
  for (const Launch &launch : program.plan().launches) {
    auto found = addresses.find(launch.kernel);
    if (found == addresses.end() || found->second == 0)
      program.fail("bad-plan",
                   {{"detail", "no entry for kernel '" + launch.kernel + "'"}});
    // Blocks run one after another here: a grid barrier would never be passed.
    if (launch.cooperative)
      program.fail("bad-plan",
                   {{"detail", "cooperative launches do not exist on "
                               "the cpu target"}});
    entries.push_back(reinterpret_cast<HostLaunch::Entry>(found->second));
  }
}

void CpuLauncher::launch(Call &call) const {
  const LaunchPlan &plan = program.plan();
  for (size_t i = 0; i < plan.workspaces.size(); ++i)
    if (program.needsZeros(call, i))
      std::memset(call.workspaces[i], 0,
                  static_cast<size_t>(call.workspaceBytes[i]));
  for (size_t i = 0; i < plan.launches.size(); ++i) {
    if (program.isEmpty(call, i))
      continue;
    const int64_t *extents = program.grid(call, i);
    const int32_t grid[3] = {static_cast<int32_t>(extents[0]),
                             static_cast<int32_t>(extents[1]),
                             static_cast<int32_t>(extents[2])};
    int64_t blocks = 0;
    if (__builtin_mul_overflow(extents[0] * extents[1], extents[2], &blocks))
      program.fail("grid-limit",
                   {{"axis", int64_t{2}},
                    {"extent", extents[2]},
                    {"expression", program.describe(plan.launches[i].grid[2])},
                    {"limit", std::numeric_limits<int64_t>::max() /
                                  (extents[0] * extents[1])}});
    void *const *parameters = program.parameters(call, i);
    HostLaunch state;
    parallelFor(
        blocks,
        [&](int64_t first, int64_t last) {
          state.run(entries[i], parameters, grid, first, last);
        },
        [&] { return state.failed(); });
    state.flush();
    if (state.failed())
      program.fail("device-assert", {{"message", state.message()},
                                     {"file", state.file()},
                                     {"line", state.line()},
                                     {"launch", plan.launches[i].kernel}});
  }
}
