//===- AttentionPanels.cpp - Keys and values as the products read them ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/AttentionPanels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

AttentionPanels::AttentionPanels(const AttentionUnit &unit)
    : AttentionUnit(unit), height(tileRows(e.level)) {}

void AttentionPanels::begin() {
  using Piece = kernel::AttentionPiece;
  enum { IsSought, IsNew, IsKnown };
  Type i64 = e.b.getI64Type();
  Value mine = LLVM::PtrToIntOp::create(e.b, i64, base);
  Value owners =
      e.address(e.shared(), e.b.getI8Type(), e.number(Piece::owners));
  auto look = [&](Value at) {
    Value there = LLVM::AtomicCmpXchgOp::create(
        e.b, e.address(owners, i64, at), e.number(0), mine,
        LLVM::AtomicOrdering::monotonic, LLVM::AtomicOrdering::monotonic);
    there = LLVM::ExtractValueOp::create(e.b, there, 0);
    Value isMine = e.equal(there, mine), isFree = e.equal(there, e.number(0));
    return e.select(isMine, e.number(IsKnown),
                    e.select(isFree, e.number(IsNew), e.number(IsSought)));
  };
  Value state = e.loop(
      e.number(0), e.number(Piece::mostOwners), e.number(IsSought),
      [&](Value at, ValueRange carried) {
        Value isSought = e.equal(carried[0], e.number(IsSought));
        return SmallVector<Value>{e.branch(
            isSought, [&] { return look(at); }, [&] { return carried[0]; })};
      })[0];
  // With more threads than places, those without one start anew.
  e.ifThen(e.less(state, e.number(IsKnown)),
           [&] { setFact(List, e.number(-1)); });
}

void AttentionPanels::start() {
  Value isThere = e.equal(fact(List), list);
  Value isOther = arith::XOrIOp::create(
      e.b, isThere, constantLike(e.b, isThere.getType(), -1));
  e.ifThen(isOther, [&] {
    setFact(List, list);
    setFact(From, e.number(0));
    setFact(To, e.number(0));
  });
}

void AttentionPanels::provide(Value block) {
  Value end = e.min(e.add(block, e.number(keyBlock)), keys);
  Value from = fact(From), to = fact(To);
  e.ifThen(e.either(e.less(block, from), e.less(to, end)), [&] {
    if (usesMatrices()) {
      roundKeys(block, end);
      roundValues(block, end);
    } else {
      if (usesF16())
        findFactors(block, end);
      copyKeys(block, end);
      if (usesPairs())
        pairValues(block, end);
      else
        copyValues(block, end);
    }
    // With a gap between them, what was there is forgotten.
    Value isGap = e.either(e.less(block, from), e.less(to, block));
    setFact(From, e.select(isGap, block, from));
    setFact(To, end);
  });
}

Value AttentionPanels::keysAt(Value block) {
  return element(area(areas.keys), e.mul(block, e.number(wordsOfBoth())));
}

Value AttentionPanels::valuesAt(Value block) {
  return element(keysAt(block), e.number(keyBlock * keyWords()));
}

/// [keys][D] -> [keys / height][D][height], or of pairs of D.
void AttentionPanels::copyKeys(Value from, Value to) {
  Value head = headOf(view.key), stride = e.valueOf(view.key.strides[2]);
  int64_t words = steps(view.depth);
  int64_t step = words < lanes ? AttentionVectors::tile : lanes;
  auto type = VectorType::get({step}, f32);
  auto loadWords = [&](Value row, Value d, Value scale) {
    if (usesPairs())
      return pairsAt(view.key, behind(view.key, row, e.mul(d, e.number(2))),
                     scale);
    return times(
        vectors.loadAs(type, view.key.element(), behind(view.key, row, d)),
        scale);
  };
  auto narrow = VectorType::get({height}, f32);
  e.loop(
      from, to,
      [&](Value key) {
        SmallVector<Value> rows, scales;
        for (int64_t i = 0; i < height; ++i) {
          Value at = e.min(e.add(key, e.number(i)), e.sub(to, e.number(1)));
          scales.push_back(scaleWith(view.keyScales, at, keysUp));
          rows.push_back(behind(view.key, head, e.mul(at, stride)));
        }
        Value panel = element(keysAt(from),
                              e.mul(e.sub(key, from), e.number(depthSteps())));
        // The last step may overlap the one before.
        e.loop(
            e.number(0), e.number(words),
            [&](Value next) {
              Value d = e.min(next, e.number(words - step));
              SmallVector<Value> in;
              for (auto [row, scale] : llvm::zip(rows, scales))
                in.push_back(loadWords(row, d, scale));
              Value line = element(panel, e.mul(d, e.number(height)));
              for (auto [u, out] : llvm::enumerate(vectors.transpose(in)))
                for (int64_t at = 0; at < step / height; ++at)
                  store(vectors.part(out, at, height),
                        element(line, e.number((at * height + u) * height)));
            },
            step);
        for (int64_t d = words; d < depthSteps(); ++d)
          store(constantLike(e.b, narrow, 0),
                element(panel, e.number(d * height)));
      },
      height);
}

/// [keys][E] -> [E / height][keys][height]
void AttentionPanels::copyValues(Value from, Value to) {
  Value head = headOf(view.value), stride = e.valueOf(view.value.strides[2]);
  Value panels = valuesAt(from), last = e.sub(to, e.number(1));
  auto narrow = VectorType::get({height}, f32);
  int64_t whole = view.width / height * height;
  // Two keys fill a vector; of an odd number, the last one is there twice until
  // zeros come.
  e.loop(
      from, to,
      [&](Value key) {
        Value next = e.min(e.add(key, e.number(1)), last);
        Value rows[] = {behind(view.value, head, e.mul(key, stride)),
                        behind(view.value, head, e.mul(next, stride))};
        Value scales[] = {scaleOf(view.valueScales, key),
                          scaleOf(view.valueScales, next)};
        Value out = element(panels, e.mul(e.sub(key, from), e.number(height)));
        auto copy = [&](Value n, function_ref<Value(Value)> load) {
          Value both = vectors.join(
              times(load(behind(view.value, rows[0], n)), scales[0]),
              times(load(behind(view.value, rows[1], n)), scales[1]));
          store(both, element(out, e.mul(n, e.number(keyBlock))));
        };
        e.loop(
            e.number(0), e.number(whole),
            [&](Value n) {
              copy(n, [&](Value at) {
                return vectors.loadAs(narrow, view.value.element(), at);
              });
            },
            height);
        if (whole < view.width)
          copy(e.number(whole), [&](Value at) {
            return vectors.loadSomeAs(narrow, view.value.element(), at,
                                      e.number(view.width - whole));
          });
      },
      2);
  // Weights of keys behind the last are 0.
  Value count = e.sub(to, from), panel = e.number(kernel::keyPanel);
  Value padded = e.mul(e.ceilDiv(count, panel), panel);
  e.loop(count, padded, [&](Value key) {
    e.loop(
        e.number(0), e.number(view.paddedWidth()),
        [&](Value n) {
          Value at =
              e.add(e.mul(n, e.number(keyBlock)), e.mul(key, e.number(height)));
          store(constantLike(e.b, narrow, 0), element(panels, at));
        },
        height);
  });
}

} // namespace tenon::cpu
