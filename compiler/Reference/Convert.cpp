//===- Convert.cpp - Between element types --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantize and dequantize use float32 where the specification does, since
// their results jump where a quotient crosses a half.
//
//===----------------------------------------------------------------------===//

#include "compiler/Reference/Call.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace tenon::reference {
namespace {

/// The integer as a double from which one more rounding gives what rounding
/// the integer itself would: bits too low for a double become one sticky bit.
double toDoubleSticky(IntKind kind, int64_t value) {
  bool isNegative = kind.less(value, 0);
  uint64_t bits = static_cast<uint64_t>(isNegative ? wrapSub(0, value) : value);
  constexpr uint64_t low = (1 << 12) - 1;
  if (bits >> 53)
    bits = (bits & ~low) | (bits & low ? 1 << 11 : 0);
  double magnitude = static_cast<double>(bits);
  return isNegative ? -magnitude : magnitude;
}

llvm::Error checkSameShape(const Call &call) {
  if (call.operands[0].shape != call.results[0].shape)
    return fault("the input has shape " + str(call.operands[0].shape) +
                 " but the result " + str(call.results[0].shape));
  return llvm::Error::success();
}

/// Calls `body(i, scale, zeroPoint)` for each element.
llvm::Error
forEachScaled(Call &call,
              llvm::function_ref<void(int64_t, double, int64_t)> body) {
  if (auto error = checkSameShape(call))
    return error;
  const Shape &shape = call.results[0].shape;
  auto scale = broadcastStrides(call.operands[1].shape, shape);
  if (!scale)
    return scale.takeError();
  auto zero = broadcastStrides(call.operands[2].shape, shape);
  if (!zero)
    return zero.takeError();
  ArrayRef<double> scales = call.operands[1].floats();
  ArrayRef<int64_t> zeros = call.operands[2].ints();
  int64_t length = rowLength(shape);
  forEachRow(shape, {*scale, *zero}, [&](int64_t at, ArrayRef<int64_t> from) {
    for (int64_t i = 0; i < length; ++i)
      body(at + i, scales[from[0] + i * rowStride(*scale)],
           zeros[from[1] + i * rowStride(*zero)]);
  });
  return llvm::Error::success();
}

/// To the nearest number of a type.
llvm::APFloat narrowed(double value, Type type) {
  bool losesInfo;
  llvm::APFloat number(value);
  number.convert(cast<FloatType>(type).getFloatSemantics(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number;
}

} // namespace

llvm::Error evaluateCast(Call &call) {
  if (auto error = checkSameShape(call))
    return error;
  const Tensor &input = call.operands[0];
  if (input.element == call.results[0].element) {
    call.results[0].data = input.data;
    return llvm::Error::success();
  }
  Tensor &result = call.make();
  int64_t count = result.count();
  if (result.isFloat()) {
    MutableArrayRef<double> to = result.writeFloats();
    if (input.isFloat()) {
      llvm::copy(input.floats(), to.begin());
    } else {
      IntKind kind = IntKind::of(input.element);
      bool isWide = result.element.isF64() || !call.options.rounded;
      ArrayRef<int64_t> from = input.ints();
      for (int64_t i = 0; i < count; ++i)
        to[i] = isWide ? kind.toDouble(from[i]) : toDoubleSticky(kind, from[i]);
    }
    call.round();
    return llvm::Error::success();
  }
  MutableArrayRef<int64_t> to = result.writeInts();
  IntKind kind = IntKind::of(result.element);
  bool isBool = kind.width == 1;
  if (input.isFloat()) {
    ArrayRef<double> from = input.floats();
    for (int64_t i = 0; i < count; ++i)
      to[i] = isBool ? from[i] != 0 : kind.fromDouble(from[i]);
  } else {
    ArrayRef<int64_t> from = input.ints();
    for (int64_t i = 0; i < count; ++i)
      to[i] = isBool ? from[i] != 0 : kind.wrap(from[i]);
  }
  return llvm::Error::success();
}

llvm::Error evaluateBitcast(Call &call) {
  const Tensor &input = call.operands[0];
  Tensor &result = call.make();
  auto bitsOf = [&](int64_t i) -> uint64_t {
    if (!input.isFloat())
      return static_cast<uint64_t>(input.ints()[i]);
    return narrowed(input.floats()[i], input.element)
        .bitcastToAPInt()
        .getZExtValue();
  };
  unsigned width = result.element.getIntOrFloatBitWidth();
  for (int64_t i = 0; i < result.count(); ++i) {
    llvm::APInt bits(width, bitsOf(i), /*isSigned=*/false,
                     /*implicitTrunc=*/true);
    if (auto to = dyn_cast<FloatType>(result.element))
      result.writeFloats()[i] =
          llvm::APFloat(to.getFloatSemantics(), bits).convertToDouble();
    else
      result.writeInts()[i] =
          IntKind::of(result.element).wrap(int64_t(bits.getZExtValue()));
  }
  return llvm::Error::success();
}

llvm::Error evaluateRoundFloat(Call &call) {
  auto op = cast<graph::RoundFloatOp>(call.op);
  const llvm::fltSemantics &to =
      cast<FloatType>(op.getTo()).getFloatSemantics();
  int precision = int(llvm::APFloat::semanticsPrecision(to));
  int lowest = llvm::APFloat::semanticsMinExponent(to);
  double largest = llvm::APFloat::getLargest(to).convertToDouble();
  bool saturates = op.getSaturates();
  bool hasNan = llvm::APFloat::semanticsHasNaN(to);
  bool hasInf = llvm::APFloat::semanticsHasInf(to);
  MutableArrayRef<double> results = call.make().writeFloats();
  for (auto [result, value] :
       llvm::zip_equal(results, call.operands[0].floats())) {
    if (std::isnan(value)) {
      result = hasNan ? value : 0;
      continue;
    }
    double bounded = saturates ? std::clamp(value, -largest, largest) : value;
    result = roundBits(bounded, precision, lowest, largest);
    if (std::isinf(result) && !hasInf)
      result = std::nan("");
  }
  return llvm::Error::success();
}

llvm::Error evaluateQuantize(Call &call) {
  const Tensor &input = call.operands[0];
  Tensor &result = call.make();
  MutableArrayRef<int64_t> to = result.writeInts();
  IntKind kind = IntKind::of(result.element);
  bool isSingle = !call.operands[1].element.isF64() && call.options.rounded;
  bool isFloat = input.isFloat();
  ArrayRef<double> floats = isFloat ? input.floats() : ArrayRef<double>();
  ArrayRef<int64_t> ints = isFloat ? ArrayRef<int64_t>() : input.ints();
  IntKind inputKind = isFloat ? kind : IntKind::of(input.element);
  return forEachScaled(call, [&](int64_t i, double scale, int64_t zero) {
    double value = isFloat ? floats[i] : inputKind.toDouble(ints[i]);
    double quotient =
        isSingle ? static_cast<float>(value) / static_cast<float>(scale)
                 : value / scale;
    double rounded = std::isnan(quotient) ? 0 : std::nearbyint(quotient);
    // Beyond 2^62 every sum saturates; below, it is exact.
    auto whole = static_cast<int64_t>(std::clamp(rounded, -0x1p62, 0x1p62));
    if (kind.isU64() || kind.width == 64) {
      to[i] = kind.fromDouble(rounded + kind.toDouble(zero));
      return;
    }
    to[i] = std::clamp(whole + zero, kind.lowest(), kind.highest());
  });
}

llvm::Error evaluateQuantizeRows(Call &call) {
  const Tensor &input = call.operands[0];
  int64_t n = input.shape.back();
  if (input.shape != call.results[0].shape)
    return fault("the input has shape " + str(input.shape) +
                 " but the result " + str(call.results[0].shape));
  MutableArrayRef<int64_t> numbers = call.make(0).writeInts();
  MutableArrayRef<double> scales = call.make(1).writeFloats();
  MutableArrayRef<int64_t> zeros = call.make(2).writeInts();
  auto byte = [](float value) {
    return std::isnan(value) ? 0.0f
                             : std::clamp(std::nearbyint(value), 0.0f, 255.0f);
  };
  for (size_t row = 0; row < scales.size(); ++row) {
    float low = 0, high = 0;
    bool isFinite = true;
    ArrayRef<double> from = input.floats().slice(row * n, n);
    for (double each : from) {
      isFinite &= std::isfinite(each);
      low = std::fmin(low, static_cast<float>(each));
      high = std::fmax(high, static_cast<float>(each));
    }
    float range = isFinite ? high - low : NAN;
    float scale = range < 1e-30f ? 1 : range / 255, inverse = 1 / scale;
    float zero = byte(-low * inverse);
    scales[row] = scale;
    zeros[row] = static_cast<int64_t>(zero);
    for (int64_t i = 0; i < n; ++i)
      numbers[row * n + i] = static_cast<int64_t>(
          byte(std::fma(static_cast<float>(from[i]), inverse, zero)));
  }
  return llvm::Error::success();
}

llvm::Error evaluateDequantize(Call &call) {
  const Tensor &input = call.operands[0];
  Tensor &result = call.make();
  ArrayRef<int64_t> from = input.ints();
  MutableArrayRef<double> to = result.writeFloats();
  IntKind kind = IntKind::of(input.element);
  bool isSingle = !result.element.isF64() && call.options.rounded;
  auto error = forEachScaled(call, [&](int64_t i, double scale, int64_t zero) {
    double difference = kind.width == 64
                            ? kind.toDouble(from[i]) - kind.toDouble(zero)
                            : static_cast<double>(from[i] - zero);
    to[i] = isSingle
                ? static_cast<float>(difference) * static_cast<float>(scale)
                : difference * scale;
  });
  if (error)
    return error;
  call.round();
  return llvm::Error::success();
}

llvm::Error evaluateDecode(Call &call) {
  if (auto error = checkSameShape(call))
    return error;
  ArrayRef<float> codebook = cast<graph::DecodeOp>(call.op).getCodebook();
  Tensor &result = call.make();
  auto strides = broadcastStrides(call.operands[1].shape, result.shape);
  if (!strides)
    return strides.takeError();
  ArrayRef<int64_t> from = call.operands[0].ints();
  ArrayRef<double> scales = call.operands[1].floats();
  MutableArrayRef<double> to = result.writeFloats();
  bool isSingle = !result.element.isF64() && call.options.rounded;
  int64_t length = rowLength(result.shape);
  forEachRow(result.shape, {*strides}, [&](int64_t at, ArrayRef<int64_t> rows) {
    for (int64_t i = 0; i < length; ++i) {
      float value = codebook[size_t(from[at + i] & 15)];
      double scale = scales[rows[0] + i * rowStride(*strides)];
      to[at + i] = isSingle ? value * static_cast<float>(scale) : value * scale;
    }
  });
  call.round();
  return llvm::Error::success();
}

} // namespace tenon::reference
