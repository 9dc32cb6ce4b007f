//===- EmitterValues.cpp - Numbers, memory and elements of tensors --------===//
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
constexpr char addTag = 0, subTag = 0, mulTag = 0, divTag = 0, remTag = 0,
               minTag = 0, maxTag = 0, lessTag = 0, equalTag = 0, bothTag = 0,
               eitherTag = 0, elementTag = 0, laneTag = 0, exprTag = 0,
               baseTag = 0, numberTag = 0, scratchTag = 0, sharedTag = 0,
               floorModTag = 0, floorDivTag = 0;

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
// Numbers
//===----------------------------------------------------------------------===//

Value Emitter::number(int64_t value) {
  Key key = {&numberTag, reinterpret_cast<const void *>(value)};
  if (auto found = scopes[0].find(key); found != scopes[0].end())
    return found->second;
  return atEntry([&] {
    return memo(key, [&]() -> Value {
      return arith::ConstantIntOp::create(b, value, 64);
    });
  });
}

Value Emitter::binary(const void *tag, Value x, Value y,
                      std::optional<int64_t> (*fold)(int64_t, int64_t),
                      function_ref<Value()> make) {
  std::optional<int64_t> left = getConstantIntValue(x),
                         right = getConstantIntValue(y);
  if (left && right)
    if (std::optional<int64_t> known = fold(*left, *right))
      return number(*known);
  return memo({tag, x.getAsOpaquePointer(), y.getAsOpaquePointer()}, make);
}

Value Emitter::add(Value x, Value y) {
  if (getConstantIntValue(x) == 0)
    return y;
  if (getConstantIntValue(y) == 0)
    return x;
  return binary(
      &addTag, x, y,
      [](int64_t l, int64_t r) { return llvm::checkedAdd(l, r); },
      [&]() -> Value { return arith::AddIOp::create(b, x, y); });
}

Value Emitter::sub(Value x, Value y) {
  if (getConstantIntValue(y) == 0)
    return x;
  return binary(
      &subTag, x, y,
      [](int64_t l, int64_t r) { return llvm::checkedSub(l, r); },
      [&]() -> Value { return arith::SubIOp::create(b, x, y); });
}

Value Emitter::mul(Value x, Value y) {
  if (getConstantIntValue(x) == 1 || getConstantIntValue(y) == 0)
    return y;
  if (getConstantIntValue(y) == 1 || getConstantIntValue(x) == 0)
    return x;
  return binary(
      &mulTag, x, y,
      [](int64_t l, int64_t r) { return llvm::checkedMul(l, r); },
      [&]() -> Value { return arith::MulIOp::create(b, x, y); });
}

Value Emitter::div(Value x, Value y) {
  if (getConstantIntValue(y) == 1 || getConstantIntValue(x) == 0)
    return x;
  return binary(&divTag, x, y, graph::floorDivide,
                [&]() -> Value { return arith::DivUIOp::create(b, x, y); });
}

Value Emitter::rem(Value x, Value y) {
  if (getConstantIntValue(y) == 1)
    return number(0);
  if (getConstantIntValue(x) == 0)
    return x;
  return binary(&remTag, x, y, graph::floorModulo,
                [&]() -> Value { return arith::RemUIOp::create(b, x, y); });
}

Value Emitter::ceilDiv(Value x, Value y) {
  return div(add(x, sub(y, number(1))), y);
}

Value Emitter::floorMod(Value x, Value y) {
  return binary(&floorModTag, x, y, graph::floorModulo, [&]() -> Value {
    Value rest = arith::RemSIOp::create(b, x, y);
    return select(less(rest, number(0)), add(rest, y), rest);
  });
}

Value Emitter::floorDiv(Value x, Value y) {
  return binary(&floorDivTag, x, y, graph::floorDivide, [&]() -> Value {
    return arith::DivSIOp::create(b, sub(x, floorMod(x, y)), y);
  });
}

Value Emitter::min(Value x, Value y) {
  if (x == y)
    return x;
  return binary(
      &minTag, x, y,
      [](int64_t l, int64_t r) { return std::optional(std::min(l, r)); },
      [&]() -> Value { return arith::MinSIOp::create(b, x, y); });
}

Value Emitter::max(Value x, Value y) {
  if (x == y)
    return x;
  return binary(
      &maxTag, x, y,
      [](int64_t l, int64_t r) { return std::optional(std::max(l, r)); },
      [&]() -> Value { return arith::MaxSIOp::create(b, x, y); });
}

Value Emitter::less(Value x, Value y) {
  std::optional<int64_t> left = getConstantIntValue(x),
                         right = getConstantIntValue(y);
  if (left && right)
    return arith::ConstantIntOp::create(b, *left < *right, 1);
  return memo({&lessTag, x.getAsOpaquePointer(), y.getAsOpaquePointer()},
              [&]() -> Value {
                return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x,
                                             y);
              });
}

Value Emitter::equal(Value x, Value y) {
  std::optional<int64_t> left = getConstantIntValue(x),
                         right = getConstantIntValue(y);
  if ((left && right) || x == y)
    return arith::ConstantIntOp::create(b, x == y || *left == *right, 1);
  return memo({&equalTag, x.getAsOpaquePointer(), y.getAsOpaquePointer()},
              [&]() -> Value {
                return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y);
              });
}

Value Emitter::both(Value x, Value y) {
  // A true i1 constant reads as -1.
  std::optional<int64_t> left = getConstantIntValue(x),
                         right = getConstantIntValue(y);
  if (left)
    return *left ? y : x;
  if (right)
    return *right ? x : y;
  return memo({&bothTag, x.getAsOpaquePointer(), y.getAsOpaquePointer()},
              [&]() -> Value { return arith::AndIOp::create(b, x, y); });
}

Value Emitter::either(Value x, Value y) {
  std::optional<int64_t> left = getConstantIntValue(x),
                         right = getConstantIntValue(y);
  if (left)
    return *left ? x : y;
  if (right)
    return *right ? y : x;
  return memo({&eitherTag, x.getAsOpaquePointer(), y.getAsOpaquePointer()},
              [&]() -> Value { return arith::OrIOp::create(b, x, y); });
}

Value Emitter::select(Value condition, Value x, Value y) {
  if (std::optional<int64_t> known = getConstantIntValue(condition))
    return *known ? x : y;
  return x == y ? x : arith::SelectOp::create(b, condition, x, y).getResult();
}

Indices Emitter::delinearise(Value position, ArrayRef<Value> dims) {
  Indices index(dims.size());
  for (size_t i = dims.size(); i-- > 0;) {
    if (i == 0) {
      index[i] = position;
      break;
    }
    index[i] = rem(position, dims[i]);
    position = div(position, dims[i]);
  }
  return index;
}

/// What both the quotient and the rest of a division by `dim` come from; null
/// for other numbers.
static Value dividedBy(Value quotient, Value rest, Value dim) {
  auto division = quotient.getDefiningOp<arith::DivUIOp>();
  auto remainder = rest.getDefiningOp<arith::RemUIOp>();
  if (!division || !remainder ||
      division.getOperands() != remainder.getOperands() ||
      division.getRhs() != dim)
    return {};
  return division.getLhs();
}

Value Emitter::linearise(ArrayRef<Value> index, ArrayRef<Value> dims) {
  Value position = number(0);
  for (auto [i, dim] : llvm::zip_equal(index, dims)) {
    Value whole = dividedBy(position, i, dim);
    position = whole ? whole : add(mul(position, dim), i);
  }
  return position;
}

Value Emitter::valueOf(Expr expr) {
  if (std::optional<int64_t> known = expr.asConstant())
    return number(*known);
  return atEntry([&] { return evaluate(expr); });
}

Value Emitter::evaluate(Expr expr) {
  Key key = {&exprTag, expr.getAttr().getAsOpaquePointer()};
  auto operand = [&](size_t i) { return evaluate(expr.operand(i)); };
  auto overAll = [&](auto combine) {
    Value value = operand(0);
    for (size_t i = 1; i < expr.size(); ++i)
      value = combine(value, operand(i));
    return value;
  };
  auto quotient = [&](bool wantRest) -> Value {
    // Sizes that divide are positive; a zero-sized tensor must not trap.
    Value x = operand(0), y = max(operand(1), number(1));
    if (expr.operand(0).isNonNegative())
      return wantRest ? rem(x, y) : div(x, y);
    return wantRest ? floorMod(x, y) : floorDiv(x, y);
  };
  switch (expr.kind()) {
  case graph::ExprKind::Constant:
    return number(expr.value());
  case graph::ExprKind::Symbol:
    return memo(key, [&]() -> Value {
      auto symbols = kernel.getSymbols();
      for (auto [i, symbol] : llvm::enumerate(symbols))
        if (cast<StringAttr>(symbol).getValue() == expr.name())
          return symbolValue(i);
      return giveUp("has no symbol '" + expr.name() + "'");
    });
  case graph::ExprKind::Product: {
    Value value = number(expr.value());
    for (size_t i = 0; i < expr.size(); ++i)
      value = mul(value, operand(i));
    return value;
  }
  case graph::ExprKind::Sum:
    return overAll([&](Value x, Value y) { return add(x, y); });
  case graph::ExprKind::FloorDiv:
    return memo(key, [&] { return quotient(false); });
  case graph::ExprKind::Mod:
    return memo(key, [&] { return quotient(true); });
  case graph::ExprKind::Min:
    return overAll([&](Value x, Value y) { return min(x, y); });
  case graph::ExprKind::Max:
    return overAll([&](Value x, Value y) { return max(x, y); });
  case graph::ExprKind::Broadcast:
    return memo(key, [&] {
      return overAll(
          [&](Value x, Value y) { return select(equal(x, number(1)), y, x); });
    });
  }
  llvm_unreachable("all kinds of expressions");
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
