//===- MmaTiles.cpp - Tiles of products of 16-bit floats ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bf16 or f16 by the matrix instructions of warps (mma.sync), sums
// in f32. While the fragments of 16 steps of k are multiplied, those of the
// next ones are loaded.
//
// A panel lies as its operand does, in chunks of 16 bytes: by lines of 64 steps
// of k, or by steps of k of all lines of the tile. Which chunk of a row lies
// where is turned from row to row, so that eight rows of a chunk are in
// different banks. Fragments come of it by ldmatrix, which transposes where
// lines are what lies together.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/WarpTile.h"
#include "compiler/Targets/Cuda/Words.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr int64_t chunkBytes = 16, chunkElements = 8;

/// How an operand's panel lies in a stage.
struct PanelLayout {
  bool byLines; // Else by steps.
  int64_t lines, depth, start;

  int64_t rowChunks() const {
    return (byLines ? depth : lines) / chunkElements;
  }
  int64_t rowBytes() const { return rowChunks() * chunkBytes; }
};

/// Whether wider copies go along k.
bool liesByLines(const Operand &operand) {
  return operand.alongDepth > 0 && operand.alongDepth >= operand.alongLines;
}

class MmaTile : public WarpTile {
public:
  MmaTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile)
      : WarpTile(e, product, tile),
        lhsLayout{liesByLines(*product.lhs), tile.rows, tile.depth, 0},
        rhsLayout{liesByLines(*product.rhs), tile.columns, tile.depth,
                  tile.rows * tile.depth * 2},
        kind(product.lhs->type.isF16() ? ptx::Mma::F16 : ptx::Mma::BF16) {}

protected:
  void sumProducts() override {
    Value thread = threadHere();
    PanelCopies copies[] = {plan(thread, /*isLhs=*/true),
                            plan(thread, /*isLhs=*/false)};
    locateThread(thread);
    lhsPlaces = placesOf(lhsLayout, e.mul(warpRow, e.number(warpRows)),
                         warpRows / 16, /*isLhs=*/true);
    rhsPlaces = placesOf(rhsLayout, e.mul(warpColumn, e.number(warpColumns)),
                         warpColumns / 16, /*isLhs=*/false);
    auto load = [&](Value stage, int64_t step) {
      return loadStep(stage, step);
    };
    auto add = [&](ValueRange factors, ValueRange before) {
      return addStep(factors, before);
    };
    sums = sumSteps(zeros(), (tile.rows + tile.columns) * tile.depth * 2,
                    copies, {tile.depth / 16, load, add});
  }

private:
  const PanelLayout &layoutOf(bool isLhs) const {
    return isLhs ? lhsLayout : rhsLayout;
  }

  /// Where a row's chunk lies in a panel, in bytes.
  Value placeOf(const PanelLayout &layout, Value row, Value chunk) {
    // Rows of 64 bytes share banks by twos, wider ones by themselves.
    Value turn = layout.rowChunks() < 8
                     ? e.rem(e.div(row, e.number(2)), e.number(4))
                     : e.rem(row, e.number(8));
    Value turned = arith::XOrIOp::create(e.b, chunk, turn);
    return e.add(e.mul(row, e.number(layout.rowBytes())),
                 e.mul(turned, e.number(chunkBytes)));
  }

  PanelCopies plan(Value thread, bool isLhs) {
    const PanelLayout &layout = layoutOf(isLhs);
    Operand &operand = operandOf(isLhs);
    Value wide = e.number(layout.rowChunks());
    Value inRow = e.rem(thread, wide), row = e.div(thread, wide);
    int64_t further = tile.threads / layout.rowChunks(); // Rows, by round.
    int64_t rounds = layout.lines * layout.depth / chunkElements / tile.threads;
    PanelCopies copies = {
        &operand,
        {layout.byLines, hasWholeDepth(), chunkElements,
         layout.byLines ? operand.alongDepth : operand.alongLines},
        {},
        e.add(placeOf(layout, row, inRow), e.number(layout.start)),
        further * layout.rowBytes()};
    for (int64_t i = 0; i < rounds; ++i) {
      Value along = e.mul(inRow, e.number(chunkElements));
      Value across = e.add(row, e.number(i * further));
      copies.add(lineOf(layout.byLines ? across : along, isLhs),
                 layout.byLines ? along : across);
    }
    return copies;
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

  /// Fragments of lhs, and then of rhs.
  SmallVector<Value> loadStep(Value stage, int64_t step) {
    SmallVector<Value> factors =
        loadFragments(stage, lhsPlaces, step, !lhsLayout.byLines);
    llvm::append_range(
        factors, loadFragments(stage, rhsPlaces, step, !rhsLayout.byLines));
    return factors;
  }

  SmallVector<Value> addStep(ValueRange factors, ValueRange before) {
    SmallVector<Value> now(before);
    ValueRange left = factors.take_front(size_t(warpRows) / 16);
    ValueRange right = factors.drop_front(left.size());
    for (size_t i = 0; i < left.size(); ++i)
      for (size_t j = 0; j < 2 * right.size(); ++j) {
        Value &sum = now[i * 2 * right.size() + j];
        sum = ptx::MmaOp::create(e.b, kind, left[i],
                                 halfOf(e, right[j / 2], j % 2), sum);
      }
    return now;
  }

  const PanelLayout lhsLayout, rhsLayout;
  const ptx::Mma kind;
  SmallVector<Value> lhsPlaces, rhsPlaces;
};

} // namespace

void emitMmaTile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
                 Value ordinal) {
  MmaTile(e, product, tile).emit(ordinal);
}

} // namespace tenon::cuda
