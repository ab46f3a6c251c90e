// Runs the registered unit tests; arguments select the tests whose names
// contain one of them.
#include "UnitTest.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tilemlir::unittest {

static int failuresOfCurrentTest = 0;
static std::string contextOfCurrentTest;
static unsigned seed = 20240601;

std::vector<TestCase> &testCases() {
  static std::vector<TestCase> cases;
  return cases;
}

void reportFailure(const char *file, int line, const std::string &message) {
  // A broken loop may fail a million times; the first failures tell enough.
  if (++failuresOfCurrentTest > 20)
    return;
  std::printf("%s:%d: expected %s\n", file, line, message.c_str());
  if (!contextOfCurrentTest.empty())
    std::printf("    with:  %s (TILEMLIR_TEST_SEED=%u)\n",
                contextOfCurrentTest.c_str(), seed);
}

void setContext(std::string context) {
  contextOfCurrentTest = std::move(context);
}

std::mt19937 &randomEngine() {
  static std::mt19937 engine;
  return engine;
}

} // namespace tilemlir::unittest

int main(int argc, char **argv) {
  using namespace tilemlir::unittest;
  if (const char *text = std::getenv("TILEMLIR_TEST_SEED"))
    seed = static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  int run = 0, failed = 0;
  for (const TestCase &test : testCases()) {
    bool selected = argc == 1;
    for (int i = 1; i < argc; ++i)
      selected |= std::strstr(test.name, argv[i]) != nullptr;
    if (!selected)
      continue;
    failuresOfCurrentTest = 0;
    setContext("");
    randomEngine().seed(seed);
    test.body();
    ++run;
    if (failuresOfCurrentTest) {
      ++failed;
      std::printf("FAILED %s (%d expectations)\n", test.name,
                  failuresOfCurrentTest);
    }
  }
  std::printf("%d tests, %d failed\n", run, failed);
  // Running nothing must not look like success.
  return failed || !run ? 1 : 0;
}
