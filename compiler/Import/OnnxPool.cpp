//===- OnnxPool.cpp - Pooling ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/OpFamilies.h"
#include "compiler/Import/Quantization.h"
#include "compiler/Import/Windows.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::ReduceKind;

/// A pool's windows, the attributes that describe them and the result's dims.
struct Pool {
  Windows windows;
  SmallVector<int64_t> kernel;
  Emitter::Exprs dims;

  SmallVector<NamedAttribute> attributes(NodeConverter &node) const {
    return {node.i64s("kernel", kernel), node.i64s("strides", windows.strides),
            node.i64s("dilations", windows.dilations),
            node.dims("pads", windows.pads())};
  }
};

/// Nothing after a problem.
std::optional<Pool> readPool(NodeConverter &node, Value x) {
  Emitter::Exprs dims = node.dimsOf(x);
  if (!node.failed() && (dims.size() < 3 || !node.hasAttr("kernel_shape")))
    (void)node.invalid(
        "it needs a kernel_shape and an input of rank 3 or more");
  if (node.failed())
    return std::nullopt;
  Pool pool;
  pool.kernel = perAxisAttr(node, "kernel_shape", dims.size() - 2, 0, 1);
  pool.windows = readWindows(node, dims, node.sizes(pool.kernel));
  if (node.failed())
    return std::nullopt;
  pool.dims = {dims[0], dims[1]};
  bool ceil = node.flagAttr("ceil_mode", false);
  llvm::append_range(pool.dims, countWindows(node, pool.windows, ceil));
  if (node.failed())
    return std::nullopt;
  if (!graph::tensorOf(pool.dims, node.elementOf(x))) {
    (void)node.invalid("a size of the result is negative or overflows");
    return std::nullopt;
  }
  return pool;
}

Value maxPool(NodeConverter &node, Value x, const Pool &pool) {
  return node.emit<graph::MaxPoolOp>(
      {x}, pool.attributes(node),
      graph::tensorOf(pool.dims, node.elementOf(x)));
}

LogicalResult convertMaxPool(NodeConverter &node) {
  Value x = node.input(0);
  std::optional<Pool> pool = readPool(node, x);
  if (!pool)
    return failure();
  bool columnMajor = node.flagAttr("storage_order", false);
  node.setOutput(0, maxPool(node, x, *pool));
  if (node.wantsOutput(1)) {
    SmallVector<NamedAttribute> attributes = pool->attributes(node);
    attributes.push_back(node.flag("column_major", columnMajor));
    node.setOutput(
        1, node.emit<graph::MaxPoolIndicesOp>(
               {x}, attributes, graph::tensorOf(pool->dims, node.integer(64))));
  }
  return node.result();
}

LogicalResult convertNhwcMaxPool(NodeConverter &node) {
  Value x = channelsSecond(node, node.input(0));
  if (node.failed())
    return failure();
  std::optional<Pool> pool = readPool(node, x);
  if (!pool)
    return failure();
  return node.output(channelsLast(node, maxPool(node, x, *pool)));
}

/// Moves the borders behind the last windows, where those end further out.
LogicalResult coverWindows(NodeConverter &node, Pool &pool) {
  Windows &windows = pool.windows;
  for (size_t i = 0; i < windows.rank(); ++i) {
    Expr last = (pool.dims[2 + i] - node.size(1)) * windows.strides[i];
    Expr beyond = last + windows.reach(i) - windows.input[i] - windows.low[i];
    windows.high[i] = windows.high[i].max(beyond);
    if (!windows.high[i])
      return node.invalid("where its last window ends overflows");
  }
  return success();
}

Value averagePool(NodeConverter &node, Value x, bool countsBeyond = false) {
  std::optional<Pool> pool = readPool(node, x);
  if (!pool || (countsBeyond && failed(coverWindows(node, *pool))))
    return {};
  SmallVector<NamedAttribute> attributes = pool->attributes(node);
  attributes.push_back(
      node.flag("count_pads", node.flagAttr("count_include_pad", false)));
  return node.emit<graph::AveragePoolOp>(
      {x}, attributes, graph::tensorOf(pool->dims, node.elementOf(x)));
}

LogicalResult convertAveragePool(NodeConverter &node) {
  return node.output(averagePool(node, node.input(0)));
}

/// Of quantized numbers; the channels may be the last axis. ONNX Runtime, whose
/// operator it is, counts what of a window lies beyond the border, too.
LogicalResult convertQLinearAveragePool(NodeConverter &node) {
  Value x = readQuantized(node, 0);
  int64_t rank = node.dimsOf(x).size();
  bool last = node.flagAttr("channels_last", false);
  if (node.failed())
    return failure();
  if (rank < 3)
    return node.invalid("the input must have rank 3 or more");
  if (!last)
    return writeQuantized(node, averagePool(node, x, true), 3);
  Value pooled = averagePool(node, channelsSecond(node, x), true);
  return writeQuantized(node, channelsLast(node, pooled), 3);
}

int64_t normAttr(NodeConverter &node) {
  int64_t p = node.intAttr("p", 2);
  if (p < 1 || p > INT32_MAX)
    (void)node.invalid("p must be positive");
  return p;
}

LogicalResult convertLpPool(NodeConverter &node) {
  Value x = node.input(0);
  int64_t p = normAttr(node);
  std::optional<Pool> pool = readPool(node, x);
  if (!pool)
    return failure();
  SmallVector<NamedAttribute> attributes = pool->attributes(node);
  attributes.push_back(node.i64("p", p));
  return node.output(node.emit<graph::LpPoolOp>(
      {x}, attributes, graph::tensorOf(pool->dims, node.elementOf(x))));
}

/// The spatial axes of x; a problem when there are none.
SmallVector<int64_t> spatialAxes(NodeConverter &node, Value x) {
  int64_t rank = node.dimsOf(x).size();
  if (!node.failed() && rank < 3)
    (void)node.invalid("the input must have rank 3 or more");
  return llvm::to_vector(llvm::seq<int64_t>(2, std::max<int64_t>(rank, 2)));
}

template <ReduceKind kind>
LogicalResult convertGlobalPool(NodeConverter &node) {
  Value x = node.input(0);
  return node.output(node.reduce(x, spatialAxes(node, x), kind));
}

/// (sum of |x|^p)^(1/p)
LogicalResult convertGlobalLpPool(NodeConverter &node) {
  Value x = node.input(0);
  SmallVector<int64_t> axes = spatialAxes(node, x);
  double p = double(normAttr(node));
  if (node.failed())
    return failure();
  Type element = node.elementOf(x);
  bool narrow = element.getIntOrFloatBitWidth() < 32;
  Value wide = narrow ? node.cast(x, node.f32()) : x;
  Type type = node.elementOf(wide);
  Value magnitude = node.emit<graph::AbsOp>({wide}, {}, wide.getType());
  Value power = node.emit<graph::PowOp>({magnitude, node.scalar(type, p)});
  Value sum = node.reduce(power, axes, ReduceKind::Sum);
  Value root = node.emit<graph::PowOp>({sum, node.scalar(type, 1 / p)});
  return node.output(node.cast(root, element));
}

/// Puts each element at the flat place that MaxPool took it from.
LogicalResult convertMaxUnpool(NodeConverter &node) {
  Value x = node.input(0), indices = node.input(1);
  if (node.hasInput(2))
    return node.unsupported("output_shape is not read", "leave it out");
  Emitter::Exprs dims = node.dimsOf(x);
  if (!node.failed() && (dims.size() < 3 || !node.hasAttr("kernel_shape")))
    return node.invalid(
        "it needs a kernel_shape and an input of rank 3 or more");
  if (node.failed())
    return failure();
  size_t rank = dims.size() - 2;
  auto kernel = perAxisAttr(node, "kernel_shape", rank, 0, 1);
  auto strides = perAxisAttr(node, "strides", rank, 1, 1);
  auto pads = perAxisAttr(node, "pads", 2 * rank, 0, 0);
  if (node.failed())
    return failure();
  Emitter::Exprs to = {dims[0], dims[1]};
  for (size_t i = 0; i < rank; ++i)
    to.push_back((dims[2 + i] - 1) * strides[i] +
                 (kernel[i] - pads[i] - pads[rank + i]));
  Expr from = graph::product(node.context(), dims);
  Value zeros = node.broadcast(node.scalar(node.elementOf(x), 0),
                               graph::product(node.context(), to));
  auto kind =
      graph::ScatterKindAttr::get(node.context(), graph::ScatterKind::Assign);
  Value flat = node.emit<graph::ScatterElementsOp>(
      {zeros, node.reshape(indices, from), node.reshape(x, from)},
      {node.i64("axis", 0), node.attr("kind", kind)});
  return node.output(node.reshape(flat, to));
}

} // namespace

ArrayRef<OpRow> poolRows() {
  static constexpr OpRow rows[] = {
      {"", "AveragePool", {7, 10, 11, 19, 22}, convertAveragePool},
      {"", "GlobalAveragePool", {1, 22}, convertGlobalPool<ReduceKind::Mean>},
      {"", "GlobalLpPool", {2, 22}, convertGlobalLpPool},
      {"", "GlobalMaxPool", {1, 22}, convertGlobalPool<ReduceKind::Max>},
      {"", "LpPool", {2, 11, 18, 22}, convertLpPool},
      {"", "MaxPool", {1, 8, 10, 11, 12, 22}, convertMaxPool},
      {"", "MaxUnpool", {9, 11, 22}, convertMaxUnpool},
      {"com.microsoft", "NhwcMaxPool", {1}, convertNhwcMaxPool},
      {"com.microsoft", "QLinearAveragePool", {1}, convertQLinearAveragePool},
  };
  return rows;
}

} // namespace tenon
