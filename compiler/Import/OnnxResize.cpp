//===- OnnxResize.cpp - Resize and Upsample -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::ResizeMode;

/// What the attributes and inputs of a node ask for.
struct Request {
  ResizeMode mode = ResizeMode::Nearest;
  std::string coordinates = "half_pixel", nearest = "round_prefer_floor";
  SmallVector<int64_t> axes;
  SmallVector<double> scales, roi; // One, or two, per entry of `axes`.
  Emitter::Exprs sizes;            // Empty where scales are given.
  std::string policy = "stretch";
  double cubic = -0.75, extrapolation = 0;
  bool excludeOutside = false, antialias = false;
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
/// the scale is a ratio of small numbers.
Expr scaledSize(NodeConverter &node, Expr size, double scale) {
  if (std::optional<int64_t> number = size.asConstant()) {
    // In float, as the specification's own shape inference has it.
    double scaled = std::floor(float(*number) * float(scale));
    return scaled >= 0 && scaled < double(INT32_MAX)
               ? node.size(int64_t(scaled))
               : Expr();
  }
  for (int64_t divisor = 1; divisor <= 64; ++divisor) {
    double factor = scale * double(divisor);
    // A float holds a ratio with an error of up to 2^-24.
    if (std::abs(factor - std::round(factor)) < factor * 0x1p-24 &&
        factor < INT32_MAX)
      return (size * int64_t(std::round(factor))).floorDiv(node.size(divisor));
  }
  (void)node.unsupported("scales an axis of variable size by " +
                             Twine(std::to_string(scale)),
                         "scale by a ratio of small numbers, or fix the size");
  return {};
}

/// The known numbers of an input that must not vary; nothing after a problem.
std::optional<SmallVector<double>> fixedNumbers(NodeConverter &node, unsigned i,
                                                StringRef what) {
  auto numbers = node.constantFloats(node.optionalInput(i));
  if (!numbers)
    (void)node.unsupported(Twine(what) + " are not known before the model runs",
                           "make this input a constant");
  return numbers;
}

/// One size for all axes that keeps the aspect ratio.
void keepAspect(NodeConverter &node, Request &request, ArrayRef<Expr> dims) {
  if (request.policy == "stretch" || request.sizes.empty())
    return;
  bool larger = request.policy == "not_smaller";
  std::optional<double> scale;
  for (auto [axis, size] : llvm::zip(request.axes, request.sizes)) {
    std::optional<int64_t> from = dims[axis].asConstant();
    std::optional<int64_t> to = size.asConstant();
    if (!from || !to || *from == 0) {
      (void)node.unsupported("keeps the aspect ratio of variable sizes",
                             "fix the sizes of the input");
      return;
    }
    double ratio = double(*to) / double(*from);
    scale = !scale   ? ratio
            : larger ? std::max(*scale, ratio)
                     : std::min(*scale, ratio);
  }
  for (auto [axis, size] : llvm::zip(request.axes, request.sizes))
    size = node.size(
        int64_t(std::floor(double(*dims[axis].asConstant()) * *scale + 0.5)));
  request.scales.assign(request.axes.size(), scale.value_or(1));
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
  if ((request.sizes.empty() || !request.scales.empty()) &&
      request.scales.size() != count)
    return node.invalid("it needs one scale or size per axis");
  if (!request.sizes.empty() && request.sizes.size() != count)
    return node.invalid("it needs one scale or size per axis");
  for (double scale : request.scales)
    if (!(scale > 0 && scale < double(INT32_MAX)))
      return node.invalid("scales must be positive");
  if (request.coordinates == "tf_crop_and_resize" &&
      request.roi.size() != 2 * count)
    return node.invalid(
        "tf_crop_and_resize needs a roi of two numbers per axis");
  return node.result();
}

LogicalResult emitResize(NodeConverter &node, Value x, Request &request) {
  Emitter::Exprs dims = node.dimsOf(x), to = dims;
  if (node.failed())
    return failure();
  keepAspect(node, request, dims);
  if (node.failed() || failed(checkRequest(node, request)))
    return failure();
  int64_t rank = dims.size();
  bool crops = request.coordinates == "tf_crop_and_resize";
  SmallVector<double> scales(request.scales.empty() ? 0 : rank, 1.0), roi;
  if (crops) {
    roi.assign(2 * rank, 0.0);
    std::fill(roi.begin() + rank, roi.end(), 1.0);
  }
  for (auto [i, axis] : llvm::enumerate(request.axes)) {
    size_t count = request.axes.size();
    double extent = 1;
    if (crops) {
      roi[axis] = request.roi[i];
      roi[rank + axis] = request.roi[count + i];
      extent = roi[rank + axis] - roi[axis];
    }
    if (!scales.empty())
      scales[axis] = request.scales[i];
    to[axis] = request.sizes.empty()
                   ? scaledSize(node, dims[axis], request.scales[i] * extent)
                   : request.sizes[i];
  }
  if (node.failed())
    return failure();
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
  if (node.opset() < 9) {
    request.scales = node.floatsAttr("scales");
  } else {
    auto scales = fixedNumbers(node, 1, "the scales");
    if (!scales)
      return failure();
    request.scales = *scales;
  }
  bool shrinks = llvm::any_of(request.scales, [](double s) { return s < 1; });
  bool grows = llvm::any_of(request.scales, [](double s) { return s > 1; });
  if (shrinks && grows && request.mode == ResizeMode::Nearest)
    return node.unsupported("shrinks one axis and enlarges another",
                            "export with opset 11 or later");
  request.nearest = shrinks ? "ceil" : "floor";
  return emitResize(node, x, request);
}

/// Reads the inputs roi, scales and sizes.
LogicalResult readInputs(NodeConverter &node, Request &request) {
  if (request.coordinates == "tf_crop_and_resize") {
    auto roi = fixedNumbers(node, 1, "the numbers of roi");
    if (!roi)
      return failure();
    request.roi = *roi;
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
  auto numbers = fixedNumbers(node, 2, "the scales");
  if (!numbers)
    return failure();
  request.scales = *numbers;
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
