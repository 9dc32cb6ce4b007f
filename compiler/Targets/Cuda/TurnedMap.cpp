//===- TurnedMap.cpp - Kernels that turn rows into columns ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block reads a tile along the rows of what is transposed, leaves it in
// shared memory, and goes on from there along the rows of the result, through
// whatever else the kernel computes: neighbouring threads have neighbours on
// both sides. Columns of the tile lie in other banks each, for its rows are one
// element longer than they look.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/PointwiseTiles.h"
#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "dialects/Kernel/PointwiseView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr int64_t side = kernel::turnedSide, threads = kernel::turnedThreads;

class TurnedMap {
public:
  TurnedMap(DeviceEmitter &e, kernel::TurnedPlane plane)
      : e(e), op(plane.op), plane(plane.run), space(cpu::pointwiseSpace(e)),
        type(cpu::computeType(graph::getElementType(op.getResult()))),
        rows(space.runs[plane.run].size), columns(space.runs.back().size),
        lane(e.rem(e.threadNumber(), e.number(side))),
        line(e.div(e.threadNumber(), e.number(side))) {}

  void emit(Value ordinal) {
    locate(ordinal);
    // Elements that are not there are others: all are on their way at once.
    Value row = clamped(e.add(firstRow, lane), rows);
    for (int64_t i = 0; i < side; i += threads / side) {
      Value inTile = e.add(line, e.number(i));
      Value column = clamped(e.add(firstColumn, inTile), columns);
      e.storeRaw(read(row, column), e.sharedMemory(), placeOf(inTile, lane));
    }
    e.barrier();
    Value column = e.add(firstColumn, lane);
    for (int64_t i = 0; i < side; i += threads / side) {
      Value inTile = e.add(line, e.number(i)), at = e.add(firstRow, inTile);
      Value turned = e.loadRaw(e.sharedMemory(), type, placeOf(lane, inTile));
      e.ifThen(e.both(e.less(at, rows), e.less(column, columns)), [&] {
        Indices index = indexOf(at, column);
        e.bind(op.getResult(), index, turned);
        e.storeYields(index, positionOf(at, column));
      });
    }
    e.barrier();
  }

private:
  Value tiles(Value size) {
    return e.max(e.ceilDiv(size, e.number(side)), e.number(1));
  }

  void locate(Value ordinal) {
    Indices sizes;
    for (const cpu::AxisRun &run : space.runs)
      sizes.push_back(run.size);
    sizes[plane] = tiles(rows);
    sizes.back() = tiles(columns);
    counts = e.delinearise(ordinal, sizes);
    firstRow = e.mul(counts[plane], e.number(side));
    firstColumn = e.mul(counts.back(), e.number(side));
  }

  Value clamped(Value at, Value size) {
    return e.min(at, e.sub(size, e.number(1)));
  }
  Value placeOf(Value column, Value row) {
    return e.add(e.mul(column, e.number(side + 1)), row);
  }

  Indices countsAt(Value row, Value column) {
    Indices at = counts;
    at[plane] = row;
    at.back() = column;
    return at;
  }
  Indices indexOf(Value row, Value column) {
    return space.index(e, countsAt(row, column));
  }
  Value positionOf(Value row, Value column) {
    return e.linearise(countsAt(row, column), cpu::sizesOf(space.runs));
  }

  Value read(Value row, Value column) {
    Indices index = indexOf(row, column), from(index.size());
    for (auto [axis, input] : llvm::enumerate(op.getPermutation()))
      from[input] = index[axis];
    return e.element(op.getInput(), from);
  }

  DeviceEmitter &e;
  graph::TransposeOp op;
  size_t plane; // The run of the plane's rows.
  cpu::PointwiseSpace space;
  Type type;
  Value rows, columns, lane, line;
  Value firstRow, firstColumn; // Of the tile,
  Indices counts;              // and where its plane is.
};

} // namespace

void emitTurnedMap(DeviceEmitter &e, Value ordinal) {
  Block &body = e.kernel.getBlock();
  TurnedMap(e, *kernel::turnedPlaneOf(body, kernel::pointwiseViewOf(body)))
      .emit(ordinal);
}

} // namespace tenon::cuda
