//===- MatmulProduct.cpp - Matrix products that tiles are computed of -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/Product.h"
#include "dialects/Kernel/DeviceTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

bool MatrixOperand::hasWholeChunks(const ChunkShape &shape) const {
  std::optional<int64_t> known =
      getConstantIntValue(shape.isAlongDepth ? depth : lines);
  return shape.count == 1 || (known && *known % shape.count == 0);
}

/// Keeps the offset of the first element; and of each copy how many bytes are
/// there, where lines may end within the chunk.
void MatrixOperand::keep(Chunk &chunk, const ChunkShape &shape) {
  const Line &line = chunk.line;
  Value index = line.index;
  if (line.rest)
    index = e.select(e.less(e.number(0), line.rest), index, e.number(0));
  chunk.kept.push_back(
      e.add(e.mul(index, lineStride), e.mul(chunk.step, depthStride)));
  if (shape.isAlongDepth || hasWholeChunks(shape))
    return;
  assert(line.rest && "whole tiles have whole chunks");
  int64_t width = graph::byteWidth(type);
  Value rest = e.mul(line.rest, e.number(width));
  for (int64_t at = 0; at < shape.count * width; at += shape.bytes)
    chunk.kept.push_back(e.max(
        e.min(e.sub(rest, e.number(at)), e.number(shape.bytes)), e.number(0)));
}

SmallVector<Copy> MatrixOperand::copiesOf(const Chunk &chunk,
                                          const ChunkShape &shape,
                                          Value panelStep) {
  bool isWhole = hasWholeChunks(shape);
  int64_t width = graph::byteWidth(type);
  Value step = e.add(panelStep, chunk.step), zero = e.number(0);
  Value isThere = e.less(step, depth), rest = e.sub(depth, step);
  Value offset = e.add(chunk.kept[0], e.mul(panelStep, depthStride));
  if (!shape.hasWholeDepth)
    offset = e.select(isThere, offset, zero);
  Value from = e.address(base, e.memoryType(type), offset);
  SmallVector<Copy> copies;
  for (int64_t at = 0; at < shape.count * width; at += shape.bytes) {
    Value bytes = e.number(shape.bytes);
    if (!isWhole && shape.isAlongDepth)
      bytes =
          e.max(e.min(e.sub(e.mul(rest, e.number(width)), e.number(at)), bytes),
                zero);
    else if (!isWhole)
      bytes = chunk.kept[1 + at / shape.bytes];
    if (!shape.hasWholeDepth)
      bytes = e.select(isThere, bytes, zero);
    // A copy of nothing has no address of its own.
    Value behind = e.select(e.less(zero, bytes), e.number(at), zero);
    bool isAll = isWhole && shape.hasWholeDepth;
    copies.push_back(
        {e.address(from, e.b.getI8Type(), isAll ? e.number(at) : behind),
         isAll ? Value()
               : arith::TruncIOp::create(e.b, e.b.getI32Type(), bytes)});
  }
  return copies;
}

//===----------------------------------------------------------------------===//
// Their product
//===----------------------------------------------------------------------===//

MatmulProduct::MatmulProduct(DeviceEmitter &e, graph::MatmulOp op,
                             kernel::MatmulView of)
    : view(std::move(of)), e(e), op(op),
      left(operandOf(view.lhs, e.valueOf(view.rows))),
      right(operandOf(view.rhs, e.valueOf(view.columns))) {
  rows = e.valueOf(view.rows), columns = e.valueOf(view.columns);
  depth = e.valueOf(view.depth);
  hasBatches = !view.batchDims.empty();
  hasRowsTogether = view.turn != nullptr;
  if (auto halves = view.halves)
    results = {halves->low.getResult(), halves->high.getResult()};
  else
    results = {op.getResult()};
  lhs = &left, rhs = &right;
  hasFlatLines = !hasRowsTogether && countsLines(e.kernel);
}

MatrixOperand MatmulProduct::operandOf(const kernel::StridedView &operand,
                                       Value lines) {
  int64_t last = kernel::copyBytes(view, operand, 1);
  int64_t lastButOne = kernel::copyBytes(view, operand, 0);
  bool isLhs = &operand == &view.lhs;
  return MatrixOperand(e, graph::getElementType(operand.base),
                       isLhs ? last : lastButOne, isLhs ? lastButOne : last,
                       lines, e.valueOf(view.depth));
}

void MatmulProduct::enter(Value ordinal) {
  batch = ordinal;
  enter(left, view.lhs, op.getLhs(), /*isLhs=*/true);
  enter(right, view.rhs, op.getRhs(), /*isLhs=*/false);
}

void MatmulProduct::enter(MatrixOperand &matrix,
                          const kernel::StridedView &operand, Value tensor,
                          bool isLhs) {
  auto argument = cast<BlockArgument>(operand.base);
  Value offset = e.valueOf(operand.offset);
  SmallVector<Expr> dims = graph::getDims(tensor);
  size_t own = dims.size() - 2;
  if (hasBatches && own > 0) {
    Indices sizes;
    for (Expr dim : view.batchDims)
      sizes.push_back(e.valueOf(dim));
    Indices index = e.delinearise(batch, sizes);
    size_t skip = sizes.size() - own;
    graph::GatherOp picks = view.picks;
    for (size_t i = 0; i < own; ++i) {
      Value at = index[skip + i];
      if (picks && !isLhs)
        at = e.checkedIndex(picks, at);
      else
        at = e.broadcastAxis(at, view.batchDims[skip + i], dims[i]);
      offset = e.add(offset, e.mul(at, e.valueOf(operand.strides[i])));
    }
  }
  matrix.base = e.address(e.argumentBuffer(argument.getArgNumber()),
                          e.memoryType(matrix.type), offset);
  Value first = e.valueOf(operand.strides[own]);
  Value second = e.valueOf(operand.strides[own + 1]);
  matrix.lineStride = isLhs ? first : second;
  matrix.depthStride = isLhs ? second : first;
}

Product::Place MatmulProduct::placeOf(Value first, Value further,
                                      Value column) {
  Value line = e.add(e.add(e.mul(batch, rows), first), further);
  return {indexOf(e, line, column), e.add(e.mul(line, columns), column)};
}

} // namespace tenon::cuda
