//===- OnnxResize.cpp - Resize and Upsample -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/ResizedAxes.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::ResizeMode;

/// Numbers of an input, some of which only a run knows.
struct Numbers {
  SmallVector<std::optional<double>> known;
  Value all;

  bool areKnown() const {
    return llvm::all_of(known, [](auto number) { return number.has_value(); });
  }
  /// One of them, as a scalar.
  Value number(NodeConverter &node, size_t i, Type element) const {
    if (known[i])
      return node.scalar(element, *known[i]);
    Value one = node.slice(all, 0, node.size(int64_t(i)), node.size(1));
    return node.cast(node.reshape(one, {}), element);
  }
};

/// What the attributes and inputs of a node ask for.
struct Request : ResizeFormula {
  SmallVector<int64_t> axes;
  Numbers scales, roi;  // One, or two, per entry of `axes`.
  Emitter::Exprs sizes; // Empty where scales are given.
  std::string policy = "stretch";

  bool crops() const { return coordinates == "tf_crop_and_resize"; }
};

ResizeMode resizeMode(NodeConverter &node) {
  auto mode = llvm::StringSwitch<std::optional<ResizeMode>>(
                  node.stringAttr("mode", "nearest"))
                  .Case("nearest", ResizeMode::Nearest)
                  .Cases({"linear", "bilinear"}, ResizeMode::Linear)
                  .Case("cubic", ResizeMode::Cubic)
                  .Default(std::nullopt);
  if (!mode)
    (void)node.invalid("mode must be nearest, linear or cubic");
  return mode.value_or(ResizeMode::Nearest);
}

/// in * scale, rounded down: exact for a number, and for an expression where
/// the scale is a ratio of small numbers. Null for others.
Expr scaledSize(NodeConverter &node, Expr size, double scale) {
  if (std::optional<int64_t> number = size.asConstant()) {
    // In float, as the specification's own shape inference has it.
    double scaled = std::floor(float(*number) * float(scale));
    if (scaled >= 0 && scaled < double(INT32_MAX))
      return node.size(int64_t(scaled));
    (void)node.invalid("a size of the result is negative or too large");
    return {};
  }
  for (int64_t divisor = 1; divisor <= 64; ++divisor) {
    double factor = scale * double(divisor);
    // A float holds a ratio with an error of up to 2^-24.
    if (std::abs(factor - std::round(factor)) < factor * 0x1p-24 &&
        factor < INT32_MAX)
      return (size * int64_t(std::round(factor))).floorDiv(node.size(divisor));
  }
  return {};
}

/// The size that a run computes, rounded down.
Expr boundSize(NodeConverter &node, Value size) {
  Value whole = node.cast(node.emit<graph::FloorOp>({size}), node.integer(64));
  Emitter::Exprs sizes = node.readSizes(node.reshape(whole, node.size(1)));
  return sizes.empty() ? Expr() : sizes[0];
}

/// The numbers of a vector; of one put together from parts, those of the parts
/// that are known.
Numbers numbersOf(NodeConverter &node, Value vector) {
  Numbers numbers{{}, vector};
  if (auto known = node.constantFloats(vector)) {
    numbers.known.assign(known->begin(), known->end());
    return numbers;
  }
  if (node.failed() || failed(node.expectRank(vector, 1, "a list of numbers")))
    return numbers;
  std::optional<int64_t> count = node.dimOf(vector, 0).asConstant();
  if (!count || *count > int64_t(Expr::maxTerms)) {
    (void)node.unsupported("how many scales there are is not known",
                           "export the model with a fixed rank");
    return numbers;
  }
  numbers.known.resize(size_t(*count));
  auto concat = vector.getDefiningOp<graph::ConcatOp>();
  size_t next = 0;
  for (Value part : concat ? concat.getInputs() : ValueRange()) {
    std::optional<int64_t> size = graph::elementCount(part).asConstant();
    auto known = node.constantFloats(part);
    if (!size)
      break;
    if (known)
      llvm::copy(*known, numbers.known.begin() + next);
    next += size_t(*size);
  }
  return numbers;
}

/// One scale for all axes, that of the one that is enlarged most (not_smaller)
/// or least.
void keepAspect(NodeConverter &node, Request &request, ArrayRef<Expr> dims) {
  if (request.policy == "stretch" || request.sizes.empty())
    return;
  bool larger = request.policy == "not_smaller";
  Type f64 = node.builder.getF64Type();
  Value scale;
  for (auto [axis, size] : llvm::zip(request.axes, request.sizes)) {
    if (dims[axis].isConstant(0)) {
      (void)node.invalid("no element has an aspect ratio");
      return;
    }
    Value ratio =
        node.div(node.sizeScalar(size, f64), node.sizeScalar(dims[axis], f64));
    scale = !scale   ? ratio
            : larger ? node.maximum(scale, ratio)
                     : node.minimum(scale, ratio);
  }
  if (node.failed() || !scale)
    return;
  size_t count = request.axes.size();
  auto known = node.constantFloats(scale);
  request.scales.known.assign(count, known ? std::optional(known->front())
                                           : std::nullopt);
  request.scales.all = node.broadcast(node.reshape(scale, node.size(1)),
                                      node.size(int64_t(count)));
  for (auto [axis, size] : llvm::zip(request.axes, request.sizes)) {
    Value exact = node.mul(node.sizeScalar(dims[axis], f64), scale);
    size = boundSize(node, node.add(exact, 0.5));
  }
}

LogicalResult checkRequest(NodeConverter &node, const Request &request) {
  static constexpr StringLiteral coordinates[] = {
      "align_corners",        "asymmetric",         "half_pixel",
      "half_pixel_symmetric", "pytorch_half_pixel", "tf_crop_and_resize"};
  if (request.coordinates == "tf_half_pixel_for_nn")
    return node.unsupported("tf_half_pixel_for_nn is not computed",
                            "export with opset 13 or later");
  if (!llvm::is_contained(coordinates, request.coordinates))
    return node.invalid("coordinate_transformation_mode is none of ONNX's");
  static constexpr StringLiteral nearest[] = {
      "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  if (!llvm::is_contained(nearest, request.nearest))
    return node.invalid("nearest_mode is none of ONNX's");
  if (request.policy != "stretch" && request.policy != "not_larger" &&
      request.policy != "not_smaller")
    return node.invalid("keep_aspect_ratio_policy is none of ONNX's");
  size_t count = request.axes.size();
  if ((request.sizes.empty() || !request.scales.known.empty()) &&
      request.scales.known.size() != count)
    return node.invalid("it needs one scale or size per axis");
  if (!request.sizes.empty() && request.sizes.size() != count)
    return node.invalid("it needs one scale or size per axis");
  for (std::optional<double> scale : request.scales.known)
    if (scale && !(*scale > 0 && *scale < double(INT32_MAX)))
      return node.invalid("scales must be positive");
  if (request.crops() && request.roi.known.size() != 2 * count)
    return node.invalid(
        "tf_crop_and_resize needs a roi of two numbers per axis");
  return node.result();
}

/// The size of one axis of the result.
Expr sizeAfter(NodeConverter &node, const Request &request, size_t i,
               Expr before) {
  if (!request.sizes.empty())
    return request.sizes[i];
  size_t count = request.axes.size();
  bool isKnown = request.scales.known[i].has_value();
  double extent = 1;
  if (request.crops()) {
    std::optional<double> start = request.roi.known[i];
    std::optional<double> end = request.roi.known[count + i];
    isKnown &= start && end;
    extent = isKnown ? *end - *start : 1;
  }
  Expr size;
  if (isKnown)
    size = scaledSize(node, before, *request.scales.known[i] * extent);
  if (size || node.failed())
    return size;
  Value exact = node.sizeScalar(before, node.f32());
  if (request.crops())
    exact = node.mul(exact,
                     node.sub(request.roi.number(node, count + i, node.f32()),
                              request.roi.number(node, i, node.f32())));
  return boundSize(node,
                   node.mul(exact, request.scales.number(node, i, node.f32())));
}

/// By what a run gives.
Value emitOpen(NodeConverter &node, Value x, const Request &request,
               ArrayRef<Expr> from, ArrayRef<Expr> to) {
  Type f64 = node.builder.getF64Type();
  size_t count = request.axes.size();
  SmallVector<ResizedAxis> axes;
  for (auto [i, axis] : llvm::enumerate(request.axes)) {
    bool isWhole = request.scales.known.empty()
                       ? from[axis] == to[axis]
                       : request.scales.known[i] == 1.0;
    if (request.crops())
      isWhole &=
          request.roi.known[i] == 0.0 && request.roi.known[count + i] == 1.0;
    if (isWhole)
      continue;
    ResizedAxis resized{axis, to[axis], {}, {}, {}};
    resized.scale = request.scales.known.empty()
                        ? node.div(node.sizeScalar(to[axis], f64),
                                   node.sizeScalar(from[axis], f64))
                        : request.scales.number(node, i, f64);
    if (request.crops()) {
      resized.start = request.roi.number(node, i, f64);
      resized.end = request.roi.number(node, count + i, f64);
    }
    axes.push_back(resized);
  }
  return resizedAxes(node, x, axes, request);
}

/// Whether the run says how many elements a place is made of.
bool hasOpenTaps(const Request &request, ArrayRef<Expr> from,
                 ArrayRef<Expr> to) {
  return request.antialias && request.mode != ResizeMode::Nearest &&
         request.scales.known.empty() &&
         llvm::any_of(request.axes, [&](int64_t axis) {
           return from[axis] != to[axis] &&
                  !(from[axis].asConstant() && to[axis].asConstant());
         });
}

LogicalResult emitResize(NodeConverter &node, Value x, Request &request) {
  Emitter::Exprs dims = node.dimsOf(x), to = dims;
  if (node.failed())
    return failure();
  keepAspect(node, request, dims);
  if (node.failed() || failed(checkRequest(node, request)))
    return failure();
  int64_t rank = dims.size();
  for (auto [i, axis] : llvm::enumerate(request.axes))
    to[axis] = sizeAfter(node, request, i, dims[axis]);
  if (node.failed())
    return failure();
  if (!request.scales.areKnown() || !request.roi.areKnown() ||
      request.roundsByScale || hasOpenTaps(request, dims, to))
    return node.output(emitOpen(node, x, request, dims, to));
  SmallVector<double> scales(request.scales.known.empty() ? 0 : rank, 1.0), roi;
  if (request.crops()) {
    roi.assign(2 * rank, 0.0);
    std::fill(roi.begin() + rank, roi.end(), 1.0);
  }
  for (auto [i, axis] : llvm::enumerate(request.axes)) {
    if (request.crops()) {
      roi[axis] = *request.roi.known[i];
      roi[rank + axis] = *request.roi.known[request.axes.size() + i];
    }
    if (!scales.empty())
      scales[axis] = *request.scales.known[i];
  }
  Type type = graph::tensorOf(to, node.elementOf(x));
  if (!type)
    return node.invalid("a size of the result is negative or too large");
  auto mode = graph::ResizeModeAttr::get(node.context(), request.mode);
  return node.output(node.emit<graph::ResizeOp>(
      {x},
      {node.attr("mode", mode), node.text("coordinates", request.coordinates),
       node.text("nearest", request.nearest), node.f64s("scales", scales),
       node.f64s("roi", roi), node.f64("cubic_coefficient", request.cubic),
       node.flag("exclude_outside", request.excludeOutside),
       node.f64("extrapolation", request.extrapolation),
       node.flag("antialias", request.antialias)},
      type));
}

/// The sampling of Upsample, and of Resize at opset 10: pixel i comes from
/// i / scale, rounded down, or up where the image shrinks.
LogicalResult convertUpsample(NodeConverter &node) {
  Value x = node.input(0);
  Request request;
  request.mode = resizeMode(node);
  request.coordinates = "asymmetric";
  request.axes =
      llvm::to_vector(llvm::seq<int64_t>(0, int64_t(node.dimsOf(x).size())));
  if (node.opset() < 9)
    request.scales.known = llvm::map_to_vector(
        node.floatsAttr("scales"), [](double s) { return std::optional(s); });
  else
    request.scales = numbersOf(node, node.input(1));
  if (node.failed())
    return failure();
  ArrayRef known = request.scales.known;
  bool shrinks = llvm::any_of(known, [](auto s) { return s && *s < 1; });
  bool grows = llvm::any_of(known, [](auto s) { return s && *s > 1; });
  bool isMixed = shrinks && grows && request.mode == ResizeMode::Nearest;
  request.roundsByScale = isMixed || !request.scales.areKnown();
  request.nearest = shrinks ? "ceil" : "floor";
  return emitResize(node, x, request);
}

/// Reads the inputs roi, scales and sizes.
LogicalResult readInputs(NodeConverter &node, Request &request) {
  if (request.crops()) {
    if (!node.hasInput(1))
      return node.invalid("tf_crop_and_resize needs a roi");
    request.roi = numbersOf(node, node.input(1));
  }
  Value scales = node.optionalInput(2), sizes = node.optionalInput(3);
  // Before opset 13 an empty tensor stands for a missing one.
  auto isEmpty = [&](Value value) {
    Emitter::Exprs dims = node.dimsOf(value);
    return !value || (dims.size() == 1 && dims[0].isConstant(0));
  };
  if (!isEmpty(sizes)) {
    request.sizes = node.readSizes(sizes);
    return node.result();
  }
  if (isEmpty(scales))
    return node.invalid("it needs scales or sizes");
  request.scales = numbersOf(node, scales);
  return node.result();
}

LogicalResult convertResize(NodeConverter &node) {
  if (node.opset() < 11)
    return convertUpsample(node);
  Value x = node.input(0);
  int64_t rank = node.dimsOf(x).size();
  Request request;
  request.mode = resizeMode(node);
  request.coordinates =
      node.stringAttr("coordinate_transformation_mode", request.coordinates);
  request.nearest = node.stringAttr("nearest_mode", request.nearest);
  request.policy = node.stringAttr("keep_aspect_ratio_policy", request.policy);
  request.cubic = node.floatAttr("cubic_coeff_a", request.cubic);
  request.extrapolation = node.floatAttr("extrapolation_value", 0);
  request.excludeOutside = node.flagAttr("exclude_outside", false);
  request.antialias = node.flagAttr("antialias", false);
  SmallVector<int64_t> given = node.intsAttr("axes");
  for (int64_t axis : given)
    request.axes.push_back(node.normalizeAxis(axis, rank));
  (void)node.normalizeAxes(given, rank); // None may repeat.
  if (given.empty())
    request.axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (node.failed() || failed(readInputs(node, request)))
    return failure();
  return emitResize(node, x, request);
}

} // namespace

ArrayRef<OpRow> resizeRows() {
  static constexpr OpRow rows[] = {
      {"", "Resize", {10, 11, 13, 18, 19}, convertResize},
      {"", "Upsample", {7, 9}, convertUpsample},
  };
  return rows;
}

} // namespace tenon
