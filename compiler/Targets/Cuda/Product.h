//===- Product.h - What tiles are sums of products of ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix product, or what can be computed as one: lines of two operands are
// multiplied step by step of k. Kernels by tiles know of a product how large it
// is, where elements of a panel of an operand are, and which element of the
// result a sum becomes.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CUDA_PRODUCT_H
#define TENON_COMPILER_TARGETS_CUDA_PRODUCT_H

#include "compiler/Targets/Cuda/DeviceEmitter.h"
#include "dialects/Kernel/MatmulView.h"

namespace tenon::cuda {

/// Where a line of a tile lies among those of an operand, and how many there
/// are from it on: less than 1 when it is not there itself. Null where all
/// lines of all tiles are there.
struct Line {
  Value index, rest;
};

/// How threads copy a panel: by chunks of `count` elements that lie together
/// along k or along the lines, each chunk by copies of `bytes`. Where the depth
/// is whole, no panel ends behind it.
struct ChunkShape {
  bool isAlongDepth, hasWholeDepth;
  int64_t count, bytes;
};

/// A chunk that a thread copies of each panel, by its first element; the step
/// is within the panel. What is `kept` was found once for all panels.
struct Chunk {
  Line line;
  Value step;
  llvm::SmallVector<Value> kept;
};

/// A copy of a chunk: `bytes`, an i32, of the width that copies have are there,
/// and zeros follow; null where all are. Of none, the address still holds.
struct Copy {
  Value from, bytes;
};

/// The lines of an operand are the rows of lhs, and the columns of rhs.
class Operand {
public:
  virtual ~Operand() = default;

  /// Finds what all panels need of a chunk; a line that is not there may be any
  /// other, as nobody reads its sums.
  virtual void keep(Chunk &chunk, const ChunkShape &shape) = 0;
  /// The copies of a chunk, of the panel from step `panelStep` on.
  virtual llvm::SmallVector<Copy>
  copiesOf(const Chunk &chunk, const ChunkShape &shape, Value panelStep) = 0;

  mlir::Type type; // Of an element.
  /// Bytes of the widest copies of elements that lie together: 0 where none do.
  int64_t alongDepth, alongLines;
  /// Four bytes, an i32, of what copies that are not there leave; null: zeros.
  Value fill;

protected:
  Operand(mlir::Type type, int64_t alongDepth, int64_t alongLines)
      : type(type), alongDepth(alongDepth), alongLines(alongLines) {}
};

class Product {
public:
  virtual ~Product() = default;

  /// From here on, operands and places are those of a batch.
  virtual void enter(Value batch) = 0;

  /// Where the sum of a row, `further` behind `first`, and a column belongs:
  /// the index in the result, and its row-major position.
  struct Place {
    Indices index;
    Value position;
  };
  virtual Place placeOf(Value first, Value further, Value column) = 0;

  /// What a sum of a column is once all of its steps are added.
  virtual Value finished(Value sum, Value) { return sum; }

  /// The index in the result of column `column` of its line `line`, its axes
  /// but the last one counted as one.
  Indices indexOf(DeviceEmitter &e, Value line, Value column) const;

  Value rows, columns, depth;
  bool hasBatches = false;
  Value pieces; // Blocks that share the steps of k of a tile; null: one.
  /// Neighbours in memory are rows, not columns, of the result.
  bool hasRowsTogether = false;
  /// What sums are rounded to and what follows computes with: the result, or
  /// two halves of as many columns, which rhs has one behind the other.
  llvm::SmallVector<Value> results;
  Operand *lhs = nullptr, *rhs = nullptr;

protected:
  /// Whether whatever follows knows lines by their number: all that it reads
  /// has one element for each, or one for all.
  bool countsLines(kernel::FuncOp kernel) const;

  bool hasFlatLines = false;
};

/// An operand with strides, in elements.
class MatrixOperand : public Operand {
public:
  MatrixOperand(DeviceEmitter &e, mlir::Type type, int64_t alongDepth,
                int64_t alongLines, Value lines, Value depth)
      : Operand(type, alongDepth, alongLines), e(e), lines(lines),
        depth(depth) {}

  void keep(Chunk &chunk, const ChunkShape &shape) override;
  llvm::SmallVector<Copy> copiesOf(const Chunk &chunk, const ChunkShape &shape,
                                   Value panelStep) override;

  Value base; // Of the first line and step.
  Value lineStride, depthStride;

private:
  bool hasWholeChunks(const ChunkShape &shape) const;

  DeviceEmitter &e;
  Value lines, depth;
};

class MatmulProduct : public Product {
public:
  MatmulProduct(DeviceEmitter &e, graph::MatmulOp op, kernel::MatmulView view);

  void enter(Value batch) override;
  Place placeOf(Value first, Value further, Value column) override;
  const MatrixOperand &matrixOf(bool isLhs) const {
    return isLhs ? left : right;
  }

  const kernel::MatmulView view;

private:
  MatrixOperand operandOf(const kernel::StridedView &operand, Value lines);
  void enter(MatrixOperand &matrix, const kernel::StridedView &operand,
             Value tensor, bool isLhs);

  DeviceEmitter &e;
  graph::MatmulOp op;
  MatrixOperand left, right;
  Value batch;
};

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_PRODUCT_H
