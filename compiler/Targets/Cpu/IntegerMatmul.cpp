//===- IntegerMatmul.cpp - Products of 8-bit numbers by panels ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Units, groups and panels are those of Packing.h, and all of k is one block.
// The instructions multiply ui8 by i8. So numbers of lhs that are i8 count from
// 128 below, and those of rhs that are ui8 from 128 above, as do their zero
// points. With a and b for what is multiplied, y and z for the zero points,
//
//   sum (a - y) (b - z) = sum a b - y sum b - z (sum a - K y)
//
// modulo 2^32, of which sum b lies packed behind each panel, and sum a is made
// where z can differ from zero.
//
// Rows of lhs that the instructions cannot take as they lie are first copied to
// scratch memory, a group's at a time.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "dialects/Kernel/IntegerMatmulView.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::blockRows;
using kernel::groupBlocks;
using kernel::panelColumns;
using kernel::quadSteps;

class IntegerMatmul {
public:
  IntegerMatmul(Emitter &e, graph::MatmulOp op, kernel::IntegerMatmulView view)
      : e(e), op(op), view(std::move(view)), i8(e.b.getI8Type()),
        i32(e.b.getI32Type()), rows(e.valueOf(this->view.rows)),
        lines(llvm::divideCeil(this->view.depth, quadSteps)),
        panels(llvm::divideCeil(this->view.columns, panelColumns)) {
    leadDims = e.dimsOf(op.getResult());
    leadDims.pop_back();
    height = stripTileRows(e.level, StripKind::Quads);
    sums = onStack(height * panelColumns);
    if (this->view.needsRowSums())
      rowSums = onStack(height);
    auto argumentOf = [](const kernel::IntegerFactor &factor) {
      return cast<BlockArgument>(factor.view.base).getArgNumber();
    };
    packed = e.argumentBuffer(argumentOf(this->view.rhs));
    lhs = byteAt(e.argumentBuffer(argumentOf(this->view.lhs)),
                 e.valueOf(this->view.lhs.view.offset));
    rowStride = e.valueOf(this->view.lhsRowStride());
    if (this->view.copiesLhs()) {
      copy = e.scratch(0);
      copyStride = e.number(this->view.copyStride());
    }
  }

  void emit() {
    Value blocks = e.ceilDiv(rows, e.number(blockRows));
    RowBlocks rowBlocks(e, rows, blocks, StripKind::Quads,
                        /*interleaved=*/false);
    Value units = e.number(panels * groupBlocks);
    Value groups = e.ceilDiv(e.end, e.number(panels * groupBlocks));
    e.loop(e.div(e.begin, units), groups, [&](Value group) {
      Value first = e.mul(group, units);
      Value block = e.mul(group, e.number(groupBlocks));
      groupSize = e.min(e.number(groupBlocks), e.sub(blocks, block));
      auto rowOf = [&](Value i) {
        return e.min(rowBlocks.first(e.add(block, i)), rows);
      };
      Value from = e.sub(e.max(e.begin, first), first);
      Value to = e.min(e.sub(e.end, first), e.mul(groupSize, e.number(panels)));
      groupRow = rowOf(e.number(0));
      if (copy)
        copyRows(groupRow, rowOf(groupSize));
      Value last = e.ceilDiv(to, groupSize);
      forEachPanel(e.div(from, groupSize), last,
                   [&](Value panel, Value next, Value width) {
                     Value unit = e.mul(panel, groupSize);
                     Value low = e.sub(e.max(from, unit), unit);
                     Value high = e.min(e.sub(to, unit), groupSize);
                     emitStrip(rowOf(low), rowOf(high), panel, next, width);
                   });
    });
  }

private:
  Value byteAt(Value base, Value offset) { return e.address(base, i8, offset); }
  Value onStack(int64_t count) {
    return e.atEntry([&]() -> Value {
      return LLVM::AllocaOp::create(
          e.b, LLVM::LLVMPointerType::get(e.b.getContext()), i32,
          e.number(count), 64);
    });
  }
  Value i32Number(int64_t value) {
    return arith::ConstantIntOp::create(e.b, i32, value);
  }
  Value addTo(Value x, Value y) { return arith::AddIOp::create(e.b, x, y); }
  Value subFrom(Value x, Value y) { return arith::SubIOp::create(e.b, x, y); }
  Value times(Value x, Value y) { return arith::MulIOp::create(e.b, x, y); }

  /// A number for the width wherever it can be, for the vectoriser.
  void
  forEachPanel(Value begin, Value end,
               function_ref<void(Value panel, Value next, Value width)> body) {
    int64_t whole = view.columns / panelColumns;
    auto run = [&](Value from, Value to, int64_t width) {
      e.loop(from, to, [&](Value panel) {
        Value next = e.min(e.add(panel, e.number(1)), e.number(panels - 1));
        body(panel, next, e.number(width));
      });
    };
    if (whole > 0)
      run(begin, e.min(end, e.number(whole)), panelColumns);
    if (whole < panels)
      run(e.max(begin, e.number(whole)), end, view.columns % panelColumns);
  }

  /// Rows [from, to) of lhs to scratch memory, as ui8.
  void copyRows(Value from, Value to) {
    Value step = view.lhs.view.strides.back().isConstant(1)
                     ? e.number(1)
                     : e.valueOf(view.lhs.view.strides.back());
    Value flip = arith::ConstantIntOp::create(e.b, i8, -128);
    Value zero = arith::ConstantIntOp::create(e.b, i8, 0);
    e.loop(from, to, [&](Value row) {
      Value source = byteAt(lhs, e.mul(row, rowStride));
      Value target = byteAt(copy, e.mul(e.sub(row, groupRow), copyStride));
      e.loop(e.number(0), e.number(view.depth), [&](Value k) {
        Value number = e.loadRaw(source, i8, e.mul(k, step));
        if (view.lhs.isSigned())
          number = arith::XOrIOp::create(e.b, number, flip);
        e.storeRaw(number, target, k);
      });
      // Times the zeros that complete a panel.
      for (int64_t k = view.depth; k < lines * quadSteps; ++k)
        e.storeRaw(zero, target, e.number(k));
    });
  }

  Value panelAt(Value panel) {
    return e.address(packed, i32,
                     e.mul(panel, e.number((lines + 1) * panelColumns)));
  }

  void emitStrip(Value m, Value mEnd, Value panel, Value next, Value width) {
    Strip work;
    work.kind = StripKind::Quads;
    work.b = panelAt(panel);
    work.next = panelAt(next);
    work.depth = e.number(lines);
    work.a = copy ? byteAt(copy, e.mul(e.sub(m, groupRow), copyStride))
                  : byteAt(lhs, e.mul(m, rowStride));
    stride = copy ? copyStride : rowStride;
    work.aStride = e.div(stride, e.number(quadSteps));
    work.c = sums;
    work.cStride = e.number(panelColumns);
    work.rows = e.sub(mEnd, m);
    work.accumulate = e.less(e.number(1), e.number(0));
    work.columns = *getConstantIntValue(width);
    Value columnSums = e.address(work.b, i32, e.number(lines * panelColumns));
    Value n = e.mul(panel, e.number(panelColumns));
    forEachStripTile(e, work, [&](const StripTile &tile) {
      callStripTile(e, work, tile, {sums, e.number(panelColumns)});
      Value a = byteAt(work.a, e.mul(tile.row, stride));
      if (rowSums)
        e.loop(e.number(0), tile.rows, [&](Value i) { sumRow(a, i); });
      e.loop(e.number(0), tile.rows, [&](Value i) {
        storeRow(e.add(e.add(m, tile.row), i), i, n, width, columnSums);
      });
    });
  }

  void sumRow(Value a, Value i) {
    Value row = byteAt(a, e.mul(i, stride));
    SmallVector<Value> sum =
        e.loop(e.number(0), e.number(view.depth), ValueRange{i32Number(0)},
               [&](Value k, ValueRange carried) -> SmallVector<Value> {
                 Value number =
                     arith::ExtUIOp::create(e.b, i32, e.loadRaw(row, i8, k));
                 return {addTo(carried[0], number)};
               });
    e.storeRaw(sum[0], rowSums, i);
  }

  /// What is added to the numbers that the instructions multiply.
  static int64_t lhsShift(const kernel::IntegerMatmulView &view) {
    return view.lhs.isSigned() ? 128 : 0;
  }

  /// A factor's zero point as one of what is multiplied; null where it is zero.
  Value zeroPoint(Value operand, Value zero, const Indices &index,
                  int64_t shift) {
    Value shifted = shift ? i32Number(shift) : Value();
    if (!zero)
      return shifted;
    Value own =
        e.element(zero, e.broadcastIndex(index, graph::getDims(operand), zero));
    return shifted ? addTo(own, shifted) : own;
  }

  /// Row `i` of the tile, which is `row` of the result, from column n on.
  void storeRow(Value row, Value i, Value n, Value width, Value columnSums) {
    Indices lead = e.delinearise(row, leadDims), at = lead;
    at.push_back(e.number(0));
    Value y = zeroPoint(op.getLhs(), view.lhs.zero, at, lhsShift(view));
    Value rest; // sum a - K y
    if (rowSums) {
      rest = e.loadRaw(rowSums, i32, i);
      if (y)
        rest = subFrom(rest, times(y, i32Number(view.depth)));
    }
    Value first = e.add(e.mul(row, e.number(view.columns)), n);
    Value from = e.mul(i, e.number(panelColumns));
    forEachElement(
        e, op.getResult(), width, [&](Value j, const RowElements &elements) {
          Value sum = elements.load(sums, i32, e.add(from, j));
          if (y)
            sum = subFrom(
                sum, times(elements.all(y), elements.load(columnSums, i32, j)));
          Value column = e.add(n, j);
          if (rest) {
            Value z =
                zeroPoint(op.getRhs(), view.rhs.zero, {e.number(0), column},
                          view.rhs.isSigned() ? 0 : -128);
            sum = subFrom(sum, times(elements.all(z), elements.all(rest)));
          }
          storeElements(e, op.getResult(), lead, column, sum, e.add(first, j));
        });
  }

  Emitter &e;
  graph::MatmulOp op;
  kernel::IntegerMatmulView view;
  Type i8, i32;
  Value rows;
  int64_t lines, panels; // Of a panel without its sums; of the matrix.
  int64_t height;        // Of a tile.
  Indices leadDims;
  Value sums, rowSums;          // Of a tile; null where none are needed.
  Value packed, lhs, rowStride; // Strides are bytes.
  Value copy, copyStride;       // Null where lhs is read as it lies.
  // Of the current group, and strip.
  Value groupSize, groupRow, stride;
};

} // namespace

LogicalResult emitIntegerMatmul(Emitter &e) {
  auto op = dyn_cast_if_present<graph::MatmulOp>(
      kernel::findRoot(e.kernel.getBlock()));
  std::optional<kernel::IntegerMatmulView> view;
  if (op)
    view = kernel::integerMatmulViewOf(op);
  if (!view || !isa<BlockArgument>(view->lhs.view.base) ||
      !isa<BlockArgument>(view->rhs.view.base))
    return e.kernel.emitOpError("is no matmul of two operands of 8 bits");
  withAmx(e, usesAmx(e.level, StripKind::Quads),
          [&] { IntegerMatmul(e, op, std::move(*view)).emit(); });
  return success();
}

} // namespace tenon::cpu
