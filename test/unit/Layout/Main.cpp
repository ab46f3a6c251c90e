//===- Main.cpp - Runs the layout unit tests ------------------------------===//
//
// Without arguments all tests run, else those whose name contains an argument.
// Fails when a check failed or when no test was selected.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

static int64_t failuresOfTest = 0;
static const char *currentTest = "";
static std::string currentContext;
static unsigned seed = 20240601;

std::vector<check::Test> &check::allTests() {
  static std::vector<Test> tests;
  return tests;
}

std::mt19937 &check::randomEngine() {
  static std::mt19937 engine;
  return engine;
}

void check::setContext(std::string context) {
  currentContext = std::move(context);
}

void check::reportFailure(const char *file, int line,
                          const std::string &message) {
  // A broken property of random layouts fails many times; a few are enough.
  if (++failuresOfTest > 5)
    return;
  std::fprintf(stderr, "%s:%d: %s: check failed: %s\n", file, line, currentTest,
               message.c_str());
  if (!currentContext.empty())
    std::fprintf(stderr, "  with %s (TILEMLIR_TEST_SEED=%u)\n",
                 currentContext.c_str(), seed);
}

int main(int argc, char **argv) {
  if (const char *text = std::getenv("TILEMLIR_TEST_SEED"))
    seed = static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  int run = 0, failed = 0;
  for (const check::Test &test : check::allTests()) {
    bool selected = argc < 2;
    for (int i = 1; i < argc; ++i)
      selected |= std::strstr(test.name, argv[i]) != nullptr;
    if (!selected)
      continue;
    currentTest = test.name;
    currentContext.clear();
    failuresOfTest = 0;
    check::randomEngine().seed(seed);
    test.function();
    ++run;
    if (failuresOfTest > 0) {
      ++failed;
      std::fprintf(stderr, "%s: %lld failures\n", test.name,
                   static_cast<long long>(failuresOfTest));
    }
  }
  std::printf("%d tests, %d failed\n", run, failed);
  return run == 0 || failed > 0 ? 1 : 0;
}
