"""Memory: global allocations with bounds, shared memory of blocks, and the shadow that finds races.

The shadow keeps, per granule, who wrote it last and who read it since: for shared memory one read per warp and per
asynchronous reader, for global memory the last read. A granule is the narrowest access that the kernel makes, so that
neighbours that belong to different threads are never mixed up.
"""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np

from tilemlir.simulator.clocks import ASYNC, GENERIC, UNINITIALIZED, Clock

__all__ = ["GLOBAL_BASE", "PARAM_WINDOW", "Buffer", "GlobalMemory", "OutsideError", "Shadow"]

#: Global allocations begin here; between them lie pages that belong to nobody.
GLOBAL_BASE = 0x10_0000_0000
PARAM_WINDOW = 0x7200_0000_0000
_GAP = 1 << 20


class OutsideError(Exception):
    """An address that belongs to no allocation, or is not aligned; holds `kind` and a message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Shadow:
    """Who touched which granule of a buffer.

    Args:
        size: bytes of the buffer.
        granule: bytes of a granule, a power of two.
        readers: rows for reads; 1 keeps only the last read.
        component: of the first writer: HOST or UNINITIALIZED.
    """

    def __init__(self, size: int, granule: int, readers: int, component: int) -> None:
        self.shift = granule.bit_length() - 1
        count = (size >> self.shift) + 1
        self.writer = np.full(count, component, np.int32)
        self.written = np.zeros(count, np.int32)
        self.write_step = np.zeros(count, np.int32)
        self.strong = np.zeros(count, np.bool_)
        self.generic = np.zeros(count, np.bool_)
        self.reader = np.zeros((readers, count), np.int32)
        self.read = np.zeros((readers, count), np.int32)
        self.read_step = np.zeros(count, np.int32)

    def granules(self, offsets: np.ndarray, size: int) -> np.ndarray:
        """Indices of the granules of accesses of `size` bytes at byte offsets, one row per access."""
        first = offsets >> self.shift
        count = size >> self.shift
        if count <= 1:
            return first[:, None]
        return first[:, None] + np.arange(count)

    def find_write(
        self,
        index: np.ndarray,
        own: np.ndarray,
        clock: Clock,
        through: int,
        strong: bool,
        copies: tuple[int, int] | None = None,
    ) -> tuple[int, int, bool] | None:
        """The first granule whose last write is not ordered before an access.

        Args:
            index: granules, one row per access.
            own: component of each access, as a column.
            clock: of whoever accesses.
            through: GENERIC or ASYNC, the proxy of the access.
            strong: the access is atomic or a strong operation: other strong writes do not race with it.
            copies: distance from a thread's component to that of its cp.async copies, and the last one it waited for.

        Returns:
            (row of the access, granule, whether only a proxy fence is missing), or None.
        """
        writer = self.writer[index]
        written = self.written[index]
        late = clock[GENERIC][writer] < written
        late |= writer == UNINITIALIZED
        if late.any():
            late &= writer != own
            if copies is not None:
                late &= (writer != own + copies[0]) | (written > copies[1])
            if strong:
                late &= ~self.strong[index]
            if late.any():
                row, column = np.argwhere(late)[0]
                return int(row), int(index[row, column]), False
        if through == ASYNC:
            late = (clock[ASYNC][writer] < written) & self.generic[index]
            if late.any():
                row, column = np.argwhere(late)[0]
                return int(row), int(index[row, column]), True
        return None

    def find_read(
        self, index: np.ndarray, own: np.ndarray, clock: Clock, through: int = GENERIC
    ) -> tuple[int, int, int, bool] | None:
        """The first granule with a read that is not ordered before a write.

        Reads by threads are ordered before writes of the async proxy by a proxy fence only: a load that a warp has
        issued may still be in flight when the arrival behind it is seen, and what the async proxy writes overtakes it
        (measured on an H200; PTX ISA, "Memory Consistency Model", "Causality Order").

        Args:
            index, own, clock, through: as for `find_write`.

        Returns:
            (row of the access, granule, row of reads, whether only a proxy fence is missing), or None.
        """
        for position in range(len(self.read)):
            read = self.read[position][index]
            if not read.any():
                continue
            reader = self.reader[position][index]
            late = clock[GENERIC][reader] < read
            fence = False
            if late.any():
                late &= reader != own
            if through == ASYNC and not late.any():
                # Asynchronous readers are in both rows of a clock.
                late, fence = clock[ASYNC][reader] < read, True
            if late.any():
                row, column = np.argwhere(late)[0]
                return int(row), int(index[row, column]), position, fence
        return None

    def note_read(self, index: np.ndarray, own: Any, epoch: Any, row: int, step: int) -> None:
        """Records reads of granules by components at an epoch, at a step of the program."""
        row = min(row, len(self.read) - 1)
        self.reader[row][index] = own
        self.read[row][index] = epoch
        self.read_step[index] = step

    def note_write(
        self, index: np.ndarray, own: Any, epoch: Any, step: int, strong: bool = False, generic: bool = True
    ) -> None:
        """Records writes of granules by components at an epoch, at a step of the program."""
        self.writer[index] = own
        self.written[index] = epoch
        self.write_step[index] = step
        self.strong[index] = strong
        self.generic[index] = generic


class Buffer:
    """Bytes at an address.

    Attributes:
        name: in messages, such as `argument 'a'`.
        base: first address.
        start: first valid byte, where the address is not that of an aligned allocation.
        size: bytes, those in front of `start` included.
        data: the bytes; some zeros follow, so that vector views cover the end.
        writable: False for arguments that the launch plan says are only read.
        shadow: None when nobody writes.
        written: which granules earlier launches of the same call wrote, and the shift of these granules.
    """

    def __init__(self, name: str, base: int, data: np.ndarray, size: int, writable: bool = True) -> None:
        self.name = name
        self.base = base
        self.start = 0
        self.size = size
        self.data = data
        self.writable = writable
        self.shadow: Shadow | None = None
        self.written: tuple[np.ndarray, int] | None = None
        self._views: dict[int, np.ndarray] = {}

    @classmethod
    def of_bytes(cls, name: str, base: int, size: int, fill: int = 0, writable: bool = True) -> Buffer:
        """A new buffer filled with a byte."""
        return cls(name, base, np.full(-(-size // 64) * 64 + 64, fill, np.uint8), size, writable)

    def view(self, width: int) -> np.ndarray:
        """All bytes as unsigned integers of `width` bytes."""
        found = self._views.get(width)
        if found is None:
            found = self._views[width] = self.data.view(np.dtype(f"u{width}"))
        return found

    def where(self, offset: int) -> str:
        """An offset in words, also when it lies outside."""
        offset -= self.start
        size = self.size - self.start
        if offset < 0:
            return f"{-offset} bytes in front of {self.name} ({size} bytes)"
        if offset >= size:
            return f"{offset - size} bytes behind the end of {self.name} ({size} bytes)"
        return f"byte {offset} of {self.name} ({size} bytes)"


class GlobalMemory:
    """Allocations by address."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self._bases: list[int] = []
        self._next = GLOBAL_BASE

    def allocate(self, name: str, size: int, fill: int = 0, writable: bool = True, phase: int = 0) -> Buffer:
        """A new allocation, 256-byte aligned plus `phase` bytes.

        Args:
            name: for messages.
            size: bytes.
            fill: byte that it is filled with.
            writable: whether kernels may write it.
            phase: distance of its first valid byte from a multiple of 256.
        """
        buffer = Buffer.of_bytes(name, self._next, size + phase, fill, writable)
        buffer.start = phase
        self._next += -(-(size + phase) // _GAP) * _GAP + _GAP
        self.buffers.append(buffer)
        self._bases.append(buffer.base)
        return buffer

    def find(self, address: int) -> Buffer | None:
        """The allocation that an address lies in or behind."""
        position = bisect.bisect_right(self._bases, address) - 1
        return self.buffers[position] if position >= 0 else None

    def locate(self, address: int, size: int, slack: int = 0) -> Buffer:
        """The allocation that holds `size` bytes at an address.

        Args:
            address: global address.
            size: bytes.
            slack: bytes that may lie behind the end.

        Raises:
            OutsideError: when there is none.
        """
        buffer = self.find(address)
        if buffer is None or not buffer.start <= address - buffer.base <= buffer.size + slack - size:
            raise OutsideError("out-of-bounds", self.describe(address, size))
        return buffer

    def describe(self, address: int, size: int) -> str:
        """A bad address in words."""
        buffer = self.find(address)
        following = next((one for one in self.buffers if one.base > address), None)
        if following is not None and (buffer is None or following.base - address < address - buffer.base - buffer.size):
            buffer = following
        if buffer is None:
            return f"{size} bytes at global address {address:#x}, where nothing is allocated"
        if abs(address - buffer.base) > 1 << 32:
            return f"{size} bytes at global address {address:#x}, where nothing is allocated"
        return f"{size} bytes, {buffer.where(address - buffer.base)}"
