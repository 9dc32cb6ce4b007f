//===- Geometry.cpp - How a kernel's work is cut into rows ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/BoxCells.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon::kernel {
namespace {
using graph::elementCount;
using graph::getDim;
using graph::getDims;
using graph::getElementType;

/// Simple element operations that make a piece worth handing to a thread.
constexpr int64_t pieceCost = 20000;

/// Bytes of `count` elements, up to a multiple of 64.
Expr area(Expr count, int64_t width) {
  if (!count)
    return {};
  Expr line = Expr::constant(count.getContext(), 64);
  return (count * width).ceilDiv(line) * line;
}

Expr number(Operation *op, int64_t value) {
  return Expr::constant(op->getContext(), value);
}

Expr productOf(Operation *op, ArrayRef<Expr> dims) {
  return graph::product(op->getContext(), dims);
}

/// How a root's first result is cut into rows.
struct Cut {
  Expr rows;
  Expr length; // Elements of a row.
  Expr cost;   // Work per row.
};

Cut cutAlongAxis(Operation *op, int64_t axis, Value along) {
  SmallVector<Expr> dims = getDims(op->getResult(0));
  dims[axis] = number(op, 1);
  return {productOf(op, dims), getDim(along, axis), getDim(along, axis) * 16};
}

Cut cutFromAxis(Operation *op, int64_t axis) {
  SmallVector<Expr> dims = getDims(op->getResult(0));
  Expr length = productOf(op, ArrayRef(dims).drop_front(axis));
  return {productOf(op, ArrayRef(dims).take_front(axis)), length, length * 8};
}

Cut cutLastAxis(Operation *op, Expr costPerElement) {
  SmallVector<Expr> dims = getDims(op->getResult(0));
  if (dims.empty())
    return {number(op, 1), number(op, 1), costPerElement};
  return {productOf(op, ArrayRef(dims).drop_back()), dims.back(),
          dims.back() * costPerElement};
}

Cut cutWhole(Operation *op) {
  Expr count = elementCount(op->getResult(0));
  return {number(op, 1), count, count};
}

Expr windowSize(Operation *op, ArrayRef<int64_t> kernel) {
  Expr size = number(op, 1);
  for (int64_t k : kernel)
    size = size * k;
  return size;
}

Expr reducedCount(graph::ReduceOp op) {
  Expr count = number(op, 1);
  for (int64_t axis : op.getAxes())
    count = count * getDim(op.getInput(), axis);
  return count;
}

Cut cutOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Cut>(op)
      .Case<graph::MatmulOp>([&](graph::MatmulOp matmul) {
        return cutLastAxis(op, getDims(matmul.getLhs()).back());
      })
      .Case<graph::ConvOp, graph::ConvTransposeOp>([&](auto conv) {
        return cutLastAxis(
            op,
            productOf(op, ArrayRef(getDims(conv.getFilter())).drop_front()));
      })
      .Case<graph::MaxPoolOp, graph::AveragePoolOp, graph::LpPoolOp,
            graph::MaxPoolIndicesOp>([&](auto pool) {
        return cutLastAxis(op, windowSize(op, pool.getKernel()));
      })
      .Case<graph::ReduceOp>([&](graph::ReduceOp reduce) {
        return cutLastAxis(op, reducedCount(reduce));
      })
      .Case<graph::ArgReduceOp>([&](graph::ArgReduceOp reduce) {
        return cutLastAxis(op, getDim(reduce.getInput(), reduce.getAxis()));
      })
      .Case<graph::ResizeOp>(
          [&](auto) { return cutLastAxis(op, number(op, 64)); })
      .Case<graph::SoftmaxOp, graph::LogSoftmaxOp, graph::CumulativeOp>(
          [&](auto along) {
            return cutAlongAxis(op, along.getAxis(), along.getResult());
          })
      .Case<graph::SuppressOp>([&](graph::SuppressOp suppress) {
        return cutAlongAxis(op, graph::getRank(suppress.getResult()) - 1,
                            suppress.getResult());
      })
      .Case<graph::TopkOp>([&](graph::TopkOp topk) {
        return cutAlongAxis(op, topk.getAxis(), topk.getInput());
      })
      .Case<graph::LayerNormOp, graph::RmsNormOp>(
          [&](auto norm) { return cutFromAxis(op, norm.getAxis()); })
      .Case<graph::QuantizeRowsOp>([&](graph::QuantizeRowsOp rows) {
        return cutFromAxis(op, graph::getRank(rows.getInput()) - 1);
      })
      .Case<graph::AttentionOp>([&](graph::AttentionOp attention) {
        return cutLastAxis(op, getDim(attention.getKey(), 2) * 2);
      })
      .Case<graph::AppendOp>([&](graph::AppendOp append) {
        // Of what is there, without the room behind it.
        int64_t axis = append.getAxis();
        SmallVector<Expr> dims = getDims(append.getResult());
        Expr inner = productOf(op, ArrayRef(dims).drop_front(axis + 1));
        dims.resize(axis);
        dims.push_back(append.getLength()[0] + getDim(append.getRows(), axis));
        return Cut{productOf(op, dims), inner, inner};
      })
      .Default([&](Operation *) { return cutWhole(op); });
}

/// Areas of the ops that are one row: results that no buffer holds as they
/// are, and the state that steps change.
SmallVector<Expr> wholeAreas(Operation *root) {
  SmallVector<Expr> areas;
  for (Value result : root->getResults())
    areas.push_back(
        area(elementCount(result), graph::byteWidth(getElementType(result))));
  if (auto recurrent = dyn_cast<graph::RecurrentOp>(root)) {
    int64_t width = computeWidth(getElementType(recurrent.getInput()));
    Expr gates = getDims(recurrent.getRecurrence())[1];
    Expr hidden = getDims(recurrent.getRecurrence())[2];
    areas.push_back(area(gates * 2, width));
    for (int i = 0; i < 3; ++i)
      areas.push_back(area(hidden, width));
  }
  if (auto attention = dyn_cast<graph::LinearAttentionOp>(root)) // A column.
    areas.push_back(area(getDim(attention.getQuery(), 3), 4));
  return areas;
}

/// Of a row of boxes, as BoxCells lists them.
SmallVector<Expr> boxAreas(Expr count) {
  using C = BoxCells;
  Expr one = Expr::constant(count.getContext(), 1);
  // A block holds one box at least; a vector may be read behind the last.
  Expr blocks = count.min(count.ceilDiv(one * C::leastLanes) + C::spareBlocks);
  Expr boxes =
      (count * C::mostLanes).min(count + C::spareBlocks * C::mostLanes);
  SmallVector<Expr> areas(5, area(boxes + C::mostLanes, 4));
  areas.append(4, area(blocks + C::mostLanes, 4));
  areas.push_back(area(one * C::NumPlaces, 8));
  areas.push_back(area(one * C::gridNumbers, 4));
  return areas;
}

/// The rows of a piece that lets a transposition of the last axis read whole
/// cache lines; null without one.
Expr transposedRows(Block &body, ArrayRef<Expr> dims) {
  constexpr int64_t lines = 32;
  for (auto op : body.getOps<graph::TransposeOp>()) {
    ArrayRef<int64_t> permutation = op.getPermutation();
    int64_t last = permutation.size() - 1;
    if (getDims(op.getResult()) != dims || permutation.back() == last)
      continue;
    // Elements of a line are this far apart in the result.
    int64_t axis = llvm::find(permutation, last) - permutation.begin();
    return productOf(op, dims.drop_front(axis + 1).drop_back()) * lines;
  }
  return {};
}

} // namespace

int64_t computeWidth(Type element) {
  if (element.isF16() || element.isBF16())
    return 4;
  return graph::byteWidth(element);
}

SmallVector<Expr> scratchAreas(Operation *root) {
  Cut cut = cutOf(root);
  Type element = getElementType(root->getOperand(0));
  Expr row = area(cut.length, computeWidth(element));
  return llvm::TypeSwitch<Operation *, SmallVector<Expr>>(root)
      .Case<graph::ReduceOp, graph::AveragePoolOp, graph::LpPoolOp>(
          [&](auto) { return SmallVector<Expr>{area(cut.length, 8)}; })
      .Case<graph::ArgReduceOp, graph::MaxPoolIndicesOp>(
          [&](auto) { return SmallVector<Expr>{row, area(cut.length, 8)}; })
      .Case<graph::SuppressOp>([&](auto) { return boxAreas(cut.length); })
      .Case<graph::TopkOp>([&](auto) {
        Expr indices = area(cut.length, 8);
        Expr counters = number(root, topkDigits * 8 * computeWidth(element));
        return SmallVector<Expr>{row, indices, indices, counters};
      })
      .Case<graph::AppendOp>([&](auto) { return SmallVector<Expr>(); })
      .Case<graph::ScatterElementsOp, graph::ScatterNdOp, graph::NonzeroOp,
            graph::LinearAttentionOp, graph::RecurrentOp>(
          [&](auto) { return wholeAreas(root); })
      .Default([&](Operation *) { return SmallVector<Expr>{row}; });
}

Value behindReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    value = reshape.getInput();
  return value;
}

SmallVector<Expr> iterationDims(Block &body) {
  return getDims(behindReshapes(body.getTerminator()->getOperand(0)));
}

Geometry geometryOf(Block &body) {
  Operation *end = body.getTerminator();
  int64_t ops = std::distance(body.begin(), body.end());
  Cut cut;
  Expr scratch = number(end, 0), fewest = number(end, 1);
  if (Operation *root = findRoot(body)) {
    cut = cutOf(root);
    cut.cost = cut.cost + cut.length * (ops - 1);
    for (Expr bytes : scratchAreas(root))
      scratch = scratch + bytes;
  } else {
    SmallVector<Expr> dims = iterationDims(body);
    if (dims.empty()) {
      cut = {number(end, 1), number(end, 1), number(end, ops)};
    } else if (dims.size() == 1) {
      Expr block = number(end, flatBlock);
      cut = {dims[0].ceilDiv(block), block, block * ops};
    } else {
      cut = {productOf(end, ArrayRef(dims).drop_back()), dims.back(),
             dims.back() * ops};
      if (Expr rows = transposedRows(body, dims))
        fewest = rows;
    }
  }
  Expr grain = number(end, pieceCost).ceilDiv(cut.cost.max(number(end, 1)));
  if (grain)
    grain = grain.max(fewest);
  // A cost beyond all numbers: one row is a piece.
  return {cut.rows, grain ? grain : number(end, 1), scratch};
}

} // namespace tenon::kernel
