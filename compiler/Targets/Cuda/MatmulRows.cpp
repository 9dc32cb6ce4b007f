//===- MatmulRows.cpp - Matrix products of few rows -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each thread reads its own elements of rhs, 16 bytes at a time and several
// times that on the way, and sums their products with each row of lhs, which
// the caches hold. The sums of lanes, then of warps, then of blocks are added
// in a fixed order.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/MatmulRows.h"
#include "compiler/Targets/Cuda/PieceSums.h"
#include "compiler/Targets/Cuda/RowsMatmul.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {

using kernel::FewRows;

RowsMatmul::RowsMatmul(DeviceEmitter &e, MatmulProduct &product)
    : e(e), product(product), left(product.matrixOf(/*isLhs=*/true)),
      right(product.matrixOf(/*isLhs=*/false)), view(product.view),
      plan(kernel::fewRowsOf(view)), f32(e.b.getF32Type()),
      sharedMemory(e.sharedMemory()), thread(e.threadOrdinal()),
      pieces(e.valueOf(kernel::depthPiecesOf(view, plan))),
      outColumns(plan.columns() / int64_t(product.results.size())) {
  if (view.quantized)
    fewBits.emplace(e, *view.quantized, plan.panels);
}

void RowsMatmul::emit(Value ordinal) {
  locate(ordinal);
  sumRows();
  barrier();
  Value isDone = joinBlocks();
  auto store = [&] {
    barrier();
    storeResults();
  };
  if (isDone)
    e.ifThen(isDone, store);
  else
    store();
  barrier(); // Before the next part's sums.
}

void RowsMatmul::barrier() {
  ptx::NamedBarrierOp::create(e.b, 0, FewRows::threads, /*arrive=*/false);
}

/// Pieces of k lie together, then groups of rows, columns and batches.
void RowsMatmul::locate(Value ordinal) {
  piece = e.rem(ordinal, pieces);
  part = e.div(ordinal, pieces);
  Value groups = e.ceilDiv(product.rows, e.number(plan.rows));
  Value wide = e.ceilDiv(product.columns, e.number(outColumns));
  Value rest = e.div(part, groups);
  row = e.mul(e.rem(part, groups), e.number(plan.rows));
  column = e.mul(e.rem(rest, wide), e.number(outColumns));
  height = e.min(e.number(plan.rows), e.sub(product.rows, row));
  product.enter(e.div(rest, wide));
  Value steps = e.ceilDiv(product.depth, e.number(plan.depth()));
  auto bound = [&](Value ordinal) {
    Value step = e.div(e.mul(ordinal, steps), pieces);
    return e.min(e.mul(step, e.number(plan.depth())), product.depth);
  };
  from = bound(piece);
  to = bound(e.add(piece, e.number(1)));
}

/// By the number of rows that are there: one, some or all; those of few bits
/// are multiplied by eight.
void RowsMatmul::sumRows() {
  std::optional<int64_t> known = getConstantIntValue(product.rows);
  auto mayHave = [&](int64_t fewest, int64_t most) {
    auto isBetween = [&](int64_t lines) {
      return lines >= fewest && lines <= most;
    };
    return !known || isBetween(*known % plan.rows) ||
           (*known >= plan.rows && isBetween(plan.rows));
  };
  bool isAlone = known && (*known <= plan.rows);
  int64_t fewest = 1;
  SmallVector<int64_t> counts = {1, plan.rows / 2, plan.rows};
  for (int64_t lines : ArrayRef(counts).drop_front(fewBits ? 1 : 0)) {
    auto sum = [&] {
      if (fewBits)
        return sumFewBits(lines);
      plan.alongDepth ? sumAlongDepth(lines) : sumAlongColumns(lines);
    };
    if (mayHave(fewest, lines)) {
      if (isAlone)
        sum();
      else
        e.ifThen(e.both(e.less(e.number(fewest - 1), height),
                        e.less(height, e.number(lines + 1))),
                 sum);
    }
    fewest = lines + 1;
  }
}

void RowsMatmul::eachSum(int64_t columns, function_ref<void(Value)> body) {
  e.loop(thread, e.mul(height, e.number(columns)), body, FewRows::threads);
}

Value RowsMatmul::sumOfWarps(Value i) {
  Value sum;
  for (int64_t slab = 0; slab < plan.slabs(); ++slab) {
    Value each = e.loadRaw(sharedMemory, f32,
                           e.add(i, e.number(slab * plan.slabElements())));
    sum = sum ? Value(arith::AddFOp::create(e.b, sum, each)) : each;
  }
  return sum;
}

/// The sums come to the first slab; null where this block has them for sure,
/// else whether it has.
Value RowsMatmul::joinBlocks() {
  auto joinWarps = [&] {
    if (plan.slabs() > 1)
      eachSum(plan.columns(),
              [&](Value i) { e.storeRaw(sumOfWarps(i), sharedMemory, i); });
  };
  if (getConstantIntValue(pieces) == 1) {
    joinWarps();
    return {};
  }
  Value flag = e.address(sharedMemory, f32,
                         e.number(plan.slabs() * plan.slabElements()));
  PieceSums all(e, pieces, plan.slabElements(), flag);
  Value isAlone = e.less(pieces, e.number(2));
  auto yes = [&]() -> Value {
    joinWarps();
    return arith::ConstantIntOp::create(e.b, 1, 1);
  };
  return e.branch(isAlone, yes, [&]() -> Value {
    eachSum(plan.columns(), [&](Value i) {
      LLVM::StoreOp::create(e.b, sumOfWarps(i), all.addressOf(part, piece, i));
    });
    Value isLast = all.isLast(part, thread);
    e.ifThen(isLast, [&] {
      eachSum(plan.columns(), [&](Value i) {
        e.storeRaw(all.total(part, i), sharedMemory, i);
      });
    });
    return isLast;
  });
}

void RowsMatmul::storeResults() {
  eachSum(outColumns, [&](Value i) {
    Value line = e.div(i, e.number(outColumns));
    Value inPart = e.rem(i, e.number(outColumns));
    Value n = e.add(column, inPart);
    e.ifThen(e.less(n, product.columns), [&] {
      Product::Place place = product.placeOf(row, line, n);
      Value at = e.add(e.mul(line, e.number(plan.columns())), inPart);
      for (auto [half, result] : llvm::enumerate(product.results)) {
        Value sum = e.loadRaw(sharedMemory, f32,
                              e.add(at, e.number(half * outColumns)));
        e.bind(result, place.index,
               cpu::roundTo(e.b, sum, graph::getElementType(result)));
      }
      e.storeYields(place.index, place.position);
    });
  });
}

LogicalResult emitMatmulRows(DeviceEmitter &e, Value ordinal) {
  auto op = cast<graph::MatmulOp>(kernel::findRoot(e.kernel.getBlock()));
  std::optional<kernel::MatmulView> view = kernel::matmulViewOf(op);
  if (!view)
    return op.emitOpError("is no product of views; please report this");
  MatmulProduct product(e, op, *view);
  RowsMatmul(e, product).emit(ordinal);
  return success();
}

} // namespace tenon::cuda
