//===- Tensor.cpp - The evaluator's values --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Tensor.h"
#include "compiler/Reference/Numbers.h"
#include <cstring>

using namespace mlir;

namespace tenon::reference {
namespace {

constexpr int64_t wordBytes = 8;

int64_t bytesOf(Type element) {
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

llvm::APFloat toApFloat(Type element, double value) {
  llvm::APFloat result(value);
  bool losesInfo;
  result.convert(cast<FloatType>(element).getFloatSemantics(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return result;
}

/// Half floats are widened by moving their fields into those of a float.
double widen(Type element, uint16_t bits) {
  if (element.isBF16())
    return llvm::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  return llvm::APFloat(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits))
      .convertToFloat();
}

template <typename Stored, typename Word>
void readAs(ArrayRef<char> bytes, MutableArrayRef<Word> words) {
  for (size_t i = 0; i < words.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    words[i] = static_cast<Word>(stored);
  }
}

template <typename Stored, typename Word>
void writeAs(ArrayRef<Word> words, std::vector<char> &bytes) {
  for (size_t i = 0; i < words.size(); ++i) {
    Stored stored = static_cast<Stored>(words[i]);
    std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
}

void readHalves(Type element, ArrayRef<char> bytes,
                MutableArrayRef<double> words) {
  for (size_t i = 0; i < words.size(); ++i) {
    uint16_t stored;
    std::memcpy(&stored, bytes.data() + 2 * i, 2);
    words[i] = widen(element, stored);
  }
}

/// A double as the nearest half float. Normal numbers, nearly all that there
/// are, without APFloat: the tests of kernels round so many that it took a
/// quarter of their time.
uint16_t narrow(Type element, double value) {
  int mantissa = element.isBF16() ? 7 : 10;
  int bias = element.isBF16() ? 127 : 15;
  uint64_t bits = llvm::bit_cast<uint64_t>(roundTo(element, value));
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  if (exponent < 1 - bias || exponent > bias)
    return static_cast<uint16_t>(
        toApFloat(element, value).bitcastToAPInt().getZExtValue());
  uint64_t fraction = (bits & ((uint64_t(1) << 52) - 1)) >> (52 - mantissa);
  uint64_t biased = static_cast<uint64_t>(exponent + bias) << mantissa;
  return static_cast<uint16_t>((bits >> 63 << 15) | biased | fraction);
}

void writeHalves(Type element, ArrayRef<double> words,
                 std::vector<char> &bytes) {
  for (size_t i = 0; i < words.size(); ++i) {
    uint16_t stored = narrow(element, words[i]);
    std::memcpy(bytes.data() + 2 * i, &stored, 2);
  }
}

} // namespace

std::optional<int64_t> countOf(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  bool overflows = false;
  for (int64_t size : shape) {
    if (size < 0)
      return std::nullopt;
    overflows |= size && llvm::MulOverflow(count, size, count);
  }
  if (llvm::is_contained(shape, 0))
    return 0;
  return overflows ? std::nullopt : std::optional<int64_t>(count);
}

Shape stridesOf(ArrayRef<int64_t> shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride = wrapMul(stride, shape[i]); // Wraps in empty tensors only.
  }
  return strides;
}

std::string str(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + std::to_string(size);
  return text + "]";
}

Tensor::Tensor(Type element, ArrayRef<int64_t> shape)
    : element(element), shape(shape),
      data(new char[static_cast<size_t>(count() * wordBytes)]()) {}

Tensor Tensor::fromFloats(Type element, ArrayRef<int64_t> shape,
                          ArrayRef<double> values) {
  Tensor tensor(element, shape);
  llvm::copy(values.take_front(tensor.count()), tensor.writeFloats().begin());
  return tensor;
}

Tensor Tensor::fromInts(Type element, ArrayRef<int64_t> shape,
                        ArrayRef<int64_t> values) {
  Tensor tensor(element, shape);
  llvm::copy(values.take_front(tensor.count()), tensor.writeInts().begin());
  return tensor;
}

/// Numbers of 4 bits, two in a byte, the first one low; the tensor has bytes.
static llvm::Expected<Tensor> fromNibbles(Type element, ArrayRef<int64_t> shape,
                                          ArrayRef<char> bytes) {
  std::vector<char> wide;
  for (char pair : bytes)
    for (int number : {pair & 15, pair >> 4 & 15})
      wide.push_back(char(
          !element.isUnsignedInteger() && number > 7 ? number - 16 : number));
  std::optional<int64_t> count = countOf(shape);
  if (count && *count % 2 != 0 && *count < int64_t(wide.size()))
    wide.pop_back();
  auto byte = IntegerType::get(element.getContext(), 8,
                               cast<IntegerType>(element).getSignedness());
  return Tensor::fromBytes(byte, shape, wide);
}

llvm::Expected<Tensor> Tensor::fromBytes(Type element, ArrayRef<int64_t> shape,
                                         ArrayRef<char> bytes) {
  if (element.isInteger(4))
    return fromNibbles(element, shape, bytes);
  std::optional<int64_t> count = countOf(shape);
  if (!count || *count > std::numeric_limits<int64_t>::max() / wordBytes ||
      *count * bytesOf(element) != static_cast<int64_t>(bytes.size()))
    return llvm::createStringError("a tensor of shape " + str(shape) +
                                   " does not have " +
                                   std::to_string(bytes.size()) + " bytes");
  Tensor tensor(element, shape);
  if (element.isF64())
    readAs<double>(bytes, tensor.writeFloats());
  else if (element.isF32())
    readAs<float>(bytes, tensor.writeFloats());
  else if (tensor.isFloat())
    readHalves(element, bytes, tensor.writeFloats());
  else if (bytesOf(element) == 1)
    readAs<int8_t>(bytes, tensor.writeInts());
  else if (bytesOf(element) == 2)
    readAs<int16_t>(bytes, tensor.writeInts());
  else if (bytesOf(element) == 4)
    readAs<int32_t>(bytes, tensor.writeInts());
  else
    readAs<int64_t>(bytes, tensor.writeInts());
  if (element.isInteger(1)) {
    for (int64_t &value : tensor.writeInts())
      value = value != 0;
  } else if (element.isUnsignedInteger()) {
    for (int64_t &value : tensor.writeInts())
      value = IntKind::of(element).wrap(value);
  }
  return tensor;
}

std::vector<char> Tensor::toBytes() const {
  std::vector<char> bytes(count() * bytesOf(element));
  if (element.isF64())
    writeAs<double>(floats(), bytes);
  else if (element.isF32())
    writeAs<float>(floats(), bytes);
  else if (isFloat())
    writeHalves(element, floats(), bytes);
  else if (bytesOf(element) == 1)
    writeAs<int8_t>(ints(), bytes);
  else if (bytesOf(element) == 2)
    writeAs<int16_t>(ints(), bytes);
  else if (bytesOf(element) == 4)
    writeAs<int32_t>(ints(), bytes);
  else
    writeAs<int64_t>(ints(), bytes);
  return bytes;
}

std::optional<Tensor> Tensor::fromAttr(Attribute attr) {
  auto elements = dyn_cast_if_present<DenseElementsAttr>(attr);
  if (!elements || !elements.getElementType().isIntOrFloat())
    return std::nullopt;
  Tensor tensor(elements.getElementType(), elements.getType().getShape());
  if (tensor.isFloat()) {
    for (auto [to, from] :
         llvm::zip(tensor.writeFloats(), elements.getValues<APFloat>())) {
      llvm::APFloat value = from;
      bool losesInfo;
      value.convert(llvm::APFloat::IEEEdouble(),
                    llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      to = value.convertToDouble();
    }
    return tensor;
  }
  bool isUnsigned = IntKind::of(tensor.element).isUnsigned;
  for (auto [to, from] :
       llvm::zip(tensor.writeInts(), elements.getValues<APInt>()))
    to = isUnsigned ? static_cast<int64_t>(from.getZExtValue())
                    : from.getSExtValue();
  return tensor;
}

DenseElementsAttr Tensor::toAttr() const {
  auto type = RankedTensorType::get(shape, element);
  if (isFloat()) {
    SmallVector<APFloat> values;
    for (double value : floats())
      values.push_back(toApFloat(element, value));
    return DenseElementsAttr::get(type, values);
  }
  SmallVector<APInt> values;
  unsigned width = element.getIntOrFloatBitWidth();
  for (int64_t value : ints())
    values.push_back(APInt(64, static_cast<uint64_t>(value)).trunc(width));
  return DenseElementsAttr::get(type, values);
}

Tensor Tensor::reshaped(ArrayRef<int64_t> shape) const {
  Tensor result = *this;
  result.shape = Shape(shape);
  return result;
}

ArrayRef<double> Tensor::floats() const {
  return {reinterpret_cast<const double *>(data.get()),
          static_cast<size_t>(count())};
}
ArrayRef<int64_t> Tensor::ints() const {
  return {reinterpret_cast<const int64_t *>(data.get()),
          static_cast<size_t>(count())};
}
MutableArrayRef<double> Tensor::writeFloats() {
  return {reinterpret_cast<double *>(data.get()), static_cast<size_t>(count())};
}
MutableArrayRef<int64_t> Tensor::writeInts() {
  return {reinterpret_cast<int64_t *>(data.get()),
          static_cast<size_t>(count())};
}

double Tensor::number(int64_t i) const {
  return isFloat() ? floats()[i] : IntKind::of(element).toDouble(ints()[i]);
}

} // namespace tenon::reference
