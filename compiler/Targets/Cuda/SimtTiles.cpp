//===- SimtTiles.cpp - Tiles of products of f32, exactly ------------------===//
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

#include "compiler/Targets/Cuda/TileProduct.h"
#include "compiler/Targets/Cuda/Words.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr int64_t group = 4;   // Lines that a thread reads at once.
constexpr int64_t across = 16; // Threads along each axis of a tile.

class SimtTile : public TileProduct {
public:
  SimtTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile)
      : TileProduct(e, product, tile, kernel::simtPadding),
        lhsStride(tile.rows + kernel::simtPadding),
        rhsStride(tile.columns + kernel::simtPadding) {}

protected:
  void sumProducts() override {
    Value thread = threadHere();
    PanelCopies copies[] = {plan(thread, /*isLhs=*/true),
                            plan(thread, /*isLhs=*/false)};
    locateThread(thread);
    SmallVector<Value> zeros(threadRows() * threadColumns(),
                             e.zero(e.b.getF32Type()));
    sums = sumPanels(zeros, tile.depth * (lhsStride + rhsStride) * 4, copies,
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

  /// Of each round, a step of one line or of four that lie together.
  PanelCopies plan(Value thread, bool isLhs) {
    Operand &operand = operandOf(isLhs);
    int64_t lines = isLhs ? tile.rows : tile.columns;
    int64_t stride = isLhs ? lhsStride : rhsStride;
    bool stepsLieTogether = operand.alongDepth > 0;
    int64_t count = operand.alongLines == group * 4 ? group : 1;
    int64_t fast = stepsLieTogether ? tile.depth : lines / count;
    Value inner = e.rem(thread, e.number(fast));
    Value outer = e.div(thread, e.number(fast));
    Value step = stepsLieTogether ? inner : outer;
    Value line = e.mul(stepsLieTogether ? outer : inner, e.number(count));
    int64_t rounds = lines * tile.depth / count / tile.threads;
    int64_t further = tile.threads / fast; // Lines or steps, by round.
    Value first = e.add(e.mul(step, e.number(stride)), line);
    Value place = e.add(e.mul(first, e.number(4)),
                        e.number(isLhs ? 0 : tile.depth * lhsStride * 4));
    PanelCopies copies = {
        &operand,
        {/*isAlongDepth=*/false, hasWholeDepth(), count, count * 4},
        {},
        place,
        further * (stepsLieTogether ? 1 : stride) * 4};
    for (int64_t i = 0; i < rounds; ++i) {
      Value ahead = e.number(i * further);
      copies.add(lineOf(stepsLieTogether ? e.add(line, ahead) : line, isLhs),
                 stepsLieTogether ? step : e.add(step, ahead));
    }
    return copies;
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
    Value four = together(
        e, ArrayRef(sums).slice(size_t(i * threadColumns() + j), group));
    Value row = e.add(e.mul(threadRow, e.number(group)), e.number(inGroup));
    Value at = e.add(e.mul(row, e.number(chunkStride)),
                     e.mul(threadColumn, e.number(group)));
    at = e.add(at, e.number(j / group * tile.columns / 2));
    LLVM::StoreOp::create(e.b, four,
                          sharedAt(sharedMemory, e.mul(at, e.number(4))), 16);
  }

  const int64_t lhsStride, rhsStride;
  Value threadRow, threadColumn;
  SmallVector<Value> sums;
};

} // namespace

void emitSimtTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
                  Value ordinal) {
  SimtTile(e, product, tile).emit(ordinal);
}

} // namespace tenon::cuda
