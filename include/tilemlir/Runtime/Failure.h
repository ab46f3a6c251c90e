//===- Failure.h - A failed check, as data ----------------------*- C++ -*-===//
//
// Every refused launch is a `Failure`: a stable code and named fields. The text
// lives in one place, the catalogue of the Python package (tilemlir/errors.py);
// embedders without Python get code and fields from what().
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_FAILURE_H
#define TILEMLIR_RUNTIME_FAILURE_H

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tilemlir::runtime {

class Failure : public std::exception {
public:
  using Value = std::variant<int64_t, std::string>;
  using Fields = std::vector<std::pair<std::string, Value>>;

  Failure(std::string code, Fields fields);

  const char *what() const noexcept override { return text.c_str(); }
  const std::string &code() const { return errorCode; }
  const Fields &fields() const { return values; }

private:
  std::string errorCode;
  Fields values;
  std::string text;
};

} // namespace tilemlir::runtime

#endif // TILEMLIR_RUNTIME_FAILURE_H
