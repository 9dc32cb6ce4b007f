//===- EmitAppend.cpp - New rows behind those of a buffer -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is what lies behind the axis. Where the result is the memory of the
// buffer, old rows are there already.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

class Append {
public:
  Append(Emitter &e, graph::AppendOp op)
      : e(e), op(op), type(graph::getElementType(op.getResult())),
        dims(e.dimsOf(op.getResult())), axis(op.getAxis()),
        length(e.valueOf(op.getLength()[0])), rowSize(e.number(1)) {
    for (Value dim : ArrayRef(dims).drop_front(axis + 1))
      rowSize = e.mul(rowSize, dim);
  }

  void emit() {
    auto buffer = cast<BlockArgument>(op.getBuffer());
    Value from = e.argumentBuffer(buffer.getArgNumber());
    Value to = e.resultBuffer(0);
    Value oldRoom = e.dimsOf(buffer)[axis], room = dims[axis];
    Value moves = arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne,
                                        addressOf(from), addressOf(to));
    Value added = e.dimsOf(op.getRows())[axis];
    Value count = e.max(e.add(length, added), e.number(1));
    Value stop = e.ceilDiv(e.end, count);
    e.loop(e.div(e.begin, count), stop, [&](Value outer) {
      Value first = e.mul(outer, count);
      Value low = e.sub(e.max(e.begin, first), first);
      Value high = e.min(e.sub(e.end, first), count);
      e.ifThen(moves, [&] {
        Value target = e.mul(e.mul(outer, room), rowSize);
        Value source = e.mul(e.mul(outer, oldRoom), rowSize);
        e.columns(e.mul(low, rowSize), e.mul(e.min(high, length), rowSize),
                  [&](Value i) {
                    e.store(e.load(from, type, e.add(source, i)), to, type,
                            e.add(target, i));
                  });
      });
      Indices lead = e.delinearise(outer, ArrayRef(dims).take_front(axis));
      Value begin = e.max(low, length);
      auto row = [&](Value row) { storeRow(lead, outer, row); };
      if (axis + 1 < dims.size())
        e.loop(begin, high, row);
      else
        e.columns(begin, high, row);
    });
  }

private:
  Value addressOf(Value pointer) {
    return LLVM::PtrToIntOp::create(e.b, e.b.getI64Type(), pointer);
  }

  void storeRow(ArrayRef<Value> lead, Value outer, Value row) {
    Value base = e.mul(e.add(e.mul(outer, dims[axis]), row), rowSize);
    ArrayRef<Value> inner = ArrayRef(dims).drop_front(axis + 1);
    auto storeElement = [&](ArrayRef<Value> at) {
      Indices index(lead);
      index.push_back(e.sub(row, length));
      llvm::append_range(index, at);
      e.store(e.element(op.getRows(), index), e.resultBuffer(0), type,
              e.add(base, e.linearise(at, inner)));
    };
    if (inner.empty())
      return storeElement({});
    e.loops(inner.drop_back(), [&](ArrayRef<Value> outside) {
      e.columns(e.number(0), inner.back(), [&](Value i) {
        Indices at(outside);
        at.push_back(i);
        storeElement(at);
      });
    });
  }

  Emitter &e;
  graph::AppendOp op;
  Type type;
  Indices dims;
  size_t axis;
  Value length, rowSize;
};

} // namespace

bool emitAppend(Emitter &e, Operation *root) {
  auto op = dyn_cast<graph::AppendOp>(root);
  if (!op)
    return false;
  if (e.kernel.getYielded().size() != 1 ||
      e.kernel.getYielded()[0] != op.getResult() ||
      !isa<BlockArgument>(op.getBuffer()))
    e.giveUp("appends to no buffer of its own");
  else
    Append(e, op).emit();
  return true;
}

} // namespace tenon::cpu
