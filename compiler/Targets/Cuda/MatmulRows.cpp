//===- MatmulRows.cpp - Matrix products of few rows -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each thread reads its own elements of rhs, 16 bytes at a time and several
// times that on the way, and sums their products with each row of lhs, which
// the caches hold. Where columns are neighbours in memory, eight lanes go along
// them and a warp takes four runs of k at a time; where steps of k are, a warp
// goes along k with some columns. The sums of lanes, then of warps, then of
// blocks are added in a fixed order.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/MatmulRows.h"
#include "compiler/Targets/Cuda/PieceSums.h"
#include "compiler/Targets/Cuda/Product.h"
#include "dialects/Kernel/FewRows.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

using kernel::FewRows;

class RowsMatmul {
public:
  RowsMatmul(DeviceEmitter &e, MatmulProduct &product)
      : e(e), product(product), left(product.matrixOf(/*isLhs=*/true)),
        right(product.matrixOf(/*isLhs=*/false)), view(product.view),
        plan(kernel::fewRowsOf(view)), f32(e.b.getF32Type()),
        sharedMemory(e.sharedMemory()), thread(e.threadOrdinal()),
        pieces(e.valueOf(kernel::depthPiecesOf(view, plan))),
        outColumns(plan.columns() / int64_t(product.results.size())) {}

  void emit(Value ordinal) {
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

private:
  /// Neighbours as they lie in memory: one value of some elements.
  struct Loaded {
    Value raw;
    Type element;
    int64_t count;
  };

  void barrier() {
    ptx::NamedBarrierOp::create(e.b, 0, FewRows::threads, /*arrive=*/false);
  }

  Value ceilDiv(Value x, int64_t by) {
    return e.div(e.add(x, e.number(by - 1)), e.number(by));
  }

  /// Pieces of k lie together, then groups of rows, columns and batches.
  void locate(Value ordinal) {
    piece = e.rem(ordinal, pieces);
    part = e.div(ordinal, pieces);
    Value groups = ceilDiv(product.rows, plan.rows);
    Value wide = ceilDiv(product.columns, outColumns);
    Value rest = e.div(part, groups);
    row = e.mul(e.rem(part, groups), e.number(plan.rows));
    column = e.mul(e.rem(rest, wide), e.number(outColumns));
    height = e.min(e.number(plan.rows), e.sub(product.rows, row));
    product.enter(e.div(rest, wide));
    Value steps = ceilDiv(product.depth, plan.depth());
    auto bound = [&](Value ordinal) {
      Value step = e.div(e.mul(ordinal, steps), pieces);
      return e.min(e.mul(step, e.number(plan.depth())), product.depth);
    };
    from = bound(piece);
    to = bound(e.add(piece, e.number(1)));
  }

  //===--- Sums of a block ---===//

  /// By the number of rows that are there: one, some or all.
  void sumRows() {
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
    for (int64_t lines : {int64_t(1), plan.rows / 2, plan.rows}) {
      auto sum = [&] {
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

  /// Where in lhs the first step of each row is; rows that are not there are
  /// copies of the last one.
  SmallVector<Value> lhsOffsets(int64_t lines) {
    SmallVector<Value> offsets;
    Value last = e.sub(product.rows, e.number(1));
    for (int64_t i = 0; i < lines; ++i)
      offsets.push_back(
          e.mul(e.min(e.add(row, e.number(i)), last), left.lineStride));
    return offsets;
  }

  /// The same of column `i` of the block's in rhs.
  Value rhsOffset(Value i) {
    Value inHalf = e.add(column, e.rem(i, e.number(outColumns)));
    Value half = e.div(i, e.number(outColumns));
    Value index = e.add(inHalf, e.mul(half, product.columns));
    Value isThere = e.less(inHalf, product.columns);
    return e.mul(e.select(isThere, index, e.number(0)), right.lineStride);
  }

  Loaded load(const MatrixOperand &matrix, Value offset, int64_t count) {
    int64_t bytes = count * graph::byteWidth(matrix.type);
    Value at = e.address(matrix.base, e.memoryType(matrix.type), offset);
    Type type = e.memoryType(matrix.type);
    if (matrix.type.isF32() && count > 1)
      type = VectorType::get({count}, f32);
    else if (count > 1)
      type = bytes == 4 ? Type(e.b.getI32Type())
                        : VectorType::get({bytes / 4}, e.b.getI32Type());
    return {LLVM::LoadOp::create(e.b, type, at, unsigned(bytes)), matrix.type,
            count};
  }

  void appendFloats(const Loaded &loaded, SmallVectorImpl<Value> &floats) {
    if (loaded.count == 1)
      return floats.push_back(e.fromMemory(loaded.raw, loaded.element));
    auto type = dyn_cast<VectorType>(loaded.raw.getType());
    for (int64_t i = 0; i < (type ? type.getNumElements() : 1); ++i) {
      Value word = loaded.raw;
      if (type)
        word = LLVM::ExtractElementOp::create(
            e.b, loaded.raw, arith::ConstantIntOp::create(e.b, i, 32));
      if (loaded.element.isF32())
        floats.push_back(word);
      else
        appendHalves(word, loaded.element, floats);
    }
  }

  void appendHalves(Value word, Type element, SmallVectorImpl<Value> &floats) {
    auto number = [&](int64_t value) {
      return arith::ConstantIntOp::create(e.b, value, 32);
    };
    if (element.isBF16()) {
      Value low = arith::ShLIOp::create(e.b, word, number(16));
      Value high =
          arith::AndIOp::create(e.b, word, number(int32_t(0xffff0000)));
      for (Value bits : {low, high})
        floats.push_back(arith::BitcastOp::create(e.b, f32, bits));
      return;
    }
    for (Value half :
         {word, Value(arith::ShRUIOp::create(e.b, word, number(16)))}) {
      Value bits = arith::TruncIOp::create(e.b, e.b.getI16Type(), half);
      floats.push_back(e.fromMemory(
          arith::BitcastOp::create(e.b, e.memoryType(element), bits), element));
    }
  }

  /// `count` steps of k of rows of lhs, from step `k` on, a multiple of
  /// `count`.
  SmallVector<SmallVector<Value>> loadLhs(ArrayRef<Value> offsets, Value k,
                                          int64_t count) {
    int64_t wide = std::max<int64_t>(
        left.alongDepth / int64_t(graph::byteWidth(left.type)), 1);
    wide = std::min(wide, count);
    SmallVector<SmallVector<Loaded>> loaded;
    for (Value offset : offsets) {
      SmallVector<Loaded> line;
      for (int64_t i = 0; i < count; i += wide) {
        Value step = e.mul(e.add(k, e.number(i)), left.depthStride);
        line.push_back(load(left, e.add(offset, step), wide));
      }
      loaded.push_back(line);
    }
    SmallVector<SmallVector<Value>> lines;
    for (const SmallVector<Loaded> &line : loaded) {
      SmallVector<Value> floats;
      for (const Loaded &each : line)
        appendFloats(each, floats);
      lines.push_back(floats);
    }
    return lines;
  }

  //===--- Columns are neighbours ---===//

  /// Adds products of `count` steps from each of `runs` on, to sums of
  /// [row][column].
  SmallVector<Value> addRuns(ArrayRef<Value> lhs, ArrayRef<Value> rhs,
                             ArrayRef<Value> runs, int64_t count,
                             ValueRange before) {
    SmallVector<Loaded> weights;
    for (Value k : runs)
      for (int64_t i = 0; i < count; ++i) {
        Value step = e.mul(e.add(k, e.number(i)), right.depthStride);
        for (Value offset : rhs)
          weights.push_back(load(right, e.add(offset, step), plan.width));
      }
    SmallVector<SmallVector<SmallVector<Value>>> factors;
    for (Value k : runs)
      factors.push_back(loadLhs(lhs, k, count));
    SmallVector<Value> sums(before);
    for (size_t run = 0; run < runs.size(); ++run)
      for (int64_t i = 0; i < count; ++i) {
        SmallVector<Value> elements;
        for (size_t j = 0; j < rhs.size(); ++j)
          appendFloats(weights[(run * count + i) * rhs.size() + j], elements);
        for (size_t line = 0; line < lhs.size(); ++line)
          for (size_t j = 0; j < elements.size(); ++j) {
            Value &sum = sums[line * elements.size() + j];
            sum = cpu::emitMulAdd(e.b, factors[run][line][i], elements[j], sum);
          }
      }
    return sums;
  }

  void sumAlongColumns(int64_t lines) {
    constexpr int64_t runs = FewRows::runs;
    const int64_t further = plan.depth();
    Value lane = e.rem(thread, e.number(FewRows::across));
    Value slot = e.div(thread, e.number(FewRows::across));
    SmallVector<Value> lhs = lhsOffsets(lines), rhs, places;
    for (int64_t i = 0; i < plan.together; i += plan.width) {
      places.push_back(e.add(e.mul(lane, e.number(plan.width)),
                             e.number(i * FewRows::across)));
      rhs.push_back(rhsOffset(places.back()));
    }
    SmallVector<Value> sums(lines * plan.together, e.zero(f32));
    Value k = e.add(from, e.mul(slot, e.number(runs)));
    Value end = e.sub(to, e.number(runs - 1));
    if (lines * plan.together <= 16) {
      // Two runs at a time, as long as there are two and registers for them.
      Value most = e.sub(end, e.number(further));
      sums = e.loop(
          k, most, sums,
          [&](Value k, ValueRange before) {
            return addRuns(lhs, rhs, {k, e.add(k, e.number(further))}, runs,
                           before);
          },
          2 * further);
      Value pairs = ceilDiv(e.max(e.sub(most, k), e.number(0)), 2 * further);
      k = e.add(k, e.mul(pairs, e.number(2 * further)));
    }
    // Of many rows, elements of lhs take the registers of two steps at most.
    int64_t count = lines < plan.rows ? runs : runs / 2;
    sums = e.loop(
        k, end, sums,
        [&](Value k, ValueRange before) {
          SmallVector<Value> now(before);
          for (int64_t i = 0; i < runs; i += count)
            now = addRuns(lhs, rhs, e.add(k, e.number(i)), count, now);
          return now;
        },
        further);
    std::optional<int64_t> known = getConstantIntValue(product.depth);
    if (!known || *known % runs != 0) {
      // The steps behind the last run: one of each of the first threads.
      Value rest = e.add(
          e.sub(product.depth, e.rem(product.depth, e.number(runs))), slot);
      Value isLast = e.equal(to, product.depth);
      sums = e.loop(
          e.select(isLast, rest, to), to, sums,
          [&](Value k, ValueRange before) {
            return addRuns(lhs, rhs, k, 1, before);
          },
          FewRows::threads);
    }
    storeColumnSums(sums, places, lines);
  }

  void storeColumnSums(SmallVector<Value> sums, ArrayRef<Value> places,
                       int64_t lines) {
    addLanes(sums, FewRows::across);
    Value lane = e.rem(thread, e.number(32));
    Value slab =
        e.mul(e.div(thread, e.number(32)), e.number(plan.slabElements()));
    e.ifThen(e.less(lane, e.number(FewRows::across)), [&] {
      for (int64_t line = 0; line < lines; ++line)
        for (int64_t i = 0; i < plan.together; ++i) {
          Value place = e.add(places[i / plan.width], e.number(i % plan.width));
          place = e.add(place, e.number(line * plan.columns()));
          e.storeRaw(sums[line * plan.together + i], sharedMemory,
                     e.add(slab, place));
        }
    });
  }

  /// Adds the sums of lanes whose ordinals differ by multiples of `apart`.
  void addLanes(MutableArrayRef<Value> sums, int64_t apart) {
    for (int64_t distance = 16; distance >= apart; distance /= 2)
      for (Value &sum : sums)
        sum = arith::AddFOp::create(e.b, sum, e.exchange(sum, distance));
  }

  //===--- Steps of k are neighbours ---===//

  /// Adds products of `width` steps from each of `steps` on.
  SmallVector<Value> addSteps(ArrayRef<Value> lhs, ArrayRef<Value> rhs,
                              ArrayRef<Value> steps, ValueRange before) {
    SmallVector<Loaded> weights;
    for (Value offset : rhs)
      for (Value k : steps)
        weights.push_back(load(right, e.add(offset, k), plan.width));
    SmallVector<SmallVector<SmallVector<Value>>> factors;
    for (Value k : steps)
      factors.push_back(loadLhs(lhs, k, plan.width));
    SmallVector<Value> sums(before);
    for (size_t column = 0; column < rhs.size(); ++column)
      for (size_t step = 0; step < steps.size(); ++step) {
        SmallVector<Value> elements;
        appendFloats(weights[column * steps.size() + step], elements);
        for (size_t line = 0; line < lhs.size(); ++line)
          for (size_t i = 0; i < elements.size(); ++i) {
            Value &sum = sums[line * rhs.size() + column];
            sum =
                cpu::emitMulAdd(e.b, factors[step][line][i], elements[i], sum);
          }
      }
    return sums;
  }

  void sumAlongDepth(int64_t lines) {
    Value lane = e.rem(thread, e.number(32));
    Value first = e.mul(e.div(thread, e.number(32)), e.number(FewRows::runs));
    SmallVector<Value> lhs = lhsOffsets(lines), rhs, ahead;
    for (int64_t i = 0; i < FewRows::runs; ++i)
      rhs.push_back(rhsOffset(e.add(first, e.number(i))));
    for (int64_t i = 0; i < plan.together; i += plan.width)
      ahead.push_back(
          e.add(e.mul(lane, e.number(plan.width)), e.number(32 * i)));
    SmallVector<Value> sums(lines * FewRows::runs, e.zero(f32));
    Value part = e.rem(e.sub(to, from), e.number(plan.depth()));
    Value whole = e.sub(to, part);
    sums = e.loop(
        from, whole, sums,
        [&](Value k, ValueRange before) {
          SmallVector<Value> steps;
          for (Value each : ahead)
            steps.push_back(e.add(k, each));
          return addSteps(lhs, rhs, steps, before);
        },
        plan.depth());
    std::optional<int64_t> known = getConstantIntValue(product.depth);
    if (!known || *known % plan.depth() != 0)
      sums = e.loop(
          e.add(whole, ahead[0]), to, sums,
          [&](Value k, ValueRange before) {
            return addSteps(lhs, rhs, k, before);
          },
          32 * plan.width);
    addLanes(sums, 1);
    e.ifThen(e.equal(lane, e.number(0)), [&] {
      for (int64_t line = 0; line < lines; ++line)
        for (int64_t i = 0; i < FewRows::runs; ++i)
          e.storeRaw(sums[line * FewRows::runs + i], sharedMemory,
                     e.add(first, e.number(line * plan.columns() + i)));
    });
  }

  //===--- Sums of all, and what follows ---===//

  void eachSum(int64_t columns, function_ref<void(Value)> body) {
    e.loop(thread, e.mul(height, e.number(columns)), body, FewRows::threads);
  }

  Value sumOfWarps(Value i) {
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
  Value joinBlocks() {
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
        LLVM::StoreOp::create(e.b, sumOfWarps(i),
                              all.addressOf(part, piece, i));
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

  void storeResults() {
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

  DeviceEmitter &e;
  MatmulProduct &product;
  const MatrixOperand &left, &right;
  const kernel::MatmulView &view;
  const FewRows plan;
  const Type f32;
  const Value sharedMemory, thread, pieces;
  const int64_t outColumns;  // Of one half where there are halves.
  Value part, piece;         // Of this block, and
  Value row, column, height; // where its sums are in the batch;
  Value from, to;            // its steps of k.
};

} // namespace

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
