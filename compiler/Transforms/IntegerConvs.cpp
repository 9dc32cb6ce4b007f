//===- IntegerConvs.cpp - Convolutions of quantized numbers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of several channels stay in f32, whose kernels have lanes of it: those
// that come as integers become f32, where their sums are exact in it, and so do
// those of each channel, whose kernels read the image's bytes.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/IntegerConvs.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/PadChannels.h"
#include "compiler/Transforms/StoredTensors.h"
#include "dialects/Kernel/DepthwiseView.h"

using namespace mlir;

namespace tenon {
namespace {

/// Its inverse is a number.
constexpr double smallestScale = 0x1p-100;

/// Whether there is one number for each map of a filter [M, ..].
bool isPerMap(Value value, int64_t rank) {
  SmallVector<graph::Expr> dims = graph::getDims(value);
  size_t kept = int64_t(dims.size()) == rank ? 1 : 0;
  return graph::areOnes(ArrayRef(dims).drop_front(kept));
}

/// Whether f32 holds the sums of a filter's steps, each of `bound` at most.
bool hasExactSums(graph::ConvOp op, int64_t bound) {
  auto type = cast<RankedTensorType>(op.getFilter().getType());
  return type.hasStaticShape() && type.getDimSize(0) != 0 &&
         type.getNumElements() / type.getDimSize(0) * bound <= int64_t(1) << 24;
}

/// One number, or [M, 1, ..] as [M].
Value alongLast(OpBuilder &builder, Value value) {
  if (graph::isOneNumber(value))
    return asScalar(builder, value);
  Type type =
      graph::tensorOf(graph::getDims(value)[0], graph::getElementType(value));
  return graph::ReshapeOp::create(builder, value.getLoc(), type, value);
}

/// A filter of i32 as bytes, less a zero point for each map.
struct NarrowFilter {
  DenseElementsAttr bytes, zeros; // The latter null: i8 that count from 0.

  /// nullopt where a map's numbers are no bytes less one.
  static std::optional<NarrowFilter> of(DenseIntElementsAttr numbers);
};

std::optional<NarrowFilter> NarrowFilter::of(DenseIntElementsAttr numbers) {
  ShapedType type = numbers.getType();
  int64_t maps = type.getDimSize(0), depth = type.getNumElements() / maps;
  SmallVector<int64_t> values, lows(maps, 255), highs(maps, -255);
  for (const APInt &number : numbers.getValues<APInt>()) {
    size_t map = values.size() / size_t(depth);
    values.push_back(number.getSExtValue());
    lows[map] = std::min(lows[map], values.back());
    highs[map] = std::max(highs[map], values.back());
  }
  bool isSigned =
      *llvm::min_element(lows) >= -128 && *llvm::max_element(highs) <= 127;
  SmallVector<APInt> bytes;
  SmallVector<int32_t> zeros;
  for (auto [low, high] : llvm::zip(lows, highs)) {
    if (low < -255 || high > 255 || high - low > 255)
      return std::nullopt;
    zeros.push_back(isSigned ? 0 : int32_t(-low));
  }
  for (auto [i, value] : llvm::enumerate(values))
    bytes.push_back(APInt(8, uint64_t(value + zeros[i / size_t(depth)]) & 255));
  MLIRContext *context = type.getContext();
  auto narrow = IntegerType::get(
      context, 8, isSigned ? IntegerType::Signless : IntegerType::Unsigned);
  SmallVector<int64_t> perMap(type.getRank(), 1);
  perMap[0] = maps;
  auto zerosType = RankedTensorType::get(perMap, IntegerType::get(context, 32));
  return NarrowFilter{
      DenseElementsAttr::get(RankedTensorType::get(type.getShape(), narrow),
                             bytes),
      isSigned ? DenseElementsAttr()
               : DenseElementsAttr::get(zerosType, ArrayRef(zeros))};
}

} // namespace

std::string IntegerConvs::refusal(graph::ConvOp op, graph::DequantizeOp image,
                                  graph::DequantizeOp filter) const {
  bool isDepthwise = kernel::isDepthwise(op);
  if (!op.getChannelsLast() || (op.getGroup() != 1 && !isDepthwise))
    return "it has several groups, or channels that are not last";
  if (isDepthwise && !hasExactSums(op, /*bound=*/255 * 255))
    return "sums of so many products are not exact in f32";
  if (!isByte(image.getInput()) ||
      !areBytesInMemory(filter.getInput(), weights))
    return "an operand is not of 8 bits";
  if (!graph::isOneNumber(image.getScale()) ||
      !graph::isOneNumber(image.getZeroPoint()))
    return "the image has several scales";
  if (!isWeightOrConstant(filter.getInput()))
    return "the filter is no weight";
  for (Value value : {filter.getScale(), filter.getZeroPoint()})
    if (!isPerMap(value, graph::getRank(op.getFilter())))
      return "scales of the filter differ inside of a map";
  return isCuda ? refusalOnCuda(op, image, filter) : "";
}

/// Others than those that matrix instructions take have no kernel of integers
/// there that is as fast as f32's.
std::string IntegerConvs::refusalOnCuda(graph::ConvOp op,
                                        graph::DequantizeOp image,
                                        graph::DequantizeOp filter) const {
  if (op.getGroup() != 1)
    return "GPUs convolve channels by themselves in f32";
  if (graph::getElementType(filter.getInput()).isUnsignedInteger() ||
      !isZero(filter.getZeroPoint(), weights))
    return "GPUs convolve no bytes by a filter that is not i8 or has zero "
           "points";
  if (!fitsByteTiles(op, image.getInput()))
    return "it has few maps, or channels that do not lie by fours";
  return "";
}

void IntegerConvs::rewrite(graph::ConvOp op) {
  if (graph::getElementType(op.getResult()).isSignlessInteger(32)) {
    narrowFilter(op);
    lowerViews(op.getInputMutable());
    // A GPU's threads have an element each: they read bytes as well.
    if (op.getGroup() != 1 && !isCuda)
      widenGroups(op);
    return;
  }
  if (!graph::getElementType(op.getResult()).isF32())
    return;
  Value input = op.getInput();
  SmallVector<Operation *> views = viewsBehind(input);
  auto image = input.getDefiningOp<graph::DequantizeOp>();
  auto filter = op.getFilter().getDefiningOp<graph::DequantizeOp>();
  if (!image || !filter)
    return;
  std::string why = refusal(op, image, filter);
  if (why.empty())
    makeInteger(op, image, views, filter);
  else if (explain)
    op.emitRemark("convolves f32: ") << why;
}

void IntegerConvs::rewrite(graph::MaxPoolOp op) {
  auto dequantize = op.getInput().getDefiningOp<graph::DequantizeOp>();
  if (!dequantize || !isByte(dequantize.getInput()) ||
      !graph::isOneNumber(dequantize.getScale()) ||
      !graph::isOneNumber(dequantize.getZeroPoint()) ||
      splatOf(dequantize.getScale()).value_or(0) <= 0)
    return;
  OpBuilder builder(op);
  auto pool = cast<graph::MaxPoolOp>(builder.clone(*op));
  pool.getInputMutable().assign(dequantize.getInput());
  pool.getResult().setType(
      graph::tensorOf(graph::getDims(op.getResult()),
                      graph::getElementType(dequantize.getInput())));
  Value result = graph::DequantizeOp::create(
      builder, op.getLoc(), op.getType(), pool.getResult(),
      dequantize.getScale(), dequantize.getZeroPoint());
  op.getResult().replaceAllUsesWith(result);
  eraseUnused(op);
}

void IntegerConvs::multiplyByInverses(Operation *function) {
  if (!convolves)
    return;
  function->walk([](graph::QuantizeOp op) {
    std::optional<double> scale = splatOf(op.getScale());
    if (!graph::getElementType(op.getInput()).isF32() ||
        !graph::isOneNumber(op.getScale()) || !scale ||
        *scale < smallestScale || *scale > 1 / smallestScale || *scale == 1)
      return;
    OpBuilder builder(op);
    auto number = [&](double value) {
      return scalarOf(builder, op.getLoc(),
                      builder.getF32FloatAttr(float(value)));
    };
    Value scaled =
        graph::MulOp::create(builder, op.getLoc(), op.getInput().getType(),
                             op.getInput(), number(1 / *scale));
    op.getInputMutable().assign(scaled);
    op.getScaleMutable().assign(number(1));
  });
}

void IntegerConvs::makeInteger(graph::ConvOp op, graph::DequantizeOp image,
                               ArrayRef<Operation *> views,
                               graph::DequantizeOp filter) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  QuantizedFactor lhs = QuantizedFactor::of(image, weights),
                  rhs = QuantizedFactor::of(filter, weights);
  lhs.numbers = throughViews(builder, views, lhs.numbers);
  rhs.numbers = asWeight(builder, rhs.numbers);
  for (Value *each : {&lhs.zero, &lhs.scale})
    *each = *each ? asScalar(builder, *each) : Value();
  Type sumsType =
      graph::tensorOf(graph::getDims(op.getResult()), builder.getI32Type());
  Value sums = graph::ConvOp::create(
      builder, loc, sumsType, lhs.centered(builder, loc),
      rhs.centered(builder, loc), op.getStrides(), op.getDilations(),
      op.getPads(), op.getGroup(), op.getChannelsLast());
  Value wide = castTo(builder, loc, sums, builder.getF32Type());
  Value perMap = alongLast(builder, rhs.scale);
  Value scale =
      graph::MulOp::create(builder, loc, perMap.getType(), lhs.scale, perMap);
  Value result = graph::MulOp::create(builder, loc, op.getType(), wide, scale);
  op.getResult().replaceAllUsesWith(result);
  convolves = true;
  eraseUnused(op);
  if (auto conv = sums.getDefiningOp<graph::ConvOp>(); conv.getGroup() != 1)
    widenGroups(conv);
}

Value IntegerConvs::asWeight(OpBuilder &builder, Value value) {
  if (!hasStore || !value.getDefiningOp<graph::ConstantOp>())
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  const Weight *stored = llvm::cantFail(
      weights.addOwned("filter", type.getElementType(), type.getShape(),
                       tensorOf(value, weights)->toBytes()));
  return graph::WeightOp::create(builder, value.getLoc(), type, stored->name);
}

void IntegerConvs::narrowFilter(graph::ConvOp op) {
  auto sub = op.getFilter().getDefiningOp<graph::SubOp>();
  if (sub && sub.getLhs().getType() == sub.getType() &&
      isZero(sub.getRhs(), weights)) {
    op.getFilterMutable().assign(sub.getLhs());
    eraseUnused(sub);
  }
  auto constant = op.getFilter().getDefiningOp<graph::ConstantOp>();
  auto numbers = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                          : DenseIntElementsAttr();
  if (!numbers || numbers.empty())
    return;
  std::optional<NarrowFilter> narrow = NarrowFilter::of(numbers);
  if (!narrow)
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value filter = graph::ConstantOp::create(
      builder, loc, narrow->bytes.getType(), narrow->bytes);
  filter =
      castTo(builder, loc, asWeight(builder, filter), builder.getI32Type());
  if (narrow->zeros)
    filter = graph::SubOp::create(
        builder, loc, filter.getType(), filter,
        graph::ConstantOp::create(builder, loc, narrow->zeros.getType(),
                                  narrow->zeros));
  op.getFilterMutable().assign(filter);
  eraseUnused(constant);
}

void IntegerConvs::widenGroups(graph::ConvOp op) {
  auto image = kernel::integerFactorOf(op.getInput());
  auto filter = kernel::integerFactorOf(op.getFilter());
  if (!image || !filter)
    return;
  int64_t bound = 255 * (filter->isSigned() && !filter->zero ? 128 : 255);
  if (!hasExactSums(op, bound)) {
    if (explain)
      op.emitRemark("convolves i32: sums of so many products are not exact "
                    "in f32");
    return;
  }
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type f32 = builder.getF32Type();
  Value sums = graph::ConvOp::create(
      builder, loc, graph::tensorOf(graph::getDims(op.getResult()), f32),
      castTo(builder, loc, op.getInput(), f32),
      castTo(builder, loc, op.getFilter(), f32), op.getStrides(),
      op.getDilations(), op.getPads(), op.getGroup(), op.getChannelsLast());
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    if (auto cast = dyn_cast<graph::CastOp>(user);
        cast && cast.getType() == sums.getType()) {
      cast.getResult().replaceAllUsesWith(sums);
      cast->erase();
    }
  if (!op->use_empty())
    op.getResult().replaceAllUsesWith(
        castTo(builder, loc, sums, builder.getI32Type()));
  eraseUnused(op);
}

} // namespace tenon
