//===- EmitAttention.cpp - Attention of any type, mask and layout ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is one query of one head. Its keys come one after the other; the sums
// over values in scratch memory are scaled down whenever a larger score comes,
// so that no row of scores is ever held.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AttentionKeys.h"
#include "compiler/Targets/Cpu/FloatTerm.h"
#include "compiler/Targets/Cpu/Reduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

Value positionOffset(Emitter &e, graph::AttentionOp op, Value batch) {
  Value offset = e.valueOf(op.getOffset()[0]);
  if (!op.getOffsets())
    return offset;
  Value own = e.element(op.getOffsets(), {batch});
  if (own.getType() != e.b.getI64Type())
    own = arith::ExtSIOp::create(e.b, e.b.getI64Type(), own);
  Value bound = e.number(farAway);
  return e.add(offset, e.max(e.min(own, bound), e.number(-farAway)));
}

std::pair<Value, Value> keyRange(Emitter &e, graph::AttentionOp op, Value first,
                                 Value last) {
  Value from = e.number(0), to = e.dimsOf(op.getKey())[2];
  if (!op.getCausal())
    return {from, to};
  int64_t window = std::min<int64_t>(op.getWindow(), 2 * farAway);
  if (window > 0)
    from = e.max(from, e.add(first, e.number(1 - window)));
  return {from, e.min(to, e.add(last, e.number(1)))};
}

namespace {

class AttentionRow {
public:
  AttentionRow(Emitter &e, graph::AttentionOp op, ArrayRef<Value> index)
      : e(e), op(op), b(index[0]), h(index[1]), i(index[2]),
        type(computeType(graph::getElementType(op.getResult()))),
        sums(e.scratch(0)), width(e.dimsOf(op.getValue())[3]),
        keys(e.dimsOf(op.getKey())[2]) {
    int64_t heads = *graph::getDim(op.getQuery(), 1).asConstant();
    int64_t keyHeads = *graph::getDim(op.getKey(), 1).asConstant();
    keyHead = e.div(h, e.number(heads / keyHeads));
    for (Value *slot : {&largest, &total})
      *slot = e.atEntry([&]() -> Value {
        return LLVM::AllocaOp::create(
            e.b, LLVM::LLVMPointerType::get(e.b.getContext()), type,
            e.number(1));
      });
  }

  void sum() {
    e.columns(e.number(0), width, [&](Value n) { setSum(n, e.zero(type)); });
    setLargest(constantLike(e.b, type, -infinity));
    setTotal(e.zero(type));
    Value last = e.add(i, positionOffset(e, op, b));
    auto [from, to] = keyRange(e, op, last, last);
    SmallVector<Value> alive =
        e.loop(from, to, zeroBit(e), [&](Value j, ValueRange carried) {
          Value part = oneBit(e);
          if (op.getKeyMask())
            part = e.element(op.getKeyMask(), {b, j});
          e.ifThen(part, [&] { addKey(j); });
          return SmallVector<Value>{e.either(carried[0], part)};
        });
    e.ifThen(arith::XOrIOp::create(e.b, alive[0], oneBit(e)),
             [&] { fillDead(); });
  }

  Value valueAt(Value n) {
    return arith::DivFOp::create(e.b, sumAt(n), totalAt());
  }

private:
  // Scratch memory: the sums. Else the largest score and the sum of weights.
  Value sumAt(Value n) { return e.loadRaw(sums, type, n); }
  void setSum(Value n, Value value) { e.storeRaw(value, sums, n); }
  Value largestAt() { return LLVM::LoadOp::create(e.b, type, largest); }
  void setLargest(Value value) { LLVM::StoreOp::create(e.b, value, largest); }
  Value totalAt() { return LLVM::LoadOp::create(e.b, type, total); }
  void setTotal(Value value) { LLVM::StoreOp::create(e.b, value, total); }

  Value multiply(Value x, Value y) { return arith::MulFOp::create(e.b, x, y); }
  Value subtract(Value x, Value y) { return arith::SubFOp::create(e.b, x, y); }
  Value number(double value) { return constantLike(e.b, type, value); }

  Value score(Value j) {
    Value depth = e.dimsOf(op.getQuery())[3];
    auto add = [&](Value x, Value y) { return addInAnyOrder(e, x, y); };
    Value sum = e.foldColumns(
        e.number(0), depth, e.zero(type),
        [&](Value d, Value carried) {
          Value product = multiply(e.element(op.getQuery(), {b, h, i, d}),
                                   e.element(op.getKey(), {b, keyHead, j, d}));
          return add(carried, product);
        },
        add);
    sum = multiply(sum, number(op.getScale().convertToDouble()));
    double softcap = op.getSoftcap().convertToDouble();
    if (softcap > 0) {
      Value ratio = arith::DivFOp::create(e.b, sum, number(softcap));
      sum = multiply(emitTanh(e.b, e, ratio), number(softcap));
    }
    SmallVector<Expr> query = graph::getDims(op.getQuery());
    Expr count = graph::getDim(op.getKey(), 2);
    for (Value bias : op.getBiases()) {
      SmallVector<Expr> dims = graph::getDims(bias);
      Value batches = e.max(e.valueOf(dims[0]), e.number(1));
      Value element = e.element(bias, {e.rem(b, batches),
                                       e.broadcastAxis(h, query[1], dims[1]),
                                       e.broadcastAxis(i, query[2], dims[2]),
                                       e.broadcastAxis(j, count, dims[3])});
      sum = emitAdd(e.b, sum, element);
    }
    return sum;
  }

  void addKey(Value j) {
    using P = arith::CmpFPredicate;
    Value s = score(j);
    Value isLarger = arith::CmpFOp::create(e.b, P::OGT, s, largestAt());
    e.ifThen(isLarger, [&] {
      Value factor = emitExp(e.b, e, subtract(largestAt(), s));
      e.columns(e.number(0), width,
                [&](Value n) { setSum(n, multiply(sumAt(n), factor)); });
      setTotal(multiply(totalAt(), factor));
      setLargest(s);
    });
    // Of scores that are all -infinity, nothing is left: 0 / 0.
    Value weight = emitExp(e.b, e, subtract(s, largestAt()));
    Value isNothing = arith::CmpFOp::create(e.b, P::OEQ, s, number(-infinity));
    weight = e.select(isNothing, e.zero(type), weight);
    setTotal(emitAdd(e.b, totalAt(), weight));
    e.columns(e.number(0), width, [&](Value n) {
      Value value = e.element(op.getValue(), {b, keyHead, j, n});
      setSum(n, emitMulAdd(e.b, weight, value, sumAt(n)));
    });
  }

  void fillDead() {
    switch (op.getDeadRows()) {
    case graph::DeadRows::Zero:
      return setTotal(number(1));
    case graph::DeadRows::NaN: // 0 / 0
      return;
    case graph::DeadRows::Uniform:
      setTotal(arith::SIToFPOp::create(e.b, type, keys));
      e.loop(e.number(0), keys, [&](Value j) {
        e.columns(e.number(0), width, [&](Value n) {
          Value value = e.element(op.getValue(), {b, keyHead, j, n});
          setSum(n, emitAdd(e.b, sumAt(n), value));
        });
      });
    }
  }

  Emitter &e;
  graph::AttentionOp op;
  Value b, h, i, keyHead;
  Type type;
  Value sums, width, keys;
  Value largest, total; // On the stack.
};

} // namespace

bool emitAttention(Emitter &e, Operation *root) {
  auto op = dyn_cast<graph::AttentionOp>(root);
  if (!op)
    return false;
  Indices dims = e.dimsOf(op.getResult());
  e.loop(e.begin, e.end, [&](Value row) {
    Indices index = e.delinearise(row, ArrayRef(dims).drop_back());
    AttentionRow attention(e, op, index);
    attention.sum();
    e.storeRow(root, index, row, dims.back(),
               [&](Value n) { return attention.valueAt(n); });
  });
  return true;
}

} // namespace tenon::cpu
