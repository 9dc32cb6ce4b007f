//===- TensorData.cpp - The values of a TensorProto -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/TensorData.h"
#include "compiler/Import/TensorCheck.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <bit>
#include <cstring>

using namespace llvm;
using onnx::TensorProto;

static_assert(std::endian::native == std::endian::little,
              "tensors are used as ONNX stores them");

namespace tenon {
namespace {

/// Narrows the entries of int32_data or uint64_data.
template <typename T, typename Entries>
std::vector<char> narrow(const Entries &entries) {
  std::vector<char> bytes(entries.size() * sizeof(T));
  char *out = bytes.data();
  for (auto entry : entries) {
    T value = static_cast<T>(entry);
    std::memcpy(out, &value, sizeof(T));
    out += sizeof(T);
  }
  return bytes;
}

template <typename Entries> ArrayRef<char> viewOf(const Entries &entries) {
  return {reinterpret_cast<const char *>(entries.data()),
          entries.size() * sizeof(*entries.data())};
}

/// 2- and 4-bit integers, the first in the lowest bits, to one byte each.
std::vector<char> widen(ArrayRef<char> packed, int64_t count, unsigned bits,
                        bool isSigned) {
  std::vector<char> bytes(count);
  for (int64_t i = 0; i < count; ++i) {
    unsigned shift = i * bits % 8;
    unsigned value = uint8_t(packed[i * bits / 8]) >> shift & ((1 << bits) - 1);
    bytes[i] = isSigned ? SignExtend32(value, bits) : int32_t(value);
  }
  return bytes;
}

/// Floats of 8 or 4 bits, the latter a byte each, as bf16.
std::vector<char> asBf16(ArrayRef<char> codes, mlir::FloatType type) {
  const fltSemantics &from = type.getFloatSemantics();
  std::vector<uint16_t> known(size_t(1) << type.getWidth());
  for (auto [code, bits] : enumerate(known)) {
    bool losesInfo;
    APFloat number(from, APInt(type.getWidth(), code));
    number.convert(APFloat::BFloat(), APFloat::rmNearestTiesToEven, &losesInfo);
    bits = uint16_t(number.bitcastToAPInt().getZExtValue());
  }
  std::vector<char> bytes(codes.size() * sizeof(uint16_t));
  char *out = bytes.data();
  for (char code : codes) {
    std::memcpy(out, &known[uint8_t(code)], sizeof(uint16_t));
    out += sizeof(uint16_t);
  }
  return bytes;
}

/// The bytes of the field of a type, narrowed into `owned` where the field is
/// wider than the type.
ArrayRef<char> fieldBytes(const TensorProto &tensor,
                          const TensorElement &element,
                          std::vector<char> &owned) {
  switch (element.field) {
  case TensorField::Float:
    return viewOf(tensor.float_data());
  case TensorField::Double:
    return viewOf(tensor.double_data());
  case TensorField::Int64:
    return viewOf(tensor.int64_data());
  case TensorField::Uint64:
    if (element.bits == 64)
      return viewOf(tensor.uint64_data());
    owned = narrow<uint32_t>(tensor.uint64_data());
    return owned;
  case TensorField::Int32:
    if (element.bits == 32)
      return viewOf(tensor.int32_data());
    owned = element.bits == 16 ? narrow<uint16_t>(tensor.int32_data())
                               : narrow<uint8_t>(tensor.int32_data());
    return owned;
  case TensorField::String:
    return {};
  }
  llvm_unreachable("covered switch");
}

} // namespace

std::string elementTypeName(int dataType) {
  if (const TensorElement *element = findElement(dataType))
    return element->name.str();
  return "number " + std::to_string(dataType);
}

mlir::Type elementType(mlir::MLIRContext *context, int dataType) {
  auto integer = [&](unsigned width, bool isUnsigned = false) {
    return mlir::IntegerType::get(context, width,
                                  isUnsigned ? mlir::IntegerType::Unsigned
                                             : mlir::IntegerType::Signless);
  };
  switch (dataType) {
  case TensorProto::FLOAT:
    return mlir::Float32Type::get(context);
  case TensorProto::DOUBLE:
    return mlir::Float64Type::get(context);
  case TensorProto::FLOAT16:
    return mlir::Float16Type::get(context);
  case TensorProto::BFLOAT16:
    return mlir::BFloat16Type::get(context);
  case TensorProto::BOOL:
    return integer(1);
  case TensorProto::INT8:
    return integer(8);
  case TensorProto::INT16:
    return integer(16);
  case TensorProto::INT32:
    return integer(32);
  case TensorProto::INT64:
    return integer(64);
  case TensorProto::UINT8:
    return integer(8, true);
  case TensorProto::UINT16:
    return integer(16, true);
  case TensorProto::UINT32:
    return integer(32, true);
  case TensorProto::UINT64:
    return integer(64, true);
  default:
    return {};
  }
}

mlir::FloatType fewBitFloat(mlir::MLIRContext *context, int dataType) {
  switch (dataType) {
  case TensorProto::FLOAT8E4M3FN:
    return mlir::Float8E4M3FNType::get(context);
  case TensorProto::FLOAT8E4M3FNUZ:
    return mlir::Float8E4M3FNUZType::get(context);
  case TensorProto::FLOAT8E5M2:
    return mlir::Float8E5M2Type::get(context);
  case TensorProto::FLOAT8E5M2FNUZ:
    return mlir::Float8E5M2FNUZType::get(context);
  case TensorProto::FLOAT8E8M0:
    return mlir::Float8E8M0FNUType::get(context);
  case TensorProto::FLOAT4E2M1:
    return mlir::Float4E2M1FNType::get(context);
  default:
    return {};
  }
}

mlir::Type storageType(mlir::MLIRContext *context, int dataType) {
  if (fewBitFloat(context, dataType))
    return mlir::BFloat16Type::get(context);
  switch (dataType) {
  case TensorProto::INT4:
  case TensorProto::INT2:
    return elementType(context, TensorProto::INT8);
  case TensorProto::UINT4:
  case TensorProto::UINT2:
    return elementType(context, TensorProto::UINT8);
  default:
    return elementType(context, dataType);
  }
}

Expected<TensorData> readTensor(const TensorProto &tensor,
                                std::shared_ptr<const ModelFile> file,
                                mlir::MLIRContext *context) {
  TensorCheck check(tensor);
  Expected<TensorLayout> layout = check.layout();
  if (!layout)
    return layout.takeError();
  const TensorElement &element = *layout->element;
  TensorData data;
  data.elementType = storageType(context, tensor.data_type());
  data.fewBits = fewBitFloat(context, tensor.data_type());
  data.isNarrow = !data.fewBits &&
                  data.elementType != elementType(context, tensor.data_type());
  if (!data.elementType)
    return check.refuse("has the element type " + element.name +
                        ", which is not supported yet");
  data.shape.assign(tensor.dims().begin(), tensor.dims().end());

  std::vector<char> owned;
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    std::shared_ptr<MappedFile> mapped;
    auto bytes = check.externalBytes(*layout, *file, &mapped);
    if (!bytes)
      return bytes.takeError();
    data.bytes = *bytes;
    data.owner = mapped;
  } else {
    const std::string &raw = tensor.raw_data();
    data.bytes = raw.empty() ? fieldBytes(tensor, element, owned)
                             : ArrayRef<char>(raw.data(), raw.size());
    data.owner = file;
  }
  if (element.bits < 8)
    owned = widen(data.bytes, layout->count, element.bits,
                  element.name.starts_with("int"));
  if (data.fewBits)
    owned = asBf16(owned.empty() ? data.bytes : ArrayRef<char>(owned),
                   data.fewBits);
  // Kernels rely on a bool being 0 or 1.
  if (element.dataType == TensorProto::BOOL &&
      any_of(data.bytes, [](char byte) { return byte & ~1; })) {
    if (owned.empty())
      owned.assign(data.bytes.begin(), data.bytes.end());
    for (char &byte : owned)
      byte = byte != 0;
  }
  if (!owned.empty()) {
    auto owner = std::make_shared<const std::vector<char>>(std::move(owned));
    data.bytes = *owner;
    data.owner = owner;
  }
  return data;
}

} // namespace tenon
