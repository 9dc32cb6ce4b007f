//===- IntegerConvView.cpp - Convolutions of 8-bit numbers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/IntegerConvView.h"
#include "dialects/Kernel/Packing.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

constexpr StringLiteral evenSuffix = "_even";
constexpr StringLiteral byLines = "conv48_quads";
constexpr StringLiteral byTaps = "conv48_quad_taps";

/// Whether a zero point is one number that a byte of the image can have, so
/// that borders can be filled with it.
bool isByteOf(Value zero, Type element) {
  if (!zero)
    return true;
  if (!graph::isOneNumber(zero))
    return false;
  if (auto cast = zero.getDefiningOp<graph::CastOp>())
    return graph::getElementType(cast.getInput()) == element;
  auto constant = zero.getDefiningOp<graph::ConstantOp>();
  auto numbers = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                          : DenseIntElementsAttr();
  if (!numbers || !numbers.isSplat())
    return false;
  int64_t number = numbers.getSplatValue<APInt>().getSExtValue();
  int64_t lowest = element.isUnsignedInteger() ? 0 : -128;
  return number >= lowest && number < lowest + 256;
}

/// Whether a zero point is the same for all of a map's numbers.
bool isPerMap(Value zero, size_t rank) {
  if (!zero)
    return true;
  SmallVector<Expr> dims = graph::getDims(zero);
  size_t kept = dims.size() == rank ? 1 : 0;
  return graph::areOnes(ArrayRef(dims).drop_front(kept));
}

int64_t allTaps(ArrayRef<int64_t> shape) {
  int64_t taps = 1;
  for (int64_t size : shape.drop_front(2))
    taps *= size;
  return taps;
}

} // namespace

std::optional<IntegerConvView> integerConvViewOf(graph::ConvOp op) {
  if (!op.getChannelsLast() || op.getGroup() != 1 ||
      graph::getRank(op.getFilter()) < 3 ||
      !graph::getElementType(op.getResult()).isSignlessInteger(32))
    return std::nullopt;
  std::optional<IntegerFactor> input = integerFactorInPlace(op.getInput());
  std::optional<IntegerFactor> filter = integerFactorInPlace(op.getFilter());
  if (!input || !filter)
    return std::nullopt;
  auto type = cast<RankedTensorType>(op.getFilter().getType());
  if (!type.hasStaticShape() || type.getNumElements() == 0 ||
      !isByteOf(input->zero, graph::getElementType(input->view.base)) ||
      !isPerMap(filter->zero, size_t(type.getRank())))
    return std::nullopt;
  return IntegerConvView{std::move(*input), std::move(*filter)};
}

std::optional<QuadFilter> QuadFilter::parse(StringRef layout) {
  bool isEven = layout.consume_back(evenSuffix);
  if (layout == byLines || layout == byTaps)
    return QuadFilter{layout == byTaps, isEven};
  return std::nullopt;
}

QuadFilter QuadFilter::of(graph::ConvOp op, bool isEven) {
  return {op.getDilations().back() != 1, isEven};
}

std::string QuadFilter::name() const {
  std::string name = (isByTap ? byTaps : byLines).str();
  return isEven ? name + evenSuffix.str() : name;
}

int64_t QuadFilter::tapsOfLine(ArrayRef<int64_t> shape) const {
  return isByTap ? 1 : shape.back();
}

int64_t QuadFilter::run(ArrayRef<int64_t> shape) const {
  return shape[1] * tapsOfLine(shape);
}

int64_t QuadFilter::lines(ArrayRef<int64_t> shape) const {
  return allTaps(shape) / std::max<int64_t>(tapsOfLine(shape), 1);
}

int64_t QuadFilter::depth(ArrayRef<int64_t> shape) const {
  return lines(shape) * llvm::divideCeil(run(shape), quadSteps);
}

int64_t QuadFilter::bytes(ArrayRef<int64_t> shape) const {
  return llvm::divideCeil(shape[0], panelColumns) * (depth(shape) + 1) *
         panelColumns * quadSteps;
}

int64_t QuadFilter::placeInPanel(ArrayRef<int64_t> shape, int64_t channel,
                                 int64_t tap, int64_t map) const {
  int64_t taps = tapsOfLine(shape);
  int64_t at = tap % taps * shape[1] + channel;
  int64_t quad =
      tap / taps * llvm::divideCeil(run(shape), quadSteps) + at / quadSteps;
  return (quad * panelColumns + map) * quadSteps + at % quadSteps;
}

} // namespace tenon::kernel
