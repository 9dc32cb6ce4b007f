//===- AttentionUnit.cpp - One unit of work of an attention ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/AttentionUnit.h"
#include "compiler/Targets/Cpu/F16Operands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/model_format.h"

using namespace mlir;

static_assert(tenon::kernel::AttentionPiece::start == TENON_SHARED_ZEROS);

namespace tenon::cpu {

AttentionUnit::AttentionUnit(Emitter &e, const AttentionView &view)
    : e(e), view(view), op(view.op), areas(view), lanes(e.level.lanes(4)),
      f32(e.b.getF32Type()), vector(VectorType::get({lanes}, f32)),
      vectors(e, usesF16()), base(e.scratch(0)), keys(e.dimsOf(op.getKey())[2]),
      group(e.number(view.group())) {
  // Without anything added to scores, they are powers of two from the start.
  softcap = op.getSoftcap().convertToDouble();
  isPlain = view.biases.empty() && !(softcap > 0);
  scale = op.getScale().convertToDouble();
  if (isPlain)
    scale *= log2OfE;
  else if (softcap > 0)
    scale /= softcap;
  listLength = e.mul(e.dimsOf(op.getQuery())[2], group);
  pieces = e.valueOf(view.pieces());
  units = e.valueOf(view.units());
  blocks = e.ceilDiv(listLength, e.number(queryBlock));
}

void AttentionUnit::start(Value row) {
  // Next to a unit's piece are those of other units that share its panels.
  unit = e.rem(row, units);
  piece = e.div(row, units);
  list = e.div(unit, blocks);
  first = e.mul(e.rem(unit, blocks), e.number(queryBlock));
  keyHead = e.rem(list, e.number(view.keyHeads));
  batch = e.div(list, e.number(view.keyHeads));
  count = e.min(e.number(queryBlock), e.sub(listLength, first));
}

std::pair<Value, Value> AttentionUnit::keysOf(Value first, Value last) {
  auto [from, to] = keyRange(e, op, first, last);
  if (op.getCausal() && op.getWindow() > 0) // Where a block starts.
    from = e.mul(e.div(from, e.number(keyBlock)), e.number(keyBlock));
  if (view.pieces().isConstant(1))
    return {from, to};
  Value block = e.number(keyBlock);
  Value length = e.max(e.sub(to, from), e.number(0));
  length = e.mul(e.ceilDiv(e.ceilDiv(length, pieces), block), block);
  from = e.add(from, e.mul(piece, length));
  return {from, e.min(to, e.add(from, length))};
}

Value AttentionUnit::pieceAt(Value piece, int64_t offset) {
  kernel::AttentionPiece layout(view);
  Value place = e.mul(e.add(e.mul(unit, pieces), piece), e.number(layout.end));
  return e.address(e.shared(), e.b.getI8Type(),
                   e.add(place, e.number(offset + layout.start)));
}

void AttentionUnit::finishWith(Value floats, function_ref<void()> join,
                               function_ref<void()> finish) {
  if (view.pieces().isConstant(1))
    return finish();
  kernel::AttentionPiece layout(view);
  auto copy = [&](int64_t from, int64_t to, Value count) {
    e.loop(
        e.number(0), count,
        [&](Value at) {
          store(load(element(area(from), at)), element(pieceAt(piece, to), at));
        },
        lanes);
  };
  Value isCut = e.less(e.number(1), pieces);
  Value once = e.select(isCut, e.number(1), e.number(0));
  Value isWhole = arith::ConstantIntOp::create(e.b, 1, 1);
  isWhole = e.loop(e.number(0), once, isWhole, [&](Value, ValueRange) {
    copy(areas.sums, layout.sums, floats);
    copy(areas.largest, layout.largest, e.number(queryBlock));
    copy(areas.total, layout.total, e.number(queryBlock));
    Type i32 = e.b.getI32Type();
    Value counter = e.address(e.shared(), i32, unit);
    Value before =
        LLVM::AtomicRMWOp::create(e.b, LLVM::AtomicBinOp::add, counter,
                                  arith::ConstantIntOp::create(e.b, 1, 32),
                                  LLVM::AtomicOrdering::acq_rel);
    before = arith::ExtUIOp::create(e.b, e.b.getI64Type(), before);
    Value isLast = e.equal(e.add(before, e.number(1)), pieces);
    e.ifThen(isLast, join);
    return SmallVector<Value>{isLast};
  })[0];
  e.ifThen(isWhole, finish);
}

Value AttentionUnit::sizeOf(const kernel::StridedView &seen, int64_t count,
                            Value from, Value to,
                            function_ref<Value(Value)> rowAt,
                            function_ref<Value(Value)> scaleAt) {
  auto bits = VectorType::get({lanes}, e.b.getI32Type());
  int64_t whole = count / lanes * lanes;
  Value most = e.loop(
      from, to, constantLike(e.b, bits, 0),
      [&](Value number, ValueRange carried) {
        Value row = rowAt(number), scale = scaleAt(number);
        auto larger = [&](Value before, Value elements) {
          Value size = bitsOfSize(e.b, times(elements, scale));
          return SmallVector<Value>{arith::MaxUIOp::create(e.b, before, size)};
        };
        SmallVector<Value> sofar = e.loop(
            e.number(0), e.number(whole), carried[0],
            [&](Value n, ValueRange inner) {
              return larger(inner[0], loadOf(seen, behind(seen, row, n)));
            },
            lanes);
        return whole < count
                   ? larger(sofar[0], loadHead(seen, row, whole, count))
                   : sofar;
      },
      1)[0];
  return vector::ReductionOp::create(e.b, vector::CombiningKind::MAXUI, most);
}

Value AttentionUnit::pairsAt(const kernel::StridedView &seen, Value at,
                             Value scale) {
  if (seen.element().isBF16() && !usesF16()) // As they are.
    return LLVM::LoadOp::create(e.b, VectorType::get({lanes}, e.b.getI32Type()),
                                at,
                                /*alignment=*/2);
  Value next = loadOf(seen, behind(seen, at, e.number(lanes)));
  return vectors.round(times(loadOf(seen, at), scale), times(next, scale));
}

Value AttentionUnit::bufferOf(const kernel::StridedView &seen) {
  auto argument = cast<BlockArgument>(seen.base);
  return behind(seen, e.argumentBuffer(argument.getArgNumber()),
                e.valueOf(seen.offset));
}

Value AttentionUnit::headOf(const kernel::StridedView &seen) {
  Value offset = e.add(e.mul(batch, e.valueOf(seen.strides[0])),
                       e.mul(keyHead, e.valueOf(seen.strides[1])));
  return behind(seen, bufferOf(seen), offset);
}

Value AttentionUnit::scalesOf(const Scales &scales, Value key) {
  return behind(*scales, headOf(*scales),
                e.mul(key, e.valueOf(scales->strides[2])));
}

Value AttentionUnit::scaleOf(const Scales &scales, Value key) {
  return scales ? e.loadRaw(scalesOf(scales, key), f32, e.number(0)) : Value();
}

Value AttentionUnit::scalesFrom(const Scales &scales, Value key, Value count) {
  Value at = scalesOf(scales, key);
  if (scales->strides[2].isConstant(1))
    return vectors.loadSome(vector, at, count);
  return vectors.gatherSome(vector, at, e.valueOf(scales->strides[2]), count);
}

Value AttentionUnit::times(Value elements, Value scale) {
  if (!scale)
    return elements;
  Value factors = vector::BroadcastOp::create(e.b, elements.getType(), scale);
  return arith::MulFOp::create(e.b, elements, factors);
}

std::pair<Value, Value> AttentionUnit::queryAt(Value number) {
  return {e.div(number, group),
          e.add(e.mul(keyHead, group), e.rem(number, group))};
}

Value AttentionUnit::offsetOf(Value number, ArrayRef<Expr> strides) {
  auto [position, head] = queryAt(number);
  return e.add(e.mul(head, e.valueOf(strides[1])),
               e.mul(position, e.valueOf(strides[2])));
}

Value AttentionUnit::batchOf(Value bias, const kernel::StridedView &seen) {
  Value batches = e.max(e.dimsOf(bias)[0], e.number(1));
  return element(bufferOf(seen),
                 e.mul(e.rem(batch, batches), e.valueOf(seen.strides[0])));
}

Value AttentionUnit::biasAt(VectorType type, const kernel::StridedView &seen,
                            Value line, Value key, Value count) {
  if (seen.strides[3].isConstant(0))
    return vectors.loadSplat(type, line);
  Value stride = e.valueOf(seen.strides[3]);
  Value at = element(line, e.mul(key, stride));
  if (seen.strides[3].isConstant(1))
    return vectors.loadSome(type, at, count);
  return vectors.gatherSome(type, at, stride, count);
}

Value AttentionUnit::resultRow(Value number) {
  Value offset = e.add(e.mul(batch, e.valueOf(view.result[0])),
                       offsetOf(number, view.result));
  return inResult(e.resultBuffer(0), offset);
}

Value AttentionUnit::inResult(Value row, Value n) {
  return e.address(row, view.givesBf16 ? e.b.getI16Type() : f32, n);
}

Value AttentionUnit::asResult(Value elements) {
  return view.givesBf16 ? e.flushedBits(elements) : elements;
}

Value AttentionUnit::power(Value score, Value shift) {
  Value y = arith::SubFOp::create(e.b, score, shift);
  if (!isPlain)
    y = arith::MulFOp::create(e.b, y, constantLike(e.b, y.getType(), log2OfE));
  return vectors.powerOfTwo(y);
}

void AttentionUnit::fillDead(Value number) {
  Value last = e.add(queryAt(number).first, positionOffset(e, op, batch));
  auto [from, to] = keyRange(e, op, last, last);
  Value alive = e.less(from, to);
  if (op.getKeyMask())
    alive = e.loop(from, to, e.zero(e.b.getI1Type()),
                   [&](Value key, ValueRange carried) {
                     Value part = e.element(op.getKeyMask(), {batch, key});
                     return SmallVector<Value>{e.either(carried[0], part)};
                   })[0];
  Value row = resultRow(number);
  e.loop(e.number(0), e.number(view.width), [&](Value n) {
    Value value = constantLike(e.b, f32, std::nan(""));
    if (op.getDeadRows() == graph::DeadRows::Zero)
      value = e.select(alive, value, e.zero(f32));
    if (op.getDeadRows() == graph::DeadRows::Uniform)
      value = e.select(alive, value, meanOf(n));
    e.storeRaw(asResult(value), row, n);
  });
}

Value AttentionUnit::meanOf(Value n) {
  Value head = headOf(view.value);
  Value stride = e.valueOf(view.value.strides[2]);
  auto one = VectorType::get({1}, f32);
  Value sum = e.loop(
      e.number(0), keys, e.zero(f32), [&](Value key, ValueRange carried) {
        Value at = e.add(e.mul(key, stride), n);
        Value each = vectors.loadAs(one, view.value.element(),
                                    behind(view.value, head, at));
        each = times(each, scaleOf(view.valueScales, key));
        each = vector::ExtractOp::create(e.b, each, 0);
        return SmallVector<Value>{emitAdd(e.b, carried[0], each)};
      })[0];
  return arith::DivFOp::create(e.b, sum,
                               arith::SIToFPOp::create(e.b, f32, keys));
}

} // namespace tenon::cpu
