"""Shared by the runtime tests: CPU kernels compiled by the system's C compiler, and small launch plans."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

KERNELS = r"""
#include <stdint.h>
#include <stddef.h>
void tilemlir_unused(void);

/* c = a + b, float32, 64 elements per block; parameters a, b, c, n (i32) */
void vector_add(void *const *p, const int32_t *grid, int64_t first, int64_t last) {
  const float *a = *(const float **)p[0], *b = *(const float **)p[1];
  float *c = *(float **)p[2];
  int32_t n = *(int32_t *)p[3];
  for (int64_t block = first; block < last; ++block)
    for (int64_t i = block * 64; i < (block + 1) * 64 && i < n; ++i) c[i] = a[i] + b[i];
}

/* out[block] = number of times the block ran, and its coordinates: 4 int32 per block */
void record_blocks(void *const *p, const int32_t *grid, int64_t first, int64_t last) {
  int32_t *out = *(int32_t **)p[0];
  for (int64_t block = first; block < last; ++block) {
    int32_t *row = out + block * 4;
    __atomic_add_fetch(&row[0], 1, __ATOMIC_RELAXED);
    row[1] = (int32_t)(block % grid[0]);
    row[2] = (int32_t)(block / grid[0] % grid[1]);
    row[3] = (int32_t)(block / grid[0] / grid[1]);
  }
}

/* copies its scalar parameters to out as raw bytes: i8 u16 i32 u64 f16 bf16 f32 f64 bool f8e4m3fn, 8 bytes each */
void record_scalars(void *const *p, const int32_t *grid, int64_t first, int64_t last) {
  uint64_t *out = *(uint64_t **)p[0];
  static const int width[] = {1, 2, 4, 8, 2, 2, 4, 8, 1, 1};
  for (int i = 0; i < 10; ++i) {
    uint64_t bits = 0;
    __builtin_memcpy(&bits, p[1 + i], width[i]);
    out[i] = bits;
  }
}

/* writes the expression parameters (i64 each) to out; the count is the first */
void record_expressions(void *const *p, const int32_t *grid, int64_t first, int64_t last) {
  int64_t *out = *(int64_t **)p[0];
  int64_t count = *(int64_t *)p[1];
  for (int64_t i = 0; i < count; ++i) out[i] = *(int64_t *)p[2 + i];
}

/* strided 2-d copy: dst (contiguous) = src (m x n, strides s0 s1, elements of 4 bytes) */
void strided_copy(void *const *p, const int32_t *grid, int64_t first, int64_t last) {
  const uint32_t *src = *(const uint32_t **)p[0];
  uint32_t *dst = *(uint32_t **)p[1];
  int64_t m = *(int64_t *)p[2], n = *(int64_t *)p[3], s0 = *(int64_t *)p[4], s1 = *(int64_t *)p[5];
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) dst[i * n + j] = src[i * s0 + j * s1];
}

/* workspace test, two launches: partial sums per block into the workspace, then their sum into out */
void partial_sums(void *const *p, const int32_t *grid, int64_t first, int64_t last) {
  const float *a = *(const float **)p[0];
  float *w = *(float **)p[1];
  int32_t n = *(int32_t *)p[2];
  for (int64_t block = first; block < last; ++block)
    for (int64_t i = block * 64; i < (block + 1) * 64 && i < n; ++i) w[block] += a[i];
}
void total_sum(void *const *p, const int32_t *grid, int64_t first, int64_t last) {
  const float *w = *(const float **)p[0];
  float *out = *(float **)p[1];
  int32_t blocks = *(int32_t *)p[2];
  float sum = 0;
  for (int32_t i = 0; i < blocks; ++i) sum += w[i];
  out[0] = sum;
}

/* device hooks, called through addresses given as parameters */
typedef void (*assert_fn)(const char *, int64_t, const char *);
typedef void (*print_fn)(const char *, const int32_t *, int32_t, const char *, const void *, int64_t);
void assert_positive(void *const *p, const int32_t *grid, int64_t first, int64_t last) {
  int32_t *a = *(int32_t **)p[0];
  assert_fn fail = *(assert_fn *)p[1];
  for (int64_t block = first; block < last; ++block) {
    if (a[block] < 0) fail("kernel.py", 12, "a must not be negative");
    a[block] = 100;
  }
}
void print_values(void *const *p, const int32_t *grid, int64_t first, int64_t last) {
  print_fn print = *(print_fn *)p[1];
  for (int64_t block = first; block < last; ++block) {
    int32_t index[3] = {(int32_t)block, 0, 0};
    static const int8_t bytes[] = {-1, 2};
    float value = 0.5f;
    uint16_t half = 0x3e00, brain = 0x4049;
    print("bytes", index, 3, "i8", bytes, 2);
    print("value", NULL, -1, "f32", &value, 1);
    print("half", NULL, -1, "f16", &half, 1);
    print("brain", NULL, -1, "bf16", &brain, 1);
    print("only text", NULL, -1, NULL, NULL, 0);
  }
}

/* every block waits until all have started, at most a minute: they must run on different threads; out[0] counts */
#include <time.h>
void meet(void *const *p, const int32_t *grid, int64_t first, int64_t last) {
  int64_t *out = *(int64_t **)p[0];
  time_t begin = time(NULL);
  for (int64_t block = first; block < last; ++block) {
    __atomic_add_fetch(&out[0], 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&out[0], __ATOMIC_SEQ_CST) < grid[0])
      if (time(NULL) - begin > 60) return;
    __atomic_add_fetch(&out[1], 1, __ATOMIC_SEQ_CST);
  }
}
"""


class CLibrary:
    """The C kernels above, compiled once into a shared object."""

    def __init__(self, directory: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        assert compiler, "the runtime tests need a C compiler"
        source = directory / "kernels.c"
        source.write_text(KERNELS)
        library = directory / "kernels.so"
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        self.library = ctypes.CDLL(str(library))

    def __getitem__(self, name: str) -> int:
        address = ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value
        assert address
        return address


def tensor(name: str, shape: list[Any], dtype: str = "f32", **fields: Any) -> dict[str, Any]:
    """A tensor argument of a launch plan."""
    return {"name": name, "kind": "tensor", "dtype": dtype, "shape": shape, "access": "read", **fields}


def vector_add_plan(**fields: Any) -> dict[str, Any]:
    """C = A + B over a dynamic length n, output C."""
    n = ["symbol", 0]
    plan = {
        "version": 1,
        "target": "cpu",
        "name": "vector_add",
        "arguments": [tensor("A", [n]), tensor("B", [n]), tensor("C", [n], access="write")],
        "symbols": [{"name": "n", "source": ["dim", 0, 0]}],
        "outputs": [2],
        "launches": [
            {
                "kernel": "vector_add",
                "grid": [["ceildiv", n, 64], 1, 1],
                "threads": 128,
                "parameters": [
                    {"kind": "pointer", "argument": 0},
                    {"kind": "pointer", "argument": 1},
                    {"kind": "pointer", "argument": 2},
                    {"kind": "expr", "dtype": "i32", "value": n},
                ],
            }
        ],
    }
    plan.update(fields)
    return plan
