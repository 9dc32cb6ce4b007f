//===- ElementTypes.cpp - Element types as the artifact numbers them ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/ElementTypes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace {
constexpr uint32_t kTypes[] = {TENON_F32, TENON_U8,  TENON_I8,  TENON_U16,
                               TENON_I16, TENON_I32, TENON_I64, TENON_BOOL,
                               TENON_F16, TENON_F64, TENON_U32, TENON_U64,
                               TENON_BF16};
} // namespace

Type tenon::elementOf(MLIRContext *context, uint32_t dtype) {
  auto unsignedOf = [&](unsigned bits) {
    return IntegerType::get(context, bits, IntegerType::Unsigned);
  };
  switch (dtype) {
  case TENON_F32:
    return Float32Type::get(context);
  case TENON_F64:
    return Float64Type::get(context);
  case TENON_F16:
    return Float16Type::get(context);
  case TENON_BF16:
    return BFloat16Type::get(context);
  case TENON_BOOL:
    return IntegerType::get(context, 1);
  case TENON_I8:
    return IntegerType::get(context, 8);
  case TENON_I16:
    return IntegerType::get(context, 16);
  case TENON_I32:
    return IntegerType::get(context, 32);
  case TENON_I64:
    return IntegerType::get(context, 64);
  case TENON_U8:
    return unsignedOf(8);
  case TENON_U16:
    return unsignedOf(16);
  case TENON_U32:
    return unsignedOf(32);
  case TENON_U64:
    return unsignedOf(64);
  }
  return Type();
}

uint32_t tenon::dtypeOf(Type element) {
  for (uint32_t dtype : kTypes)
    if (elementOf(element.getContext(), dtype) == element)
      return dtype;
  return 0;
}
