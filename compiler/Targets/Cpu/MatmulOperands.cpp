//===- MatmulOperands.cpp - Copies matmul operands for the strip ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where elements that lie together stay together, they are copied by vectors;
// where they part, through transposes in registers; and one by one where
// neither axis is contiguous.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::interleavedRows;
using kernel::panelColumns;

bool isOne(Value stride) { return getConstantIntValue(stride) == 1; }

Value element(Emitter &e, Value base, Value offset) {
  return e.address(base, e.b.getF32Type(), offset);
}

void copyVectors(Emitter &e, Value from, Value to, int64_t lanes,
                 int64_t count) {
  auto type = VectorType::get({lanes}, e.b.getF32Type());
  for (int64_t i = 0; i < count; ++i) {
    Value at = e.number(i * lanes);
    Value vector = LLVM::LoadOp::create(e.b, type, element(e, from, at), 4);
    LLVM::StoreOp::create(e.b, vector, element(e, to, at), 4);
  }
}

void copyOne(Emitter &e, Value from, Value to, Value offset) {
  e.storeRaw(LLVM::LoadOp::create(e.b, e.b.getF32Type(), from, 4), to, offset);
}

Value floorTo(Emitter &e, Value x, int64_t multiple) {
  return e.sub(x, e.rem(x, e.number(multiple)));
}

/// Rows [from, to) element by element, to where `place` says.
void copyElements(Emitter &e, const Matrix &a, Value out, Value from, Value to,
                  Value depth, function_ref<Value(Value row, Value k)> place) {
  e.loop(from, to, [&](Value row) {
    e.loop(e.number(0), depth,
           [&](Value k) { copyOne(e, a.at(e, row, k), out, place(row, k)); });
  });
}

/// Neighbouring rows are neighbours in memory: two groups, that is a line of
/// the cache, at a time.
void interleaveColumns(Emitter &e, const Matrix &a, Value out, Value rows,
                       Value depth,
                       function_ref<Value(Value row, Value k)> place) {
  constexpr int64_t groups = 2;
  Value whole = floorTo(e, rows, groups * interleavedRows);
  e.loop(
      e.number(0), whole,
      [&](Value row) {
        e.loop(e.number(0), depth, [&](Value k) {
          for (int64_t i = 0; i < groups; ++i) {
            Value first = e.add(row, e.number(i * interleavedRows));
            copyVectors(e, a.at(e, first, k), element(e, out, place(first, k)),
                        interleavedRows, 1);
          }
        });
      },
      groups * interleavedRows);
  copyElements(e, a, out, whole, rows, depth, place);
}

/// Zeros behind the columns of a panel that is not full.
void clearBehind(Emitter &e, Value out, Value depth, Value columns) {
  Value width = e.number(panelColumns);
  e.ifThen(e.less(columns, width), [&] {
    e.loop(e.number(0), depth, [&](Value k) {
      e.loop(columns, width, [&](Value n) {
        e.storeRaw(e.zero(e.b.getF32Type()), out, e.add(e.mul(k, width), n));
      });
    });
  });
}

} // namespace

Value Matrix::at(Emitter &e, Value row, Value column) const {
  Value offset = e.add(e.mul(row, rowStride), e.mul(column, columnStride));
  return isHalf ? e.address(base, e.b.getI16Type(), offset)
                : element(e, base, offset);
}

void copyLhs(Emitter &e, const Matrix &a, Value out, Value rows, Value depth,
             bool interleaved, Value outStride) {
  Value width = e.number(interleavedRows);
  Value stride = outStride ? outStride : depth;
  auto place = [&](Value row, Value k) -> Value {
    if (!interleaved)
      return e.add(e.mul(row, stride), k);
    Value first = floorTo(e, row, interleavedRows);
    return e.add(e.add(e.mul(first, depth), e.mul(k, width)),
                 e.sub(row, first));
  };
  if (interleaved && isOne(a.columnStride))
    return callTranspose(
        e.b, e.module, e.level,
        {a.base, a.rowStride, out, e.mul(depth, width), width, rows, depth});
  if (interleaved && isOne(a.rowStride))
    return interleaveColumns(e, a, out, rows, depth, place);
  // Steps of k are what the transpose takes for rows.
  if (isOne(a.rowStride))
    return callTranspose(
        e.b, e.module, e.level,
        {a.base, a.columnStride, out, width, stride, depth, rows});
  copyElements(e, a, out, e.number(0), rows, depth, place);
}

void widenLhs(Emitter &e, const Matrix &a, Value out, Value outStride,
              Value rows, Value depth) {
  e.loop(e.number(0), rows, [&](Value row) {
    Value from = a.at(e, row, e.number(0));
    Value to = element(e, out, e.mul(row, outStride));
    constexpr int64_t lanes = 16;
    Value whole = e.sub(depth, e.rem(depth, e.number(2 * lanes)));
    auto vector = VectorType::get({lanes}, e.b.getI32Type());
    e.loop(
        e.number(0), whole,
        [&](Value k) {
          Value at = e.address(from, e.b.getBF16Type(), k);
          Value pairs = LLVM::LoadOp::create(e.b, vector, at, 2);
          LLVM::StoreOp::create(e.b, widenedPairs(e.b, pairs),
                                element(e, to, k), 4);
        },
        2 * lanes);
    e.loop(whole, depth, [&](Value k) {
      e.storeRaw(e.load(from, e.b.getBF16Type(), k), to, k);
    });
  });
}

Value pairsOf(ImplicitLocOpBuilder &b, Value even, Value odd) {
  Type words = sameShape(even.getType(), b.getI32Type());
  Value low = LLVM::BitcastOp::create(b, words, even);
  low = arith::ShRUIOp::create(b, low, constantLike(b, words, 16));
  return arith::OrIOp::create(b, low, LLVM::BitcastOp::create(b, words, odd));
}

Value roundedBoth(ImplicitLocOpBuilder &b, Value first, Value second) {
  auto type = VectorType::get({32}, b.getBF16Type());
  return LLVM::CallIntrinsicOp::create(
             b, type, b.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
             ValueRange{second, first})
      .getResult(0);
}

Value roundedPairs(ImplicitLocOpBuilder &b, const CpuLevel &level, Value even,
                   Value odd) {
  int32_t lanes = cast<VectorType>(even.getType()).getNumElements();
  if (level.pairDots != PairDots::Native || lanes != 16) {
    auto rounded = [&](Value value) {
      return roundTo(b, value, b.getBF16Type());
    };
    return pairsOf(b, rounded(even), rounded(odd));
  }
  Value both = roundedBoth(b, even, odd);
  SmallVector<int32_t> inTurn;
  for (int32_t lane = 0; lane < lanes; ++lane)
    inTurn.append({lane, lanes + lane});
  return LLVM::BitcastOp::create(
      b, sameShape(even.getType(), b.getI32Type()),
      LLVM::ShuffleVectorOp::create(b, both, both, inTurn));
}

Value halfOfPairs(ImplicitLocOpBuilder &b, Value pairs, bool odd) {
  auto splat = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(cast<ShapedType>(pairs.getType()), value));
  };
  if (odd)
    return arith::AndIOp::create(b, pairs, splat(int32_t(0xffff0000)));
  return arith::ShLIOp::create(b, pairs, splat(16));
}

Value widenedPairs(ImplicitLocOpBuilder &b, Value pairs) {
  int64_t lanes = cast<VectorType>(pairs.getType()).getNumElements();
  auto halves = VectorType::get({2 * lanes}, b.getI16Type());
  auto words = VectorType::get({2 * lanes}, b.getI32Type());
  Value each = arith::ExtUIOp::create(
      b, words, LLVM::BitcastOp::create(b, halves, pairs));
  return halfOfPairs(b, each, /*odd=*/false);
}

void widenPanel(Emitter &e, Value packed, Value out, Value pairs) {
  constexpr int64_t lanes = 16;
  auto bits = VectorType::get({lanes}, e.b.getI32Type());
  e.loop(e.number(0), pairs, [&](Value pair) {
    Value from = e.mul(pair, e.number(panelColumns));
    Value to = e.mul(from, e.number(2));
    for (int64_t i = 0; i < panelColumns; i += lanes) {
      Value both = LLVM::LoadOp::create(
          e.b, bits, element(e, packed, e.add(from, e.number(i))), 4);
      Value even = halfOfPairs(e.b, both, /*odd=*/false);
      Value odd = halfOfPairs(e.b, both, /*odd=*/true);
      LLVM::StoreOp::create(e.b, even, element(e, out, e.add(to, e.number(i))),
                            4);
      LLVM::StoreOp::create(
          e.b, odd, element(e, out, e.add(to, e.number(panelColumns + i))), 4);
    }
  });
}

void packPanel(Emitter &e, const Matrix &b, Value out, Value depth,
               Value columns) {
  constexpr int64_t lanes = 16;
  Value width = e.number(panelColumns), zero = e.number(0);
  auto eachStep = [&](function_ref<void(Value k, Value line)> body) {
    e.loop(zero, depth, [&](Value k) { body(k, e.mul(k, width)); });
  };
  Value isWhole = e.equal(columns, width), isPart = e.less(columns, width);
  if (isOne(b.columnStride)) {
    e.ifThen(isWhole, [&] {
      eachStep([&](Value k, Value line) {
        copyVectors(e, b.at(e, k, zero), element(e, out, line), lanes,
                    panelColumns / lanes);
      });
    });
    e.ifThen(isPart, [&] {
      eachStep([&](Value k, Value line) {
        e.loop(zero, columns, [&](Value n) {
          copyOne(e, b.at(e, k, n), out, e.add(line, n));
        });
      });
    });
  } else if (isOne(b.rowStride)) {
    callTranspose(e.b, e.module, e.level,
                  {b.base, b.columnStride, out, e.number(interleavedRows),
                   width, columns, depth});
  } else {
    eachStep([&](Value k, Value line) {
      e.loop(zero, columns,
             [&](Value n) { copyOne(e, b.at(e, k, n), out, e.add(line, n)); });
    });
  }
  clearBehind(e, out, depth, columns);
}

void packPairs(Emitter &e, const Matrix &b, Value out, Value pairs,
               Value columns) {
  Value zero = e.number(0), two = e.number(2);
  if (isOne(b.rowStride))
    return packPanel(e, {b.base, b.rowStride, e.div(b.columnStride, two)}, out,
                     pairs, columns);
  Value width = e.number(panelColumns);
  auto interleave = [&](Value pair, Value count) {
    Value even = b.at(e, e.mul(pair, two), zero);
    Value odd = b.at(e, e.add(e.mul(pair, two), e.number(1)), zero);
    Value line = e.mul(pair, width);
    e.loop(zero, count, [&](Value n) {
      Type half = e.b.getI16Type(), word = e.b.getI32Type();
      Value low = arith::ExtUIOp::create(e.b, word, e.loadRaw(even, half, n));
      Value high = arith::ExtUIOp::create(e.b, word, e.loadRaw(odd, half, n));
      high = arith::ShLIOp::create(e.b, high, constantLike(e.b, word, 16));
      e.storeRaw(arith::OrIOp::create(e.b, low, high), out, e.add(line, n));
    });
  };
  // A number wherever it can be, for the vectoriser.
  e.loop(zero, pairs, [&](Value pair) {
    e.ifThen(e.equal(columns, width), [&] { interleave(pair, width); });
    e.ifThen(e.less(columns, width), [&] { interleave(pair, columns); });
  });
  clearBehind(e, out, pairs, columns);
}

} // namespace tenon::cpu
