//===- OnnxFourier.cpp - Fourier transforms and mel filters ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transform is a product by one matrix, in which real and imaginary parts are
// rows and columns of their own: of lengths that are numbers a constant, of
// others a few cosines. One of frames is a convolution by that matrix.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/FourierMatrix.h"
#include "compiler/Import/OpFamilies.h"

#include <cmath>

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;

/// Whether the last axis holds real numbers (1) or complex ones (2); 0 after a
/// problem.
int64_t partsOf(NodeConverter &node, Value x) {
  Emitter::Exprs dims = node.dimsOf(x);
  if (node.failed())
    return 0;
  std::optional<int64_t> parts =
      dims.empty() ? std::nullopt : dims.back().asConstant();
  if (dims.size() >= 2 && parts && (*parts == 1 || *parts == 2))
    return *parts;
  (void)node.invalid("the last axis of its signal must have 1 number (real) or "
                     "2 (complex)");
  return 0;
}

//===----------------------------------------------------------------------===//
// DFT
//===----------------------------------------------------------------------===//

/// An attribute before opset 20, then an input; 0 after a problem.
int64_t transformedAxis(NodeConverter &node, int64_t rank) {
  if (node.opset() < 20)
    return node.axisAttr("axis", 1, rank);
  if (!node.hasInput(2))
    return node.normalizeAxis(-2, rank);
  auto axis = node.constantInts(node.input(2));
  if (!axis || axis->size() != 1) {
    (void)node.unsupported("its axis is not known before the run",
                           "make the axis a constant");
    return 0;
  }
  return node.normalizeAxis(axis->front(), rank);
}

/// What the attributes say about a signal of `size` points.
std::optional<Transform> readTransform(NodeConverter &node, int64_t parts,
                                       Expr size) {
  bool half = node.flagAttr("onesided", false);
  bool inverse = node.flagAttr("inverse", false);
  if (half && !inverse && parts == 2) {
    (void)node.invalid("half of the points define the transform of a real "
                       "signal only; onesided must be 0");
    return std::nullopt;
  }
  bool fromHalf = half && inverse;
  Expr length = fromHalf ? (size - 1) * 2 : size;
  if (node.hasInput(1))
    length = node.readSize(node.input(1), "its dft_length");
  if (node.failed())
    return std::nullopt;
  node.require(node.size(1), Relation::LessEqual, length,
               "a transform needs a point");
  Expr halfLength = length.floorDiv(node.size(2)) + 1;
  // Zeros behind the signal add nothing, and are not read.
  Expr inputs = size.min(fromHalf ? halfLength : length);
  Expr outputs = half && !inverse ? halfLength : length;
  return Transform{length, inputs, outputs, parts, fromHalf ? 1 : 2, inverse};
}

LogicalResult convertDft(NodeConverter &node) {
  Value x = node.input(0);
  int64_t parts = partsOf(node, x), rank = node.dimsOf(x).size();
  if (node.failed())
    return failure();
  int64_t axis = transformedAxis(node, rank);
  if (!node.failed() && axis == rank - 1)
    return node.invalid("its axis is the one of real and imaginary parts");
  auto transform = node.failed()
                       ? std::nullopt
                       : readTransform(node, parts, node.dimOf(x, axis));
  if (!transform || node.failed())
    return failure();
  // The transformed axis goes before that of the parts, and both are rows.
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  order.erase(order.begin() + axis);
  order.insert(order.end() - 1, axis);
  Type element = node.computedType(node.elementOf(x));
  Value signal =
      node.slice(node.cast(x, element), axis, node.size(0), transform->inputs);
  signal = node.transpose(signal, order);
  Emitter::Exprs dims = node.dimsOf(signal);
  if (node.failed())
    return failure();
  dims.resize(rank - 2);
  Emitter::Exprs rows = dims, to = dims;
  rows.push_back(transform->inputs * parts);
  to.push_back(transform->outputs);
  to.push_back(node.size(transform->outputParts));
  Value product = node.matmul(node.reshape(signal, rows),
                              fourierMatrix(node, *transform, element));
  auto back = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  back.erase(back.end() - 2);
  back.insert(back.begin() + axis, rank - 2);
  return node.output(node.cast(node.transpose(node.reshape(product, to), back),
                               node.elementOf(x)));
}

//===----------------------------------------------------------------------===//
// STFT
//===----------------------------------------------------------------------===//

/// A scalar input that must be a positive number now; 0 after a problem.
int64_t fixedInput(NodeConverter &node, unsigned i, StringRef name) {
  auto value = node.constantInts(node.input(i));
  if (!node.failed() && (!value || value->size() != 1))
    (void)node.unsupported("its " + name + " is not known before the run",
                           "make it a constant");
  if (node.failed())
    return 0;
  if (value->front() >= 1 && value->front() <= INT32_MAX)
    return value->front();
  (void)node.invalid("its " + name + " must be positive, not " +
                     Twine(value->front()));
  return 0;
}

/// The points of a frame: given, or those of the window, or all.
int64_t frameLength(NodeConverter &node, Value x, Value window) {
  if (node.hasInput(3))
    return fixedInput(node, 3, "frame_length");
  Expr size = window ? node.dimOf(window, 0) : node.dimOf(x, 1);
  if (node.failed())
    return 0;
  if (auto length = size.asConstant())
    return *length;
  (void)node.unsupported("the length of its frames is not known before the run",
                         "make frame_length a constant");
  return 0;
}

/// Windows times transforms, as filters [outputs * 2, parts, length] of a
/// convolution.
Value frameFilters(NodeConverter &node, const Transform &transform,
                   Value window, Type element) {
  Value matrix =
      node.reshape(fourierMatrix(node, transform, element),
                   {transform.inputs, node.size(transform.inputParts),
                    transform.outputs, node.size(transform.outputParts)});
  Value filters =
      node.reshape(node.transpose(matrix, {2, 3, 1, 0}),
                   {transform.outputs * transform.outputParts,
                    node.size(transform.inputParts), transform.inputs});
  return window ? node.mul(filters, node.cast(window, element)) : filters;
}

LogicalResult convertStft(NodeConverter &node) {
  Value x = node.input(0), window = node.optionalInput(2);
  // Real numbers may have no axis of their own: a row for each signal.
  if (Emitter::Exprs dims = node.dimsOf(x); dims.size() == 2) {
    dims.push_back(node.size(1));
    x = node.reshape(x, dims);
  }
  int64_t parts = partsOf(node, x), step = fixedInput(node, 1, "frame_step");
  if (node.failed() || failed(node.expectRank(x, 3, "the signal")) ||
      (window && failed(node.expectRank(window, 1, "the window"))))
    return failure();
  int64_t length = frameLength(node, x, window);
  bool half = node.flagAttr("onesided", true);
  if (half && parts == 2)
    return node.invalid("half of the points define the transform of a real "
                        "signal only; onesided must be 0");
  if (node.failed())
    return failure();
  Expr points = node.size(length);
  if (window)
    node.require(node.dimOf(window, 0), Relation::Equal, points,
                 "the window must have the length of a frame");
  node.require(points, Relation::LessEqual, node.dimOf(x, 1),
               "a frame must not be longer than the signal");
  Expr outputs = half ? node.size(length / 2 + 1) : points;
  Transform transform{points, points, outputs, parts, 2, false};
  Type element = node.computedType(node.elementOf(x));
  Value signal = node.transpose(node.cast(x, element), {0, 2, 1});
  Value filters = frameFilters(node, transform, window, element);
  if (node.failed())
    return failure();
  Value frames = node.emit<graph::ConvOp>(
      {signal, filters},
      {node.i64s("strides", step), node.i64s("dilations", 1),
       node.dims("pads", node.sizes({0, 0})), node.i64("group", 1)});
  frames = node.transpose(frames, {0, 2, 1});
  Emitter::Exprs dims = node.dimsOf(frames);
  if (node.failed())
    return failure();
  return node.output(
      node.cast(node.reshape(frames, {dims[0], dims[1], outputs, node.size(2)}),
                node.elementOf(x)));
}

//===----------------------------------------------------------------------===//
// MelWeightMatrix
//===----------------------------------------------------------------------===//

double melOf(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertzOf(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

/// The bins of a spectrum at which triangles begin, peak and end: `count` and
/// two more, at equal distances in mel.
std::vector<int64_t> melBins(int64_t count, int64_t length, int64_t rate,
                             double low, double high) {
  std::vector<int64_t> bins;
  double first = melOf(low), step = (melOf(high) - first) / double(count + 2);
  for (int64_t i = 0; i < count + 2; ++i)
    bins.push_back(
        int64_t(std::floor(double(length + 1) *
                           hertzOf(first + double(i) * step) / double(rate))));
  return bins;
}

/// Triangles over the bins of a spectrum, [spectrum, count].
std::vector<float> melTriangles(ArrayRef<int64_t> bins, int64_t spectrum) {
  int64_t count = int64_t(bins.size()) - 2;
  std::vector<float> weights(size_t(spectrum * count));
  auto set = [&](int64_t bin, int64_t i, double weight) {
    if (bin >= 0 && bin < spectrum)
      weights[size_t(bin * count + i)] = float(weight);
  };
  for (int64_t i = 0; i < count; ++i) {
    int64_t left = bins[i], peak = bins[i + 1], right = bins[i + 2];
    if (left == peak)
      set(peak, i, 1);
    for (int64_t bin = left; left < peak && bin <= peak; ++bin)
      set(bin, i, double(bin - left) / double(peak - left));
    for (int64_t bin = peak; bin < right; ++bin)
      set(bin, i, double(right - bin) / double(right - peak));
  }
  return weights;
}

LogicalResult convertMelWeights(NodeConverter &node) {
  int64_t count = fixedInput(node, 0, "num_mel_bins");
  int64_t length = fixedInput(node, 1, "dft_length");
  int64_t rate = fixedInput(node, 2, "sample_rate");
  auto low = node.constantFloats(node.input(3));
  auto high = node.constantFloats(node.input(4));
  if (node.failed())
    return failure();
  if (!low || low->size() != 1 || !high || high->size() != 1)
    return node.unsupported("its edges are not known before the run",
                            "make them constants");
  int64_t spectrum = length / 2 + 1;
  if (spectrum > maxMatrix / count)
    return node.unsupported("its matrix has more than 2^26 numbers");
  if (!(low->front() >= 0 && low->front() < high->front() &&
        high->front() <= double(rate)))
    return node.invalid(
        "its edges must be ordered, and within the sample rate");
  auto bins = melBins(count, length, rate, low->front(), high->front());
  Value weights = madeTensor(node, node.f32(), {spectrum, count},
                             melTriangles(bins, spectrum), ".mel");
  return node.output(
      node.cast(weights, node.typeAttr("output_datatype", node.f32())));
}

} // namespace

ArrayRef<OpRow> fourierRows() {
  static constexpr OpRow rows[] = {
      {"", "DFT", {17, 20}, convertDft},
      {"", "MelWeightMatrix", {17}, convertMelWeights},
      {"", "STFT", {17}, convertStft},
  };
  return rows;
}

} // namespace tenon
