//===- InlineBuffer.h - Per-call storage on the stack -----------*- C++ -*-===//
//
// An array whose first N elements live inside the object: a launch of ordinary
// size allocates nothing, a larger one works all the same. Elements start
// uninitialised.
//
//===----------------------------------------------------------------------===//

#ifndef TILEMLIR_RUNTIME_INLINEBUFFER_H
#define TILEMLIR_RUNTIME_INLINEBUFFER_H

#include <cstddef>
#include <memory>
#include <type_traits>

namespace tilemlir::runtime {

template <typename T, size_t N> class InlineBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  InlineBuffer() = default; // leaves the storage uninitialised
  InlineBuffer(const InlineBuffer &) = delete;
  InlineBuffer &operator=(const InlineBuffer &) = delete;

  void resize(size_t size) {
    if (size <= N) {
      elements = inlineElements();
      return;
    }
    heap.reset(new T[size]);
    elements = heap.get();
  }

  T *data() { return elements; }
  const T *data() const { return elements; }
  T &operator[](size_t index) { return elements[index]; }
  const T &operator[](size_t index) const { return elements[index]; }

private:
  T *inlineElements() { return reinterpret_cast<T *>(storage); }

  alignas(T) unsigned char storage[N * sizeof(T)];
  std::unique_ptr<T[]> heap;
  T *elements = inlineElements();
};

} // namespace tilemlir::runtime

#endif // TILEMLIR_RUNTIME_INLINEBUFFER_H
