//===- Tf32Tiles.cpp - Tiles of products of f32 rounded to tf32 -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of f32 by the matrix instructions of warps, which take the 11 bits
// of tf32 of each factor. Either factors are rounded to that; or they are split
// into such a part and what is left of it, rounded too, and three products of
// the parts come close to f32: the product of both rests is left out. A factor
// that is infinite has a rest that is none, and its products are NaN then.
//
// A panel lies as its operand does, by lines of 16 steps of k or by steps of k
// of all lines of the tile, with some elements between: so the lanes of a
// fragment are in different banks.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/WarpTile.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr int64_t chunkElements = 4; // Of 16 bytes.

/// How an operand's panel lies in a stage; all in elements.
struct PanelLayout {
  PanelLayout(const Operand &operand, int64_t lines, int64_t depth)
      : byLines(operand.alongDepth > 0 &&
                operand.alongDepth >= operand.alongLines),
        lines(lines), depth(depth),
        count(byLines || operand.alongLines > 0 ? chunkElements : 1),
        bytes(byLines     ? operand.alongDepth
              : count > 1 ? operand.alongLines
                          : 4) {}

  const bool byLines; // Else by steps.
  const int64_t lines, depth, count, bytes;

  int64_t length() const { return byLines ? depth : lines; } // Of a row.
  int64_t stride() const { return byLines ? depth + 4 : lines + 8; }
  int64_t elements() const { return (byLines ? lines : depth) * stride(); }
  int64_t place(int64_t line, int64_t step) const {
    return byLines ? line * stride() + step : step * stride() + line;
  }
};

class Tf32Tile : public WarpTile {
public:
  Tf32Tile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
           bool isSplit)
      : WarpTile(e, product, tile), left(*product.lhs, tile.rows, tile.depth),
        right(*product.rhs, tile.columns, tile.depth), isSplit(isSplit) {}

protected:
  void sumProducts() override {
    Value thread = threadHere();
    PanelCopies copies[] = {plan(thread, /*isLhs=*/true),
                            plan(thread, /*isLhs=*/false)};
    locateThread(thread);
    lhsPlace = placeOf(left, e.mul(warpRow, e.number(warpRows)), 0);
    rhsPlace = placeOf(right, e.mul(warpColumn, e.number(warpColumns)),
                       left.elements());
    sums = sumPanels(zeros(), (left.elements() + right.elements()) * 4, copies,
                     [&](Value stage, ValueRange before) {
                       return addPanel(stage, before);
                     });
  }

private:
  /// A factor as the instructions take it, and the rest where there is one.
  struct Fragment {
    Value whole, rest;
  };

  PanelCopies plan(Value thread, bool isLhs) {
    const PanelLayout &layout = isLhs ? left : right;
    int64_t rowChunks = layout.length() / layout.count;
    Value wide = e.number(rowChunks);
    Value along = e.mul(e.rem(thread, wide), e.number(layout.count));
    Value row = e.div(thread, wide);
    int64_t further = tile.threads / rowChunks; // Rows, by round.
    int64_t rounds = layout.lines * layout.depth / layout.count / tile.threads;
    Value first = e.add(e.mul(row, e.number(layout.stride())), along);
    PanelCopies copies = {
        &operandOf(isLhs),
        {layout.byLines, hasWholeDepth(), layout.count, layout.bytes},
        {},
        e.mul(e.add(first, e.number(isLhs ? 0 : left.elements())), e.number(4)),
        further * layout.stride() * 4};
    for (int64_t i = 0; i < rounds; ++i) {
      Value across = e.add(row, e.number(i * further));
      copies.add(lineOf(layout.byLines ? across : along, isLhs),
                 layout.byLines ? along : across);
    }
    return copies;
  }

  /// Where this lane's first element of the warp's lines lies, in bytes.
  Value placeOf(const PanelLayout &layout, Value firstLine, int64_t start) {
    Value line = e.add(firstLine, e.div(lane, e.number(4)));
    Value step = e.rem(lane, e.number(4)), stride = e.number(layout.stride());
    Value place = layout.byLines ? e.add(e.mul(line, stride), step)
                                 : e.add(e.mul(step, stride), line);
    return e.mul(e.add(place, e.number(start)), e.number(4));
  }

  Value rounded(Value x) {
    return LLVM::CallIntrinsicOp::create(
               e.b, e.b.getI32Type(), e.b.getStringAttr("llvm.nvvm.f2tf32.rna"),
               ValueRange{x})
        .getResult(0);
  }

  /// The elements of this lane at (line, step) pairs behind `from`.
  Fragment load(const PanelLayout &layout, Value from,
                ArrayRef<std::pair<int64_t, int64_t>> elements) {
    auto type = VectorType::get({int64_t(elements.size())}, e.b.getI32Type());
    Value poison = LLVM::PoisonOp::create(e.b, type);
    Fragment fragment = {poison, poison};
    auto put = [&](Value &vector, Value bits, int64_t i) {
      vector =
          LLVM::InsertElementOp::create(e.b, vector, bits, word(e.number(i)));
    };
    for (auto [i, at] : llvm::enumerate(elements)) {
      Value place =
          sharedAt(from, e.number(layout.place(at.first, at.second) * 4));
      Value x = LLVM::LoadOp::create(e.b, e.b.getF32Type(), place);
      Value bits = rounded(x);
      put(fragment.whole, bits, i);
      if (!isSplit)
        continue;
      Value near = arith::BitcastOp::create(e.b, e.b.getF32Type(), bits);
      put(fragment.rest, rounded(arith::SubFOp::create(e.b, x, near)), i);
    }
    return fragment;
  }

  /// The small products first.
  Value addProducts(const Fragment &x, const Fragment &y, Value sum) {
    auto add = [&](Value a, Value b) {
      sum = ptx::MmaOp::create(e.b, ptx::Mma::TF32, a, b, sum);
    };
    if (isSplit) {
      add(x.rest, y.whole);
      add(x.whole, y.rest);
    }
    add(x.whole, y.whole);
    return sum;
  }

  SmallVector<Value> addPanel(Value stage, ValueRange before) {
    SmallVector<Value> now(before);
    Value lhsFrom = sharedAt(stage, lhsPlace);
    Value rhsFrom = sharedAt(stage, rhsPlace);
    for (int64_t k = 0; k < tile.depth; k += 8) {
      SmallVector<Fragment> rhs;
      for (int64_t j = 0; j < warpColumns; j += 8)
        rhs.push_back(load(right, rhsFrom, {{j, k}, {j, k + 4}}));
      for (int64_t i = 0; i < warpRows; i += 16) {
        Fragment lhs = load(left, lhsFrom,
                            {{i, k}, {i + 8, k}, {i, k + 4}, {i + 8, k + 4}});
        for (size_t j = 0; j < rhs.size(); ++j) {
          Value &sum = now[i / 16 * rhs.size() + j];
          sum = addProducts(lhs, rhs[j], sum);
        }
      }
    }
    return now;
  }

  const PanelLayout left, right;
  const bool isSplit;
  Value lhsPlace, rhsPlace;
};

} // namespace

void emitTf32Tile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
                  Value ordinal) {
  Tf32Tile(e, product, tile, /*isSplit=*/false).emit(ordinal);
}

void emitTf32x3Tile(DeviceEmitter &e, Product &product, kernel::DeviceTile tile,
                    Value ordinal) {
  Tf32Tile(e, product, tile, /*isSplit=*/true).emit(ordinal);
}

} // namespace tenon::cuda
