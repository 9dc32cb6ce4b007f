//===- WeightStore.cpp - The weights of a model, outside its IR -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Weights/WeightStore.h"
#include "compiler/Weights/Printable.h"
#include "compiler/Weights/WeightBlock.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace llvm;

namespace tenon {

std::optional<int64_t> elementBytes(mlir::Type type) {
  if (type.isF16() || type.isBF16())
    return 2;
  if (type.isF32())
    return 4;
  if (type.isF64())
    return 8;
  auto integer = dyn_cast<mlir::IntegerType>(type);
  if (!integer || integer.isSigned())
    return std::nullopt;
  switch (integer.getWidth()) {
  case 1:
    return integer.isSignless() ? std::optional<int64_t>(1) : std::nullopt;
  case 8:
  case 16:
  case 32:
  case 64:
    return integer.getWidth() / 8;
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    // Strides of an empty tensor must fit as well, so zeros count as one.
    empty |= dim == 0;
    if (dim != 0 && MulOverflow(count, dim, count))
      return std::nullopt;
  }
  return empty ? 0 : count;
}

/// Numbers of 4 bits lie two in a byte, the first one low.
bool hasNibbles(mlir::Type type) {
  return type.isSignlessInteger(4) || type.isUnsignedInteger(4);
}

std::optional<int64_t> tensorBytes(mlir::Type type, ArrayRef<int64_t> shape) {
  std::optional<int64_t> width = elementBytes(type);
  std::optional<int64_t> count = elementCount(shape);
  int64_t bytes;
  if (count && hasNibbles(type))
    return *count / 2 + *count % 2;
  if (!width || !count || MulOverflow(*width, *count, bytes))
    return std::nullopt;
  return bytes;
}

namespace {

/// Copies a matrix with its axes swapped, in squares, so that both sides use
/// whole cache lines. `Width` are the bytes of an element.
template <int64_t Width>
void transposeMatrix(const char *from, char *to, int64_t rows,
                     int64_t columns) {
  constexpr int64_t side = 32;
  for (int64_t row = 0; row < rows; row += side)
    for (int64_t column = 0; column < columns; column += side)
      for (int64_t c = column; c < std::min(column + side, columns); ++c)
        for (int64_t r = row; r < std::min(row + side, rows); ++r)
          std::memcpy(to + (c * rows + r) * Width,
                      from + (r * columns + c) * Width, Width);
}

} // namespace

/// A matrix of 4 bits each, of another or of others side by side.
static std::vector<char> makeNibbles(const Weight &weight) {
  std::vector<char> result(
      tensorBytes(weight.elementType, weight.shape).value_or(0));
  auto copy = [&](const Weight &from, int64_t source, int64_t target) {
    int number = from.bytes()[size_t(source / 2)] >> (source % 2 * 4) & 15;
    result[size_t(target / 2)] |= char(number << (target % 2 * 4));
  };
  int64_t rows = weight.shape[0], columns = weight.shape[1];
  for (int64_t row = 0; row < rows; ++row) {
    if (weight.transposed)
      for (int64_t column = 0; column < columns; ++column)
        copy(*weight.transposed, column * rows + row, row * columns + column);
    int64_t target = row * columns;
    for (const Weight *part : weight.joined)
      for (int64_t i = 0; i < part->shape[1]; ++i)
        copy(*part, row * part->shape[1] + i, target++);
  }
  return result;
}

std::vector<char> Weight::makeBytes() const {
  if (hasNibbles(elementType))
    return makeNibbles(*this);
  int64_t width = elementBytes(elementType).value_or(1);
  std::vector<char> result(tensorBytes(elementType, shape).value_or(0));
  char *to = result.data();
  if (transposed) {
    auto transpose = width == 1   ? transposeMatrix<1>
                     : width == 2 ? transposeMatrix<2>
                     : width == 4 ? transposeMatrix<4>
                                  : transposeMatrix<8>;
    transpose(transposed->bytes().data(), to, shape[1], shape[0]);
    return result;
  }
  if (widened) {
    const char *from = widened->bytes().data();
    auto widen = widened->elementType.isF16() ? widenF16 : widenBf16;
    for (size_t i = 0; i < result.size() / sizeof(float); ++i) {
      uint16_t bits;
      std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
      float value = widen(bits);
      std::memcpy(to + i * sizeof value, &value, sizeof value);
    }
    return result;
  }
  if (rounded) {
    const char *from = rounded->bytes().data();
    for (size_t i = 0; i < result.size() / sizeof(uint16_t); ++i) {
      float value;
      std::memcpy(&value, from + i * sizeof value, sizeof value);
      uint16_t bits =
          elementType.isF16() ? roundToF16(value) : roundToBf16(value);
      std::memcpy(to + i * sizeof bits, &bits, sizeof bits);
    }
    return result;
  }
  for (int64_t row = 0; row < shape[0]; ++row)
    for (const Weight *part : joined) {
      int64_t run = part->shape[1] * width;
      to = std::copy_n(part->bytes().data() + row * run, run, to);
    }
  return result;
}

mlir::Type Weight::widenedFrom() const {
  if (transposed)
    return transposed->widenedFrom();
  return widened ? widened->elementType : mlir::Type();
}

float Weight::largestFinite() const {
  if (transposed)
    return transposed->largestFinite();
  // As bits without the sign, sizes are in order, and the loop is of vectors.
  constexpr uint32_t size = 0x7fffffff, infinity = 0x7f800000;
  uint32_t largest = 0;
  readRows(*this, [&](int64_t, ArrayRef<float> rows) {
    for (float value : rows) {
      uint32_t bits = llvm::bit_cast<uint32_t>(value) & size;
      largest = std::max(largest, bits < infinity ? bits : 0);
    }
  });
  return llvm::bit_cast<float>(largest);
}

ArrayRef<char> Weight::bytes() const {
  if (isMade())
    std::call_once(once, [this] {
      auto made = std::make_shared<std::vector<char>>(makeBytes());
      data = *made;
      dataOwner = std::move(made);
    });
  return data;
}

std::shared_ptr<const void> Weight::owner() const {
  (void)bytes();
  return dataOwner;
}

Expected<const Weight *> WeightStore::add(StringRef hint, mlir::Type type,
                                          ArrayRef<int64_t> shape,
                                          ArrayRef<char> bytes,
                                          std::shared_ptr<const void> owner) {
  std::optional<int64_t> expected = tensorBytes(type, shape);
  if (!expected)
    return createStringError("weight '" + printable(hint) +
                             "' has a type or shape that cannot be stored");
  if (static_cast<uint64_t>(*expected) != bytes.size())
    return createStringError("weight '" + printable(hint) + "' has " +
                             Twine(bytes.size()) + " bytes but needs " +
                             Twine(*expected));
  Weight &weight = addEntry(hint, type, shape, bytes.size());
  weight.data = bytes;
  weight.dataOwner = std::move(owner);
  return &weight;
}

Expected<const Weight *> WeightStore::addOwned(StringRef hint, mlir::Type type,
                                               ArrayRef<int64_t> shape,
                                               std::vector<char> bytes) {
  auto owner = std::make_shared<const std::vector<char>>(std::move(bytes));
  ArrayRef<char> view(*owner);
  return add(hint, type, shape, view, std::move(owner));
}

const Weight *WeightStore::addTransposed(StringRef hint, const Weight &matrix) {
  if (matrix.transposed)
    return matrix.transposed;
  int64_t shape[] = {matrix.shape[1], matrix.shape[0]};
  uint64_t bytes = tensorBytes(matrix.elementType, shape).value_or(0);
  Weight &weight = addEntry(hint, matrix.elementType, shape, bytes);
  weight.transposed = &matrix;
  return &weight;
}

const Weight *WeightStore::addJoined(StringRef hint,
                                     std::vector<const Weight *> parts) {
  int64_t shape[] = {parts[0]->shape[0], 0};
  for (const Weight *part : parts)
    shape[1] += part->shape[1];
  mlir::Type type = parts[0]->elementType;
  Weight &weight =
      addEntry(hint, type, shape, tensorBytes(type, shape).value_or(0));
  weight.joined = std::move(parts);
  return &weight;
}

const Weight *WeightStore::addRounded(const Weight &source, mlir::Type type) {
  if (source.widened && source.widened->elementType == type)
    return source.widened;
  return addConverted(source, type, type.isF16() ? "_f16" : "_bf16",
                      &Weight::rounded);
}

const Weight *WeightStore::addWidened(const Weight &source) {
  return addConverted(source,
                      mlir::Float32Type::get(source.elementType.getContext()),
                      "_f32", &Weight::widened);
}

const Weight *WeightStore::addConverted(const Weight &source, mlir::Type type,
                                        StringRef suffix,
                                        const Weight *Weight::*from) {
  if (const Weight *known = convertedOf.lookup({&source, type}))
    return known;
  const Weight *result;
  std::string name = source.name + suffix.str();
  if (source.transposed) {
    const Weight &stored = *source.transposed;
    result = addTransposed(name, type.isF32() ? *addWidened(stored)
                                              : *addRounded(stored, type));
  } else {
    Weight &weight = addEntry(name, type, source.shape,
                              tensorBytes(type, source.shape).value_or(0));
    weight.*from = &source;
    result = &weight;
  }
  convertedOf[{&source, type}] = result;
  return result;
}

Weight &WeightStore::addEntry(StringRef hint, mlir::Type type,
                              ArrayRef<int64_t> shape, uint64_t bytes) {
  Weight &weight = entries.emplace_back();
  weight.name = uniqueName(hint);
  weight.elementType = type;
  weight.shape.assign(shape.begin(), shape.end());
  byName[weight.name] = &weight;
  total += bytes;
  return weight;
}

const Weight *WeightStore::lookup(StringRef name) const {
  return byName.lookup(name);
}

ArrayRef<char> WeightStore::bytes(StringRef name) const {
  const Weight *weight = lookup(name);
  return weight ? weight->bytes() : ArrayRef<char>();
}

std::string WeightStore::uniqueName(StringRef hint) const {
  std::string base = hint.empty() ? "weight" : printable(hint, 200);
  if (!byName.contains(base))
    return base;
  unsigned &suffix = nextSuffix[base];
  std::string name;
  do
    name = base + "_" + std::to_string(++suffix);
  while (byName.contains(name));
  return name;
}

} // namespace tenon
