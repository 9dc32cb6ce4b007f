//===- DeviceGeometry.cpp - How devices share a kernel's work -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/MatmulView.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

// Of blocks. Threads that take a row each are better spread over the device.
constexpr int64_t elementThreads = 128, rowThreads = 32;

Geometry elementGeometry(Block &body) {
  // A thread takes several elements, at which it works at once, where that
  // leaves blocks for the largest devices.
  constexpr int64_t most = 4, enough = 2048;
  Operation *end = body.getTerminator(), *root = findRoot(body);
  auto number = [&](int64_t value) {
    return Expr::constant(end->getContext(), value);
  };
  Value over = root ? loopedOver(root) : behindReshapes(end->getOperand(0));
  Expr rows = graph::elementCount(over), grain = number(elementThreads);
  if (rows && !root)
    grain = rows.floorDiv(number(elementThreads * enough))
                .max(number(1))
                .min(number(most)) *
            grain;
  return {rows, grain, number(0)};
}

Geometry rowGeometry(Block &body) {
  constexpr int64_t enough = 2048; // Blocks for the largest devices.
  Geometry geometry = geometryOf(body);
  if (!geometry)
    return geometry;
  auto number = [&](int64_t value) {
    return Expr::constant(body.getTerminator()->getContext(), value);
  };
  geometry.grain = geometry.rows.floorDiv(number(enough))
                       .max(number(1))
                       .min(number(rowThreads));
  return geometry;
}

} // namespace

bool hasIndependentElements(Block &body) {
  Operation *root = findRoot(body);
  return !root || isa<graph::ArgReduceOp, graph::AveragePoolOp, graph::ConvOp,
                      graph::ConvTransposeOp, graph::LpPoolOp, graph::MatmulOp,
                      graph::MaxPoolIndicesOp, graph::MaxPoolOp,
                      graph::ReduceOp, graph::ResizeOp>(root);
}

int64_t deviceThreads(Block &body) {
  return hasIndependentElements(body) ? elementThreads : rowThreads;
}

Geometry deviceGeometryOf(Block &body) {
  return hasIndependentElements(body) ? elementGeometry(body)
                                      : rowGeometry(body);
}

} // namespace tenon::kernel
