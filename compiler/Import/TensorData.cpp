//===- TensorData.cpp - The values of a TensorProto -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/TensorData.h"
#include "compiler/Weights/Printable.h"
#include "compiler/Weights/WeightStore.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

#include <bit>
#include <cstring>
#include <optional>

using namespace llvm;
using onnx::TensorProto;

static_assert(std::endian::native == std::endian::little,
              "tensors are used as ONNX stores them");

namespace tenon {
namespace {

/// The repeated field that may hold the values beside raw_data.
enum class Field { Int32, Int64, Uint64, Float, Double, String };

struct Element {
  int dataType;
  StringLiteral name;
  unsigned bits;
  Field field;
  /// How many elements one entry of the field holds, or how many entries one
  /// element takes (complex numbers).
  unsigned perEntry = 1, entries = 1;
};

constexpr Element elements[] = {
    {TensorProto::FLOAT, "float", 32, Field::Float},
    {TensorProto::UINT8, "uint8", 8, Field::Int32},
    {TensorProto::INT8, "int8", 8, Field::Int32},
    {TensorProto::UINT16, "uint16", 16, Field::Int32},
    {TensorProto::INT16, "int16", 16, Field::Int32},
    {TensorProto::INT32, "int32", 32, Field::Int32},
    {TensorProto::INT64, "int64", 64, Field::Int64},
    {TensorProto::STRING, "string", 0, Field::String},
    {TensorProto::BOOL, "bool", 8, Field::Int32},
    {TensorProto::FLOAT16, "float16", 16, Field::Int32},
    {TensorProto::DOUBLE, "double", 64, Field::Double},
    {TensorProto::UINT32, "uint32", 32, Field::Uint64},
    {TensorProto::UINT64, "uint64", 64, Field::Uint64},
    {TensorProto::COMPLEX64, "complex64", 64, Field::Float, 1, 2},
    {TensorProto::COMPLEX128, "complex128", 128, Field::Double, 1, 2},
    {TensorProto::BFLOAT16, "bfloat16", 16, Field::Int32},
    {TensorProto::FLOAT8E4M3FN, "float8e4m3fn", 8, Field::Int32},
    {TensorProto::FLOAT8E4M3FNUZ, "float8e4m3fnuz", 8, Field::Int32},
    {TensorProto::FLOAT8E5M2, "float8e5m2", 8, Field::Int32},
    {TensorProto::FLOAT8E5M2FNUZ, "float8e5m2fnuz", 8, Field::Int32},
    {TensorProto::UINT4, "uint4", 4, Field::Int32, 2},
    {TensorProto::INT4, "int4", 4, Field::Int32, 2},
    {TensorProto::FLOAT4E2M1, "float4e2m1", 4, Field::Int32, 2},
    {TensorProto::FLOAT8E8M0, "float8e8m0", 8, Field::Int32},
    {TensorProto::UINT2, "uint2", 2, Field::Int32, 4},
    {TensorProto::INT2, "int2", 2, Field::Int32, 4},
    {TensorProto::FLOAT6E2M3, "float6e2m3", 6, Field::Int32},
    {TensorProto::FLOAT6E3M2, "float6e3m2", 6, Field::Int32},
};

const Element *findElement(int dataType) {
  for (const Element &element : elements)
    if (element.dataType == dataType)
      return &element;
  return nullptr;
}

int entriesIn(const TensorProto &tensor, Field field) {
  switch (field) {
  case Field::Int32:
    return tensor.int32_data_size();
  case Field::Int64:
    return tensor.int64_data_size();
  case Field::Uint64:
    return tensor.uint64_data_size();
  case Field::Float:
    return tensor.float_data_size();
  case Field::Double:
    return tensor.double_data_size();
  case Field::String:
    return tensor.string_data_size();
  }
  llvm_unreachable("covered switch");
}

/// What a valid TensorProto says about itself.
struct Layout {
  const Element *element;
  int64_t count; // Elements.
  int64_t bytes; // Of raw or external data.
};

/// Where external data lies.
struct ExternalRange {
  StringRef location;
  std::optional<uint64_t> offset, length;
};

/// The checks of one tensor; every refusal names it.
class TensorCheck {
public:
  explicit TensorCheck(const TensorProto &tensor) : tensor(tensor) {}

  Expected<Layout> layout() const;
  Error data(const Layout &layout, const ModelFile &file) const;
  Expected<ExternalRange> externalRange() const;
  Expected<ArrayRef<char>>
  externalBytes(const Layout &layout, const ModelFile &file,
                std::shared_ptr<MappedFile> *owner = nullptr) const;

  Error refuse(const Twine &reason) const {
    return createStringError("tensor '" + printable(tensor.name()) + "' " +
                             reason);
  }

private:
  const TensorProto &tensor;
};

Expected<Layout> TensorCheck::layout() const {
  const Element *element = findElement(tensor.data_type());
  if (!element)
    return refuse("has element type " + Twine(tensor.data_type()) +
                  ", which ONNX does not define");
  if (tensor.has_segment())
    return refuse("is stored in segments, which ONNX no longer defines");
  if (tensor.dims_size() > kMaxRank)
    return refuse("has " + Twine(tensor.dims_size()) + " dims; at most " +
                  Twine(kMaxRank) + " are possible");
  for (int64_t dim : tensor.dims())
    if (dim < 0)
      return refuse("has the negative dim " + Twine(dim));
  std::optional<int64_t> count =
      elementCount({tensor.dims().data(), size_t(tensor.dims_size())});
  int64_t bits;
  if (!count || MulOverflow<int64_t>(*count, element->bits, bits)) {
    std::string dims;
    for (int64_t dim : tensor.dims())
      dims += (dims.empty() ? "" : " x ") + std::to_string(dim);
    return refuse("of " + dims + " values is larger than any memory");
  }
  return Layout{element, *count, int64_t(divideCeil(uint64_t(bits), 8))};
}

Expected<ExternalRange> TensorCheck::externalRange() const {
  std::optional<StringRef> location, offset, length;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    std::optional<StringRef> *slot = nullptr;
    if (entry.key() == "location")
      slot = &location;
    else if (entry.key() == "offset")
      slot = &offset;
    else if (entry.key() == "length")
      slot = &length;
    else
      continue;
    if (*slot)
      return refuse("has two entries '" + entry.key() +
                    "' for its external data");
    *slot = StringRef(entry.value());
  }
  if (!location)
    return refuse("has external data without a location");
  ExternalRange range{*location, std::nullopt, std::nullopt};
  auto parse = [&](StringRef key, std::optional<StringRef> text,
                   std::optional<uint64_t> &out) -> Error {
    uint64_t value;
    if (!text)
      return Error::success();
    if (text->empty() || text->getAsInteger(10, value))
      return refuse("has the external " + key + " '" + printable(*text) +
                    "', which is not a non-negative number");
    out = value;
    return Error::success();
  };
  if (Error error = parse("offset", offset, range.offset))
    return std::move(error);
  if (Error error = parse("length", length, range.length))
    return std::move(error);
  return range;
}

Expected<ArrayRef<char>>
TensorCheck::externalBytes(const Layout &layout, const ModelFile &file,
                           std::shared_ptr<MappedFile> *owner) const {
  Expected<ExternalRange> range = externalRange();
  if (!range)
    return range.takeError();
  uint64_t bytes = layout.bytes, offset = range->offset.value_or(0);
  if (range->length && *range->length != bytes)
    return refuse("has " + Twine(*range->length) +
                  " bytes of external data but its type and dims need " +
                  Twine(bytes));
  auto mapped = file.external(range->location);
  if (!mapped)
    return refuse("has external data at " + toString(mapped.takeError()));
  ArrayRef<char> all = (*mapped)->bytes();
  if (offset > all.size() || bytes > all.size() - offset)
    return refuse("needs bytes " + Twine(offset) + " + " + Twine(bytes) +
                  " of '" + printable(range->location) + "', which has only " +
                  Twine(all.size()));
  if (owner)
    *owner = *mapped;
  return all.slice(offset, bytes);
}

Error TensorCheck::data(const Layout &layout, const ModelFile &file) const {
  constexpr Field fields[] = {Field::Int32, Field::Int64,  Field::Uint64,
                              Field::Float, Field::Double, Field::String};
  int filled = !tensor.raw_data().empty();
  for (Field field : fields)
    filled += entriesIn(tensor, field) != 0;
  const Element &element = *layout.element;
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (filled)
      return refuse("has both external data and data in the model");
    if (element.field == Field::String)
      return refuse("has strings as external data, which ONNX forbids");
    return externalBytes(layout, file).takeError();
  }
  if (filled > 1)
    return refuse("has values in more than one field");
  if (!tensor.raw_data().empty()) {
    if (element.field == Field::String)
      return refuse("has strings in raw_data, which ONNX forbids");
    if (tensor.raw_data().size() != uint64_t(layout.bytes))
      return refuse("has " + Twine(tensor.raw_data().size()) +
                    " bytes of raw data but its type and dims need " +
                    Twine(layout.bytes));
    return Error::success();
  }
  int64_t entries = divideCeil(uint64_t(layout.count), element.perEntry);
  if (MulOverflow<int64_t>(entries, element.entries, entries))
    return refuse("is larger than any memory");
  int64_t found = entriesIn(tensor, element.field);
  if (found != entries)
    return refuse(filled && !found
                      ? Twine("has its values in a field that is not the one "
                              "of its element type ") +
                            element.name
                      : "has " + Twine(found) + " values but its dims need " +
                            Twine(entries));
  return Error::success();
}

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

} // namespace

std::string elementTypeName(int dataType) {
  if (const Element *element = findElement(dataType))
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

mlir::Type storageType(mlir::MLIRContext *context, int dataType) {
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

Error checkTensor(const TensorProto &tensor, const ModelFile &file) {
  TensorCheck check(tensor);
  Expected<Layout> layout = check.layout();
  if (!layout)
    return layout.takeError();
  return check.data(*layout, file);
}

namespace {

/// The bytes of the field of a type, narrowed into `owned` where the field is
/// wider than the type.
ArrayRef<char> fieldBytes(const TensorProto &tensor, const Element &element,
                          std::vector<char> &owned) {
  switch (element.field) {
  case Field::Float:
    return viewOf(tensor.float_data());
  case Field::Double:
    return viewOf(tensor.double_data());
  case Field::Int64:
    return viewOf(tensor.int64_data());
  case Field::Uint64:
    if (element.bits == 64)
      return viewOf(tensor.uint64_data());
    owned = narrow<uint32_t>(tensor.uint64_data());
    return owned;
  case Field::Int32:
    if (element.bits == 32)
      return viewOf(tensor.int32_data());
    owned = element.bits == 16 ? narrow<uint16_t>(tensor.int32_data())
                               : narrow<uint8_t>(tensor.int32_data());
    return owned;
  case Field::String:
    return {};
  }
  llvm_unreachable("covered switch");
}

} // namespace

Expected<TensorData> readTensor(const TensorProto &tensor,
                                std::shared_ptr<const ModelFile> file,
                                mlir::MLIRContext *context) {
  TensorCheck check(tensor);
  Expected<Layout> layout = check.layout();
  if (!layout)
    return layout.takeError();
  const Element &element = *layout->element;
  TensorData data;
  data.elementType = storageType(context, tensor.data_type());
  data.isNarrow = data.elementType != elementType(context, tensor.data_type());
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
