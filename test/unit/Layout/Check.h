//===- Check.h - A minimal unit-test harness --------------------*- C++ -*-===//
//
// TEST(name) { ... } registers a test, CHECK and CHECK_EQ record failures with
// file, line and values and let the test go on. The main function is in Main.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_TEST_UNIT_LAYOUT_CHECK_H
#define TILEMLIR_TEST_UNIT_LAYOUT_CHECK_H

#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace check {

struct Test {
  const char *name;
  void (*function)();
};

std::vector<Test> &allTests();
void reportFailure(const char *file, int line, const std::string &message);
/// Says what the current iteration of a random test looks like; shown with a
/// failure.
void setContext(std::string context);
/// Random numbers; the seed is fixed unless TILEMLIR_TEST_SEED is set, and shown
/// with a failure.
std::mt19937 &randomEngine();

struct Registration {
  Registration(const char *name, void (*function)()) {
    allTests().push_back(Test{name, function});
  }
};

template <typename T> void print(std::ostream &stream, const T &value) {
  stream << value;
}
template <typename T>
void print(std::ostream &stream, const std::vector<T> &values) {
  stream << '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i)
      stream << ", ";
    print(stream, values[i]);
  }
  stream << ']';
}

template <typename A, typename B>
void checkEqual(const A &a, const B &b, const char *textA, const char *textB,
                const char *file, int line) {
  if (a == b)
    return;
  std::ostringstream stream;
  stream << textA << " is ";
  print(stream, a);
  stream << ", expected " << textB << " = ";
  print(stream, b);
  reportFailure(file, line, stream.str());
}

/// A uniform random integer in [low, high].
inline int64_t random(int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(randomEngine());
}
inline bool chance(int percent) { return random(1, 100) <= percent; }

} // namespace check

#define TEST(name)                                                             \
  static void test_##name();                                                   \
  static check::Registration registration_##name(#name, test_##name);          \
  static void test_##name()

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition))                                                          \
      check::reportFailure(__FILE__, __LINE__, #condition);                    \
  } while (false)

#define CHECK_EQ(actual, expected)                                             \
  check::checkEqual(actual, expected, #actual, #expected, __FILE__, __LINE__)

/// Records a failure and leaves the test.
#define REQUIRE(condition)                                                     \
  do {                                                                         \
    if (!(condition)) {                                                        \
      check::reportFailure(__FILE__, __LINE__, #condition);                    \
      return;                                                                  \
    }                                                                          \
  } while (false)

#endif // TILEMLIR_TEST_UNIT_LAYOUT_CHECK_H
