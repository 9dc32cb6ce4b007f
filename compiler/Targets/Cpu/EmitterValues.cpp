//===- EmitterValues.cpp - Memory and elements of tensors -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/BitFormulas.h"
#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

// Identities of what is remembered, by address.
constexpr char elementTag = 0, laneTag = 0, baseTag = 0, scratchTag = 0,
               sharedTag = 0;

} // namespace

Value Emitter::memo(Key key, function_ref<Value()> make) {
  for (auto &scope : scopes)
    if (auto found = scope.find(key); found != scope.end())
      return found->second;
  Value value = make();
  scopes.back()[key] = value;
  return value;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Type Emitter::memoryType(Type element) { return cpu::memoryType(element); }

Value Emitter::address(Value base, Type memory, Value offset) {
  return LLVM::GEPOp::create(b, base.getType(), memory, base,
                             ArrayRef<LLVM::GEPArg>{offset},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value Emitter::loadRaw(Value base, Type type, Value offset) {
  return LLVM::LoadOp::create(b, type, address(base, type, offset));
}

void Emitter::storeRaw(Value value, Value base, Value offset) {
  LLVM::StoreOp::create(b, value, address(base, value.getType(), offset));
}

Value Emitter::fromMemory(Value value, Type element) {
  return cpu::fromMemory(b, value, element);
}

Value Emitter::toMemory(Value value, Type element) {
  return cpu::toMemory(b, value, element);
}

Value Emitter::load(Value base, Type element, Value offset) {
  return fromMemory(loadRaw(base, memoryType(element), offset), element);
}

void Emitter::store(Value value, Value base, Type element, Value offset) {
  if (isa<VectorType>(value.getType()))
    return storeLanes(value, base, element, offset);
  storeRaw(toMemory(value, element), base, offset);
}

Value Emitter::scratch(unsigned wanted) {
  Operation *root = kernel::findRoot(kernel.getBlock());
  return atEntry([&] {
    return memo(
        {&scratchTag, reinterpret_cast<const void *>(uintptr_t(wanted))},
        [&]() -> Value {
          Value base = scratchBase();
          Value offset = number(0);
          SmallVector<Expr> areas = kernel::scratchAreas(root);
          for (unsigned i = 0; i < wanted; ++i)
            offset = add(offset, evaluate(areas[i]));
          return address(base, b.getI8Type(), offset);
        });
  });
}

Value Emitter::shared() {
  return atEntry(
      [&] { return memo({&sharedTag}, [&] { return sharedBase(); }); });
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Indices Emitter::dimsOf(Value tensor) {
  Indices dims;
  for (Expr dim : graph::getDims(tensor))
    dims.push_back(valueOf(dim));
  return dims;
}

Value Emitter::zero(Type type) { return constantLike(b, type, 0); }

Value Emitter::loadRowMajor(Value base, Value tensor, ArrayRef<Value> index) {
  return load(base, graph::getElementType(tensor),
              linearise(index, dimsOf(tensor)));
}

/// Element (row, column) of a matrix whose transpose is packed in panels; of a
/// bf16, two columns lie together.
Value Emitter::loadPackedRow(Value base, Value tensor, ArrayRef<Value> index) {
  Type element = graph::getElementType(tensor);
  Value width = number(tenon::kernel::panelColumns);
  Value each = number(element.isBF16() ? 2 : 1);
  Value lines = ceilDiv(dimsOf(tensor)[1], each);
  Value line = add(mul(div(index[0], width), lines), div(index[1], each));
  Value place = add(mul(line, width), rem(index[0], width));
  return load(base, element, add(mul(place, each), rem(index[1], each)));
}

Value Emitter::loadArgument(BlockArgument argument, ArrayRef<Value> index) {
  unsigned i = argument.getArgNumber();
  StringRef layout = cast<StringAttr>(kernel.getLayouts()[i]).getValue();
  if (layout == tenon::kernel::rowsLayout)
    return loadPackedRow(buffers[i], argument, index);
  if (!layout.empty())
    return giveUp("cannot read an operand in a layout of its own"), index[0];
  // One number for the whole kernel, unless that is what it replaces.
  if (index.empty() && argumentBuffer(i) == buffers[i])
    return atEntry([&] {
      return memo(elementKey(argument, index),
                  [&] { return loadRowMajor(buffers[i], argument, index); });
    });
  return loadRowMajor(buffers[i], argument, index);
}

Value Emitter::broadcastAxis(Value index, Expr whole, Expr dim) {
  if (dim.isConstant(1))
    return number(0);
  if (dim == whole || dim.asConstant())
    return index;
  // Times 0 or 1, which leaves an address that loops can step.
  Value repeats = atEntry([&]() -> Value {
    Value isOne = equal(evaluate(dim), number(1));
    return memo({&baseTag, isOne.getAsOpaquePointer()},
                [&] { return select(isOne, number(0), number(1)); });
  });
  return mul(index, repeats);
}

Indices Emitter::broadcastIndex(ArrayRef<Value> index, ArrayRef<Expr> dims,
                                Value operand) {
  SmallVector<Expr> own = graph::getDims(operand);
  size_t skip = dims.size() - own.size();
  Indices result;
  for (auto [i, dim] : llvm::enumerate(own))
    result.push_back(broadcastAxis(index[skip + i], dims[skip + i], dim));
  return result;
}

/// Along an axis of size 1 there is one index, whatever loop it comes from.
Indices Emitter::canonicalIndex(Value tensor, ArrayRef<Value> index) {
  Indices result(index);
  for (auto [i, dim] : llvm::enumerate(graph::getDims(tensor)))
    if (i < result.size() && dim.isConstant(1))
      result[i] = number(0);
  return result;
}

Emitter::Key Emitter::elementKey(Value tensor, ArrayRef<Value> index) {
  Key key = {laneState ? &laneTag : &elementTag, tensor.getAsOpaquePointer()};
  for (Value i : index)
    key.push_back(i.getAsOpaquePointer());
  return key;
}

void Emitter::bind(Value tensor, ArrayRef<Value> index, Value value) {
  scopes.back()[elementKey(tensor, canonicalIndex(tensor, index))] = value;
}

void Emitter::place(Value tensor, Value base) { placed[tensor] = base; }

Value Emitter::element(Value tensor, ArrayRef<Value> at) {
  Indices index = canonicalIndex(tensor, at);
  return laneState ? laneElement(tensor, index) : scalarElement(tensor, index);
}

Value Emitter::scalarElement(Value tensor, Indices index) {
  return memo(elementKey(tensor, index), [&]() -> Value {
    if (auto argument = dyn_cast<BlockArgument>(tensor))
      return loadArgument(argument, index);
    if (Value base = placed.lookup(tensor))
      return loadRowMajor(base, tensor, index);
    Operation *op = tensor.getDefiningOp();
    switch (kernel::roleOf(op)) {
    case kernel::Role::Pointwise: {
      if (const ByteTable *table = tableOf(op))
        return lookUp(op, *table, element(table->leaf, index));
      SmallVector<Expr> dims = graph::getDims(tensor);
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(
            element(operand, broadcastIndex(index, dims, operand)));
      if (Value rounded = flushingCast(op, operands))
        return rounded;
      return emitFormula(b, *this, op, operands);
    }
    case kernel::Role::Movement:
    case kernel::Role::Constant:
      return emitMovement(*this, op, index);
    case kernel::Role::Root:
    case kernel::Role::Foreign:
      break;
    }
    giveUp("reads '" + op->getName().getStringRef() +
           "' at an element that is not at hand; please report this");
    return zero(computeType(graph::getElementType(tensor)));
  });
}

} // namespace tenon::cpu
