//===- ConvProduct.h - Convolutions that tiles are computed of ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread knows of each pixel whose windows it copies where the window starts
// in memory, and which taps of each axis lie inside, a bit for each. What a
// step of k is, its taps and its channel, follows from divisions by numbers,
// the same for all pixels of the thread.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CUDA_CONVPRODUCT_H
#define TENON_COMPILER_TARGETS_CUDA_CONVPRODUCT_H

#include "compiler/Targets/Cuda/Product.h"
#include "dialects/Kernel/ConvTiles.h"

namespace tenon::cuda {

/// Lines are pixels of the result; along k are what their windows see.
class WindowOperand : public Operand {
public:
  WindowOperand(DeviceEmitter &e, const kernel::ConvTilesView &view,
                int64_t panelDepth);

  void keep(Chunk &chunk, const ChunkShape &shape) override;
  llvm::SmallVector<Copy> copiesOf(const Chunk &chunk, const ChunkShape &shape,
                                   Value panelStep) override;

  Value base; // Of the first channel of a group.

private:
  struct Step {
    llvm::SmallVector<Value> taps; // As i32.
    Value offset;
    Value isThere; // Null where all are.
  };
  Step stepAt(Value panelStep, Value step, const ChunkShape &shape);
  Value insideBits(const kernel::ConvTilesAxis &axis, Value start);
  Value divided(Value &word, int64_t by);
  Value word(int64_t number);

  DeviceEmitter &e;
  const kernel::ConvTilesView &view;
  const int64_t panelDepth;
  Indices counts; // Pixels along each axis.
};

class ConvProduct : public Product {
public:
  ConvProduct(DeviceEmitter &e, graph::ConvOp op, kernel::ConvTilesView view,
              int64_t panelDepth);

  void enter(Value batch) override;
  Place placeOf(Value first, Value further, Value column) override;
  Value finished(Value sum, Value column) override;

private:
  DeviceEmitter &e;
  graph::ConvOp op;
  const kernel::ConvTilesView view;
  WindowOperand windows;
  MatrixOperand pixels, filter; // The former where windows are no more.
  Value group, zero; // The latter of an image of bytes, if it has one.
};

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_CONVPRODUCT_H
