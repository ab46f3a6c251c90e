//===- HostHooks.cpp - Functions that compiled CPU kernels call -*- C++ -*-===//
//
// Compiled code has no unwind tables that C++ exceptions could cross, so a
// failed assertion leaves its block with longjmp: compiled frames own nothing
// that needs a destructor.
//
//===----------------------------------------------------------------------===//

#include "tilemlir/Runtime/HostHooks.h"
#include "tilemlir/Runtime/DataType.h"

#include <cinttypes>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace tilemlir::runtime;

namespace {

struct ActiveRange {
  HostLaunch *launch;
  std::jmp_buf exit;
};

thread_local ActiveRange *activeRange = nullptr;

std::atomic<PrintSink> printSink{nullptr};

// Beyond this much pending text a launch flushes early.
constexpr size_t kFlushBytes = size_t{1} << 16;

std::string valueText(DataType type, const unsigned char *element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, static_cast<size_t>(byteWidth(type)));
  char text[64];
  if (type == DataType::Bool)
    return bits ? "True" : "False";
  if (isInteger(type)) {
    if (isSigned(type)) {
      int shift = static_cast<int>(64 - 8 * byteWidth(type));
      std::snprintf(text, sizeof(text), "%" PRId64,
                    static_cast<int64_t>(bits << shift) >> shift);
    } else {
      std::snprintf(text, sizeof(text), "%" PRIu64, bits);
    }
    return text;
  }
  // Enough digits to tell neighbouring values of the type apart.
  int digits = type == DataType::F64                             ? 17
               : type == DataType::F32 || type == DataType::TF32 ? 9
                                                                 : 5;
  std::snprintf(text, sizeof(text), "%.*g", digits, decodeFloat(type, bits));
  return text;
}

} // namespace

void tilemlir::runtime::setPrintSink(PrintSink sink) { printSink.store(sink); }

void HostLaunch::recordFailure(const char *file, int64_t line,
                               const char *message) {
  std::lock_guard<std::mutex> lock(mutex);
  if (hasFailed.load(std::memory_order_relaxed))
    return;
  failureFile = file ? file : "";
  failureLine = line;
  failureMessage = message ? message : "";
  hasFailed.store(true, std::memory_order_release);
}

void HostLaunch::print(const std::string &line) {
  std::string full;
  {
    std::lock_guard<std::mutex> lock(mutex);
    pending += line;
    if (pending.size() < kFlushBytes)
      return;
    full.swap(pending);
  }
  // Outside the lock: the sink may wait for the interpreter.
  if (PrintSink sink = printSink.load())
    sink(full.data(), full.size());
  else
    std::fwrite(full.data(), 1, full.size(), stdout);
}

void HostLaunch::flush() {
  std::string full;
  {
    std::lock_guard<std::mutex> lock(mutex);
    full.swap(pending);
  }
  if (full.empty())
    return;
  if (PrintSink sink = printSink.load())
    sink(full.data(), full.size());
  else
    std::fwrite(full.data(), 1, full.size(), stdout);
}

void HostLaunch::run(Entry entry, void *const *parameters, const int32_t *grid,
                     int64_t first, int64_t last) {
  ActiveRange range;
  range.launch = this;
  ActiveRange *outer = activeRange;
  activeRange = &range;
  // Only `outer` is read after a jump, and it is not modified in between.
  if (setjmp(range.exit) == 0)
    entry(parameters, grid, first, last);
  activeRange = outer;
}

extern "C" void tilemlir_assert_fail(const char *file, int64_t line,
                                     const char *message) {
  ActiveRange *range = activeRange;
  if (!range) {
    // Called outside a launch: there is nobody to report to.
    std::fprintf(stderr, "%s:%" PRId64 ": device assertion failed: %s\n",
                 file ? file : "<unknown>", line, message ? message : "");
    std::abort();
  }
  range->launch->recordFailure(file, line, message);
  std::longjmp(range->exit, 1);
}

extern "C" void tilemlir_print(const char *message, const int32_t *block,
                               int32_t thread, const char *dtype,
                               const void *values, int64_t count) {
  std::string line;
  if (message && *message)
    line += std::string(message) + " ";
  if (block)
    line += "block=(" + std::to_string(block[0]) + ", " +
            std::to_string(block[1]) + ", " + std::to_string(block[2]) + ") ";
  if (thread >= 0)
    line += "thread=" + std::to_string(thread) + " ";
  std::optional<DataType> type =
      dtype ? parseDataType(dtype) : std::optional<DataType>();
  if (type && values) {
    line += std::string(longName(*type)) + " ";
    const auto *element = static_cast<const unsigned char *>(values);
    if (count != 1)
      line += "[";
    for (int64_t i = 0; i < count; ++i, element += byteWidth(*type)) {
      if (i)
        line += ", ";
      line += valueText(*type, element);
    }
    if (count != 1)
      line += "]";
  } else if (dtype) {
    line += std::string("<values of unknown type ") + dtype + ">";
  }
  while (!line.empty() && line.back() == ' ')
    line.pop_back();
  line += '\n';
  if (ActiveRange *range = activeRange)
    range->launch->print(line);
  else
    std::fwrite(line.data(), 1, line.size(), stdout);
}

const std::vector<HostSymbol> &tilemlir::runtime::hostSymbols() {
  static const std::vector<HostSymbol> symbols = {
      {"tilemlir_assert_fail", reinterpret_cast<void *>(&tilemlir_assert_fail)},
      {"tilemlir_print", reinterpret_cast<void *>(&tilemlir_print)},
  };
  return symbols;
}
