//===- DataType.h - Names and sizes of element types ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_DATATYPE_H
#define TENON_RUNTIME_DATATYPE_H

#include "runtime/tenon.h"

namespace tenon::runtime {

/// The bytes that `rank` dims of a type take. False when a dim is negative or
/// the size does not fit.
[[nodiscard]] bool tensorBytes(uint32_t dtype, const int64_t *dims,
                               uint32_t rank, uint64_t &bytes);

/// A shape as text, "f32[2, 3]"; cut short where it does not fit.
struct ShapeText {
  char text[256];
  ShapeText(uint32_t dtype, const int64_t *dims, uint32_t rank);
  ShapeText(uint32_t dtype, const char *const *dims, uint32_t rank);

private:
  void append(const char *part);
  size_t length = 0;
};

} // namespace tenon::runtime

#endif // TENON_RUNTIME_DATATYPE_H
