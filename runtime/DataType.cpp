//===- DataType.cpp - Names and sizes of element types --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/DataType.h"
#include "runtime/model_format.h"

#include <stdio.h>
#include <string.h>

using namespace tenon::runtime;

namespace {
struct DataType {
  const char *name;
  size_t bytes;
};

DataType dataType(uint32_t dtype) {
  switch (dtype) {
  case TENON_F32:
    return {"f32", 4};
  case TENON_U8:
    return {"u8", 1};
  case TENON_I8:
    return {"i8", 1};
  case TENON_U16:
    return {"u16", 2};
  case TENON_I16:
    return {"i16", 2};
  case TENON_I32:
    return {"i32", 4};
  case TENON_I64:
    return {"i64", 8};
  case TENON_BOOL:
    return {"bool", 1};
  case TENON_F16:
    return {"f16", 2};
  case TENON_F64:
    return {"f64", 8};
  case TENON_U32:
    return {"u32", 4};
  case TENON_U64:
    return {"u64", 8};
  case TENON_BF16:
    return {"bf16", 2};
  }
  return {nullptr, 0};
}
} // namespace

const char *tenon_dtype_name(uint32_t dtype) { return dataType(dtype).name; }

size_t tenon_dtype_bytes(uint32_t dtype) { return dataType(dtype).bytes; }

bool tenon::runtime::tensorBytes(uint32_t dtype, const int64_t *dims,
                                 uint32_t rank, uint64_t &bytes) {
  bool empty = false;
  for (uint32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return false;
    empty |= dims[i] == 0;
  }
  bytes = empty ? 0 : tenon_dtype_bytes(dtype);
  for (uint32_t i = 0; i < rank && !empty; ++i)
    if (__builtin_mul_overflow(bytes, uint64_t(dims[i]), &bytes))
      return false;
  return bytes <= INT64_MAX;
}

void ShapeText::append(const char *part) {
  size_t room = sizeof text - length, size = strlen(part);
  if (size >= room)
    size = room - 1;
  memcpy(text + length, part, size);
  length += size;
  text[length] = 0;
}

ShapeText::ShapeText(uint32_t dtype, const int64_t *dims, uint32_t rank) {
  const char *name = tenon_dtype_name(dtype);
  append(name ? name : "unknown type");
  for (uint32_t i = 0; i < rank && i < TENON_MAX_RANK; ++i) {
    char number[32];
    snprintf(number, sizeof number, "%s%lld", i ? ", " : "[",
             static_cast<long long>(dims[i]));
    append(number);
  }
  append(rank ? "]" : "[]");
}

ShapeText::ShapeText(uint32_t dtype, const char *const *dims, uint32_t rank) {
  append(tenon_dtype_name(dtype));
  for (uint32_t i = 0; i < rank; ++i) {
    append(i ? ", " : "[");
    append(dims[i]);
  }
  append(rank ? "]" : "[]");
}
