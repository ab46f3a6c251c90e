// A minimal unit test frame for the libraries without MLIR: TEST bodies
// register themselves, expectations count failures and carry on, and
// UnitTest.cpp holds the main function that runs all of them.
#ifndef TILEMLIR_TEST_UNIT_UNITTEST_H
#define TILEMLIR_TEST_UNIT_UNITTEST_H

#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace tilemlir::unittest {

struct TestCase {
  const char *name;
  void (*body)();
};

/// All registered tests, in order of registration.
std::vector<TestCase> &testCases();

/// Records a failed expectation of the running test and prints it.
void reportFailure(const char *file, int line, const std::string &message);

/// What the running test works on at the moment, printed with a failure: the
/// round of a loop, a random input.
void setContext(std::string context);

/// Random numbers, seeded anew before every test: by TILEMLIR_TEST_SEED, else
/// by a constant.
std::mt19937 &randomEngine();

/// A uniform random integer in [low, high].
inline int64_t random(int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(randomEngine());
}

/// True in `percent` of 100 cases.
inline bool chance(int percent) { return random(1, 100) <= percent; }

struct Registrar {
  Registrar(const char *name, void (*body)()) {
    testCases().push_back({name, body});
  }
};

template <typename T, typename = void> struct IsPrintable : std::false_type {};
template <typename T>
struct IsPrintable<T, std::void_t<decltype(std::declval<std::ostream &>()
                                           << std::declval<const T &>())>>
    : std::true_type {};

template <typename T> std::string describe(const T &value) {
  std::ostringstream stream;
  if constexpr (IsPrintable<T>::value)
    stream << std::boolalpha << value;
  else
    stream << "(a value that has no operator<<)";
  return stream.str();
}

template <typename T> std::string describe(const std::vector<T> &values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + describe(values[i]);
  return text + "]";
}

template <typename A, typename B>
void expectEqual(const char *file, int line, const char *textA,
                 const char *textB, const A &a, const B &b) {
  if (!(a == b))
    reportFailure(file, line,
                  std::string(textA) + " == " + textB + "\n    left:  " +
                      describe(a) + "\n    right: " + describe(b));
}

} // namespace tilemlir::unittest

#define TEST(name)                                                             \
  static void test_##name();                                                   \
  static ::tilemlir::unittest::Registrar registrar_##name(#name, test_##name); \
  static void test_##name()

#define EXPECT_TRUE(condition)                                                 \
  do {                                                                         \
    if (!(condition))                                                          \
      ::tilemlir::unittest::reportFailure(__FILE__, __LINE__, #condition);     \
  } while (false)

#define EXPECT_FALSE(condition) EXPECT_TRUE(!(condition))

/// Records a failure and leaves the test: for what the rest of the test relies
/// on.
#define REQUIRE(condition)                                                     \
  do {                                                                         \
    if (!(condition)) {                                                        \
      ::tilemlir::unittest::reportFailure(__FILE__, __LINE__, #condition);     \
      return;                                                                  \
    }                                                                          \
  } while (false)

#define EXPECT_EQ(a, b)                                                        \
  ::tilemlir::unittest::expectEqual(__FILE__, __LINE__, #a, #b, a, b)

#endif // TILEMLIR_TEST_UNIT_UNITTEST_H
