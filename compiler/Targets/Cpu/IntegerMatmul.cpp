//===- IntegerMatmul.cpp - Products of 8-bit numbers by panels ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Units, groups and panels are those of Packing.h, and all of k is one block.
// Of two activations, the one on the right is packed on the way, a panel for
// all rows of a group.
//
// The instructions multiply ui8 by i8. So numbers of lhs that are i8 count from
// 128 below, and those of rhs that are ui8 from 128 above, as do their zero
// points. With a and b for what is multiplied, y and z for the zero points,
//
//   sum (a - y) (b - z) = sum a b - y sum b - z (sum a - K y)
//
// modulo 2^32, of which sum b lies packed behind each panel, and sum a is made
// where z can differ from zero: once for all panels of a piece.
//
// Rows of lhs that the instructions cannot take as they lie are first copied to
// scratch memory, a group's at a time. Levels that multiply no bytes widen
// those of a group and then each panel to 16 bits, where more than some rows
// share that; tiles of few rows widen in registers.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AmxStrip.h"
#include "compiler/Targets/Cpu/MatmulBatches.h"
#include "compiler/Targets/Cpu/OverlappedTiles.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "compiler/Targets/Cpu/PanelUnits.h"
#include "compiler/Targets/Cpu/QuadPanel.h"
#include "dialects/Kernel/IntegerMatmulView.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::panelColumns;
using kernel::quadSteps;

/// Rows of a group that are worth widening the panels that they meet.
constexpr int64_t fewestWideRows = 16;

class IntegerMatmul {
public:
  IntegerMatmul(Emitter &e, graph::MatmulOp op, kernel::IntegerMatmulView view,
                bool isPacked)
      : e(e), op(op), view(std::move(view)), isPacked(isPacked),
        i8(e.b.getI8Type()), i32(e.b.getI32Type()),
        rows(e.valueOf(this->view.rows)),
        columns(e.valueOf(this->view.columns)),
        depth(e.valueOf(this->view.depth)),
        lines(e.ceilDiv(depth, e.number(quadSteps))),
        panels(e.ceilDiv(columns, e.number(panelColumns))),
        copies(this->view.copiesLhs()), mayWiden(isPacked && !e.level.quadDots),
        units(makeUnits()) {
    leadDims = e.dimsOf(op.getResult());
    leadDims.pop_back();
    sums = onStack(e, i32,
                   std::max(stripTileRows(e.level, StripKind::Quads),
                            stripTileRows(e.level, StripKind::Words)) *
                       panelColumns);
    stride =
        e.valueOf(copies ? this->view.copyStride() : this->view.lhsRowStride());
    kernel::IntegerMatmulView::Scratch areas = this->view.scratch(!isPacked);
    copy = e.scratch(0);
    rowSums = behind(copy, areas.copy);
    panelArea = behind(rowSums, areas.sums);
    wideRows = behind(panelArea, areas.panel);
    widePanel = behind(wideRows, areas.wideRows);
    std::optional<int64_t> quads = getConstantIntValue(lines);
    if (isPacked && !mayWiden &&
        OverlappedTiles::suits(e.level, StripKind::Quads, quads))
      overlapped.emplace(e, StripKind::Quads, *quads,
                         [this](Value row, Value n, Value sums, Value waits) {
                           Value panel = panelAt(
                               this->e.div(n, this->e.number(panelColumns)));
                           storeRow(row, n, this->e.number(panelColumns), sums,
                                    waits, columnSumsOf(panel));
                         });
  }

  void emit() {
    if (view.batchDims.empty())
      return emitBatch(e.number(0), e.begin, e.end);
    forEachBatch(e, units.ofBatch(), [&](Value batch, Value from, Value to) {
      emitBatch(batch, from, to);
    });
  }

private:
  PanelUnits makeUnits() {
    if (isPacked) {
      // What is copied, and sums of rows, are a group's.
      std::optional<int64_t> quads = getConstantIntValue(lines);
      int64_t merged = quads && !copies && !mayWiden && !view.needsRowSums()
                           ? PanelUnits::groupsNearby(e.level, StripKind::Quads,
                                                      quadSteps * *quads)
                           : 1;
      return PanelUnits::fine(e, view.rows, view.columns, StripKind::Quads,
                              /*interleaved=*/false, merged);
    }
    RowBlocks blocks(e, rows, e.ceilDiv(rows, e.number(kernel::blockRows)),
                     StripKind::Quads, /*interleaved=*/false);
    return PanelUnits::blocks(e, rows, columns, blocks,
                              view.blocksOfGroup(/*packsRhs=*/true));
  }

  void emitBatch(Value batch, Value begin, Value end) {
    lhs = baseOf(view.lhs, op.getLhs(), batch);
    if (!isPacked)
      rhs = baseOf(view.rhs, op.getRhs(), batch);
    resultRow = e.mul(batch, rows);
    units.forEachGroup(begin, end, [&] {
      groupRow = units.rowOf(e.number(0));
      Value groupEnd = units.rowOf(units.size());
      if (copies)
        copyRows(groupRow, groupEnd);
      if (view.needsRowSums())
        sumRows(groupRow, groupEnd);
      if (mayWiden)
        widenRows(e.sub(groupEnd, groupRow));
      forEachPanel(units.beginPanel(), units.endPanel(),
                   [&](Value panel, Value next, Value width) {
                     auto [low, high] = units.blocksOf(panel);
                     emitStrip(units.rowOf(low), units.rowOf(high), panel, next,
                               width);
                   });
      if (overlapped)
        overlapped->finish();
    });
  }

  /// Where a batch's matrix of an operand begins.
  Value baseOf(const kernel::IntegerFactor &factor, Value operand,
               Value batch) {
    Value buffer =
        e.argumentBuffer(cast<BlockArgument>(factor.view.base).getArgNumber());
    return byteAt(buffer,
                  batchOffset(e, factor.view, operand, view.batchDims, batch));
  }

  Value behind(Value area, kernel::Expr bytes) {
    return e.atEntry([&] { return byteAt(area, e.valueOf(bytes)); });
  }

  Value byteAt(Value base, Value offset) { return e.address(base, i8, offset); }
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
    Value whole = e.div(columns, e.number(panelColumns));
    auto run = [&](Value from, Value to, Value width) {
      e.loop(from, to, [&](Value panel) {
        Value last = e.sub(panels, e.number(1));
        body(panel, e.min(e.add(panel, e.number(1)), last), width);
      });
    };
    if (getConstantIntValue(whole) != 0)
      run(begin, e.min(end, whole), e.number(panelColumns));
    Value rest = e.sub(columns, e.mul(whole, e.number(panelColumns)));
    if (getConstantIntValue(rest) != 0)
      run(e.max(begin, whole), end, rest);
  }

  Value lhsRow(Value row) {
    return copies ? byteAt(copy, e.mul(e.sub(row, groupRow), stride))
                  : byteAt(lhs, e.mul(row, stride));
  }

  /// Rows [from, to) of lhs to scratch memory, as ui8.
  void copyRows(Value from, Value to) {
    Value step = e.valueOf(view.lhs.view.strides.back());
    Value rowStride = e.valueOf(view.lhsRowStride());
    Value flip = arith::ConstantIntOp::create(e.b, i8, -128);
    Value zero = arith::ConstantIntOp::create(e.b, i8, 0);
    e.loop(from, to, [&](Value row) {
      Value source = byteAt(lhs, e.mul(row, rowStride));
      Value target = lhsRow(row);
      e.loop(e.number(0), depth, [&](Value k) {
        Value number = e.loadRaw(source, i8, e.mul(k, step));
        if (view.lhs.isSigned())
          number = arith::XOrIOp::create(e.b, number, flip);
        e.storeRaw(number, target, k);
      });
      // Times the zeros that complete a panel.
      e.loop(depth, e.mul(lines, e.number(quadSteps)),
             [&](Value k) { e.storeRaw(zero, target, k); });
    });
  }

  /// All rows of the group, if they are enough.
  void widenRows(Value count) {
    isNarrow = e.less(count, e.number(fewestWideRows));
    isWide = e.less(e.number(fewestWideRows - 1), count);
    e.ifThen(isWide, [&] {
      widenQuadRows(e, {lhsRow(groupRow), stride, count, lines, wideRows,
                        e.valueOf(view.wideStride())});
    });
  }

  void sumRows(Value from, Value to) {
    e.loop(from, to, [&](Value row) {
      e.storeRaw(sumOfBytes(e, lhsRow(row), depth), rowSums,
                 e.sub(row, groupRow));
    });
  }

  /// Elements of 4 bytes from panel to panel where they lie packed.
  Value panelAt(Value panel) {
    Value words = e.mul(e.add(lines, e.number(1)), e.number(panelColumns));
    Value packed = e.argumentBuffer(
        cast<BlockArgument>(view.rhs.view.base).getArgNumber());
    return e.address(packed, i32, e.mul(panel, words));
  }

  /// Behind a panel's lines.
  Value columnSumsOf(Value panel) {
    return e.address(panel, i32, e.mul(lines, e.number(panelColumns)));
  }

  void packPanel(Value panel, Value width) {
    ArrayRef<Expr> strides = view.rhs.view.strides;
    Value first = e.mul(panel, e.number(panelColumns));
    Value columnStride = e.valueOf(strides.back());
    packQuads(e,
              {byteAt(rhs, e.mul(first, columnStride)),
               e.valueOf(strides[strides.size() - 2]), columnStride, depth,
               width, view.rhs.isSigned(), view.rhsLiesInQuads()},
              panelArea);
  }

  void emitStrip(Value m, Value mEnd, Value panel, Value next, Value width) {
    Strip work;
    work.kind = StripKind::Quads;
    if (!isPacked)
      packPanel(panel, width);
    work.b = isPacked ? panelAt(panel) : panelArea;
    work.next = isPacked ? panelAt(next) : panelArea;
    work.depth = lines;
    work.a = lhsRow(m);
    work.aStride = e.div(stride, e.number(quadSteps));
    work.c = sums;
    work.cStride = e.number(panelColumns);
    work.rows = e.sub(mEnd, m);
    work.accumulate = e.less(e.number(1), e.number(0));
    work.columns = getConstantIntValue(width).value_or(panelColumns);
    Value n = e.mul(panel, e.number(panelColumns));
    if (overlapped && getConstantIntValue(width) == panelColumns)
      return forEachStripTile(e, work, [&](const StripTile &tile) {
        overlapped->compute(work, tile, e.add(m, tile.row), n);
      });
    Value columnSums = columnSumsOf(work.b);
    Strip wide = mayWiden ? widened(work, m) : work;
    work.mostRows = wide.mostRows;
    forEachStripTile(e, work, [&](const StripTile &tile) {
      auto call = [&](const Strip &strip) {
        callStripTile(e, strip, tile, {sums, e.number(panelColumns)});
      };
      if (mayWiden) {
        e.ifThen(isWide, [&] { call(wide); });
        e.ifThen(isNarrow, [&] { call(work); });
      } else {
        call(work);
      }
      e.loop(e.number(0), tile.rows, [&](Value i) {
        storeRow(e.add(e.add(m, tile.row), i), n, width, sums,
                 e.mul(i, e.number(panelColumns)), columnSums);
      });
    });
  }

  /// The strip from row m on where it is widened. Its tiles' height is that of
  /// quads where it is not.
  Strip widened(const Strip &quads, Value m) {
    e.ifThen(isWide, [&] { widenQuads(e, quads.b, widePanel, lines); });
    Strip wide = quads;
    wide.kind = StripKind::Words;
    Value wideStride = e.valueOf(view.wideStride());
    wide.a = byteAt(wideRows, e.mul(e.sub(m, groupRow), wideStride));
    wide.aStride = e.div(wideStride, e.number(quadSteps));
    wide.b = widePanel;
    wide.depth = e.mul(lines, e.number(2));
    wide.nextBytes = e.number(panelColumns * 2);
    wide.mostRows =
        e.select(isWide, e.number(stripTileRows(e.level, StripKind::Words)),
                 e.number(stripTileRows(e.level, StripKind::Quads)));
    return wide;
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

  /// A row of the batch, whose sums from column n on are at `waits` on of
  /// `sums`.
  void storeRow(Value row, Value n, Value width, Value sums, Value waits,
                Value columnSums) {
    Value inResult = e.add(resultRow, row);
    Indices lead = e.delinearise(inResult, leadDims), at = lead;
    at.push_back(e.number(0));
    at.erase(at.begin(), at.end() - graph::getRank(op.getLhs()));
    Value y = zeroPoint(op.getLhs(), view.lhs.zero, at, lhsShift(view));
    Value rest; // sum a - K y
    if (view.needsRowSums()) {
      rest = e.loadRaw(rowSums, i32, e.sub(row, groupRow));
      if (y)
        rest =
            subFrom(rest, times(y, arith::TruncIOp::create(e.b, i32, depth)));
    }
    Value first = e.add(e.mul(inResult, columns), n);
    forEachElement(
        e, op.getResult(), width, [&](Value j, const RowElements &elements) {
          Value sum = elements.load(sums, i32, e.add(waits, j));
          if (y)
            sum = subFrom(
                sum, times(elements.all(y), elements.load(columnSums, i32, j)));
          Value column = e.add(n, j);
          if (rest) {
            Indices index(graph::getRank(op.getRhs()), e.number(0));
            index.back() = column;
            Value z = zeroPoint(op.getRhs(), view.rhs.zero, index,
                                view.rhs.isSigned() ? 0 : -128);
            sum = subFrom(sum, times(elements.all(z), elements.all(rest)));
          }
          storeElements(e, op.getResult(), lead, column, sum, e.add(first, j));
        });
  }

  Emitter &e;
  graph::MatmulOp op;
  kernel::IntegerMatmulView view;
  bool isPacked; // Whether rhs is.
  Type i8, i32;
  Value rows, columns, depth; // Of a batch.
  Value lines, panels;        // Of a panel without its sums; of the batch.
  bool copies;                // Rows of lhs, a group's at a time.
  bool mayWiden;              // Those rows and panels, if there are enough.
  PanelUnits units;
  std::optional<OverlappedTiles> overlapped;
  Indices leadDims;
  Value sums;                                          // Of a tile.
  Value copy, rowSums, panelArea, wideRows, widePanel; // Scratch memory.
  Value stride; // Bytes between rows that are multiplied.
  // Of the current batch, and group.
  Value lhs, rhs, resultRow;
  Value groupRow, isWide, isNarrow;
};

} // namespace

LogicalResult emitIntegerMatmul(Emitter &e, bool isPacked) {
  auto op = dyn_cast_if_present<graph::MatmulOp>(
      kernel::findRoot(e.kernel.getBlock()));
  std::optional<kernel::IntegerMatmulView> view;
  if (op)
    view = kernel::integerMatmulViewOf(op);
  if (!view || !isa<BlockArgument>(view->lhs.view.base) ||
      !isa<BlockArgument>(view->rhs.view.base))
    return e.kernel.emitOpError("is no matmul of two operands of 8 bits");
  withAmx(e, usesAmx(e.level, StripKind::Quads),
          [&] { IntegerMatmul(e, op, std::move(*view), isPacked).emit(); });
  return success();
}

} // namespace tenon::cpu
