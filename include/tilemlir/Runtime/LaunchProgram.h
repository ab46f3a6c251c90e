//===- LaunchProgram.h - A launch plan ready to execute ---------*- C++ -*-===//
//
// Checks a call's arguments against a launch plan and computes everything a
// launch needs (symbols, output shapes, grids, parameter values), without
// knowing Python or CUDA. All failures are thrown before anything is launched.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_LAUNCHPROGRAM_H
#define TILEMLIR_RUNTIME_LAUNCHPROGRAM_H

#include "tilemlir/Runtime/CudaDriver.h"
#include "tilemlir/Runtime/Expression.h"
#include "tilemlir/Runtime/Failure.h"
#include "tilemlir/Runtime/InlineBuffer.h"

namespace tilemlir::runtime {

/// A borrowed tensor. `strides` (elements) may be null: row-major contiguous.
struct TensorView {
  void *data = nullptr;
  const int64_t *shape = nullptr;
  const int64_t *strides = nullptr;
  int32_t rank = 0;
  int32_t deviceType = 0; ///< dlpack::DeviceType
  int32_t deviceId = 0;
  DLPackType dtype = {};
  bool readOnly = false;
};

/// The values of one call. Plain storage; LaunchProgram gives it meaning.
struct Call {
  InlineBuffer<int64_t, 192> slots;
  InlineBuffer<void *, 24> pointers;  ///< per argument
  InlineBuffer<uint64_t, 24> scalars; ///< per argument: value bits
  InlineBuffer<bool, 24> present;     ///< per argument
  InlineBuffer<uintptr_t, 24> begins; ///< per argument: first byte spanned,
  InlineBuffer<uintptr_t, 24> ends;   ///< and the one behind the last
  InlineBuffer<void *, 8> workspaces; ///< per workspace
  InlineBuffer<int64_t, 8> workspaceBytes;
  InlineBuffer<bool, 8> workspaceIsNew; ///< allocated for this call
  InlineBuffer<uint64_t, 64> values;    ///< parameter values of all launches
  InlineBuffer<void *, 64> parameters;  ///< pointers into values or tensorMaps
  InlineBuffer<int64_t, 12> grids;      ///< 3 per launch
  InlineBuffer<cuda::TensorMap, 4> tensorMaps;
  int32_t firstTensor = -1; ///< argument that decides the device
  int32_t deviceType = 0;
  int32_t deviceId = 0;
};

class LaunchProgram {
public:
  /// Compiles and validates a plan; throws Failure("bad-plan").
  explicit LaunchProgram(LaunchPlan plan);

  const LaunchPlan &plan() const { return launchPlan; }
  bool isOutput(int32_t argument) const { return outputFlags[argument]; }
  size_t inputCount() const { return inputs.size(); }
  /// Arguments that the caller passes, in order.
  const std::vector<int32_t> &inputArguments() const { return inputs; }

  // Steps of one call, in this order.
  void begin(Call &call) const;
  void bindTensor(Call &call, int32_t argument, const TensorView &view) const;
  void bindScalar(Call &call, int32_t argument, uint64_t bits) const;
  void bindPointer(Call &call, int32_t argument, void *pointer) const;
  void bindNone(Call &call, int32_t argument) const;
  /// Values of the symbols, then the shape and stride checks of the inputs.
  void resolve(Call &call, int64_t smCount) const;
  /// Writes the shape of an output (rank entries).
  void outputShape(const Call &call, int32_t argument, int64_t *shape) const;
  /// Bit i is set when guard i asks for another variant. Guards that are errors
  /// throw. At most 64 guards select variants.
  uint64_t violatedGuards(const Call &call) const;
  /// Must workspace `index` be filled with zeros before this call?
  bool needsZeros(const Call &call, size_t index) const {
    const Workspace &workspace = plan().workspaces[index];
    return call.workspaceBytes[index] > 0 &&
           (workspace.zero || (workspace.kept && call.workspaceIsNew[index]));
  }
  /// Bytes of each workspace into call.workspaceBytes.
  void sizeWorkspaces(Call &call) const;
  /// Grids and parameter values. Workspace pointers and tensor maps must be in
  /// place. Returns false when every grid is empty.
  bool finish(Call &call) const;

  /// Grid of a launch after `finish`, and whether it is empty.
  const int64_t *grid(const Call &call, size_t launch) const {
    return call.grids.data() + 3 * launch;
  }
  bool isEmpty(const Call &call, size_t launch) const {
    const int64_t *extents = grid(call, launch);
    return extents[0] == 0 || extents[1] == 0 || extents[2] == 0;
  }
  void **parameters(Call &call, size_t launch) const {
    return call.parameters.data() + parameterOffsets[launch];
  }

  /// Sizes and strides of a tensor argument in the call.
  const int64_t *dims(const Call &call, int32_t argument) const {
    return call.slots.data() + dimSlots[argument];
  }
  const int64_t *strides(const Call &call, int32_t argument) const {
    return call.slots.data() + dimSlots[argument] + ranks[argument];
  }
  int32_t rank(int32_t argument) const { return ranks[argument]; }

  /// Compiled expressions of a tensor map with its own view.
  struct CompiledMap {
    std::vector<Expression> shape, strides;
    Expression offset;
  };
  const CompiledMap &compiledMap(size_t index) const { return maps[index]; }

  /// Throws Failure with the kernel's name added.
  [[noreturn]] void fail(const char *code, Failure::Fields fields) const;
  /// Plain text of an expression ("ceildiv(M, 128)").
  std::string describe(const ExpressionTree &tree) const;
  /// Ditto with the value and where it came from.
  std::string describeValue(const Call &call, const ExpressionTree &tree,
                            int64_t value) const;

private:
  /// What each call checks of an argument, side by side in memory; the plan has
  /// the rest, which only messages need.
  struct CompiledArgument {
    ArgumentKind kind;
    DLPackType dtype;
    bool strided, written;
    int32_t rank, dimSlot;
    uint64_t bytes; ///< per element, a power of two
  };
  struct CompiledGuard {
    GuardKind kind;
    int32_t argument; ///< Aligned
    uint64_t bytes;   ///< Aligned
    int32_t rowSlot;  ///< Aligned: length of rows to check as well, or -1
    uint64_t elementBytes;
    /// Aligned: extents that must not be 0, because the code uses tensor maps,
    /// which empty tensors do not have.
    int32_t firstExtent = 0, lastExtent = 0;
    std::vector<std::pair<int32_t, int32_t>> pairs; ///< NoAlias
    Expression value;                               ///< ExpressionTrue
  };
  bool holds(const Call &call, const CompiledGuard &guard) const;
  void compileGuard(const Guard &guard, const Expression::SlotOf &slotOf);

  struct SizeCheck {
    int32_t argument, axis, slot;
    bool isStride;
    Expression expected;
    const ExpressionTree *tree;
  };
  struct CompiledSymbol {
    int32_t slot;
    Expression source;
    int32_t sourceArgument; ///< -1: reads no tensor
    /// Other places that hold exactly this symbol, for absent optional tensors.
    std::vector<std::pair<int32_t, int32_t>> alternatives; // (argument, slot)
  };
  struct CompiledParameter {
    ParameterKind kind;
    DataType dtype;
    int32_t index;
    Expression value;
    int64_t minimum, maximum; ///< of `value`, as the device type holds it
  };
  struct CompiledLaunch {
    std::array<Expression, 3> grid;
    std::vector<CompiledParameter> parameters;
  };

  void layOutSlots();
  void compile();
  void compileChecks(const Expression::SlotOf &slotOf);
  int32_t slotOf(const ExpressionTree &leaf) const;
  int32_t sourceArgumentOf(const ExpressionTree &tree) const;
  void checkSizes(const Call &call, const SizeCheck &check) const;
  void setSpan(Call &call, int32_t argument) const;
  [[noreturn]] void badPlan(const std::string &detail) const;

  LaunchPlan launchPlan;
  bool onCpu = false;
  std::vector<CompiledArgument> compiledArguments;
  std::vector<CompiledGuard> guards;
  std::vector<int32_t> ranks, dimSlots, inputs;
  std::vector<uint8_t> outputFlags;
  int32_t slotCount = 0;
  int32_t symbolSlots = 0, scalarSlots = 0;
  std::vector<CompiledSymbol> symbols;
  std::vector<SizeCheck> checks;
  std::vector<std::vector<Expression>> outputShapes; ///< per argument
  std::vector<Expression> workspaceSizes;
  std::vector<CompiledLaunch> launches;
  std::vector<CompiledMap> maps;
  std::vector<size_t> parameterOffsets;
  size_t parameterCount = 0;
};

} // namespace tilemlir::runtime

#endif // TILEMLIR_RUNTIME_LAUNCHPROGRAM_H
