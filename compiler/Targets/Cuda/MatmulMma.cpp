//===- MatmulMma.cpp - Matrix products of 16-bit floats -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bf16 or f16 by the matrix instructions of warps (mma.sync), sums
// in f32. A warp has 32 columns of a tile and 64 or 32 of its rows.
//
// A panel lies as its operand does, in chunks of 16 bytes: by lines of 32 steps
// of k, or by steps of k of all lines of the tile. Which chunk of a row lies
// where is turned from row to row, so that eight rows of a chunk are in
// different banks. Fragments come of it by ldmatrix, which transposes where
// lines are what lies together.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/TileMatmul.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr int64_t chunkBytes = 16, chunkElements = 8;
constexpr int64_t warpColumns = 32;

/// How an operand's panel lies in a stage.
struct PanelLayout {
  bool byLines; // Else by steps.
  int64_t lines, depth, start;

  int64_t rowChunks() const {
    return (byLines ? depth : lines) / chunkElements;
  }
  int64_t rowBytes() const { return rowChunks() * chunkBytes; }
};

class MmaMatmul : public TileMatmul {
public:
  MmaMatmul(DeviceEmitter &e, graph::MatmulOp op,
            const kernel::MatmulView &view)
      : TileMatmul(e, op, view, kernel::mmaTileOf(view), kernel::mmaPadding),
        lhsLayout{kernel::copyBytes(view, view.lhs, 1) >= 4, tile.rows,
                  tile.depth, 0},
        rhsLayout{kernel::copyBytes(view, view.rhs, 0) >= 4, tile.columns,
                  tile.depth, tile.rows * tile.depth * 2},
        warpsAcross(tile.columns / warpColumns),
        warpRows(tile.rows / (tile.threads / 32 / warpsAcross)),
        kind(graph::getElementType(view.lhs.base).isF16() ? ptx::Mma::F16
                                                          : ptx::Mma::BF16) {}

protected:
  void sumProducts() override {
    Value thread = threadHere();
    Copies copies[] = {plan(thread, /*isLhs=*/true),
                       plan(thread, /*isLhs=*/false)};
    locateThread(thread);
    lhsPlaces = placesOf(lhsLayout, e.mul(warpRow, e.number(warpRows)),
                         warpRows / 16, /*isLhs=*/true);
    rhsPlaces = placesOf(rhsLayout, e.mul(warpColumn, e.number(warpColumns)),
                         warpColumns / 16, /*isLhs=*/false);
    auto type = VectorType::get({4}, e.b.getF32Type());
    Value zero =
        arith::ConstantOp::create(e.b, DenseElementsAttr::get(type, 0.0f));
    SmallVector<Value> zeros(warpRows / 16 * (warpColumns / 8), zero);
    sums = sumPanels(
        zeros, (tile.rows + tile.columns) * tile.depth * 2,
        [&](Value panel, Value stage) {
          Value step = e.mul(panel, e.number(tile.depth));
          for (const Copies &all : copies)
            for (size_t i = 0; i < all.chunks.size(); ++i)
              copy(all, step, stage, i);
        },
        [&](Value stage, ValueRange before) {
          return addPanel(stage, before);
        });
  }

  void storeChunk(Value ordinal, Value thread) override {
    locateThread(thread);
    Value row = e.mul(warpRow, e.number(warpRows));
    Value height = e.number(kernel::chunkRows);
    e.ifThen(e.equal(e.div(row, height), ordinal), [&] {
      Value top = e.add(e.rem(row, height), e.div(lane, e.number(4)));
      Value left = e.add(e.mul(warpColumn, e.number(warpColumns)),
                         e.mul(e.rem(lane, e.number(4)), e.number(2)));
      Value corner = e.add(e.mul(top, e.number(chunkStride)), left);
      Value base = sharedAt(sharedMemory, e.mul(corner, e.number(4)));
      for (auto [i, sum] : llvm::enumerate(sums))
        for (int64_t half : {0, 1})
          storePair(sum, half, base, i / (warpColumns / 8) * 16 + half * 8,
                    i % (warpColumns / 8) * 8);
    });
  }

private:
  /// A chunk that a thread copies of a panel, where the operand has it.
  struct Chunk {
    Value line, step;   // Of its first element; the step within the panel.
    Value offset, rest; // In the matrix; lines from it on.
  };
  struct Copies {
    bool isLhs;
    int64_t bytes; // Of one copy: a chunk is one, two or four.
    SmallVector<Chunk> chunks;
    Value place;   // In the stage, in bytes, of the first,
    int64_t apart; // and from one to the next.
  };

  void locateThread(Value thread) {
    lane = e.rem(thread, e.number(32));
    Value warp = e.div(thread, e.number(32));
    warpColumn = e.rem(warp, e.number(warpsAcross));
    warpRow = e.div(warp, e.number(warpsAcross));
  }

  const PanelLayout &layoutOf(bool isLhs) const {
    return isLhs ? lhsLayout : rhsLayout;
  }

  /// Where a row's chunk lies in a panel, in bytes.
  Value placeOf(const PanelLayout &layout, Value row, Value chunk) {
    // Rows of 64 bytes share banks by twos, wider ones by themselves.
    Value turn = layout.byLines ? e.rem(e.div(row, e.number(2)), e.number(4))
                                : e.rem(row, e.number(8));
    Value turned = arith::XOrIOp::create(e.b, chunk, turn);
    return e.add(e.mul(row, e.number(layout.rowBytes())),
                 e.mul(turned, e.number(chunkBytes)));
  }

  Copies plan(Value thread, bool isLhs) {
    const PanelLayout &layout = layoutOf(isLhs);
    const OperandMatrix &matrix = isLhs ? lhs : rhs;
    const kernel::StridedView &operand = isLhs ? view.lhs : view.rhs;
    unsigned axis = layout.byLines == isLhs ? 1 : 0;
    Value wide = e.number(layout.rowChunks());
    Value inRow = e.rem(thread, wide), row = e.div(thread, wide);
    int64_t further = tile.threads / layout.rowChunks(); // Rows, by round.
    int64_t rounds = layout.lines * layout.depth / chunkElements / tile.threads;
    Copies copies = {isLhs,
                     kernel::copyBytes(view, operand, axis),
                     {},
                     e.add(placeOf(layout, row, inRow), e.number(layout.start)),
                     further * layout.rowBytes()};
    for (int64_t i = 0; i < rounds; ++i) {
      Value along = e.mul(inRow, e.number(chunkElements));
      Value across = e.add(row, e.number(i * further));
      Value step = layout.byLines ? along : across;
      Line at = lineOf(layout.byLines ? across : along, isLhs);
      // A line that is not there is a copy of the first one: nobody reads its
      // sums.
      Value isThere = e.less(e.number(0), at.rest);
      Value line = e.select(isThere, at.index, e.number(0));
      Value offset = e.add(e.mul(line, matrix.lineStride),
                           e.mul(step, matrix.depthStride));
      Value rest = e.select(isThere, at.rest, e.number(chunkElements));
      copies.chunks.push_back({line, step, offset, rest});
    }
    return copies;
  }

  /// Whether all chunks of an operand that begin are whole.
  bool hasWholeChunks(bool isLhs) {
    Value along = layoutOf(isLhs).byLines ? depth : isLhs ? rows : columns;
    std::optional<int64_t> known = getConstantIntValue(along);
    return known && *known % chunkElements == 0;
  }

  void copy(const Copies &copies, Value panelStep, Value stage, int64_t i) {
    const Chunk &chunk = copies.chunks[i];
    const OperandMatrix &matrix = copies.isLhs ? lhs : rhs;
    bool byLines = layoutOf(copies.isLhs).byLines;
    Value step = e.add(panelStep, chunk.step), zero = e.number(0);
    Value isThere = e.less(step, depth);
    Value offset = e.select(
        isThere, e.add(chunk.offset, e.mul(panelStep, matrix.depthStride)),
        zero);
    // Elements of the chunk that are there.
    Value count = e.number(chunkElements);
    if (!hasWholeChunks(copies.isLhs))
      count = e.min(count, byLines ? e.sub(depth, step) : chunk.rest);
    count = e.select(isThere, count, zero);
    Value place =
        sharedAt(sharedAt(stage, copies.place), e.number(i * copies.apart));
    Value from = e.address(matrix.base, e.b.getI16Type(), offset);
    for (int64_t at = 0; at < chunkBytes; at += copies.bytes) {
      Value bytes = e.mul(e.sub(count, e.number(at / 2)), e.number(2));
      bytes = e.max(e.min(bytes, e.number(copies.bytes)), zero);
      // A copy of nothing has no address of its own.
      Value behind = e.select(e.less(zero, bytes), e.number(at), zero);
      ptx::CpAsyncOp::create(
          e.b, copies.bytes == chunkBytes ? ptx::Cache::CG : ptx::Cache::CA,
          uint32_t(copies.bytes), sharedAt(place, e.number(at)),
          e.address(from, e.b.getI8Type(), behind), word(bytes));
    }
  }

  /// Where this lane's row of the matrices of a fragment lies in a stage: of
  /// `count` fragments of 16 lines from `first` on, the first 16 steps of k,
  /// and then the second 16.
  SmallVector<Value> placesOf(const PanelLayout &layout, Value first,
                              int64_t count, bool isLhs) {
    Value inMatrix = e.rem(lane, e.number(8)),
          matrix = e.div(lane, e.number(8));
    Value low = e.rem(matrix, e.number(2)), high = e.div(matrix, e.number(2));
    // Matrices of lhs go down its lines first, those of rhs along k.
    Value lineHalf = isLhs ? low : high, stepHalf = isLhs ? high : low;
    SmallVector<Value> places;
    for (int64_t step = 0; step < layout.depth; step += 16)
      for (int64_t i = 0; i < count; ++i) {
        Value line =
            e.add(e.add(first, e.number(16 * i)), e.mul(lineHalf, e.number(8)));
        Value k = e.add(e.number(step), e.mul(stepHalf, e.number(8)));
        Value row = e.add(layout.byLines ? line : k, inMatrix);
        Value chunk = e.div(layout.byLines ? k : line, e.number(chunkElements));
        places.push_back(
            e.add(placeOf(layout, row, chunk), e.number(layout.start)));
      }
    return places;
  }

  /// The fragments of lines of 16 steps of k from 16 * `step` on.
  SmallVector<Value> loadFragments(Value stage, ArrayRef<Value> places,
                                   int64_t step, bool trans) {
    auto type = VectorType::get({4}, e.b.getI32Type());
    size_t count = places.size() / (tile.depth / 16);
    SmallVector<Value> fragments;
    for (Value place : places.slice(step * count, count))
      fragments.push_back(
          ptx::LdmatrixOp::create(e.b, type, sharedAt(stage, place), trans));
    return fragments;
  }

  SmallVector<Value> addPanel(Value stage, ValueRange before) {
    SmallVector<Value> now(before);
    for (int64_t step = 0; step < tile.depth / 16; ++step) {
      SmallVector<Value> left =
          loadFragments(stage, lhsPlaces, step, !lhsLayout.byLines);
      SmallVector<Value> right =
          loadFragments(stage, rhsPlaces, step, !rhsLayout.byLines);
      for (size_t i = 0; i < left.size(); ++i)
        for (size_t j = 0; j < 2 * right.size(); ++j) {
          Value &sum = now[i * 2 * right.size() + j];
          sum = ptx::MmaOp::create(e.b, kind, left[i],
                                   halfOf(right[j / 2], j % 2), sum);
        }
    }
    return now;
  }

  /// Registers of one of two neighbouring fragments of rhs.
  Value halfOf(Value fragments, int64_t half) {
    auto type = VectorType::get({2}, e.b.getI32Type());
    Value pair = LLVM::PoisonOp::create(e.b, type);
    for (int64_t i : {0, 1}) {
      Value element = LLVM::ExtractElementOp::create(
          e.b, fragments, word(e.number(2 * half + i)));
      pair =
          LLVM::InsertElementOp::create(e.b, pair, element, word(e.number(i)));
    }
    return pair;
  }

  /// Both sums of a row of a fragment, `row` and `column` from the corner.
  void storePair(Value sum, int64_t half, Value base, int64_t row,
                 int64_t column) {
    auto type = VectorType::get({2}, e.b.getF32Type());
    Value pair = LLVM::PoisonOp::create(e.b, type);
    for (int64_t i : {0, 1}) {
      Value element = LLVM::ExtractElementOp::create(
          e.b, sum, word(e.number(2 * half + i)));
      pair =
          LLVM::InsertElementOp::create(e.b, pair, element, word(e.number(i)));
    }
    int64_t place = ((row % kernel::chunkRows) * chunkStride + column) * 4;
    LLVM::StoreOp::create(e.b, pair, sharedAt(base, e.number(place)), 8);
  }

  const PanelLayout lhsLayout, rhsLayout;
  const int64_t warpsAcross, warpRows;
  const ptx::Mma kind;
  Value lane, warpRow, warpColumn;
  SmallVector<Value> lhsPlaces, rhsPlaces, sums;
};

} // namespace

LogicalResult emitMatmulMma(DeviceEmitter &e, Value tile) {
  auto op = cast<graph::MatmulOp>(kernel::findRoot(e.kernel.getBlock()));
  std::optional<kernel::MatmulView> view = kernel::matmulViewOf(op);
  if (!view)
    return op.emitOpError("is no product of views; please report this");
  MmaMatmul(e, op, *view).emit(tile);
  return success();
}

} // namespace tenon::cuda
