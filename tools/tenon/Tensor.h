//===- Tensor.h - A dense tensor in the memory of a tool ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_TENSOR_H
#define TENON_TOOLS_TENON_TENSOR_H

#include "runtime/tenon.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace tenon {

/// As sessions allocate, and numpy: what is large may be in huge pages. Ends
/// the program if there is no memory.
char *allocateTensor(size_t bytes);

/// Memory of allocateTensor for a container of bytes.
template <typename T> struct TensorAllocator {
  using value_type = T;

  TensorAllocator() = default;
  template <typename U> TensorAllocator(const TensorAllocator<U> &) {}
  T *allocate(size_t count) {
    return reinterpret_cast<T *>(allocateTensor(count * sizeof(T)));
  }
  void deallocate(T *memory, size_t) { std::free(memory); }
  template <typename U> bool operator==(const TensorAllocator<U> &) const {
    return true;
  }
};

using TensorBytes = std::vector<char, TensorAllocator<char>>;

/// Row-major, little-endian. `type` is a tenon_dtype_t, as in ONNX.
struct Tensor {
  uint32_t type = 0;
  std::vector<int64_t> dims;
  TensorBytes bytes;

  int64_t count() const;
};

/// Bytes of an element; nothing for a type that Tenon does not compute with.
std::optional<size_t> bytesOfType(uint32_t type);

/// Bytes of a tensor; nothing for such a type, a bad dim or an overflow.
std::optional<size_t> bytesOfTensor(uint32_t type,
                                    llvm::ArrayRef<int64_t> dims);

bool isFloat(uint32_t type);

/// "f32[2x3]".
std::string describe(uint32_t type, llvm::ArrayRef<int64_t> dims);

/// An element of a tensor of that type.
template <typename T> T load(const Tensor &tensor, int64_t i) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

/// Element i as a double; exact but for 64-bit integers.
double elementAsDouble(const Tensor &tensor, int64_t i);

/// Element i as an integer's bits, sign-extended; for types without fraction.
int64_t elementAsInteger(const Tensor &tensor, int64_t i);

} // namespace tenon

#endif // TENON_TOOLS_TENON_TENSOR_H
