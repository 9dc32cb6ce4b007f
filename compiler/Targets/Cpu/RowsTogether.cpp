//===- RowsTogether.cpp - Rows that are worked on side by side ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/RowsTogether.h"
#include "compiler/Targets/Cpu/RowBytes.h"
#include "compiler/Targets/Cpu/RowReduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {

RowsTogether::RowsTogether(RowProgram &program, ArrayRef<Indices> leads,
                           int64_t mostResident)
    : program(program), e(program.e), leads(leads),
      width(RowVectors::widthOf(e)),
      type(VectorType::get({width}, e.b.getF32Type())),
      vectors(e, program.length, mostResident), registers(leads.size()) {
  // What is not normal is nothing beside a norm's other elements, or a
  // softmax's.
  vectors.mayFlush = true;
}

Value RowsTogether::alive(const Step &step, Value value, Value neutral) const {
  if (!step.lanes.mask)
    return value;
  return arith::SelectOp::create(e.b, step.lanes.mask, value, neutral);
}

Value RowsTogether::first(const Step &step, size_t row) {
  Value value = program.input(indexAt(step, row), width);
  if (vectors.isResident() || !program.isPlain())
    hold(step, row, value);
  return value;
}

Value RowsTogether::again(const Step &step, size_t row) {
  if (!vectors.isResident() && program.isPlain())
    return program.input(indexAt(step, row), width);
  return held(step, row);
}

void RowsTogether::hold(const Step &step, size_t row, Value value) {
  if (!vectors.isResident()) {
    LLVM::StoreOp::create(e.b, value, place(step, row), /*alignment=*/4);
    return;
  }
  Values &own = registers[row];
  if (own.size() <= size_t(step.ordinal))
    own.resize(step.ordinal + 1);
  own[step.ordinal] = value;
}

Value RowsTogether::held(const Step &step, size_t row) {
  if (vectors.isResident())
    return registers[row][step.ordinal];
  return LLVM::LoadOp::create(e.b, type, place(step, row), /*alignment=*/4);
}

void RowsTogether::prefetchNext(const Step &step) {
  Value operand = program.root->getOperand(0);
  auto pointer = LLVM::LLVMPointerType::get(e.b.getContext());
  Value next = e.mul(program.length, e.number(size()));
  for (BlockArgument argument : e.kernel.getBlock().getArguments()) {
    if (graph::getDims(argument) != graph::getDims(operand))
      continue;
    Type memory = Emitter::memoryType(graph::getElementType(argument));
    Value base = e.argumentBuffer(argument.getArgNumber());
    for (size_t row = 0; row < size(); ++row) {
      Value offset = e.linearise(indexAt(step, row), e.dimsOf(operand));
      Value at =
          LLVM::GEPOp::create(e.b, pointer, memory, base,
                              ArrayRef<LLVM::GEPArg>{e.add(offset, next)});
      LLVM::Prefetch::create(e.b, at, /*rw=*/0, /*hint=*/3, /*cache=*/1);
    }
  }
}

RowsTogether::Values
RowsTogether::pass(Value start,
                   function_ref<Value(const Step &, size_t row, Value)> body,
                   function_ref<Value(Value, Value)> join, int64_t chains) {
  Values all = vectors.pass(
      chains, Values(size(), start),
      [&](const Step &step, ValueRange carried) {
        Values next;
        for (size_t row = 0; row < size(); ++row)
          next.push_back(body(step, row, carried[row]));
        return next;
      },
      [&](ValueRange x, ValueRange y) {
        Values joined;
        for (auto [left, right] : llvm::zip_equal(x, y))
          joined.push_back(join(left, right));
        return joined;
      });
  for (Value &value : all)
    value = foldLanes(e, value, join);
  return all;
}

void RowsTogether::finish(Element body) {
  Type element = graph::getElementType(program.result);
  auto valueAt = [&](const Step &step, size_t row) {
    return roundTo(e.b, body(step, row), element);
  };
  if (!program.view.quantize) {
    vectors.forEach(2, [&](const Step &step) {
      for (size_t row = 0; row < size(); ++row)
        program.store(indexAt(step, row), valueAt(step, row));
    });
    return;
  }
  graph::QuantizeRowsOp bytes = program.view.quantize;
  finishBytes([&](const Step &step, size_t row) {
    Indices index = indexAt(step, row);
    program.store(index, valueAt(step, row));
    Value value = e.spread(e.element(bytes.getInput(), index), width);
    hold(step, row, value);
    return value;
  });
}

void RowsTogether::finishBytes(Element body) {
  graph::QuantizeRowsOp op = program.view.quantize;
  // Of each row, what RowEnds has.
  constexpr size_t each = RowEnds::count;
  Values start(each * size(), zero());
  auto endsOf = [&](ValueRange values, size_t row) {
    return RowEnds::from(values.slice(each * row, each));
  };
  Values all = vectors.pass(
      2, start,
      [&](const Step &step, ValueRange carried) {
        Values next;
        for (size_t row = 0; row < size(); ++row) {
          Value value = alive(step, body(step, row), zero());
          llvm::append_range(next,
                             endsOf(carried, row).with(e, value).values());
        }
        return next;
      },
      [&](ValueRange x, ValueRange y) {
        Values joined;
        for (size_t row = 0; row < size(); ++row)
          llvm::append_range(joined,
                             endsOf(x, row).joined(e, endsOf(y, row)).values());
        return joined;
      });
  std::vector<RowBytes> rows;
  for (size_t row = 0; row < size(); ++row) {
    RowEnds ends = endsOf(all, row).folded(e);
    rows.emplace_back(e, op, ends);
    rows.back().storeSides(program.indexOf(leads[row], {}, e.number(0)));
  }
  vectors.forEach(2, [&](const Step &step) {
    if (program.root == op)
      prefetchNext(step);
    for (size_t row = 0; row < size(); ++row) {
      bool isHeld = program.root != op;
      Value value = isHeld ? held(step, row) : again(step, row);
      rows[row].store(indexAt(step, row), value);
    }
  });
}

Indices RowsTogether::indexAt(const Step &step, size_t row) const {
  return program.indexOf(leads[row], {}, step.lanes.first);
}

Value RowsTogether::place(const Step &step, size_t row) {
  Value line = e.number(16);
  Value padded = e.atEntry([&] {
    Value lines = e.ceilDiv(program.length, line);
    return e.mul(e.mul(lines, line), e.number(row));
  });
  return e.address(e.scratch(0), e.b.getF32Type(),
                   e.add(padded, step.lanes.first));
}

} // namespace tenon::cpu
