//===- DeviceGeometry.cpp - How devices share a kernel's work -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/MatmulView.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

// Of blocks. Rows are better spread over the device by small ones.
constexpr int64_t elementThreads = 128, rowThreads = 32;

/// Blocks that are enough for the largest devices.
constexpr int64_t enoughBlocks = 2048;

/// Whether elements along an axis are neighbours, and worth a warp.
bool isLong(Value tensor, int64_t axis) {
  constexpr int64_t fewest = 16;
  int64_t last = graph::getRank(tensor) - 1;
  while (last > 0 && graph::getDim(tensor, last).isConstant(1))
    --last;
  return axis == last &&
         graph::getDim(tensor, axis).asConstant().value_or(fewest) >= fewest;
}

/// Whether threads share the columns of a row.
bool isRowOfBlock(Operation *root) {
  return llvm::TypeSwitch<Operation *, bool>(root)
      .Case<graph::AppendOp, graph::AttentionOp>([](auto) { return true; })
      .Case<graph::SoftmaxOp, graph::LogSoftmaxOp>([](auto softmax) {
        return isLong(softmax.getResult(), softmax.getAxis());
      })
      .Case<graph::LayerNormOp, graph::RmsNormOp>([](auto) { return true; })
      .Case<graph::ReduceOp>([](graph::ReduceOp reduce) {
        int64_t last = graph::getRank(reduce.getInput()) - 1;
        return llvm::is_contained(reduce.getAxes(), last) &&
               isLong(reduce.getInput(), last);
      })
      .Default([](Operation *) { return false; });
}

Geometry elementGeometry(Block &body) {
  // A thread takes several elements, at which it works at once, where that
  // leaves blocks enough.
  constexpr int64_t most = 4;
  Operation *end = body.getTerminator(), *root = findRoot(body);
  auto number = [&](int64_t value) {
    return Expr::constant(end->getContext(), value);
  };
  Value over = root ? loopedOver(root) : behindReshapes(end->getOperand(0));
  Expr rows = graph::elementCount(over), grain = number(elementThreads);
  if (rows && !root)
    grain = rows.floorDiv(number(elementThreads * enoughBlocks))
                .max(number(1))
                .min(number(most)) *
            grain;
  return {rows, grain, number(0)};
}

Geometry rowGeometry(Block &body) {
  Geometry geometry = geometryOf(body);
  if (!geometry)
    return geometry;
  auto number = [&](int64_t value) {
    return Expr::constant(body.getTerminator()->getContext(), value);
  };
  geometry.grain = geometry.rows.floorDiv(number(enoughBlocks))
                       .max(number(1))
                       .min(number(rowThreads));
  return geometry;
}

} // namespace

DeviceRows deviceRowsOf(Block &body) {
  Operation *root = findRoot(body);
  if (root && isRowOfBlock(root))
    return DeviceRows::OfBlocks;
  bool isApart =
      !root || isa<graph::ArgReduceOp, graph::AveragePoolOp, graph::ConvOp,
                   graph::ConvTransposeOp, graph::LpPoolOp, graph::MatmulOp,
                   graph::MaxPoolIndicesOp, graph::MaxPoolOp, graph::ReduceOp,
                   graph::ResizeOp>(root);
  return isApart ? DeviceRows::Elements : DeviceRows::OfThreads;
}

int64_t deviceThreads(Block &body) {
  return deviceRowsOf(body) == DeviceRows::Elements ? elementThreads
                                                    : rowThreads;
}

Geometry deviceGeometryOf(Block &body) {
  return deviceRowsOf(body) == DeviceRows::Elements ? elementGeometry(body)
                                                    : rowGeometry(body);
}

} // namespace tenon::kernel
