/* A stand-in for libcuda.so.1 that records what it is asked to do: one "H200", memory is the host's. It lets the whole
   CUDA half of the launcher run without a GPU. Kernels do not run: a launch is checked and written to the log. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int R;
static char log_text[1 << 20];
static int logged;
static void record(const char *format, ...) {
  if (logged > (int)sizeof(log_text) - 4096) logged = 0;
  va_list list;
  va_start(list, format);
  logged += vsnprintf(log_text + logged, sizeof(log_text) - (size_t)logged, format, list);
  va_end(list);
}
static void *current;
static int contexts[2];
static int fail_launch;       /* error that the next launch returns */
static int capture_status;    /* 1: the stream is capturing */
static void (*graph_destroy)(void *);
static void *graph_data;

const char *fake_log(void) { return log_text; }
void fake_reset(void) {
  logged = 0;
  log_text[0] = 0;
}
void fake_fail_launch(int error) { fail_launch = error; }
void fake_capture(int status) { capture_status = status; }
void fake_destroy_graph(void) {
  if (graph_destroy) graph_destroy(graph_data);
  graph_destroy = NULL;
}

R cuInit(unsigned flags) { return 0; }
R cuDriverGetVersion(int *v) { return *v = 13000, 0; }
R cuGetErrorName(R e, const char **s) {
  *s = e == 1 ? "CUDA_ERROR_INVALID_VALUE" : e == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : e == 720 ? "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" : "CUDA_ERROR_OTHER";
  return 0;
}
R cuGetErrorString(R e, const char **s) {
  *s = e == 1 ? "invalid argument" : "an error";
  return 0;
}
R cuDeviceGet(int *d, int i) { return *d = i, 0; }
R cuDeviceGetCount(int *n) { return *n = 2, 0; }
R cuDeviceGetName(char *s, int n, int d) { return snprintf(s, (size_t)n, "Fake H200"), 0; }
R cuDeviceTotalMem_v2(size_t *n, int d) { return *n = (size_t)1 << 37, 0; }
R cuDeviceGetAttribute(int *v, int a, int d) {
  switch (a) {
  case 1: *v = 1024; break;
  case 8: *v = 49152; break;
  case 10: *v = 32; break;
  case 16: *v = 132; break;
  case 75: *v = 9; break;
  case 76: *v = 0; break;
  case 97: *v = 232448; break;
  case 95: case 120: case 127: *v = 1; break;
  default: return 1;
  }
  return 0;
}
R cuDevicePrimaryCtxRetain(void **c, int d) { return *c = &contexts[d], record("retain %d\n", d), 0; }
R cuCtxGetCurrent(void **c) { return *c = current, 0; }
R cuCtxPushCurrent_v2(void *c) { return current = c, record("push %d\n", (int)((int *)c - contexts)), 0; }
R cuCtxPopCurrent_v2(void **c) { return *c = current, current = NULL, record("pop\n"), 0; }
R cuCtxSynchronize(void) { return record("synchronize\n"), 0; }
R cuModuleLoadDataEx(void **m, const void *image, unsigned n, int *options, void **values) {
  record("load %.12s\n", (const char *)image);
  if (strncmp(image, "bad", 3) == 0) {
    for (unsigned i = 0; i < n; ++i)
      if (options[i] == 5) strcpy(values[i], "ptxas error: wrong architecture");
    return 209;
  }
  *m = malloc(1);
  return 0;
}
R cuModuleUnload(void *m) { return record("unload\n"), free(m), 0; }
R cuModuleGetFunction(void **f, void *m, const char *name) { return *f = strdup(name), record("function %s\n", name), 0; }
R cuFuncGetAttribute(int *v, int a, void *f) {
  static const int values[] = {1024, 1024, 0, 16, 90, 80, 90};
  return *v = a < 7 ? values[a] : 0, 0;
}
R cuFuncSetAttribute(void *f, int a, int v) { return record("attribute %s %d=%d\n", (char *)f, a, v), 0; }
static R launch(const char *f, const unsigned *g, const unsigned *b, unsigned shared, void *stream, void **p) {
  if (fail_launch) {
    R result = fail_launch;
    fail_launch = 0;
    return result;
  }
  record("launch %s grid %u %u %u block %u %u %u shared %u stream %zu\n", f, g[0], g[1], g[2], b[0], b[1], b[2], shared,
      (size_t)stream);
  /* by convention of the tests: a kernel named p<types> has parameters p (pointer), i (int32), l (int64), m (map) */
  if (f[0] == 'p')
    for (int i = 0; f[i + 1]; ++i) {
      if (f[i + 1] == 'p') record("  pointer %zu\n", *(size_t *)p[i]);
      if (f[i + 1] == 'i') record("  int %d\n", *(int *)p[i]);
      if (f[i + 1] == 'l') record("  long %lld\n", *(long long *)p[i]);
      if (f[i + 1] == 'm') record("  map %lld aligned %d\n", *(long long *)p[i], (size_t)p[i] % 128 == 0);
    }
  return 0;
}
R cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                 void *stream, void **p, void **extra) {
  unsigned g[] = {gx, gy, gz}, b[] = {bx, by, bz};
  return launch(f, g, b, shared, stream, p);
}
struct attribute { int id; int pad; union { char bytes[64]; unsigned cluster[3]; int flag; } value; };
struct config { unsigned g[3], b[3], shared; void *stream; struct attribute *attributes; unsigned count; };
R cuLaunchKernelEx(const struct config *c, void *f, void **p, void **extra) {
  for (unsigned i = 0; i < c->count; ++i) {
    if (c->attributes[i].id == 4)
      record("cluster %u %u %u\n", c->attributes[i].value.cluster[0], c->attributes[i].value.cluster[1],
          c->attributes[i].value.cluster[2]);
    else
      record("launch attribute %d=%d\n", c->attributes[i].id, c->attributes[i].value.flag);
  }
  return launch(f, c->g, c->b, c->shared, c->stream, p);
}
R cuTensorMapEncodeTiled(int64_t *map, int type, uint32_t rank, void *address, const uint64_t *dims,
                         const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
                         int swizzle, int promotion, int fill) {
  static int64_t encoded = 100;
  if ((size_t)address % 16 || (rank > 1 && strides[0] % 16)) return 1;
  record("encode type %d rank %u dims", type, rank);
  for (uint32_t i = 0; i < rank; ++i) record(" %llu", (unsigned long long)dims[i]);
  record(" strides");
  for (uint32_t i = 0; i + 1 < rank; ++i) record(" %llu", (unsigned long long)strides[i]);
  record(" box");
  for (uint32_t i = 0; i < rank; ++i) record(" %u", box[i]);
  record(" swizzle %d promotion %d fill %d\n", swizzle, promotion, fill);
  map[0] = encoded++;
  return 0;
}
R cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int threads, size_t shared) { return *n = 2, 0; }
R cuStreamGetCaptureInfo_v2(void *s, int *status, uint64_t *id, void **graph, void *d, size_t *n) {
  *status = capture_status;
  if (graph) *graph = &capture_status;
  return 0;
}
R cuThreadExchangeStreamCaptureMode(int *mode) {
  static int now = 0;
  int old = now;
  now = *mode;
  *mode = old;
  return record("capture mode %d\n", now), 0;
}
R cuStreamSynchronize(void *s) { return record("synchronize\n"), 0; }
R cuMemsetD8Async(size_t p, unsigned char v, size_t n, void *s) {
  memset((void *)p, v, n);
  return record("memset %d bytes %zu stream %zu\n", v, n, (size_t)s), 0;
}
R cuUserObjectCreate(void **o, void *data, void (*destroy)(void *), unsigned n, unsigned flags) {
  graph_destroy = destroy;
  graph_data = data;
  return *o = data, record("user object\n"), 0;
}
R cuGraphRetainUserObject(void *g, void *o, unsigned n, unsigned flags) { return record("graph keeps object\n"), 0; }
