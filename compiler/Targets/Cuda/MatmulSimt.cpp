//===- MatmulSimt.cpp - Matrix products of f32, exactly -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums are fused multiply-adds of f32 in the order of k. A thread has an eighth
// or a sixteenth of a tile's rows and of its columns, in groups of four that
// lie half a tile apart: so a warp reads its steps of k from shared memory by
// 16 bytes a thread and without conflict.
//
// Panels lie by steps of k, each with all lines of the tile. Where lines lie
// together in memory too, four are copied at once; else each by itself.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/TileMatmul.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr int64_t group = 4;   // Lines that a thread reads at once.
constexpr int64_t across = 16; // Threads along each axis of a tile.

class SimtMatmul : public TileMatmul {
public:
  SimtMatmul(DeviceEmitter &e, graph::MatmulOp op,
             const kernel::MatmulView &view)
      : TileMatmul(e, op, view, kernel::simtTileOf(view), kernel::simtPadding),
        lhsStride(tile.rows + kernel::simtPadding),
        rhsStride(tile.columns + kernel::simtPadding) {
    std::optional<int64_t> known = getConstantIntValue(depth);
    isWholeDepth = known && *known % tile.depth == 0;
  }

protected:
  void sumProducts() override {
    Value thread = threadHere();
    Copies copies[] = {plan(thread, /*isLhs=*/true),
                       plan(thread, /*isLhs=*/false)};
    locateThread(thread);
    SmallVector<Value> zeros(threadRows() * threadColumns(),
                             e.zero(e.b.getF32Type()));
    sums = sumPanels(
        zeros, tile.depth * (lhsStride + rhsStride) * 4,
        [&](Value panel, Value stage) {
          Value step = e.mul(panel, e.number(tile.depth));
          for (const Copies &all : copies)
            for (size_t i = 0; i < all.offsets.size(); ++i)
              copy(all, step, stage, i);
        },
        [&](Value stage, ValueRange before) {
          return addPanel(stage, before);
        });
  }

  void storeChunk(Value ordinal, Value thread) override {
    locateThread(thread);
    for (int64_t chunk = 0; chunk < tile.rows / kernel::chunkRows; ++chunk)
      e.ifThen(e.equal(ordinal, e.number(chunk)), [&] {
        for (int64_t i = 0; i < group; ++i)
          for (int64_t j = 0; j < threadColumns(); j += group)
            storeGroup(chunk * group + i, i, j);
      });
  }

private:
  /// What a thread copies of an operand's panel: in each of `offsets`, `count`
  /// elements of a step, of a line and the next ones.
  struct Copies {
    OperandMatrix matrix;
    int64_t count;
    SmallVector<Value> steps;   // Within the panel,
    SmallVector<Value> offsets; // in the matrix, of the panel's first step.
    Value place;                // In the stage, in bytes, of the first,
    int64_t apart;              // and from one to the next.
    Value bytes;                // As i32: fewer at the end of the lines.
  };

  /// Of 32 lanes, 8 are side by side; of 8 warps, 2.
  void locateThread(Value thread) {
    Value lane = e.rem(thread, e.number(32));
    Value warp = e.div(thread, e.number(32));
    threadColumn = e.add(e.mul(e.rem(warp, e.number(2)), e.number(8)),
                         e.rem(lane, e.number(8)));
    threadRow = e.add(e.mul(e.div(warp, e.number(2)), e.number(4)),
                      e.div(lane, e.number(8)));
  }

  int64_t threadRows() const { return tile.rows / across; }
  int64_t threadColumns() const { return tile.columns / across; }

  /// Lines that are not there are copies of the first one: nobody reads their
  /// sums.
  Copies plan(Value thread, bool isLhs) {
    const OperandMatrix &matrix = isLhs ? lhs : rhs;
    int64_t lines = isLhs ? tile.rows : tile.columns;
    int64_t stride = isLhs ? lhsStride : rhsStride;
    const kernel::StridedView &operand = isLhs ? view.lhs : view.rhs;
    bool isWide = kernel::copyBytes(view, operand, isLhs ? 0 : 1) == 16;
    bool stepsLieTogether = getConstantIntValue(matrix.depthStride) == 1;
    int64_t count = isWide ? group : 1;
    int64_t fast = stepsLieTogether ? tile.depth : lines / count;
    Value inner = e.rem(thread, e.number(fast));
    Value outer = e.div(thread, e.number(fast));
    Value step = stepsLieTogether ? inner : outer;
    Value line = e.mul(stepsLieTogether ? outer : inner, e.number(count));
    int64_t rounds = lines * tile.depth / count / tile.threads;
    int64_t further = tile.threads / fast; // Lines or steps, by round.
    Copies copies = {matrix, count, {}, {}, {}, 0, {}};
    for (int64_t i = 0; i < rounds; ++i) {
      Value ahead = e.number(i * further);
      Line at = lineOf(stepsLieTogether ? e.add(line, ahead) : line, isLhs);
      Value isThere = e.less(e.number(0), at.rest);
      Value index = e.select(isThere, at.index, e.number(0));
      Value there = stepsLieTogether ? step : e.add(step, ahead);
      copies.steps.push_back(there);
      copies.offsets.push_back(e.add(e.mul(index, matrix.lineStride),
                                     e.mul(there, matrix.depthStride)));
      if (isWide && !endsWithGroup(isLhs))
        copies.bytes = word(e.mul(
            e.max(e.min(at.rest, e.number(group)), e.number(0)), e.number(4)));
    }
    Value first = e.add(e.mul(step, e.number(stride)), line);
    copies.place = e.add(e.mul(first, e.number(4)),
                         e.number(isLhs ? 0 : tile.depth * lhsStride * 4));
    copies.apart = further * (stepsLieTogether ? 1 : stride) * 4;
    return copies;
  }

  /// Whether the last lines are known to be a whole group.
  bool endsWithGroup(bool isLhs) {
    std::optional<int64_t> known = getConstantIntValue(isLhs ? rows : columns);
    return known && *known % group == 0;
  }

  void copy(const Copies &copies, Value step, Value stage, int64_t i) {
    int64_t width = copies.count * 4;
    Value moved =
        e.add(copies.offsets[i], e.mul(step, copies.matrix.depthStride));
    Value bytes = copies.bytes;
    if (!isWholeDepth) {
      Value all = bytes ? bytes : word(e.number(width));
      Value isThere = e.less(e.add(step, copies.steps[i]), depth);
      bytes = arith::SelectOp::create(e.b, isThere, all, word(e.number(0)));
      moved = e.select(isThere, moved, e.number(0));
    }
    Value to =
        sharedAt(sharedAt(stage, copies.place), e.number(i * copies.apart));
    ptx::CpAsyncOp::create(
        e.b, copies.count == group ? ptx::Cache::CG : ptx::Cache::CA,
        uint32_t(width), to,
        e.address(copies.matrix.base, e.b.getF32Type(), moved), bytes);
  }

  /// Elements `thread` * 4 + i and those half a tile behind, of a step.
  SmallVector<Value> loadLines(Value from, int64_t offset, int64_t lines,
                               int64_t count) {
    auto type = VectorType::get({group}, e.b.getF32Type());
    SmallVector<Value> elements;
    for (int64_t i = 0; i < count / group; ++i) {
      Value at = sharedAt(from, e.number((offset + i * lines / 2) * 4));
      Value four = LLVM::LoadOp::create(e.b, type, at, 16);
      for (int64_t j = 0; j < group; ++j)
        elements.push_back(
            LLVM::ExtractElementOp::create(e.b, four, word(e.number(j))));
    }
    return elements;
  }

  SmallVector<Value> addPanel(Value stage, ValueRange before) {
    SmallVector<Value> now(before);
    auto lineAt = [&](Value thread) {
      return sharedAt(stage, e.mul(thread, e.number(group * 4)));
    };
    Value left = lineAt(threadRow), right = lineAt(threadColumn);
    for (int64_t k = 0; k < tile.depth; ++k) {
      SmallVector<Value> x =
          loadLines(left, k * lhsStride, tile.rows, threadRows());
      SmallVector<Value> y =
          loadLines(right, tile.depth * lhsStride + k * rhsStride, tile.columns,
                    threadColumns());
      for (size_t i = 0; i < x.size(); ++i)
        for (size_t j = 0; j < y.size(); ++j) {
          Value &sum = now[i * y.size() + j];
          sum = cpu::emitMulAdd(e.b, x[i], y[j], sum);
        }
    }
    return now;
  }

  /// Four columns of row `i` of this thread's, to row `inGroup` of its four.
  void storeGroup(int64_t i, int64_t inGroup, int64_t j) {
    auto type = VectorType::get({group}, e.b.getF32Type());
    Value four = LLVM::PoisonOp::create(e.b, type);
    for (int64_t k = 0; k < group; ++k)
      four = LLVM::InsertElementOp::create(
          e.b, four, sums[i * threadColumns() + j + k], word(e.number(k)));
    Value row = e.add(e.mul(threadRow, e.number(group)), e.number(inGroup));
    Value at = e.add(e.mul(row, e.number(chunkStride)),
                     e.mul(threadColumn, e.number(group)));
    at = e.add(at, e.number(j / group * tile.columns / 2));
    LLVM::StoreOp::create(e.b, four,
                          sharedAt(sharedMemory, e.mul(at, e.number(4))), 16);
  }

  const int64_t lhsStride, rhsStride;
  Value threadRow, threadColumn;
  bool isWholeDepth;
  SmallVector<Value> sums;
};

} // namespace

LogicalResult emitMatmulSimt(DeviceEmitter &e, Value tile) {
  auto op = cast<graph::MatmulOp>(kernel::findRoot(e.kernel.getBlock()));
  std::optional<kernel::MatmulView> view = kernel::matmulViewOf(op);
  if (!view)
    return op.emitOpError("is no product of views; please report this");
  SimtMatmul(e, op, *view).emit(tile);
  return success();
}

} // namespace tenon::cuda
