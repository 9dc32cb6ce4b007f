//===- OnnxConv.cpp - Convolutions ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/FusedActivation.h"
#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"
#include "compiler/Import/Windows.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;

/// The taps of a filter [., ., k..], held against `kernel_shape`.
Emitter::Exprs kernelOf(NodeConverter &node, Value filter) {
  Emitter::Exprs dims = node.dimsOf(filter);
  if (node.failed() || dims.size() < 3) {
    (void)node.invalid("the filter must have rank 3 or more");
    return {};
  }
  Emitter::Exprs kernel(dims.begin() + 2, dims.end());
  if (!node.hasAttr("kernel_shape"))
    return kernel;
  auto given = perAxisAttr(node, "kernel_shape", kernel.size(), 0, 1);
  for (size_t i = 0; i < kernel.size() && !node.failed(); ++i)
    node.require(kernel[i], Relation::Equal, node.size(given[i]),
                 "kernel_shape must be the shape of the filter");
  return kernel;
}

int64_t groupAttr(NodeConverter &node) {
  int64_t group = node.intAttr("group", 1);
  if (group < 1 || group > INT32_MAX)
    (void)node.invalid("group must be positive, not " + Twine(group));
  return group;
}

/// The convolution of the node's attributes, without a bias.
Value convolution(NodeConverter &node, Value x, Value filter) {
  int64_t group = groupAttr(node);
  Emitter::Exprs kernel = kernelOf(node, filter);
  if (node.failed())
    return {};
  Windows windows = readWindows(node, node.dimsOf(x), kernel);
  (void)countWindows(node, windows);
  if (node.failed())
    return {};
  return node.emit<graph::ConvOp>({x, filter},
                                  {node.i64s("strides", windows.strides),
                                   node.i64s("dilations", windows.dilations),
                                   node.dims("pads", windows.pads()),
                                   node.i64("group", group)});
}

/// Adds a bias [M] to [N, M, ..].
Value addBias(NodeConverter &node, Value y, Value bias) {
  if (node.failed() || !bias)
    return y;
  if (failed(node.expectRank(bias, 1, "the bias")))
    return {};
  Emitter::Exprs dims = node.dimsOf(y);
  node.require(node.dimOf(bias, 0), Relation::Equal, dims[1],
               "the bias must have one number per output channel");
  return node.add(y, alongAxis(node, bias, 1, dims.size()));
}

LogicalResult convertConv(NodeConverter &node) {
  Value y = convolution(node, node.input(0), node.input(1));
  return node.output(addBias(node, y, node.optionalInput(2)));
}

/// Images [N, H, W, C] and filters [M, kH, kW, C / group].
LogicalResult convertNhwcConv(NodeConverter &node) {
  Value x = node.input(0), filter = node.input(1);
  if (failed(node.expectRank(x, 4, "the input")) ||
      failed(node.expectRank(filter, 4, "the filter")))
    return failure();
  Value y = channelsLast(node, convolution(node, channelsSecond(node, x),
                                           channelsSecond(node, filter)));
  Value bias = node.optionalInput(2);
  return node.output(bias ? node.add(y, bias) : y);
}

/// activation(convolution + bias + addend). The activation's numbers are a
/// list, in the order of its attributes.
LogicalResult convertFusedConv(NodeConverter &node) {
  Value y = convolution(node, node.input(0), node.input(1));
  y = addBias(node, y, node.optionalInput(2));
  if (Value addend = node.optionalInput(3))
    y = node.add(y, addend);
  std::string name = node.stringAttr("activation", "");
  SmallVector<double> numbers = node.floatsAttr("activation_params");
  if (name.empty())
    return node.output(y);
  auto number = [&](StringRef attribute, double missing) {
    size_t i = attribute == "beta" || attribute == "max";
    return i < numbers.size() ? numbers[i] : missing;
  };
  return node.output(activated(node, y, name, number));
}

//===----------------------------------------------------------------------===//
// Transposed
//===----------------------------------------------------------------------===//

/// Borders that crop the result of a transposed convolution to `size`.
void cropTo(NodeConverter &node, Windows &windows, size_t axis, Expr full,
            Expr size) {
  Expr total = (full - size).max(node.size(0));
  Expr less = total.floorDiv(node.size(2)), more = total - less;
  bool upper = windows.mode == AutoPad::SameUpper;
  windows.low[axis] = upper ? less : more;
  windows.high[axis] = upper ? more : less;
}

/// The spatial sizes of the result; resolves the borders of `windows`.
Emitter::Exprs transposedSizes(NodeConverter &node, Windows &windows) {
  size_t rank = windows.rank();
  auto extra = perAxisAttr(node, "output_padding", rank, 0, 0);
  SmallVector<int64_t> given = node.intsAttr("output_shape");
  if (given.size() == rank + 2) // With batch and channels before.
    given.erase(given.begin(), given.begin() + 2);
  if (!given.empty() && given.size() != rank)
    (void)node.invalid("output_shape must have one number per spatial axis");
  bool same =
      windows.mode == AutoPad::SameUpper || windows.mode == AutoPad::SameLower;
  Emitter::Exprs sizes;
  for (size_t i = 0; i < rank && !node.failed(); ++i) {
    int64_t stride = windows.strides[i];
    Expr full = (windows.input[i] - 1) * stride + windows.reach(i) + extra[i];
    if (!given.empty() || same) {
      Expr size =
          given.empty() ? windows.input[i] * stride : node.size(given[i]);
      cropTo(node, windows, i, full, size);
      sizes.push_back(size);
      continue;
    }
    Expr size = full - windows.low[i] - windows.high[i];
    node.require(windows.low[i] + windows.high[i], Relation::LessEqual, full,
                 "the pads must not exceed the result");
    sizes.push_back(size);
  }
  return sizes;
}

LogicalResult convertConvTranspose(NodeConverter &node) {
  Value x = node.input(0), filter = node.input(1);
  int64_t group = groupAttr(node);
  Emitter::Exprs kernel = kernelOf(node, filter), dims = node.dimsOf(x);
  if (node.failed())
    return failure();
  Windows windows = readWindows(node, dims, kernel);
  if (node.failed())
    return failure();
  Emitter::Exprs taps = node.dimsOf(filter);
  node.require(dims[1], Relation::Equal, taps[0],
               "channels of the input must be the filters");
  node.require(node.size(group), Relation::Divides, dims[1],
               "group must divide the channels");
  Emitter::Exprs to = {dims[0], taps[1] * group};
  llvm::append_range(to, transposedSizes(node, windows));
  if (node.failed())
    return failure();
  Type type = graph::tensorOf(to, node.elementOf(x));
  if (!type)
    return node.invalid("a size of the result is negative or overflows");
  Value y = node.emit<graph::ConvTransposeOp>(
      {x, filter},
      {node.i64s("strides", windows.strides),
       node.i64s("dilations", windows.dilations),
       node.dims("pads", windows.pads()), node.i64("group", group)},
      type);
  return node.output(addBias(node, y, node.optionalInput(2)));
}

/// The filter that puts tap i of a window at its place: [channels * taps, 1,
/// kernel..], one group per channel.
Value placingFilter(NodeConverter &node, int64_t channels,
                    ArrayRef<int64_t> kernel) {
  int64_t taps = llvm::product_of(kernel);
  SmallVector<int64_t> shape = {channels * taps, 1};
  llvm::append_range(shape, kernel);
  auto numbers =
      std::make_shared<std::vector<float>>(channels * taps * taps, 0.0f);
  for (int64_t i = 0; i < channels * taps; ++i)
    (*numbers)[i * taps + i % taps] = 1;
  ArrayRef<char> bytes(reinterpret_cast<const char *>(numbers->data()),
                       numbers->size() * sizeof(float));
  return node.tensor({node.f32(), shape, bytes, numbers},
                     node.name() + ".places");
}

/// Windows that overlap add up, as in the transposed convolution of them by a
/// filter that places each number.
LogicalResult convertCol2Im(NodeConverter &node) {
  Value x = node.input(0);
  auto kernel = node.constantInts(node.input(2));
  Emitter::Exprs image = node.readSizes(node.input(1));
  if (failed(node.expectRank(x, 3, "the windows")))
    return failure();
  Emitter::Exprs dims = node.dimsOf(x);
  std::optional<int64_t> columns = dims[1].asConstant();
  if (!kernel || !columns)
    return node.unsupported("its windows are not known before the run",
                            "export the model with fixed windows and channels");
  int64_t taps = 1;
  for (int64_t size : *kernel)
    taps *= std::clamp<int64_t>(size, 0, 256);
  if (taps == 0 || taps > 1024 || *columns % taps != 0 ||
      kernel->size() != image.size())
    return node.invalid("its windows do not fit its channels and image");
  Windows windows;
  windows.kernel = node.sizes(*kernel);
  windows.input = image;
  windows.strides = perAxisAttr(node, "strides", image.size(), 1, 1);
  windows.dilations = perAxisAttr(node, "dilations", image.size(), 1, 1);
  SmallVector<int64_t> pads = perAxisAttr(node, "pads", 2 * image.size(), 0, 0);
  if (node.failed())
    return failure();
  windows.low = node.sizes(ArrayRef(pads).take_front(image.size()));
  windows.high = node.sizes(ArrayRef(pads).drop_front(image.size()));
  Emitter::Exprs from = {dims[0], dims[1]},
                 to = {dims[0], node.size(*columns / taps)};
  llvm::append_range(from, countWindows(node, windows));
  llvm::append_range(to, image);
  if (node.failed())
    return failure();
  node.require(graph::product(node.context(), ArrayRef(from).drop_front(2)),
               Relation::Equal, dims[2], "the windows must fill the image");
  Type type = graph::tensorOf(to, node.f32());
  if (!type)
    return node.invalid("a size of the result is negative or overflows");
  Value filter = placingFilter(node, *columns / taps, *kernel);
  Value sum = node.emit<graph::ConvTransposeOp>(
      {node.reshape(node.cast(x, node.f32()), from), filter},
      {node.i64s("strides", windows.strides),
       node.i64s("dilations", windows.dilations),
       node.dims("pads", windows.pads()), node.i64("group", *columns / taps)},
      type);
  return node.output(node.cast(sum, node.elementOf(x)));
}

//===----------------------------------------------------------------------===//
// Quantized
//===----------------------------------------------------------------------===//

/// The filter [M, ..] minus its zero point, a scalar or one per filter.
Value centeredFilter(NodeConverter &node, Value filter, Value zeroPoint) {
  int64_t rank = node.dimsOf(filter).size();
  return centered(node, filter, alongAxis(node, zeroPoint, 0, rank));
}

LogicalResult convertConvInteger(NodeConverter &node) {
  Value x = node.input(0), filter = node.input(1);
  Value xZero = node.optionalInput(2), filterZero = node.optionalInput(3);
  if (node.failed())
    return failure();
  Value centeredX = centered(node, x, alongAxis(node, xZero, 0, 1));
  return node.output(
      convolution(node, centeredX, centeredFilter(node, filter, filterZero)));
}

LogicalResult convertQLinearConv(NodeConverter &node) {
  Value x = node.input(0), xScale = node.input(1), xZero = node.input(2);
  Value filter = node.input(3), filterScale = node.input(4);
  Value filterZero = node.input(5), yScale = node.input(6);
  Value yZero = node.input(7);
  int64_t rank = node.dimsOf(x).size();
  bool last = node.flagAttr("channels_last", false); // That of com.microsoft.
  if (last)
    x = channelsSecond(node, x);
  if (node.failed())
    return failure();
  Value sums =
      convolution(node, centered(node, x, alongAxis(node, xZero, 0, 1)),
                  centeredFilter(node, filter, filterZero));
  sums = addBias(node, sums, node.optionalInput(8));
  Value multiplier = node.div(node.mul(alongAxis(node, xScale, 0, 1),
                                       alongAxis(node, filterScale, 1, rank)),
                              alongAxis(node, yScale, 0, 1));
  Value y = requantize(node, sums, multiplier, alongAxis(node, yZero, 0, 1));
  return node.output(last ? channelsLast(node, y) : y);
}

} // namespace

ArrayRef<OpRow> convRows() {
  static constexpr OpRow rows[] = {
      {"", "Col2Im", {18}, convertCol2Im},
      {"", "Conv", {1, 11, 22}, convertConv},
      {"", "ConvInteger", {10}, convertConvInteger},
      {"", "ConvTranspose", {1, 11, 22}, convertConvTranspose},
      {"", "QLinearConv", {10}, convertQLinearConv},
      {"com.microsoft", "FusedConv", {1}, convertFusedConv},
      {"com.microsoft", "NhwcConv", {1}, convertNhwcConv},
      {"com.microsoft", "QLinearConv", {1}, convertQLinearConv},
  };
  return rows;
}

} // namespace tenon
