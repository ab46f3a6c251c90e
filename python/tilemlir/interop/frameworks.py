"""What the native launcher asks the frameworks for: descriptions of tensors, new tensors, streams and devices.

PyTorch from 2.10 on and NumPy are read natively, without coming here; this module serves older torch versions, CuPy
and other `__cuda_array_interface__` objects. Importing it imports no framework.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from tilemlir.interop.dtypes import element_type, numpy_dtype, torch_dtype

__all__ = [
    "allocator",
    "current_device",
    "current_stream",
    "describe",
    "loaded_torch",
    "synchronize",
    "tensor_signature",
]

_CPU = 1
_CUDA = 2

Description = tuple[int, int, int, tuple[int, ...], "tuple[int, ...] | None", int, int, bool]


def loaded_torch() -> Any | None:
    """The torch module when the program has imported it; it is never imported from here."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and hasattr(torch, "Tensor") else None


def describe(tensor: object) -> Description | None:
    """Describes a tensor's memory.

    Args:
        tensor: any object.

    Returns:
        None when it is no tensor this module knows, else its address, DLPack type code, bits per element, shape,
        strides in elements (None: row-major contiguous), DLPack device type, device index, and whether it is read-only.
    """
    torch = loaded_torch()
    if torch is not None and isinstance(tensor, torch.Tensor):
        return _describe_torch(tensor)
    interface = getattr(tensor, "__cuda_array_interface__", None)
    if interface is not None:
        return _describe_cuda_array(tensor, interface)
    return None


def _describe_torch(tensor: Any) -> Description:
    if tensor.layout != loaded_torch().strided:  # type: ignore[union-attr]
        raise TypeError(f"layout {tensor.layout}")
    if tensor.is_neg():
        raise TypeError("it is negated lazily; call .resolve_neg()")
    entry = element_type(tensor.dtype)
    device = tensor.device
    kind = {"cpu": _CPU, "cuda": _CUDA}.get(device.type)
    if kind is None:
        raise TypeError(f"device {device}")
    return (
        tensor.data_ptr(),
        entry.dlpack_code,
        entry.bits,
        tuple(tensor.shape),
        tuple(tensor.stride()),
        kind,
        device.index or 0,
        False,
    )


_TYPESTR_CODES = {"f": 2, "i": 0, "u": 1, "b": 6, "c": 5}


def _describe_cuda_array(tensor: object, interface: dict[str, Any]) -> Description:
    typestr = interface["typestr"]
    item = int(typestr[2:])
    code = _TYPESTR_CODES.get(typestr[1])
    if code is None or (typestr[1] == "f" and item == 1):
        code = element_type(getattr(tensor, "dtype", typestr)).dlpack_code
    strides = interface.get("strides")
    if strides is not None:
        if any(stride % item for stride in strides):
            raise TypeError("strides are not whole elements")
        strides = tuple(stride // item for stride in strides)
    address, read_only = interface["data"]
    device = getattr(getattr(tensor, "device", None), "id", 0)
    return (address, code, item * 8, tuple(interface["shape"]), strides, _CUDA, int(device), bool(read_only))


def allocator(prototype: object, dtype: str, device_type: int, device_id: int) -> Callable[[tuple[int, ...]], Any]:
    """A function from a shape to an uninitialised, contiguous tensor, aligned to at least 64 bytes.

    Args:
        prototype: a tensor of the call that decides the framework, or None for calls without tensors: torch on a GPU,
            torch on the CPU when the program uses it, NumPy otherwise.
        dtype: a launch plan's type name.
        device_type: DLPack device type.
        device_id: device index.
    """
    torch = loaded_torch()
    use_torch = torch is not None and (prototype is None or isinstance(prototype, torch.Tensor))
    if not use_torch and device_type == _CPU:
        return partial(_allocate_numpy, dtype=numpy_dtype(dtype))
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(prototype, cupy.ndarray):
        return partial(_allocate_cupy, cupy=cupy, dtype=numpy_dtype(dtype), device=device_id)
    import torch as framework

    device = framework.device("cpu") if device_type == _CPU else framework.device("cuda", device_id)
    # A partial of torch's own function: nothing of ours runs when a launch allocates.
    return partial(framework.empty, dtype=torch_dtype(dtype), device=device)


def _allocate_cupy(shape: tuple[int, ...], cupy: Any, dtype: Any, device: int) -> Any:
    with cupy.cuda.Device(device):
        return cupy.empty(shape, dtype=dtype)


def _allocate_numpy(shape: tuple[int, ...], dtype: Any) -> Any:
    import numpy

    # NumPy aligns to 16 bytes only; vectorised code and the launch guards want a cache line.
    size = math.prod(shape) * dtype.itemsize
    raw = numpy.empty(size + 64, dtype=numpy.uint8)
    offset = -raw.ctypes.data % 64
    return raw[offset : offset + size].view(dtype).reshape(shape)


def current_stream(prototype: object, device_id: int) -> int:
    """The CUDA stream, as a `CUstream` address, that work of the prototype's framework goes to."""
    torch = loaded_torch()
    if torch is not None and (prototype is None or isinstance(prototype, torch.Tensor)):
        return int(torch.cuda.current_stream(device_id).cuda_stream)
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(prototype, cupy.ndarray):
        return int(cupy.cuda.get_current_stream().ptr)
    return 0


def current_device() -> int:
    """The index of the current CUDA device, for calls without tensors."""
    torch = loaded_torch()
    if torch is not None and torch.cuda.is_available():
        return int(torch.cuda.current_device())
    return 0


def synchronize() -> None:
    """Waits for all work on the current CUDA device, if the program uses one."""
    torch = loaded_torch()
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()


def tensor_signature(value: object) -> tuple[tuple[int, ...], str, tuple[int, ...] | None] | None:
    """What a kernel may be compiled for of a tensor: shape, name of the element type, strides in elements.

    Returns:
        None when ``value`` is no tensor. Strides are None for row-major contiguous tensors.
    """
    if isinstance(value, (bool, int, float, str)) or value is None:
        return None
    dtype = getattr(value, "dtype", None)
    shape = getattr(value, "shape", None)
    if dtype is None or shape is None:
        return None
    extents = tuple(int(extent) for extent in shape)
    name = element_type(dtype).long
    torch = loaded_torch()
    if torch is not None and isinstance(value, torch.Tensor):
        return extents, name, None if value.is_contiguous() else tuple(value.stride())
    interface = getattr(value, "__array_interface__", None) or getattr(value, "__cuda_array_interface__", None)
    byte_strides = interface.get("strides") if interface else None
    if byte_strides is None:
        return extents, name, None
    size = element_type(dtype).bits // 8
    return extents, name, tuple(stride // size for stride in byte_strides)
