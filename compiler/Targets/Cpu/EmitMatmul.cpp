//===- EmitMatmul.cpp - Matrix products of any layout ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of the result is summed in scratch memory: rows of rhs, each times one
// element of lhs. Every element adds its products in the order of k.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/MatmulView.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Steps of k between two visits of the sums in memory.
constexpr int64_t unroll = 4;
/// Columns whose sums stay in the first level of the cache.
constexpr int64_t columnBlock = 1024;

class MatmulRow {
public:
  MatmulRow(Emitter &e, graph::MatmulOp op, ArrayRef<Value> rowIndex)
      : e(e), op(op), rowIndex(rowIndex),
        type(computeType(graph::getElementType(op.getResult()))),
        sums(e.scratch(0)), depth(e.dimsOf(op.getLhs()).back()) {
    SmallVector<Expr> dims = graph::getDims(op.getResult());
    batchDims = SmallVector<Expr>(ArrayRef(dims).drop_back(2));
  }

  void sum(Value columns) {
    e.loop(
        e.number(0), columns,
        [&](Value from) {
          Value to = e.min(e.add(from, e.number(columnBlock)), columns);
          e.loop(from, to, [&](Value n) { e.storeRaw(e.zero(type), sums, n); });
          Value whole = e.sub(depth, e.rem(depth, e.number(unroll)));
          e.loop(
              e.number(0), whole, [&](Value k) { step(k, unroll, from, to); },
              unroll);
          e.loop(whole, depth, [&](Value k) { step(k, 1, from, to); });
        },
        columnBlock);
  }

  Value sumAt(Value n) { return e.loadRaw(sums, type, n); }

private:
  Indices operandIndex(Value operand, Value row, Value column) {
    // The batch axes broadcast like those of pointwise ops.
    SmallVector<Expr> dims = graph::getDims(operand);
    size_t own = dims.size() - 2;
    Indices index;
    ArrayRef<Value> batch = rowIndex.drop_back();
    size_t skip = batchDims.size() - own;
    for (size_t i = 0; i < own; ++i)
      index.push_back(
          e.broadcastAxis(batch[skip + i], batchDims[skip + i], dims[i]));
    index.push_back(row);
    index.push_back(column);
    return index;
  }

  void step(Value k, int64_t count, Value from, Value to) {
    SmallVector<Value> factors, steps;
    for (int64_t i = 0; i < count; ++i) {
      steps.push_back(e.add(k, e.number(i)));
      factors.push_back(e.element(
          op.getLhs(), operandIndex(op.getLhs(), rowIndex.back(), steps[i])));
    }
    e.loop(from, to, [&](Value n) {
      Value sum = e.loadRaw(sums, type, n);
      for (int64_t i = 0; i < count; ++i) {
        Value element =
            e.element(op.getRhs(), operandIndex(op.getRhs(), steps[i], n));
        sum = emitMulAdd(e.b, factors[i], element, sum);
      }
      e.storeRaw(sum, sums, n);
    });
  }

  Emitter &e;
  graph::MatmulOp op;
  ArrayRef<Value> rowIndex;
  SmallVector<Expr> batchDims;
  Type type;
  Value sums, depth;
};

/// The last step for a row of which each half is bound by itself.
void storeHalves(Emitter &e, graph::MatmulOp op, kernel::ColumnHalves halves,
                 ArrayRef<Value> lead, Value row, MatmulRow &matmul) {
  Value length = e.dimsOf(halves.low.getResult()).back();
  Type type = graph::getElementType(op.getResult());
  Value base = e.mul(row, length);
  e.loop(e.number(0), length, [&](Value i) {
    Indices index(lead);
    index.push_back(i);
    Value high = matmul.sumAt(e.add(length, i));
    e.bind(halves.low.getResult(), index, roundTo(e.b, matmul.sumAt(i), type));
    e.bind(halves.high.getResult(), index, roundTo(e.b, high, type));
    e.storeYields(index, e.add(base, i));
  });
}

} // namespace

bool emitMatmul(Emitter &e, Operation *root) {
  auto op = dyn_cast<graph::MatmulOp>(root);
  if (!op)
    return false;
  Indices dims = e.dimsOf(op.getResult());
  std::optional<kernel::ColumnHalves> halves = kernel::columnHalvesOf(op);
  e.loop(e.begin, e.end, [&](Value row) {
    Indices index = e.delinearise(row, ArrayRef(dims).drop_back());
    MatmulRow matmul(e, op, index);
    matmul.sum(dims.back());
    if (halves)
      return storeHalves(e, op, *halves, index, row, matmul);
    e.storeRow(root, index, row, dims.back(),
               [&](Value n) { return matmul.sumAt(n); });
  });
  return true;
}

} // namespace tenon::cpu
