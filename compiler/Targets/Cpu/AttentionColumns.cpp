//===- AttentionColumns.cpp - Attention of many queries -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/AttentionColumns.h"
#include "compiler/Targets/Cpu/AttentionMatrices.h"
#include "compiler/Targets/Cpu/F16Operands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

AttentionColumns::AttentionColumns(const AttentionUnit &unit)
    : AttentionUnit(unit), panels(unit) {
  Value step = e.number(columnStep(e.level));
  columns = e.mul(e.ceilDiv(count, step), step);
}

void AttentionColumns::emit() {
  if (rounds())
    roundQueries();
  else
    copyQueries();
  int64_t width = usesMatrices() ? view.matrixWidth() : view.paddedWidth();
  forColumns(lanes, [&](Value column) {
    e.loop(e.number(0), e.number(width),
           [&](Value n) { store(splat(0), cell(areas.sums, n, column)); });
    store(splat(-infinity), cell(areas.largest, column));
    store(splat(0), cell(areas.total, column));
  });
  Value offset = positionOffset(e, op, batch);
  firstLast = e.add(e.div(first, group), offset);
  Value end = e.sub(e.add(first, count), e.number(1));
  lastLast = e.add(e.div(end, group), offset);
  panels.start();
  auto [from, to] = keysOf(firstLast, lastLast);
  e.loop(
      from, to,
      [&, to = to](Value key) {
        block = key;
        blockKeys = e.min(e.number(keyBlock), e.sub(to, key));
        emitBlock();
      },
      keyBlock);
  finishWith(
      e.number(view.width * queryBlock),
      [&] { forColumns(lanes, [&](Value column) { joinPieces(column); }); },
      [&] { finish(); });
}

/// Where some queries' rows begin, from that of a column on.
SmallVector<Value> AttentionColumns::queriesFrom(Value column, int64_t count) {
  const kernel::StridedView &seen = view.query;
  Value head =
      behind(seen, bufferOf(seen), e.mul(batch, e.valueOf(seen.strides[0])));
  SmallVector<Value> rows;
  for (int64_t i = 0; i < count; ++i)
    rows.push_back(
        behind(seen, head,
               offsetOf(numberOf(e.add(column, e.number(i))), seen.strides)));
  return rows;
}

/// [queries][D] -> [D][queries], scaled.
void AttentionColumns::copyQueries() {
  int64_t step = view.depth < lanes ? tile : lanes;
  auto type = VectorType::get({step}, f32);
  forColumns(tile, [&](Value column) {
    SmallVector<Value> rows = queriesFrom(column, tile);
    // The last tile may overlap the one before.
    e.loop(
        e.number(0), e.number(view.depth),
        [&](Value next) {
          Value d = e.min(next, e.number(view.depth - step));
          SmallVector<Value> in;
          for (Value row : rows)
            in.push_back(arith::MulFOp::create(
                e.b,
                vectors.loadAs(type, view.query.element(),
                               behind(view.query, row, d)),
                constantLike(e.b, type, scale)));
          for (auto [u, out] : llvm::enumerate(vectors.transpose(in)))
            for (int64_t at = 0; at < step / tile; ++at)
              store(
                  vectors.part(out, at, tile),
                  cell(areas.query, e.add(d, e.number(at * tile + u)), column));
        },
        step);
  });
  forColumns(lanes, [&](Value column) {
    for (int64_t d = view.depth; d < view.paddedDepth(); ++d)
      store(splat(0), cell(areas.query, e.number(d), column));
  });
}

/// [queries][D] -> [D / 2][queries][2]
void AttentionColumns::roundQueries() {
  Value queriesUp;
  if (usesF16()) {
    Value size = sizeOf(
        view.query, view.depth, e.number(0), columns,
        [&](Value column) { return queriesFrom(column, 1)[0]; },
        [](Value) { return Value(); });
    std::tie(queriesUp, queriesDown) = f16FactorsOf(e.b, size);
  }
  int64_t whole = view.depth / matrixSteps * matrixSteps;
  forColumns(lanes, [&](Value column) {
    SmallVector<Value> rows = queriesFrom(column, lanes);
    auto turn = [&](Value d, function_ref<Value(Value row)> words) {
      Value line = e.div(d, e.number(2));
      for (auto [u, out] :
           llvm::enumerate(vectors.transpose(llvm::map_to_vector(rows, words))))
        store(out, cell(areas.query, e.add(line, e.number(u)), column));
    };
    e.loop(
        e.number(0), e.number(whole),
        [&](Value d) {
          turn(d, [&](Value row) {
            return pairsAt(view.query, behind(view.query, row, d), queriesUp);
          });
        },
        matrixSteps);
    if (whole < view.depth)
      turn(e.number(whole), [&](Value row) {
        return vectors.round(
            times(loadHead(view.query, row, whole, view.depth), queriesUp),
            times(loadHead(view.query, row, whole + lanes, view.depth),
                  queriesUp));
      });
  });
}

Value AttentionColumns::tilesOf(Value rows) {
  return e.div(rows, e.number(tileRows(e.level)));
}
Value AttentionColumns::ceil(Value count) {
  Value step = e.number(usesMatrices() ? matrixSteps : kernel::keyPanel);
  return e.mul(e.ceilDiv(count, step), step);
}

void AttentionColumns::emitBlock() {
  panels.provide(block);
  Value padded = ceil(blockKeys);
  if (usesMatrices())
    return emitMatrices(padded);
  AttentionTileWork work;
  work.aStep = panels.keyStep();
  work.c = area(areas.scores);
  work.tiles = tilesOf(padded);
  work.columns = columns;
  work.factor = area(areas.factor); // Not read.
  work.after = panels.valuesAt(block);
  if (usesF16()) {
    Value down = arith::MulFOp::create(
        e.b, queriesDown, panels.factorOf(AttentionPanels::OfKeys, block));
    work.scale =
        arith::MulFOp::create(e.b, down, constantLike(e.b, f32, scale));
  }
  int64_t steps = panels.depthSteps();
  int64_t most = usesF16() ? mostStepsInF16 : steps;
  for (int64_t step = 0; step < steps; step += most) {
    work.a = element(panels.keysAt(block), e.number(step * tileRows(e.level)));
    work.b = element(area(areas.query), e.number(step * queryBlock));
    work.depth = e.number(std::min(most, steps - step));
    callAttentionProduct(e.b, e.module, e.level,
                         step == 0 ? AttentionProduct::Scores
                                   : AttentionProduct::MoreScores,
                         kind(), work);
  }
  makeWeights(padded);
  work.a = panels.valuesAt(block);
  work.aStep = panels.valueStep();
  work.b = area(areas.scores);
  work.depth = usesPairs() ? e.div(padded, e.number(2)) : padded;
  work.c = area(areas.sums);
  work.tiles = tilesOf(e.number(view.paddedWidth()));
  work.after = panels.keysAt(e.add(block, e.number(keyBlock)));
  if (usesF16())
    work.scale = panels.factorOf(AttentionPanels::OfValues, block);
  callAttentionProduct(e.b, e.module, e.level, AttentionProduct::Values, kind(),
                       work);
}

void AttentionColumns::emitMatrices(Value padded) {
  AttentionMatrixWork work;
  work.a = panels.keysAt(block);
  work.aStep = work.steps = e.number(view.matrixDepth() / matrixSteps);
  work.b = area(areas.query);
  work.c = area(areas.scores);
  work.tiles = e.div(padded, e.number(matrixRows));
  work.columns = columns;
  callAttentionMatrices(e.b, e.module, e.level, AttentionProduct::Scores, work);
  makeWeights(padded);
  work.a = panels.valuesAt(block);
  work.aStep = e.number(keyBlock / matrixSteps);
  work.b = area(areas.scores);
  work.steps = e.div(padded, e.number(matrixSteps));
  work.c = area(areas.sums);
  work.tiles = e.number(view.matrixWidth() / matrixRows);
  callAttentionMatrices(e.b, e.module, e.level, AttentionProduct::Values, work);
}

void AttentionColumns::makeWeights(Value padded) {
  changeScores(padded);
  forColumns(lanes, [&](Value column) { softmax(column, padded); });
}

void AttentionColumns::finish() {
  storeRows();
  e.loop(e.number(0), count, [&](Value column) {
    Value total = e.loadRaw(area(areas.total), f32, column);
    Value isDead = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OEQ, total,
                                         e.zero(f32));
    e.ifThen(isDead, [&] { fillDead(e.add(first, column)); });
  });
}

/// [E][queries] -> [queries][E], divided by the sums of weights.
void AttentionColumns::storeRows() {
  forColumns(lanes, [&](Value column) {
    Value total = load(cell(areas.total, column));
    store(arith::DivFOp::create(e.b, splat(1), total),
          cell(areas.factor, column));
  });
  forColumns(lanes, [&](Value column) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < lanes; ++i) {
      Value query = e.add(column, e.number(i));
      rows.push_back(e.select(e.less(query, count), resultRow(numberOf(query)),
                              area(areas.spare)));
    }
    Value factor = load(cell(areas.factor, column));
    e.loop(
        e.number(0), e.number(view.width),
        [&](Value next) {
          Value n = e.min(next, e.number(view.width - tile));
          SmallVector<Value> in;
          for (int64_t i = 0; i < tile; ++i) {
            Value sum = load(cell(areas.sums, e.add(n, e.number(i)), column));
            in.push_back(arith::MulFOp::create(e.b, sum, factor));
          }
          for (auto [u, turned] : llvm::enumerate(vectors.transpose(in))) {
            Value out = asResult(turned);
            for (int64_t at = 0; at < lanes / tile; ++at)
              store(vectors.part(out, at, tile),
                    inResult(rows[at * tile + u], n));
          }
        },
        tile);
  });
}

void emitAttentionColumns(const AttentionUnit &unit) {
  AttentionColumns(unit).emit();
}

} // namespace tenon::cpu
