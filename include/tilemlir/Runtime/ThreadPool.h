//===- ThreadPool.h - Blocks of a grid over CPU cores -----------*- C++ -*-===//
//
// A process-wide pool that runs ranges of independent blocks. Any number of
// threads may submit at once, a submitter works on its own job, and a forked
// child starts a fresh pool.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_THREADPOOL_H
#define TILEMLIR_RUNTIME_THREADPOOL_H

#include <cstdint>
#include <functional>

namespace tilemlir::runtime {

/// Threads a launch may use, the submitting one included: what
/// `setThreadCount` fixed, else the processors this process may run on.
int threadCount();

/// Fixes the number of threads (at least 1); 0 returns to the default. Takes
/// effect with the next launch.
void setThreadCount(int count);

/// Runs `body(first, last)` over disjoint ranges that cover [0, count), on this
/// thread and the pool's, and returns when all are done. `body` must not throw.
/// Once `stop` (may be null) returns true, ranges that have not started are
/// dropped. Calls from inside a body run on the calling thread.
void parallelFor(int64_t count,
                 const std::function<void(int64_t, int64_t)> &body,
                 const std::function<bool()> &stop = nullptr);

} // namespace tilemlir::runtime

#endif // TILEMLIR_RUNTIME_THREADPOOL_H
