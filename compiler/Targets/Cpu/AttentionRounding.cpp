//===- AttentionRounding.cpp - Keys and values rounded to bf16 ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/AttentionMatrices.h"
#include "compiler/Targets/Cpu/AttentionPanels.h"
#include "compiler/Targets/Cpu/F16Operands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

Value AttentionPanels::pairsOf(Value first, Value second) {
  return view.value.element().isBF16() && !usesF16()
             ? vectors.joinPairs(first, second)
             : vectors.roundPairs(first, second);
}

/// [keys][D] -> [keys / 16][D / 32][16][32]
void AttentionPanels::roundKeys(Value from, Value to) {
  const kernel::StridedView &seen = view.key;
  Value head = headOf(seen), stride = e.valueOf(seen.strides[2]);
  Value panels = keysAt(from), last = e.sub(to, e.number(1));
  Value step = e.number(matrixSteps);
  Value padded = e.add(e.sub(to, from), e.sub(step, e.number(1)));
  padded = e.mul(e.div(padded, step), step);
  int64_t tileBytes = view.matrixDepth() / matrixSteps * matrixBytes;
  int64_t whole = view.depth / matrixSteps * matrixSteps;
  e.loop(e.number(0), padded, [&](Value key) {
    // Those behind the last are it again: their scores will be dropped.
    Value own = e.min(e.add(from, key), last);
    Value row = behind(seen, head, e.mul(own, stride));
    Value scale = scaleOf(view.keyScales, own);
    Value tile = e.div(key, e.number(matrixRows));
    Value line = e.rem(key, e.number(matrixRows));
    Value out = byte(panels, e.add(e.mul(tile, e.number(tileBytes)),
                                   e.mul(line, e.number(matrixSteps * 2))));
    auto place = [&](Value d) {
      return byte(out, e.mul(d, e.number(matrixBytes / matrixSteps)));
    };
    e.loop(
        e.number(0), e.number(whole),
        [&](Value d) {
          store(pairsAt(seen, behind(seen, row, d), scale), place(d));
        },
        matrixSteps);
    if (whole < view.depth)
      store(vectors.round(
                times(loadHead(seen, row, whole, view.depth), scale),
                times(loadHead(seen, row, whole + lanes, view.depth), scale)),
            place(e.number(whole)));
  });
}

/// [keys][E] -> [E / 16][keys / 32][16][32]
void AttentionPanels::roundValues(Value from, Value to) {
  const kernel::StridedView &seen = view.value;
  Value head = headOf(seen), stride = e.valueOf(seen.strides[2]);
  Value panels = valuesAt(from), count = e.sub(to, from);
  int64_t whole = view.width / matrixRows * matrixRows;
  auto turn = [&](Value key, Value n, int64_t columns, bool areAllThere) {
    SmallVector<Value> words;
    for (int64_t i = 0; i < matrixSteps; i += 2) {
      Value pair[2];
      for (int64_t odd : {0, 1}) {
        Value at = e.add(key, e.number(i + odd));
        Value row =
            behind(seen, head, e.add(e.mul(e.add(from, at), stride), n));
        Value isThere = e.less(at, count);
        pair[odd] = areAllThere && columns == matrixRows
                        ? loadOf(seen, row)
                        : vectors.loadSomeAs(
                              vector, seen.element(), row,
                              areAllThere ? e.number(columns)
                                          : e.select(isThere, e.number(columns),
                                                     e.number(0)));
        // Behind the last key there are no scales.
        Value own = e.min(e.add(from, at), e.sub(to, e.number(1)));
        pair[odd] = times(pair[odd], scaleOf(view.valueScales, own));
      }
      words.push_back(pairsOf(pair[0], pair[1]));
    }
    Value out =
        byte(panels, e.add(e.mul(n, e.number(keyBlock / matrixSteps *
                                             matrixBytes / matrixRows)),
                           e.mul(key, e.number(matrixBytes / matrixSteps))));
    for (auto [line, word] : llvm::enumerate(vectors.transpose(words)))
      store(word, byte(out, e.number(line * matrixSteps * 2)));
  };
  auto turnAll = [&](Value key, bool areAllThere) {
    e.loop(
        e.number(0), e.number(whole),
        [&](Value n) { turn(key, n, matrixRows, areAllThere); }, matrixRows);
    if (whole < view.width)
      turn(key, e.number(whole), view.width - whole, areAllThere);
  };
  Value full = e.sub(count, e.rem(count, e.number(matrixSteps)));
  e.loop(
      e.number(0), full, [&](Value key) { turnAll(key, true); }, matrixSteps);
  e.loop(full, count, [&](Value key) { turnAll(key, false); }, matrixSteps);
}

/// Of a block's keys and values, so that f16 holds them and their products.
void AttentionPanels::findFactors(Value from, Value to) {
  auto find = [&](const kernel::StridedView &seen, const Scales &scales,
                  int64_t count, Factor which) {
    Value head = headOf(seen), stride = e.valueOf(seen.strides[2]);
    Value size = sizeOf(
        seen, count, from, to,
        [&](Value key) { return behind(seen, head, e.mul(key, stride)); },
        [&](Value key) { return scaleOf(scales, key); });
    auto [up, down] = f16FactorsOf(e.b, size);
    e.storeRaw(down, factorsAt(from), e.number(which));
    return up;
  };
  keysUp = find(view.key, view.keyScales, view.depth, OfKeys);
  valuesUp = find(view.value, view.valueScales, view.width, OfValues);
}

Value AttentionPanels::scaleWith(const Scales &scales, Value key, Value up) {
  Value scale = scaleOf(scales, key);
  if (!scale || !up)
    return up ? up : scale;
  return arith::MulFOp::create(e.b, scale, up);
}

/// [keys][E] -> [E / height][keys / 2][height][2]
void AttentionPanels::pairValues(Value from, Value to) {
  const kernel::StridedView &seen = view.value;
  Value head = headOf(seen), stride = e.valueOf(seen.strides[2]);
  Value panels = valuesAt(from), count = e.sub(to, from);
  auto narrow = VectorType::get({height}, f32);
  int64_t whole = view.width / height * height;
  constexpr int64_t step = 4; // Two pairs fill a vector.
  auto copy = [&](Value key, bool areAllThere) {
    SmallVector<Value> rows, scales, isThere;
    for (int64_t i = 0; i < step; ++i) {
      Value at = e.add(key, e.number(i));
      Value own = e.min(at, e.sub(count, e.number(1)));
      rows.push_back(behind(seen, head, e.mul(e.add(from, own), stride)));
      scales.push_back(scaleWith(view.valueScales, e.add(from, own), valuesUp));
      isThere.push_back(e.less(at, count));
    }
    // Weights of keys behind the last are 0, and so must be what they meet.
    auto copyColumns = [&](Value n, int64_t columns) {
      SmallVector<Value> in;
      for (int64_t i = 0; i < step; ++i) {
        Value at = behind(seen, rows[i], n), some = e.number(columns);
        if (!areAllThere)
          some = e.select(isThere[i], some, e.number(0));
        Value each = areAllThere && columns == height
                         ? vectors.loadAs(narrow, seen.element(), at)
                         : vectors.loadSomeAs(narrow, seen.element(), at, some);
        in.push_back(times(each, scales[i]));
      }
      Value words =
          pairsOf(vectors.join(in[0], in[2]), vectors.join(in[1], in[3]));
      Value place = e.add(e.mul(n, e.number(keyBlock / 2)),
                          e.mul(key, e.number(height / 2)));
      store(words, element(panels, place));
    };
    e.loop(
        e.number(0), e.number(whole), [&](Value n) { copyColumns(n, height); },
        height);
    if (whole < view.width)
      copyColumns(e.number(whole), view.width - whole);
  };
  Value full = e.sub(count, e.rem(count, e.number(step)));
  Value panel = e.number(kernel::keyPanel);
  Value padded = e.mul(e.ceilDiv(count, panel), panel);
  e.loop(e.number(0), full, [&](Value key) { copy(key, true); }, step);
  e.loop(full, padded, [&](Value key) { copy(key, false); }, step);
}

} // namespace tenon::cpu
