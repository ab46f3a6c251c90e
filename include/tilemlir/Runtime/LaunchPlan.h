//===- LaunchPlan.h - What a compiled kernel needs from its host *- C++ -*-===//
//
// The launch plan as data: arguments, size symbols, outputs, workspaces,
// guards, tensor maps and launches, over a closed language of integer
// expressions. It is the host half of a kernel: the compiler writes it, this
// library executes it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_LAUNCHPLAN_H
#define TILEMLIR_RUNTIME_LAUNCHPLAN_H

#include "tilemlir/Runtime/DataType.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tilemlir::runtime {

/// An integer expression over the call's sizes, as a tree. All arithmetic is on
/// 64-bit signed integers; overflow and division by zero are errors.
struct ExpressionTree {
  enum class Kind : uint8_t {
    Constant, ///< value
    Dim,      ///< size of `argument` along `axis`
    Stride,   ///< stride in elements of `argument` along `axis`
    Symbol,   ///< symbols[argument]
    Scalar,   ///< integer scalar `argument`
    SmCount,  ///< multiprocessors of the device, or CPU threads
    Add,
    Sub,
    Mul,
    FloorDiv,
    CeilDiv,
    Mod, ///< sign of the divisor, as in Python
    Min,
    Max,
  };
  Kind kind = Kind::Constant;
  int64_t value = 0;
  int32_t argument = 0;
  int32_t axis = 0;
  std::vector<ExpressionTree> operands;

  static ExpressionTree constant(int64_t value) {
    ExpressionTree tree;
    tree.value = value;
    return tree;
  }
};

enum class ArgumentKind : uint8_t {
  Tensor,
  Scalar,
  Pointer, ///< an address (integer) or any tensor on the device
};

struct Argument {
  std::string name;
  ArgumentKind kind = ArgumentKind::Tensor;
  DataType dtype = DataType::F32;
  std::vector<ExpressionTree> shape;
  std::vector<ExpressionTree> strides; ///< checked when `strided`
  bool strided = false;  ///< false: row-major contiguous is required
  bool optional = false; ///< None is accepted and passed as a null pointer
  bool read = true;
  bool written = false;
};

struct Symbol {
  std::string name;
  ExpressionTree source;
};

struct Workspace {
  ExpressionTree bytes;
  bool zero = false; ///< filled with zeros before every launch
  bool kept = false; ///< filled with zeros when it is allocated
};

struct TensorMapPlan {
  int32_t argument = 0;
  std::vector<int32_t> dimOrder; ///< tensor dims from the fastest map dim on
  /// A view other than the argument's own dims, fastest first; empty otherwise.
  std::vector<ExpressionTree> shape;
  std::vector<ExpressionTree> strides; ///< elements; strides[0] is 1
  ExpressionTree offset;               ///< elements added to the base
  std::vector<uint32_t> box;
  std::vector<uint32_t> elementStrides;
  int32_t swizzle = 0;       ///< bytes: 0, 32, 64 or 128
  int32_t l2Promotion = 128; ///< bytes: 0, 64, 128 or 256
  bool fillNaN = false;
  DataType dtype = DataType::F16;
};

enum class ParameterKind : uint8_t {
  Pointer,
  Scalar,
  Expression,
  Workspace,
  TensorMap,
};

struct Parameter {
  ParameterKind kind = ParameterKind::Pointer;
  int32_t index = 0; ///< argument, workspace or tensor map
  DataType dtype = DataType::I32;
  ExpressionTree value;
};

struct Launch {
  std::string kernel;
  std::array<ExpressionTree, 3> grid;
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  std::array<uint32_t, 3> threads = {1, 1, 1};
  int64_t sharedBytes = 0;
  bool cooperative = false;
  bool programmaticSerialization = false;
  std::vector<Parameter> parameters;
};

enum class GuardKind : uint8_t { Aligned, NoAlias, ExpressionTrue };

struct Guard {
  GuardKind kind = GuardKind::Aligned;
  int32_t argument = 0;               ///< Aligned
  int64_t bytes = 0;                  ///< Aligned
  std::vector<int32_t> written, read; ///< NoAlias
  ExpressionTree value;               ///< ExpressionTrue
  std::string message;
  bool selectsVariant = true; ///< false: a violation is an error
};

struct LaunchPlan {
  std::string name;   ///< of the kernel, for messages
  std::string target; ///< "sm_90a", "cpu"
  std::vector<Argument> arguments;
  std::vector<Symbol> symbols;
  std::vector<int32_t> outputs; ///< arguments that the launcher allocates
  std::vector<Workspace> workspaces;
  std::vector<Launch> launches;
  std::vector<TensorMapPlan> tensorMaps;
  std::vector<Guard> guards;

  bool isCpu() const { return target == "cpu"; }
};

} // namespace tilemlir::runtime

#endif // TILEMLIR_RUNTIME_LAUNCHPLAN_H
