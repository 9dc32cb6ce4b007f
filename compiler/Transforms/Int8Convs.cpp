//===- Int8Convs.cpp - Convolutions of f32 that multiply 8 bits -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Int8Convs.h"
#include "compiler/Transforms/Matching.h"
#include "dialects/Kernel/ConvDepth.h"
#include <cmath>
#include <cstring>

using namespace mlir;

namespace tenon {
namespace {

constexpr float largest = 127;
/// Maps of less than that are zeros: their scale has no inverse.
constexpr float smallest = 1e-30f;

std::vector<float> elementsOf(const Weight &weight) {
  std::vector<float> elements(weight.bytes().size() / sizeof(float));
  std::memcpy(elements.data(), weight.bytes().data(),
              elements.size() * sizeof(float));
  return elements;
}

} // namespace

std::string Int8Convs::refusal(graph::ConvOp op) {
  auto type = cast<RankedTensorType>(op.getFilter().getType());
  auto filter = op.getFilter().getDefiningOp<graph::WeightOp>();
  if (!filter || !type.hasStaticShape() || type.getNumElements() == 0 ||
      !type.getElementType().isF32())
    return "the filter is no weight of f32";
  if (!graph::getElementType(op.getInput()).isF32())
    return "the image is not f32";
  if (!op.getChannelsLast() || op.getGroup() != 1)
    return "it has several groups, or channels that are not last";
  if (kernel::hasFewMaps(op))
    return "it has few maps, which are fast in f32";
  if (hasFewProducts(op))
    return "it multiplies little";
  const Weight *weight = weights ? weights->lookup(filter.getName()) : nullptr;
  if (weight && !llvm::all_of(elementsOf(*weight), [](float element) {
        return std::isfinite(element);
      }))
    return ("weight '" + filter.getName() + "' has infinities in it").str();
  return "";
}

void Int8Convs::convolve(graph::ConvOp op, Quantized image, Value zero) {
  Quantized filter = filterOf(op.getFilter());
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type i32 = builder.getI32Type();
  Value wide = castTo(builder, loc, image.numbers, i32);
  wide = graph::SubOp::create(builder, loc, wide.getType(), wide,
                              castTo(builder, loc, zero, i32));
  auto conv = graph::ConvOp::create(
      builder, loc, graph::tensorOf(graph::getDims(op.getResult()), i32), wide,
      castTo(builder, loc, filter.numbers, i32), op.getStrides(),
      op.getDilations(), op.getPads(), op.getGroup(), op.getChannelsLast());
  for (NamedAttribute each : op->getDiscardableAttrs())
    conv->setDiscardableAttr(each.getName(), each.getValue());
  Value result = castTo(builder, loc, conv, builder.getF32Type());
  for (Value scale : {image.scale, filter.scale})
    result = graph::MulOp::create(builder, loc, op.getType(), result, scale);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

Quantized Int8Convs::filterOf(Value filter) {
  auto [found, isNew] = made.try_emplace(filter);
  if (!isNew)
    return found->second;
  StringRef name = filter.getDefiningOp<graph::WeightOp>().getName();
  if (const Weight *weight = weights ? weights->lookup(name) : nullptr)
    return found->second = quantizeStored(filter, *weight);
  SmallVector<int64_t> axes;
  for (int64_t axis = 1; axis < graph::getRank(filter); ++axis)
    axes.push_back(axis);
  OpBuilder builder(filter.getContext());
  Quantized numbers = quantizeAlong(filter, axes, builder.getI8Type(), 0);
  builder.setInsertionPointAfterValue(numbers.numbers);
  Type perMap =
      graph::tensorOf(graph::getDims(filter)[0], builder.getF32Type());
  numbers.scale =
      graph::ReshapeOp::create(builder, filter.getLoc(), perMap, numbers.scale);
  return found->second = numbers;
}

Quantized Int8Convs::quantizeStored(Value filter, const Weight &weight) {
  std::vector<float> elements = elementsOf(weight);
  size_t maps = size_t(weight.shape[0]), depth = elements.size() / maps;
  std::vector<char> numbers(elements.size());
  std::vector<float> scales(maps);
  for (size_t map = 0; map < maps; ++map) {
    ArrayRef<float> own = ArrayRef(elements).slice(map * depth, depth);
    float most = 0;
    for (float each : own)
      most = std::max(most, std::fabs(each));
    scales[map] = most < smallest ? 1 : most / largest;
    for (auto [i, each] : llvm::enumerate(own))
      numbers[map * depth + i] = char(int(std::nearbyint(each / scales[map])));
  }
  OpBuilder builder(filter.getContext());
  builder.setInsertionPointAfterValue(filter);
  auto add = [&](const char *suffix, Type element, ArrayRef<int64_t> shape,
                 std::vector<char> bytes) -> Value {
    const Weight *added = llvm::cantFail(weights->addOwned(
        weight.name + suffix, element, shape, std::move(bytes)));
    return graph::WeightOp::create(builder, filter.getLoc(),
                                   RankedTensorType::get(shape, element),
                                   added->name);
  };
  std::vector<char> scaleBytes(maps * sizeof(float));
  std::memcpy(scaleBytes.data(), scales.data(), scaleBytes.size());
  return {add(".int8", builder.getI8Type(), weight.shape, std::move(numbers)),
          add(".scales", builder.getF32Type(), {int64_t(maps)},
              std::move(scaleBytes))};
}

} // namespace tenon
