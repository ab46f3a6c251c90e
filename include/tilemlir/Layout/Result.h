//===- Result.h - A value or the reason why there is none -------*- C++ -*-===//
//
// The layout library is compiled without exceptions: every operation that can
// be refused returns a Result, whose error text is meant for a diagnostic.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_LAYOUT_RESULT_H
#define TILEMLIR_LAYOUT_RESULT_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace tilemlir::layout {

/// The text of a refusal; converts to any Result<T>.
struct Error {
  std::string message;
};

/// Holds a `T`, or the error message that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : contents(std::move(value)) {}
  Result(Error error) : message(std::move(error.message)) {}

  explicit operator bool() const { return contents.has_value(); }

  T &operator*() {
    assert(contents && "dereferenced an error");
    return *contents;
  }
  const T &operator*() const {
    assert(contents && "dereferenced an error");
    return *contents;
  }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }

  /// Empty when there is a value.
  const std::string &error() const { return message; }

private:
  std::optional<T> contents;
  std::string message;
};

} // namespace tilemlir::layout

#endif // TILEMLIR_LAYOUT_RESULT_H
