//===- EmitterControl.cpp - Loops and branches ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Emitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cpu {

Value Emitter::atEntry(function_ref<Value()> make) {
  OpBuilder::InsertionGuard guard(b);
  std::vector<std::map<Key, Value>> inner(
      std::make_move_iterator(scopes.begin() + 1),
      std::make_move_iterator(scopes.end()));
  scopes.resize(1);
  b.setInsertionPoint(entryEnd);
  Value value = make();
  scopes.insert(scopes.end(), std::make_move_iterator(inner.begin()),
                std::make_move_iterator(inner.end()));
  return value;
}

void Emitter::loop(Value from, Value to, function_ref<void(Value)> body,
                   int64_t step) {
  loop(from, to, number(step), body);
}

void Emitter::loop(Value from, Value to, Value step,
                   function_ref<void(Value)> body) {
  steppingLoop(from, to, step, ValueRange(), [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

SmallVector<Value> Emitter::loop(Value from, Value to, ValueRange initial,
                                 CarryBody body, int64_t step) {
  return steppingLoop(from, to, number(step), initial, body);
}

SmallVector<Value> Emitter::steppingLoop(Value from, Value to, Value step,
                                         ValueRange initial, CarryBody body) {
  auto op = scf::ForOp::create(b, from, to, step, initial);
  OpBuilder::InsertionGuard guard(b);
  if (initial.empty())
    op.getBody()->getTerminator()->erase();
  b.setInsertionPointToEnd(op.getBody());
  scopes.emplace_back();
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  scf::YieldOp::create(b, next);
  scopes.pop_back();
  return SmallVector<Value>(op.getResults());
}

void Emitter::columns(Value from, Value to, function_ref<void(Value)> body) {
  loop(add(from, firstColumn()), to, body, columnStep());
}

Value Emitter::foldColumns(Value from, Value to, Value initial,
                           function_ref<Value(Value, Value)> body, Join join) {
  Value mine = loop(
      add(from, firstColumn()), to, initial,
      [&](Value i, ValueRange carried) {
        return SmallVector<Value>{body(i, carried[0])};
      },
      columnStep())[0];
  return joinThreads(mine, join);
}

void Emitter::loops(ArrayRef<Value> sizes,
                    function_ref<void(ArrayRef<Value>)> body) {
  SmallVector<Value> index;
  std::function<void()> nest = [&] {
    if (index.size() == sizes.size())
      return body(index);
    Value size = sizes[index.size()];
    if (getConstantIntValue(size) == 1) {
      index.push_back(number(0));
      nest();
      index.pop_back();
      return;
    }
    loop(number(0), size, [&](Value i) {
      index.push_back(i);
      nest();
      index.pop_back();
    });
  };
  nest();
}

void Emitter::ifThen(Value condition, function_ref<void()> body) {
  std::optional<int64_t> known = getConstantIntValue(condition);
  if (known && *known == 0)
    return;
  if (known)
    return body();
  auto op = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&op.getThenRegion().front());
  scopes.emplace_back();
  body();
  scopes.pop_back();
}

Value Emitter::branch(Value condition, function_ref<Value()> then,
                      function_ref<Value()> otherwise) {
  if (std::optional<int64_t> known = getConstantIntValue(condition))
    return *known ? then() : otherwise();
  // The result type is only known after the first branch has been emitted.
  Block thenBlock, elseBlock;
  Value values[2];
  for (int i = 0; i < 2; ++i) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(i ? &elseBlock : &thenBlock);
    scopes.emplace_back();
    values[i] = i ? otherwise() : then();
    scf::YieldOp::create(b, values[i]);
    scopes.pop_back();
  }
  auto op = scf::IfOp::create(b, TypeRange(values[0].getType()), condition,
                              /*withElseRegion=*/true);
  for (auto [region, block] : {std::pair(&op.getThenRegion(), &thenBlock),
                               std::pair(&op.getElseRegion(), &elseBlock)}) {
    if (region->empty())
      region->push_back(new Block());
    Block &into = region->front();
    into.clear();
    into.getOperations().splice(into.end(), block->getOperations());
  }
  return op.getResult(0);
}

} // namespace tenon::cpu
