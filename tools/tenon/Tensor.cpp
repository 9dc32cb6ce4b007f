//===- Tensor.cpp - A dense tensor in the memory of a tool ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Tensor.h"

#include "runtime/Memory.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/ErrorHandling.h"

#include <cstring>

using namespace tenon;

char *tenon::allocateTensor(size_t bytes) {
  void *memory = runtime::allocateOnHost(bytes);
  if (!memory)
    llvm::report_bad_alloc_error("no memory for a tensor");
  return static_cast<char *>(memory);
}

int64_t Tensor::count() const {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= dim;
  return product;
}

std::optional<size_t> tenon::bytesOfType(uint32_t type) {
  switch (type) {
  case TENON_U8:
  case TENON_I8:
  case TENON_BOOL:
    return 1;
  case TENON_U16:
  case TENON_I16:
  case TENON_F16:
  case TENON_BF16:
    return 2;
  case TENON_F32:
  case TENON_I32:
  case TENON_U32:
    return 4;
  case TENON_F64:
  case TENON_I64:
  case TENON_U64:
    return 8;
  }
  return std::nullopt;
}

std::optional<size_t> tenon::bytesOfTensor(uint32_t type,
                                           llvm::ArrayRef<int64_t> dims) {
  std::optional<size_t> width = bytesOfType(type);
  if (!width)
    return std::nullopt;
  // A zero anywhere makes the tensor empty, whatever the other dims are.
  for (int64_t dim : dims)
    if (dim < 0)
      return std::nullopt;
  for (int64_t dim : dims)
    if (dim == 0)
      return 0;
  int64_t bytes = int64_t(*width);
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      return std::nullopt;
  return size_t(bytes);
}

bool tenon::isFloat(uint32_t type) {
  return type == TENON_F32 || type == TENON_F64 || type == TENON_F16 ||
         type == TENON_BF16;
}

std::string tenon::describe(uint32_t type, llvm::ArrayRef<int64_t> dims) {
  static const char *const names[] = {
      "none", "f32", "u8",  "i8",  "u16", "i16", "i32",  "i64", "string",
      "bool", "f16", "f64", "u32", "u64", "c64", "c128", "bf16"};
  std::string text =
      type < std::size(names) ? names[type] : "type " + std::to_string(type);
  text += '[';
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? "x" : "") + std::to_string(dims[i]);
  return text + ']';
}

static double widen(const llvm::fltSemantics &semantics, uint16_t bits) {
  llvm::APFloat value(semantics, llvm::APInt(16, bits));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

double tenon::elementAsDouble(const Tensor &tensor, int64_t i) {
  switch (tensor.type) {
  case TENON_F32:
    return load<float>(tensor, i);
  case TENON_F64:
    return load<double>(tensor, i);
  case TENON_F16:
    return widen(llvm::APFloat::IEEEhalf(), load<uint16_t>(tensor, i));
  case TENON_BF16:
    return widen(llvm::APFloat::BFloat(), load<uint16_t>(tensor, i));
  case TENON_U64:
    return double(load<uint64_t>(tensor, i));
  }
  return double(elementAsInteger(tensor, i));
}

int64_t tenon::elementAsInteger(const Tensor &tensor, int64_t i) {
  switch (tensor.type) {
  case TENON_BOOL:
  case TENON_U8:
    return load<uint8_t>(tensor, i);
  case TENON_I8:
    return load<int8_t>(tensor, i);
  case TENON_U16:
    return load<uint16_t>(tensor, i);
  case TENON_I16:
    return load<int16_t>(tensor, i);
  case TENON_U32:
    return load<uint32_t>(tensor, i);
  case TENON_I32:
    return load<int32_t>(tensor, i);
  case TENON_U64:
  case TENON_I64:
    return load<int64_t>(tensor, i);
  }
  return 0;
}
