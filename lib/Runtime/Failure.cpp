//===- Failure.cpp - A failed check, as data --------------------*- C++ -*-===//

#include "tilemlir/Runtime/Failure.h"

using namespace tilemlir::runtime;

Failure::Failure(std::string code, Fields fields)
    : errorCode(std::move(code)), values(std::move(fields)) {
  text = errorCode;
  for (const auto &[name, value] : values) {
    text += ' ';
    text += name;
    text += '=';
    if (const auto *number = std::get_if<int64_t>(&value))
      text += std::to_string(*number);
    else
      text += std::get<std::string>(value);
  }
}
