//===- HostHooks.h - Functions that compiled CPU kernels call ---*- C++ -*-===//
//
// The C entry points behind device assertions and prints on the CPU target, and
// the state of the launch they report to. The JIT registers them by name from
// `hostSymbols()`.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_HOSTHOOKS_H
#define TILEMLIR_RUNTIME_HOSTHOOKS_H

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tilemlir::runtime {

struct HostSymbol {
  const char *name;
  void *address;
};

/// Every function a compiled CPU kernel may call.
const std::vector<HostSymbol> &hostSymbols();

/// Receives printed text, whole lines; may be called from any thread, one at a
/// time per launch.
using PrintSink = void (*)(const char *text, size_t length);
void setPrintSink(PrintSink sink); ///< null: standard output

/// What the blocks of one launch share.
class HostLaunch {
public:
  /// Runs `entry` over the blocks [first, last); a failed assertion inside ends
  /// the range and is kept (the first one wins).
  using Entry = void (*)(void *const *parameters, const int32_t *grid,
                         int64_t first, int64_t last);
  void run(Entry entry, void *const *parameters, const int32_t *grid,
           int64_t first, int64_t last);

  bool failed() const { return hasFailed.load(std::memory_order_acquire); }
  const std::string &file() const { return failureFile; }
  int64_t line() const { return failureLine; }
  const std::string &message() const { return failureMessage; }

  void recordFailure(const char *file, int64_t line, const char *message);
  void print(const std::string &line);
  void flush(); ///< hands pending text to the sink

private:
  std::atomic<bool> hasFailed{false};
  std::mutex mutex;
  std::string failureFile, failureMessage;
  int64_t failureLine = 0;
  std::string pending;
};

} // namespace tilemlir::runtime

extern "C" {

/// A device assertion that does not hold: ends the current range of blocks and
/// makes the launch raise. `file` may be null. Does not return.
[[noreturn]] void tilemlir_assert_fail(const char *file, int64_t line,
                                       const char *message);

/// A device print. `message` may be null; `block` points to the three block
/// indices or is null; `thread` is the linear thread id or -1; `dtype` is a
/// launch-plan type name ("f16", "i32", "bool") of the `count` packed elements
/// at `values` (null and 0 for text alone).
void tilemlir_print(const char *message, const int32_t *block, int32_t thread,
                    const char *dtype, const void *values, int64_t count);
}

#endif // TILEMLIR_RUNTIME_HOSTHOOKS_H
