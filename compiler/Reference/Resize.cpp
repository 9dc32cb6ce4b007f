//===- Resize.cpp - Resampling by the formulas of ONNX Resize -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes are resampled one after another. Each position along a result axis is a
// weighted sum of samples of the input axis: the kernel of the mode (a
// triangle, or Keys' cubic), stretched by 1 / scale to smooth what shrinks when
// antialias is on, with the border sample repeated outside.
//
//===----------------------------------------------------------------------===//

#include "compiler/Reference/Call.h"
#include <cmath>

using namespace mlir;

namespace tenon::reference {
namespace {

/// One axis to resample: sizes, and the attributes' numbers for it.
struct Axis {
  int64_t in, out;
  double scale, roiStart, roiEnd;

  bool isIdentity() const { return in == out && scale == 1; }
};

struct Sample {
  int64_t index;
  double weight;
};

double toInputOfCrop(const Axis &axis, double x) {
  double last = static_cast<double>(axis.in - 1);
  double extent = (axis.roiEnd - axis.roiStart) * last;
  return axis.out > 1 ? axis.roiStart * last +
                            x * extent / static_cast<double>(axis.out - 1)
                      : 0.5 * (axis.roiStart + axis.roiEnd) * last;
}

/// Where result position x lies on the input axis, computed in a type.
template <typename Real>
double toInputIn(StringRef mode, const Axis &axis, Real x) {
  Real in = static_cast<Real>(axis.in), out = static_cast<Real>(axis.out);
  // A quotient in f64, rounded to f32, is that of f32.
  Real scale = static_cast<Real>(axis.scale);
  Real resized = scale * in, half = Real(0.5);
  // By the result's length, which is whole, as the text of the operator,
  // PyTorch and ONNX Runtime have it; ONNX's own evaluator takes `resized`.
  if (mode == "align_corners")
    return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (mode == "asymmetric")
    return x / scale;
  Real halfPixel = (x + half) / scale - half;
  if (mode == "pytorch_half_pixel")
    return axis.out > 1 ? halfPixel : 0;
  if (mode == "half_pixel_symmetric")
    return in / 2 * (1 - out / resized) + halfPixel;
  return halfPixel; // half_pixel
}

/// In f32 where the nearest is taken, as scales are given and others compute:
/// a third of 9 elements would begin with 0, 2 and 5 where f32's third, which
/// is a bit more, is taken for exact.
double toInput(graph::ResizeOp op, const Axis &axis, int64_t x) {
  StringRef mode = op.getCoordinates();
  if (mode == "tf_crop_and_resize")
    return toInputOfCrop(axis, static_cast<double>(x));
  return op.getMode() == graph::ResizeMode::Nearest
             ? toInputIn(mode, axis, static_cast<float>(x))
             : toInputIn(mode, axis, static_cast<double>(x));
}

int64_t toNearest(StringRef mode, double x, int64_t size) {
  double rounded = mode == "floor"               ? std::floor(x)
                   : mode == "ceil"              ? std::ceil(x)
                   : mode == "round_prefer_ceil" ? std::floor(x + 0.5)
                                                 : std::ceil(x - 0.5);
  return static_cast<int64_t>(
      std::fmin(std::fmax(rounded, 0), static_cast<double>(size - 1)));
}

double triangle(double x) { return std::fmax(0, 1 - std::fabs(x)); }

double cubic(double x, double a) {
  x = std::fabs(x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

class Resampler {
public:
  Resampler(Call &call, graph::ResizeOp op)
      : call(call), op(op), isCubic(op.getMode() == graph::ResizeMode::Cubic) {}
  llvm::Error run();

private:
  llvm::Error readAxes();
  bool isCropped(const Axis &axis, int64_t x) const;
  llvm::Expected<std::vector<SmallVector<Sample>>>
  samples(const Axis &axis) const;
  llvm::Error pickNearest();
  llvm::Error interpolate();
  void fillCropped();

  Call &call;
  mutable graph::ResizeOp op; // Its getters are not const.
  bool isCubic;
  SmallVector<Axis> axes;
};

llvm::Error Resampler::readAxes() {
  const Tensor &input = call.operands[0];
  size_t rank = input.rank();
  ArrayRef<double> scales = op.getScales(), roi = op.getRoi();
  bool isCrop = op.getCoordinates() == "tf_crop_and_resize";
  if (call.results[0].rank() != rank ||
      (!scales.empty() && scales.size() != rank) ||
      (isCrop && roi.size() != 2 * rank))
    return fault("input, result, scales and roi differ in rank");
  for (size_t i = 0; i < rank; ++i) {
    int64_t in = input.shape[i], out = call.results[0].shape[i];
    if (in == 0 && out > 0)
      return fault("cannot resize no element to " + std::to_string(out));
    double scale = scales.empty()
                       ? static_cast<double>(out) / static_cast<double>(in)
                       : scales[i];
    if (out > 0 && !(scale > 0 && std::isfinite(scale)))
      return fault("the scale of axis " + std::to_string(i) +
                   " is not positive");
    axes.push_back(
        {in, out, scale, isCrop ? roi[i] : 0, isCrop ? roi[rank + i] : 1});
  }
  return llvm::Error::success();
}

/// Beyond the border, where tf_crop_and_resize extrapolates.
bool Resampler::isCropped(const Axis &axis, int64_t x) const {
  if (op.getCoordinates() != "tf_crop_and_resize")
    return false;
  double at = toInput(op, axis, x);
  return !(at >= 0 && at <= static_cast<double>(axis.in - 1));
}

llvm::Expected<std::vector<SmallVector<Sample>>>
Resampler::samples(const Axis &axis) const {
  double squeeze = op.getAntialias() ? std::fmin(axis.scale, 1) : 1;
  double reach = (isCubic ? 2 : 1) / squeeze;
  constexpr double maxSamples = 1 << 26;
  if (reach * static_cast<double>(axis.out) > maxSamples)
    return fault("antialiasing needs too many samples");
  double a = op.getCubicCoefficient().convertToDouble();
  std::vector<SmallVector<Sample>> result(axis.out);
  for (int64_t x = 0; x < axis.out; ++x) {
    double at = toInput(op, axis, x);
    // Further out, all samples are the border's.
    at = std::isnan(at) ? 0 : at;
    at = std::fmax(-reach - 1,
                   std::fmin(at, static_cast<double>(axis.in) + reach));
    double total = 0;
    auto last = static_cast<int64_t>(std::ceil(at + reach)) - 1;
    for (auto i = static_cast<int64_t>(std::floor(at - reach)) + 1; i <= last;
         ++i) {
      if (op.getExcludeOutside() && (i < 0 || i >= axis.in))
        continue;
      double distance = (static_cast<double>(i) - at) * squeeze;
      double weight = isCubic ? cubic(distance, a) : triangle(distance);
      total += weight;
      result[x].push_back({std::clamp<int64_t>(i, 0, axis.in - 1), weight});
    }
    if (total == 0)
      result[x].assign({{at < 0 ? 0 : axis.in - 1, total = 1}});
    for (Sample &sample : result[x])
      sample.weight /= total;
  }
  return result;
}

llvm::Error Resampler::pickNearest() {
  const Tensor &input = call.operands[0];
  Tensor &result = call.results[0];
  Shape strides = stridesOf(input.shape), index(axes.size(), 0);
  SmallVector<std::vector<int64_t>> offsets(axes.size());
  for (auto [i, axis] : llvm::enumerate(axes))
    for (int64_t x = 0; x < axis.out; ++x) {
      double at = toInput(op, axis, x);
      int64_t from =
          axis.isIdentity() && op.getCoordinates() != "tf_crop_and_resize"
              ? x
              : toNearest(op.getNearest(), at, axis.in);
      offsets[i].push_back(from * strides[i]);
    }
  int64_t to = 0;
  do {
    int64_t from = 0;
    for (size_t i = 0; i < axes.size(); ++i)
      from += offsets[i][index[i]];
    copyWords(result, to++, input, from);
  } while (step(index, result.shape));
  return llvm::Error::success();
}

llvm::Error Resampler::interpolate() {
  const Tensor &input = call.operands[0];
  Tensor current(Float64Type::get(op.getContext()), input.shape);
  MutableArrayRef<double> start = current.writeFloats();
  for (size_t i = 0; i < start.size(); ++i)
    start[i] = input.number(i);
  for (size_t i = axes.size(); i-- > 0;) {
    const Axis &axis = axes[i];
    if (axis.isIdentity() && op.getCoordinates() != "tf_crop_and_resize")
      continue;
    auto taps = samples(axis);
    if (!taps)
      return taps.takeError();
    Shape shape = current.shape;
    shape[i] = axis.out;
    auto next = call.temporary(current.element, shape);
    if (!next)
      return next.takeError();
    AxisView view(current.shape, i);
    const double *from = current.floats().data();
    double *to = next->writeFloats().data();
    for (int64_t outer = 0; outer < view.outer; ++outer)
      for (int64_t x = 0; x < axis.out; ++x)
        for (const Sample &sample : (*taps)[x])
          for (int64_t inner = 0; inner < view.inner; ++inner)
            to[(outer * axis.out + x) * view.inner + inner] +=
                sample.weight *
                from[(outer * view.size + sample.index) * view.inner + inner];
    current = std::move(*next);
  }
  Tensor &result = call.results[0];
  ArrayRef<double> values = current.floats();
  if (result.isFloat()) {
    llvm::copy(values, result.writeFloats().begin());
    call.round();
    return llvm::Error::success();
  }
  MutableArrayRef<int64_t> to = result.writeInts();
  for (size_t i = 0; i < values.size(); ++i)
    to[i] = IntKind::of(result.element).fromDouble(values[i]);
  return llvm::Error::success();
}

void Resampler::fillCropped() {
  Tensor &result = call.results[0];
  double fill = op.getExtrapolation().convertToDouble();
  SmallVector<std::vector<bool>> cropped(axes.size());
  for (auto [i, axis] : llvm::enumerate(axes))
    for (int64_t x = 0; x < axis.out; ++x)
      cropped[i].push_back(isCropped(axis, x));
  Shape index(axes.size(), 0);
  int64_t at = 0;
  do {
    bool isOutside = false;
    for (size_t i = 0; i < axes.size(); ++i)
      isOutside |= cropped[i][index[i]];
    if (isOutside && result.isFloat())
      result.writeFloats()[at] = fill;
    else if (isOutside)
      result.writeInts()[at] = IntKind::of(result.element).fromDouble(fill);
    ++at;
  } while (step(index, result.shape));
  call.round();
}

llvm::Error Resampler::run() {
  if (auto error = readAxes())
    return error;
  if (!call.make().count())
    return llvm::Error::success();
  bool isNearest = op.getMode() == graph::ResizeMode::Nearest;
  if (auto error = isNearest ? pickNearest() : interpolate())
    return error;
  if (op.getCoordinates() == "tf_crop_and_resize")
    fillCropped();
  return llvm::Error::success();
}

} // namespace

llvm::Error evaluateResize(Call &call) {
  return Resampler(call, cast<graph::ResizeOp>(call.op)).run();
}

} // namespace tenon::reference
