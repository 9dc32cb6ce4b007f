//===- QuadPanel.cpp - Panels of bytes that are packed on the way ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First the numbers go where they belong, words of them by the transposes that
// f32 has; then one pass over the panel turns ui8 into i8 and adds up columns.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/QuadPanel.h"
#include "compiler/Targets/Cpu/Formulas.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/StripProducts.h"
#include "dialects/Kernel/IntegerMatmulView.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::panelColumns;
using kernel::quadSteps;

class QuadPacker {
public:
  QuadPacker(Emitter &e, const ByteColumns &source, Value out)
      : e(e), source(source), out(out), i8(e.b.getI8Type()),
        i32(e.b.getI32Type()), width(e.number(panelColumns)),
        lines(e.ceilDiv(source.depth, e.number(quadSteps))) {}

  void pack() {
    if (source.liesInQuads)
      packPanel(e,
                {source.base, e.number(1),
                 e.div(source.columnStride, e.number(quadSteps))},
                out, lines, source.columns);
    else
      packBytes();
    addUp();
  }

private:
  Value i32Number(int64_t value) {
    return arith::ConstantIntOp::create(e.b, i32, value);
  }
  Value byteOf(Value k, Value n) {
    return e.loadRaw(
        source.base, i8,
        e.add(e.mul(k, source.stepStride), e.mul(n, source.columnStride)));
  }

  /// Words of four numbers; the last ones may have fewer.
  void packBytes() {
    Value whole = e.div(source.depth, e.number(quadSteps));
    // A number wherever it can be, for the vectoriser.
    Value isWhole = e.equal(source.columns, width);
    e.loop(e.number(0), whole, [&](Value line) {
      e.ifThen(isWhole, [&] { packLine(line, width); });
      e.ifThen(e.less(source.columns, width),
               [&] { packLine(line, source.columns); });
    });
    // What numbers lack is zero, be it one that is still to be turned.
    Value first = e.mul(whole, width);
    e.loop(first, e.mul(lines, width), [&](Value word) {
      e.storeRaw(i32Number(source.isSigned ? 0 : int32_t(0x80808080)), out,
                 word);
    });
    e.loop(e.mul(whole, e.number(quadSteps)), source.depth, [&](Value k) {
      e.loop(e.number(0), source.columns, [&](Value n) {
        Value word = e.add(first, n);
        Value place = e.add(e.mul(word, e.number(quadSteps)),
                            e.rem(k, e.number(quadSteps)));
        e.storeRaw(byteOf(k, n), out, place);
      });
    });
  }

  void packLine(Value line, Value count) {
    Value k = e.mul(line, e.number(quadSteps)), first = e.mul(line, width);
    e.loop(e.number(0), count, [&](Value n) {
      Value word;
      for (int64_t i = 0; i < quadSteps; ++i) {
        Value byte =
            arith::ExtUIOp::create(e.b, i32, byteOf(e.add(k, e.number(i)), n));
        byte = arith::ShLIOp::create(e.b, byte, i32Number(8 * i));
        word = word ? arith::OrIOp::create(e.b, word, byte) : byte;
      }
      e.storeRaw(word, out, e.add(first, n));
    });
  }

  /// Sums of columns, as products of ones.
  void addUp() {
    int64_t lanes = e.level.lanes(4);
    auto vector = VectorType::get({lanes}, i32);
    auto splat = [&](int32_t value) -> Value {
      return arith::ConstantOp::create(e.b,
                                       DenseElementsAttr::get(vector, value));
    };
    StripProducts products(e.b, e.level, StripKind::Quads, vector);
    Value ones = splat(0x01010101), signs = splat(int32_t(0x80808080));
    auto at = [&](Value line, int64_t column) {
      return e.address(out, i32, e.add(e.mul(line, width), e.number(column)));
    };
    SmallVector<Value> sums(panelColumns / lanes, splat(0));
    sums =
        e.loop(e.number(0), lines, sums, [&](Value line, ValueRange carried) {
          SmallVector<Value> next;
          for (auto [i, sum] : llvm::enumerate(carried)) {
            Value place = at(line, int64_t(i) * lanes);
            Value words = LLVM::LoadOp::create(e.b, vector, place, 4);
            if (!source.isSigned) {
              words = arith::XOrIOp::create(e.b, words, signs);
              LLVM::StoreOp::create(e.b, words, place, 4);
            }
            next.push_back(products.add(ones, words, sum));
          }
          return next;
        });
    for (auto [i, sum] : llvm::enumerate(sums))
      LLVM::StoreOp::create(e.b, sum, at(lines, int64_t(i) * lanes), 4);
  }

  Emitter &e;
  const ByteColumns &source;
  Value out;
  Type i8, i32;
  Value width, lines;
};

} // namespace

void packQuads(Emitter &e, const ByteColumns &source, Value out) {
  QuadPacker(e, source, out).pack();
}

std::pair<Value, Value> wordsOfQuads(ImplicitLocOpBuilder &b, Value quads,
                                     bool areSigned) {
  auto type = cast<VectorType>(quads.getType());
  auto words = VectorType::get({2 * type.getNumElements()}, b.getI16Type());
  Value all = LLVM::BitcastOp::create(b, words, quads);
  Value eight = constantLike(b, words, 8), low, high;
  if (areSigned) {
    low =
        arith::ShRSIOp::create(b, arith::ShLIOp::create(b, all, eight), eight);
    high = arith::ShRSIOp::create(b, all, eight);
  } else {
    low = arith::AndIOp::create(b, all, constantLike(b, words, 0xff));
    high = arith::ShRUIOp::create(b, all, eight);
  }
  return {LLVM::BitcastOp::create(b, type, low),
          LLVM::BitcastOp::create(b, type, high)};
}

void widenQuads(Emitter &e, Value panel, Value out, Value lines) {
  int64_t lanes = e.level.lanes(4);
  auto vector = VectorType::get({lanes}, e.b.getI32Type());
  auto at = [&](Value base, Value line, int64_t column) {
    return e.address(
        base, e.b.getI32Type(),
        e.add(e.mul(line, e.number(panelColumns)), e.number(column)));
  };
  e.loop(e.number(0), lines, [&](Value line) {
    Value first = e.mul(line, e.number(2));
    for (int64_t column = 0; column < panelColumns; column += lanes) {
      Value quads =
          LLVM::LoadOp::create(e.b, vector, at(panel, line, column), 4);
      auto [low, high] = wordsOfQuads(e.b, quads, /*areSigned=*/true);
      LLVM::StoreOp::create(e.b, low, at(out, first, column), 4);
      LLVM::StoreOp::create(e.b, high,
                            at(out, e.add(first, e.number(1)), column), 4);
    }
  });
}

void widenQuadRows(Emitter &e, const QuadRows &rows) {
  Type i32 = e.b.getI32Type(), i64 = e.b.getI64Type();
  auto place = [&](Value base, Value row, Value stride) {
    return e.address(base, e.b.getI8Type(), e.mul(row, stride));
  };
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(e.b, i64, value);
  };
  e.loop(e.number(0), rows.rows, [&](Value row) {
    Value from = place(rows.from, row, rows.stride);
    Value to = place(rows.out, row, rows.outStride);
    e.loop(e.number(0), rows.quads, [&](Value i) {
      // Rows begin anywhere.
      Value word = LLVM::LoadOp::create(e.b, i32, e.address(from, i32, i), 1);
      Value quad = arith::ExtUIOp::create(e.b, i64, word);
      Value odd = arith::ShLIOp::create(e.b, quad, number(24));
      Value both = arith::OrIOp::create(e.b, quad, odd);
      e.storeRaw(arith::AndIOp::create(e.b, both, number(0x00ff00ff00ff00ff)),
                 to, i);
    });
  });
}

Value sumOfBytes(Emitter &e, Value line, Value count) {
  Type i32 = e.b.getI32Type();
  Value zero = arith::ConstantIntOp::create(e.b, i32, 0);
  return e.loop(e.number(0), count, ValueRange{zero},
                [&](Value k, ValueRange carried) -> SmallVector<Value> {
                  Value number = arith::ExtUIOp::create(
                      e.b, i32, e.loadRaw(line, e.b.getI8Type(), k));
                  return {arith::AddIOp::create(e.b, carried[0], number)};
                })[0];
}

} // namespace tenon::cpu
