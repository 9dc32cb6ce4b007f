//===- PointwiseTiles.cpp - Transpositions in tiles -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transposition that moves the last axis reads one element from each cache
// line when it runs along its result. So a tile is read along the rows of its
// operand, onto the stack; turned there; and goes on along the result's rows,
// through whatever else the kernel computes.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/PointwiseTiles.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// A tile: elements along the operand's rows, one cache line of 4 bytes each,
/// by elements along the result's rows.
constexpr int64_t tileHeight = 16, tileWidth = 64;

/// Below this many elements along an axis, most of a tile would be empty.
constexpr int64_t fewest = 8;

class TransposedTiles {
public:
  TransposedTiles(Emitter &e, const PointwiseSpace &space,
                  graph::TransposeOp op)
      : e(e), space(space), op(op),
        type(computeType(graph::getElementType(op.getResult()))),
        height(space.runs[space.runs.size() - 2].size),
        width(space.runs.back().size) {
    for (Value *tile : {&read, &turned})
      *tile = e.atEntry([&]() -> Value {
        return LLVM::AllocaOp::create(
            e.b, LLVM::LLVMPointerType::get(e.b.getContext()), type,
            e.number(tileHeight * tileWidth), 64);
      });
  }

  /// Units [from, to): runs of the last axis.
  void emit(Value from, Value to) {
    ArrayRef<AxisRun> outer = ArrayRef(space.runs).drop_back(2);
    Value size = e.atEntry([&] { return e.max(height, e.number(1)); });
    Value stop = e.ceilDiv(to, size);
    e.loop(e.div(from, size), stop, [&](Value group) {
      firstUnit = e.mul(group, size);
      lead = e.delinearise(group, sizesOf(outer));
      Value low = e.sub(e.max(from, firstUnit), firstUnit);
      Value high = e.min(e.sub(to, firstUnit), size);
      e.loop(
          e.number(0), width,
          [&](Value column) {
            Value columns = e.min(e.number(tileWidth), e.sub(width, column));
            e.loop(
                low, high,
                [&](Value row) {
                  Value rows = e.min(e.number(tileHeight), e.sub(high, row));
                  emitTile(row, rows, column, columns);
                },
                tileHeight);
          },
          tileWidth);
    });
  }

private:
  void emitTile(Value row, Value rows, Value column, Value columns) {
    // A number of rows that the vectoriser knows.
    Value isFull = e.equal(rows, e.number(tileHeight));
    e.ifThen(isFull,
             [&] { readTile(row, e.number(tileHeight), column, columns); });
    e.ifThen(e.less(rows, e.number(tileHeight)),
             [&] { readTile(row, rows, column, columns); });
    turn(columns);
    e.loop(e.number(0), rows, [&](Value i) {
      Value unit = e.add(firstUnit, e.add(row, i));
      Value base = e.add(e.mul(unit, width), column);
      Value line = e.mul(i, e.number(tileWidth));
      e.loop(e.number(0), columns, [&](Value j) {
        Indices index = indexOf(e.add(row, i), e.add(column, j));
        e.bind(op.getResult(), index, e.loadRaw(turned, type, e.add(line, j)));
        e.storeYields(index, e.add(base, j));
      });
    });
  }

  Indices indexOf(Value row, Value column) {
    Indices counts = lead;
    counts.append({row, column});
    return space.index(e, counts);
  }

  void readTile(Value row, Value rows, Value column, Value columns) {
    e.loop(e.number(0), columns, [&](Value j) {
      Value line = e.mul(j, e.number(tileHeight));
      e.loop(e.number(0), rows, [&](Value i) {
        Indices index = indexOf(e.add(row, i), e.add(column, j));
        Indices from(index.size());
        for (auto [axis, input] : llvm::enumerate(op.getPermutation()))
          from[input] = index[axis];
        e.storeRaw(e.element(op.getInput(), from), read, e.add(line, i));
      });
    });
  }

  /// From columns of tileHeight elements to rows of tileWidth; behind the last
  /// column that was read lies anything.
  void turn(Value columns) {
    int64_t lanes = e.level.lanes(type.getIntOrFloatBitWidth() / 8);
    auto vector = VectorType::get({lanes}, type);
    auto at = [&](Value tile, Value offset) {
      return e.address(tile, type, offset);
    };
    e.loop(
        e.number(0), columns,
        [&](Value column) {
          for (int64_t row = 0; row < tileHeight; row += lanes) {
            SmallVector<Value> lines;
            for (int64_t j = 0; j < lanes; ++j)
              lines.push_back(LLVM::LoadOp::create(
                  e.b, vector,
                  at(read, e.add(e.mul(column, e.number(tileHeight)),
                                 e.number(j * tileHeight + row)))));
            turnRegisters(e, lines);
            for (int64_t i = 0; i < lanes; ++i)
              LLVM::StoreOp::create(
                  e.b, lines[i],
                  at(turned, e.add(column, e.number((row + i) * tileWidth))));
          }
        },
        lanes);
  }

  Emitter &e;
  const PointwiseSpace &space;
  graph::TransposeOp op;
  Type type;
  Value height, width; // Of the plane that is transposed.
  Value read, turned;  // The tile on the stack.
  // Of the current plane.
  Value firstUnit;
  Indices lead;
};

/// Whether `op` turns the plane of the two innermost runs.
bool turnsPlane(const PointwiseSpace &space, graph::TransposeOp op) {
  if (graph::getDims(op.getResult()) != space.dims || space.runs.size() < 2)
    return false;
  Type type = computeType(graph::getElementType(op.getResult()));
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits != 32 && bits != 64)
    return false;
  // The axis along which the operand is contiguous.
  ArrayRef<int64_t> permutation = op.getPermutation();
  SmallVector<Expr> dims = graph::getDims(op.getInput());
  int64_t last = dims.size() - 1;
  while (last > 0 && dims[last].isConstant(1))
    --last;
  int64_t axis = llvm::find(permutation, last) - permutation.begin();
  auto isLong = [](const AxisRun &run) {
    std::optional<int64_t> size = getConstantIntValue(run.size);
    return !size || *size >= fewest;
  };
  const AxisRun &column = space.runs[space.runs.size() - 2];
  return column.axis == axis && isLong(column) && isLong(space.runs.back());
}

} // namespace

void turnRegisters(Emitter &e, MutableArrayRef<Value> lines) {
  int32_t size = lines.size();
  for (int32_t step = 1; step < size; step *= 2) {
    SmallVector<int32_t> low, high;
    for (int32_t lane = 0; lane < size; ++lane) {
      bool isSecond = lane & step;
      low.push_back(isSecond ? size + lane - step : lane);
      high.push_back(isSecond ? size + lane : lane + step);
    }
    for (int32_t i = 0; i < size; ++i) {
      if (i & step)
        continue;
      Value x = lines[i], y = lines[i + step];
      lines[i] = LLVM::ShuffleVectorOp::create(e.b, x, y, low);
      lines[i + step] = LLVM::ShuffleVectorOp::create(e.b, x, y, high);
    }
  }
}

bool emitTransposedTiles(Emitter &e, const PointwiseSpace &space,
                         function_ref<void(Value, Value)> elements) {
  if (!e.level.hasVectors())
    return false;
  for (auto op : e.kernel.getBlock().getOps<graph::TransposeOp>()) {
    if (!turnsPlane(space, op))
      continue;
    Value rows = space.rowsOfInner(e);
    // Rows that are no whole run, at either end.
    Value from = e.ceilDiv(e.begin, rows);
    Value to = e.max(e.div(e.end, rows), from);
    if (getConstantIntValue(rows) != 1)
      e.loop(e.number(0), e.number(2), [&](Value end) {
        Value isFirst = e.equal(end, e.number(0));
        elements(e.select(isFirst, e.begin, e.mul(to, rows)),
                 e.select(isFirst, e.min(e.mul(from, rows), e.end), e.end));
      });
    TransposedTiles(e, space, op).emit(from, to);
    return true;
  }
  return false;
}

} // namespace tenon::cpu
