//===- TileMatmul.cpp - Tiles of a matrix product and what follows them ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/TileMatmul.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {

using kernel::chunkRows;

TileMatmul::TileMatmul(DeviceEmitter &e, graph::MatmulOp op,
                       kernel::MatmulView view, kernel::DeviceTile tile,
                       int64_t padding)
    : e(e), op(op), view(std::move(view)), tile(tile),
      chunkStride(tile.columns + padding), rows(e.valueOf(this->view.rows)),
      columns(e.valueOf(this->view.columns)),
      depth(e.valueOf(this->view.depth)), sharedMemory(e.sharedMemory()),
      leadDims(e.dimsOf(op.getResult())) {
  leadDims.pop_back();
}

void TileMatmul::emit(Value ordinal) {
  locate(ordinal);
  lhs = matrixOf(view.lhs, op.getLhs(), /*isLhs=*/true);
  rhs = matrixOf(view.rhs, op.getRhs(), /*isLhs=*/false);
  sumProducts();
  barrier(); // Nobody reads panels any more.
  emitChunks();
}

/// Tiles of eight rows of tiles follow each other by columns: those that run at
/// the same time share what they read.
void TileMatmul::locate(Value ordinal) {
  constexpr int64_t groupHeight = 8;
  auto tiles = [&](Value size, int64_t of) {
    return e.div(e.add(size, e.number(of - 1)), e.number(of));
  };
  Value high = tiles(rows, tile.rows), wide = tiles(columns, tileColumns());
  batch = e.number(0);
  if (!view.batchDims.empty()) {
    Value count = e.max(e.mul(high, wide), e.number(1));
    batch = e.div(ordinal, count);
    ordinal = e.rem(ordinal, count);
  }
  Value inGroup = e.max(e.mul(wide, e.number(groupHeight)), e.number(1));
  Value first = e.mul(e.div(ordinal, inGroup), e.number(groupHeight));
  Value height = e.min(e.number(groupHeight), e.sub(high, first));
  Value place = e.rem(ordinal, inGroup);
  row = e.mul(e.add(first, e.rem(place, height)), e.number(tile.rows));
  column = e.mul(e.div(place, height), e.number(tileColumns()));
}

OperandMatrix TileMatmul::matrixOf(const kernel::StridedView &operand,
                                   Value tensor, bool isLhs) {
  auto argument = cast<BlockArgument>(operand.base);
  Value offset = e.valueOf(operand.offset);
  SmallVector<Expr> dims = graph::getDims(tensor);
  size_t own = dims.size() - 2;
  if (!view.batchDims.empty() && own > 0) {
    Indices sizes;
    for (Expr dim : view.batchDims)
      sizes.push_back(e.valueOf(dim));
    Indices index = e.delinearise(batch, sizes);
    size_t skip = sizes.size() - own;
    for (size_t i = 0; i < own; ++i) {
      Value at =
          e.broadcastAxis(index[skip + i], view.batchDims[skip + i], dims[i]);
      offset = e.add(offset, e.mul(at, e.valueOf(operand.strides[i])));
    }
  }
  Type memory = e.memoryType(graph::getElementType(argument));
  Value base =
      e.address(e.argumentBuffer(argument.getArgNumber()), memory, offset);
  Value first = e.valueOf(operand.strides[own]);
  Value second = e.valueOf(operand.strides[own + 1]);
  return isLhs ? OperandMatrix{base, first, second}
               : OperandMatrix{base, second, first};
}

TileMatmul::Line TileMatmul::lhsLine(Value i) {
  Value index = e.add(row, i);
  return {index, e.sub(rows, index)};
}

TileMatmul::Line TileMatmul::rhsLine(Value i) {
  if (!view.halves) {
    Value index = e.add(column, i);
    return {index, e.sub(columns, index)};
  }
  Value inHalf = e.add(column, e.rem(i, e.number(tileColumns())));
  Value half = e.div(i, e.number(tileColumns()));
  return {e.add(inHalf, e.mul(half, columns)), e.sub(columns, inHalf)};
}

SmallVector<Value> TileMatmul::sumPanels(ValueRange zeros, int64_t stageBytes,
                                         Fetch fetch, Add add) {
  Value panels =
      e.div(e.add(depth, e.number(tile.depth - 1)), e.number(tile.depth));
  auto stageOf = [&](Value panel) {
    Value stage = e.rem(panel, e.number(tile.stages));
    return sharedAt(sharedMemory, e.mul(stage, e.number(stageBytes)));
  };
  // Where no panel is left there is an empty group: waits count groups.
  auto fetchIfAny = [&](Value panel) {
    e.ifThen(e.less(panel, panels), [&] { fetch(panel, stageOf(panel)); });
    ptx::CpAsyncCommitOp::create(e.b);
  };
  e.loop(e.number(0), e.number(tile.stages - 1), fetchIfAny);
  SmallVector<Value> sums =
      e.loop(e.number(0), panels, zeros, [&](Value panel, ValueRange before) {
        ptx::CpAsyncWaitOp::create(e.b, tile.stages - 2);
        barrier(); // All see the panel, and nobody reads the one before.
        fetchIfAny(e.add(panel, e.number(tile.stages - 1)));
        return add(stageOf(panel), before);
      });
  ptx::CpAsyncWaitOp::create(e.b, 0);
  return sums;
}

void TileMatmul::barrier() {
  ptx::NamedBarrierOp::create(e.b, 0, tile.threads, /*arrive=*/false);
}

Value TileMatmul::sharedAt(Value from, Value offset) {
  return e.address(from, e.b.getI8Type(), offset);
}

Value TileMatmul::word(Value number) {
  return arith::TruncIOp::create(e.b, e.b.getI32Type(), number);
}

Value TileMatmul::threadHere() {
  auto read = LLVM::InlineAsmOp::create(
      e.b, TypeRange(e.b.getI32Type()), ValueRange(), "mov.u32 $0, %tid.x;",
      "=r", /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(e.b.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  return arith::ExtUIOp::create(e.b, e.b.getI64Type(), read->getResult(0));
}

//===----------------------------------------------------------------------===//
// What follows the product
//===----------------------------------------------------------------------===//

void TileMatmul::emitChunks() {
  thread = threadHere();
  e.loop(e.number(0), e.number(tile.rows / chunkRows), [&](Value chunk) {
    storeChunk(chunk, thread);
    barrier();
    Value firstRow = e.add(row, e.mul(chunk, e.number(chunkRows)));
    if (view.turn) {
      storeTurned(firstRow);
    } else {
      Value inTile = e.rem(thread, e.number(tileColumns()));
      e.ifThen(e.less(e.add(column, inTile), columns), [&] {
        storeColumn(firstRow, inTile, tile.threads / tileColumns());
      });
    }
    barrier();
  });
}

/// Every `apart`-th row of a chunk. Where all are there, several at a time:
/// what they load is then on its way together.
void TileMatmul::storeColumn(Value firstRow, Value inTile, int64_t apart) {
  constexpr int64_t together = 4;
  Value mine = e.div(thread, e.number(tileColumns()));
  Value limit = e.sub(rows, firstRow);
  Value isWhole = e.less(e.number(chunkRows - 1), limit);
  std::optional<int64_t> known = getConstantIntValue(rows);
  bool isAlwaysWhole = known && *known % tile.rows == 0;
  if (isAlwaysWhole)
    isWhole = e.equal(limit, limit);
  e.ifThen(isWhole, [&] {
    e.loop(
        mine, e.number(chunkRows),
        [&](Value first) {
          for (int64_t i = 0; i < together; ++i)
            storeElement(firstRow, e.add(first, e.number(i * apart)), inTile);
        },
        apart * together);
  });
  if (isAlwaysWhole)
    return;
  e.ifThen(e.less(limit, e.number(chunkRows)), [&] {
    e.loop(
        mine, limit, [&](Value i) { storeElement(firstRow, i, inTile); },
        apart);
  });
}

/// Of a result that is the product's transpose, rows are neighbours.
void TileMatmul::storeTurned(Value firstRow) {
  Value inChunk = e.rem(thread, e.number(chunkRows));
  Value limit = e.min(e.number(tileColumns()), e.sub(columns, column));
  e.ifThen(e.less(e.add(firstRow, inChunk), rows), [&] {
    e.loop(
        e.div(thread, e.number(chunkRows)), limit,
        [&](Value i) { storeElement(firstRow, inChunk, i); },
        tile.threads / chunkRows);
  });
}

void TileMatmul::storeElement(Value firstRow, Value inChunk, Value inTile) {
  Type f32 = e.b.getF32Type(), type = graph::getElementType(op.getResult());
  Value at = e.add(e.mul(inChunk, e.number(chunkStride)), inTile);
  auto bind = [&](Value tensor, ArrayRef<Value> index, Value place) {
    Value sum = e.loadRaw(sharedMemory, f32, place);
    e.bind(tensor, index, cpu::roundTo(e.b, sum, type));
  };
  Value line = e.add(e.add(e.mul(batch, rows), firstRow), inChunk);
  Value n = e.add(column, inTile);
  Indices index = e.delinearise(line, leadDims);
  index.push_back(n);
  // As operands that broadcast see it.
  for (auto [axis, dim] : llvm::enumerate(graph::getDims(op.getResult())))
    if (dim.isConstant(1))
      index[axis] = e.number(0);
  if (view.halves) {
    bind(view.halves->low.getResult(), index, at);
    bind(view.halves->high.getResult(), index,
         e.add(at, e.number(tileColumns())));
  } else {
    bind(op.getResult(), index, at);
  }
  e.storeYields(index, e.add(e.mul(line, columns), n));
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

std::optional<kernel::DeviceTile> tileOf(kernel::FuncOp kernel) {
  bool isSimt = kernel.getSchedule() == kernel::simtSchedule;
  bool isMma = kernel.getSchedule() == kernel::mmaSchedule;
  auto op =
      dyn_cast_if_present<graph::MatmulOp>(kernel::findRoot(kernel.getBlock()));
  std::optional<kernel::MatmulView> view;
  if ((!isSimt && !isMma) || !op || !(view = kernel::matmulViewOf(op)))
    return std::nullopt;
  return isMma ? kernel::mmaTileOf(*view) : kernel::simtTileOf(*view);
}

LogicalResult emitTile(DeviceEmitter &e, Value ordinal) {
  return e.kernel.getSchedule() == kernel::mmaSchedule
             ? emitMatmulMma(e, ordinal)
             : emitMatmulSimt(e, ordinal);
}

} // namespace tenon::cuda
