//===- PanelEpilogue.cpp - What follows sums that wait in memory ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "dialects/Kernel/Geometry.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Whether what is yielded lies as the elements of a tensor do, of which there
/// are rows.
bool yieldsRowsOf(Emitter &e, Value tensor) {
  SmallVector<kernel::Expr> dims = graph::getDims(tensor);
  return !dims.back().isConstant(1) &&
         e.kernel.getBlock().getOps<graph::TransposeOp>().empty() &&
         llvm::all_of(e.kernel.getYielded(), [&](Value yielded) {
           return graph::getDims(kernel::behindReshapes(yielded)) == dims;
         });
}

/// Whether results are bf16, one behind the other as the sums are, and an
/// instruction rounds them: LLVM takes it for too dear to make whole vectors of
/// a loop that has it.
bool roundsByVectors(Emitter &e, ArrayRef<Value> tensors) {
  return e.level.pairDots == PairDots::Native && tensors.size() == 1 &&
         yieldsRowsOf(e, tensors[0]) &&
         llvm::all_of(e.kernel.getYielded(), [](Value yielded) {
           return graph::getElementType(yielded).isBF16();
         });
}

} // namespace

Value onStack(Emitter &e, Type element, int64_t count) {
  return e.atEntry([&]() -> Value {
    return LLVM::AllocaOp::create(e.b,
                                  LLVM::LLVMPointerType::get(e.b.getContext()),
                                  element, e.number(count), /*alignment=*/64);
  });
}

/// Of an element in a row, as operands that broadcast see it.
static Indices indexOf(Emitter &e, Value tensor, Indices lead, Value column) {
  lead.push_back(column);
  for (auto [axis, dim] : llvm::enumerate(graph::getDims(tensor)))
    if (dim.isConstant(1))
      lead[axis] = e.number(0);
  return lead;
}

void storeElements(Emitter &e, Value tensor, Indices lead, Value column,
                   Value elements, Value position) {
  Indices index = indexOf(e, tensor, std::move(lead), column);
  e.bind(tensor, index, elements);
  e.storeYields(index, position);
}

Value RowElements::load(Value base, Type element, Value at) const {
  if (!lanes)
    return e.loadRaw(base, element, at);
  auto type = VectorType::get({lanes->width}, element);
  Value from = e.address(base, element, at);
  if (!lanes->mask)
    return LLVM::LoadOp::create(e.b, type, from, graph::byteWidth(element));
  return LLVM::MaskedLoadOp::create(e.b, type, from, lanes->mask, e.zero(type),
                                    graph::byteWidth(element));
}

void forEachElement(Emitter &e, Value tensor, Value width,
                    function_ref<void(Value, const RowElements &)> body) {
  bool rounds = roundsByVectors(e, tensor);
  if (!rounds && (!yieldsRowsOf(e, tensor) || !e.looksUp()))
    return e.loop(e.number(0), width,
                  [&](Value i) { body(i, RowElements(e, /*lanes=*/nullptr)); });
  constexpr int64_t mostUnrolled = 3;
  RowVectors vectors(e, width, mostUnrolled);
  vectors.mayFlush = rounds; // As products of what is stored would.
  vectors.forEach(1, [&](const RowVectors::Step &step) {
    body(step.lanes.first, RowElements(e, &step.lanes));
  });
}

void storePanelRow(Emitter &e, ArrayRef<Value> tensors, const PanelRow &row,
                   int64_t apart) {
  if (row.sums && roundsByVectors(e, tensors))
    return forEachElement(
        e, tensors[0], row.width, [&](Value i, const RowElements &elements) {
          Value sums =
              elements.load(row.sums, e.b.getF32Type(), e.add(row.waits, i));
          storeElements(e, tensors[0], row.lead, e.add(row.column, i), sums,
                        e.add(row.position, i));
        });
  e.loop(e.number(0), row.width, [&](Value i) {
    Value position = e.add(row.position, i);
    Indices index = indexOf(e, tensors[0], row.lead, e.add(row.column, i));
    if (!row.sums) {
      e.bind(tensors[0], index, e.zero(e.b.getF32Type()));
      return e.storeYields(index, position);
    }
    Value waits = e.add(row.waits, i);
    for (Value tensor : tensors) {
      e.bind(tensor, index, e.loadRaw(row.sums, e.b.getF32Type(), waits));
      waits = e.add(waits, e.number(apart));
    }
    e.storeYields(index, position);
  });
}

} // namespace tenon::cpu
