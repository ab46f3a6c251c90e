"""The driver types that the runtime declares itself, against NVIDIA's header where one is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

PROGRAM = """
#include "tilemlir/Runtime/CudaDriver.h"
#include <cuda.h>
#include <cstddef>
#include <type_traits>
namespace ours = tilemlir::runtime::cuda;

static_assert(sizeof(ours::LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(ours::LaunchConfig, sharedBytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(ours::LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(ours::LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(ours::LaunchConfig, attributeCount) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(ours::LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(ours::LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(ours::LaunchAttributeValue) == sizeof(CUlaunchAttributeValue));
static_assert(sizeof(ours::TensorMap) == sizeof(CUtensorMap) && alignof(ours::TensorMap) >= alignof(CUtensorMap));
static_assert(sizeof(ours::DevicePointer) == sizeof(CUdeviceptr) && sizeof(ours::Device) == sizeof(CUdevice));

#define SAME(a, b) static_assert(static_cast<int>(ours::a) == static_cast<int>(b))
SAME(kSuccess, CUDA_SUCCESS);
SAME(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(kNoBinaryForGPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(kMaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(kMaxRegistersPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
SAME(kClockRateKilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(kMemoryClockRateKilohertz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(kGlobalMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(kL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(kMaxThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(kMaxSharedMemoryPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(kMaxRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME(kCooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
SAME(kMaxSharedMemoryPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(kMaxBlocksPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
SAME(kReservedSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
SAME(kClusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
SAME(kTensorMapAccess, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED);
SAME(kFunctionMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(kFunctionSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(kFunctionConstantBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
SAME(kFunctionLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(kFunctionRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(kFunctionPtxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
SAME(kFunctionBinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
SAME(kFunctionMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(kFunctionNonPortableClusterSizeAllowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
SAME(kLaunchCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME(kLaunchClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(kLaunchProgrammaticStreamSerialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME(kMapUInt8, CU_TENSOR_MAP_DATA_TYPE_UINT8);
SAME(kMapUInt16, CU_TENSOR_MAP_DATA_TYPE_UINT16);
SAME(kMapUInt32, CU_TENSOR_MAP_DATA_TYPE_UINT32);
SAME(kMapInt32, CU_TENSOR_MAP_DATA_TYPE_INT32);
SAME(kMapUInt64, CU_TENSOR_MAP_DATA_TYPE_UINT64);
SAME(kMapInt64, CU_TENSOR_MAP_DATA_TYPE_INT64);
SAME(kMapFloat16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
SAME(kMapFloat32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
SAME(kMapFloat64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
SAME(kMapBFloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
SAME(kMapTFloat32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
SAME(kJitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME(kJitErrorLogBufferBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(kCaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(kCaptureModeRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(kUserObjectNoDestructorSync, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
SAME(kGraphUserObjectMove, CU_GRAPH_USER_OBJECT_MOVE);
// The order that the encoder of tensor maps counts on.
static_assert(CU_TENSOR_MAP_SWIZZLE_NONE == 0 && CU_TENSOR_MAP_SWIZZLE_32B == 1 && CU_TENSOR_MAP_SWIZZLE_64B == 2 &&
              CU_TENSOR_MAP_SWIZZLE_128B == 3);
static_assert(CU_TENSOR_MAP_L2_PROMOTION_NONE == 0 && CU_TENSOR_MAP_L2_PROMOTION_L2_64B == 1 &&
              CU_TENSOR_MAP_L2_PROMOTION_L2_128B == 2 && CU_TENSOR_MAP_L2_PROMOTION_L2_256B == 3);
static_assert(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE == 0 && CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA == 1);

template <typename F> struct Arity;
template <typename R, typename... A> struct Arity<R (*)(A...)> { static constexpr size_t value = sizeof...(A); };
#define ARITY(function) Arity<decltype(function)>::value
#define SAME_ARITY(field, name) static_assert(ARITY(ours::DriverTable::field) == ARITY(&name))
SAME_ARITY(launchKernel, cuLaunchKernel);
SAME_ARITY(launchKernelEx, cuLaunchKernelEx);
SAME_ARITY(tensorMapEncodeTiled, cuTensorMapEncodeTiled);
SAME_ARITY(moduleLoadDataEx, cuModuleLoadDataEx);
SAME_ARITY(occupancyMaxActiveBlocks, cuOccupancyMaxActiveBlocksPerMultiprocessor);
SAME_ARITY(memsetD8Async, cuMemsetD8Async);
SAME_ARITY(userObjectCreate, cuUserObjectCreate);
SAME_ARITY(graphRetainUserObject, cuGraphRetainUserObject);
"""


def _header_directory() -> Path | None:
    roots = [Path(entry) / "nvidia" / part / "include" for entry in sys.path for part in ("cu13", "cuda_runtime")]
    roots += [Path(os.environ[name]) / "include" for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    roots.append(Path("/usr/local/cuda/include"))
    return next((root for root in roots if (root / "cuda.h").is_file()), None)


def test_types_and_constants_agree_with_the_header(tmp_path: Path) -> None:
    header = _header_directory()
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if header is None or compiler is None:
        pytest.skip("no cuda.h, or no C++ compiler")
    source = tmp_path / "check.cpp"
    source.write_text(PROGRAM)
    result = subprocess.run(
        [compiler, "-std=c++17", "-fsyntax-only", "-w", f"-I{ROOT / 'include'}", f"-I{header}", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
