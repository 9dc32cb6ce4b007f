//===- TensorCheck.cpp - How a TensorProto keeps its values ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/TensorCheck.h"
#include "compiler/Import/TensorData.h"
#include "compiler/Weights/WeightStore.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;
using onnx::TensorProto;

namespace tenon {
namespace {

constexpr TensorElement elements[] = {
    {TensorProto::FLOAT, "float", 32, TensorField::Float},
    {TensorProto::UINT8, "uint8", 8, TensorField::Int32},
    {TensorProto::INT8, "int8", 8, TensorField::Int32},
    {TensorProto::UINT16, "uint16", 16, TensorField::Int32},
    {TensorProto::INT16, "int16", 16, TensorField::Int32},
    {TensorProto::INT32, "int32", 32, TensorField::Int32},
    {TensorProto::INT64, "int64", 64, TensorField::Int64},
    {TensorProto::STRING, "string", 0, TensorField::String},
    {TensorProto::BOOL, "bool", 8, TensorField::Int32},
    {TensorProto::FLOAT16, "float16", 16, TensorField::Int32},
    {TensorProto::DOUBLE, "double", 64, TensorField::Double},
    {TensorProto::UINT32, "uint32", 32, TensorField::Uint64},
    {TensorProto::UINT64, "uint64", 64, TensorField::Uint64},
    {TensorProto::COMPLEX64, "complex64", 64, TensorField::Float, 1, 2},
    {TensorProto::COMPLEX128, "complex128", 128, TensorField::Double, 1, 2},
    {TensorProto::BFLOAT16, "bfloat16", 16, TensorField::Int32},
    {TensorProto::FLOAT8E4M3FN, "float8e4m3fn", 8, TensorField::Int32},
    {TensorProto::FLOAT8E4M3FNUZ, "float8e4m3fnuz", 8, TensorField::Int32},
    {TensorProto::FLOAT8E5M2, "float8e5m2", 8, TensorField::Int32},
    {TensorProto::FLOAT8E5M2FNUZ, "float8e5m2fnuz", 8, TensorField::Int32},
    {TensorProto::UINT4, "uint4", 4, TensorField::Int32, 2},
    {TensorProto::INT4, "int4", 4, TensorField::Int32, 2},
    {TensorProto::FLOAT4E2M1, "float4e2m1", 4, TensorField::Int32, 2},
    {TensorProto::FLOAT8E8M0, "float8e8m0", 8, TensorField::Int32},
    {TensorProto::UINT2, "uint2", 2, TensorField::Int32, 4},
    {TensorProto::INT2, "int2", 2, TensorField::Int32, 4},
    {TensorProto::FLOAT6E2M3, "float6e2m3", 6, TensorField::Int32},
    {TensorProto::FLOAT6E3M2, "float6e3m2", 6, TensorField::Int32},
};

int entriesIn(const TensorProto &tensor, TensorField field) {
  switch (field) {
  case TensorField::Int32:
    return tensor.int32_data_size();
  case TensorField::Int64:
    return tensor.int64_data_size();
  case TensorField::Uint64:
    return tensor.uint64_data_size();
  case TensorField::Float:
    return tensor.float_data_size();
  case TensorField::Double:
    return tensor.double_data_size();
  case TensorField::String:
    return tensor.string_data_size();
  }
  llvm_unreachable("covered switch");
}

} // namespace

const TensorElement *findElement(int dataType) {
  for (const TensorElement &element : elements)
    if (element.dataType == dataType)
      return &element;
  return nullptr;
}

Expected<TensorLayout> TensorCheck::layout() const {
  const TensorElement *element = findElement(tensor.data_type());
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
  return TensorLayout{element, *count, int64_t(divideCeil(uint64_t(bits), 8))};
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
TensorCheck::externalBytes(const TensorLayout &layout, const ModelFile &file,
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

Error TensorCheck::data(const TensorLayout &layout,
                        const ModelFile &file) const {
  constexpr TensorField fields[] = {TensorField::Int32,  TensorField::Int64,
                                    TensorField::Uint64, TensorField::Float,
                                    TensorField::Double, TensorField::String};
  int filled = !tensor.raw_data().empty();
  for (TensorField field : fields)
    filled += entriesIn(tensor, field) != 0;
  const TensorElement &element = *layout.element;
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (filled)
      return refuse("has both external data and data in the model");
    if (element.field == TensorField::String)
      return refuse("has strings as external data, which ONNX forbids");
    return externalBytes(layout, file).takeError();
  }
  if (filled > 1)
    return refuse("has values in more than one field");
  if (!tensor.raw_data().empty()) {
    if (element.field == TensorField::String)
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

Error checkTensor(const TensorProto &tensor, const ModelFile &file) {
  TensorCheck check(tensor);
  Expected<TensorLayout> layout = check.layout();
  if (!layout)
    return layout.takeError();
  return check.data(*layout, file);
}

} // namespace tenon
