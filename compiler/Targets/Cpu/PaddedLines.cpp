//===- PaddedLines.cpp - Windows along lines in scratch memory ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/PaddedLines.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

PaddedLines::PaddedLines(Emitter &e, const WindowAxis &axis, int64_t taps)
    : e(e), stride(axis.stride), width(RowVectors::widthOf(e)) {
  Value reach = e.number((taps - 1) * axis.dilation + 1);
  cells = e.add(e.mul(e.sub(axis.count, e.number(1)), e.number(stride)), reach);
  cells = e.select(e.less(e.number(0), axis.count), cells, e.number(0));
  from = e.max(e.number(0), e.sub(e.number(0), axis.low));
  to = e.max(from, e.min(axis.size, e.sub(cells, axis.low)));
  cell = e.add(from, axis.low);
}

void PaddedLines::pad(Value line, Value empty) const {
  auto clear = [&](Value begin, Value end) {
    e.loop(begin, end, [&](Value at) { e.storeRaw(empty, line, at); });
  };
  clear(e.number(0), e.min(cells, cell));
  Value behind = e.add(cell, e.sub(to, from));
  clear(e.max(e.number(0), e.min(cells, behind)), cells);
}

Value PaddedLines::load(Value line, Value at) const {
  return LLVM::LoadOp::create(e.b, VectorType::get({width}, e.b.getF32Type()),
                              e.address(line, e.b.getF32Type(), at),
                              /*alignment=*/4);
}

Value PaddedLines::strided(Value line, Value at, int64_t behind) const {
  if (stride > mostShuffled || !llvm::isPowerOf2_64(stride))
    return gathered(line, e.add(at, e.number(behind)));
  int64_t rest = behind % stride;
  SmallVector<Value> vectors;
  for (int64_t i = 0; i < stride; ++i)
    vectors.push_back(
        load(line, e.add(at, e.number(behind - rest + i * width))));
  for (; vectors.size() > 1; rest /= 2) {
    SmallVector<int32_t> picks;
    for (int64_t lane = 0; lane < width; ++lane)
      picks.push_back(int32_t(2 * lane + rest % 2));
    for (size_t i = 0; i < vectors.size() / 2; ++i)
      vectors[i] = LLVM::ShuffleVectorOp::create(e.b, vectors[2 * i],
                                                 vectors[2 * i + 1], picks);
    vectors.resize(vectors.size() / 2);
  }
  return vectors[0];
}

Value PaddedLines::gathered(Value line, Value at) const {
  SmallVector<int64_t> apart;
  for (int64_t lane = 0; lane < width; ++lane)
    apart.push_back(lane * stride);
  auto type = VectorType::get({width}, e.b.getI64Type());
  Value offsets = arith::ConstantOp::create(
      e.b, DenseElementsAttr::get(type, ArrayRef(apart)));
  return gatherFromLine(e, e.address(line, e.b.getF32Type(), at), offsets);
}

} // namespace tenon::cpu
