//===- Emitter.cpp - Functions, and the choice of loops -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Emitter.h"
#include "compiler/Targets/Cpu/DepthwisePlanes.h"
#include "compiler/Targets/Cpu/DepthwiseTiles.h"
#include "compiler/Targets/Cpu/LineConv.h"
#include "compiler/Targets/Cpu/PoolRows.h"
#include "compiler/Targets/Cpu/RecurrentTiles.h"
#include "compiler/Targets/Cpu/ResizeRows.h"
#include "compiler/Targets/Cpu/SmallConv.h"
#include "compiler/Targets/Cpu/StateColumns.h"
#include "compiler/Targets/Cpu/WinogradConv.h"
#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/ResultPlaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr char mathTag = 0;
const void *tag(intptr_t number) {
  return reinterpret_cast<const void *>(number);
}

} // namespace

Emitter::Emitter(kernel::FuncOp kernel, const CpuLevel &level, ModuleOp module)
    : kernel(kernel), level(level), module(module),
      b(UnknownLoc::get(kernel.getContext()), kernel.getContext()) {
  scopes.emplace_back();
}

LogicalResult Emitter::emit() {
  startFunctions();
  if (failed(emitRows()))
    return failure();
  finishFunctions();
  return failure(failedAlready);
}

LogicalResult Emitter::emitRows() {
  if (kernel.getSchedule() == "PackedMatmul")
    return emitPanelMatmul(*this, /*isPacked=*/true);
  if (kernel.getSchedule() == "BatchedMatmul")
    return emitPanelMatmul(*this, /*isPacked=*/false);
  if (kernel.getSchedule() == "PackedMatmulInt8")
    return emitIntegerMatmul(*this, /*isPacked=*/true);
  if (kernel.getSchedule() == "BatchedMatmulInt8")
    return emitIntegerMatmul(*this, /*isPacked=*/false);
  if (kernel.getSchedule() == "LineConv" ||
      kernel.getSchedule() == "WinogradPairs" ||
      kernel.getSchedule() == "LineConvInt8")
    return emitLineConv(*this);
  if (kernel.getSchedule() == "PackedConv" ||
      kernel.getSchedule() == "PackedConvInt8")
    return emitPackedConv(*this);
  if (kernel.getSchedule() == "WinogradF2")
    return emitWinogradConv(*this, 2);
  if (kernel.getSchedule() == "WinogradF4")
    return emitWinogradConv(*this, 4);
  if (kernel.getSchedule() == "FewMapsConv")
    return emitFewMapsConv(*this);
  if (kernel.getSchedule() == "DirectConv")
    return emitDirectConv(*this);
  if (kernel.getSchedule() == "SmallConv")
    return emitSmallConv(*this);
  if (kernel.getSchedule() == "DepthwiseTiles" ||
      kernel.getSchedule() == "GroupTiles")
    return emitDepthwiseTiles(*this);
  if (kernel.getSchedule() == "DepthwisePlanes")
    return emitDepthwisePlanes(*this);
  if (kernel.getSchedule() == "DepthwiseConv")
    return emitDepthwiseConv(*this);
  if (kernel.getSchedule() == "Attention")
    return emitAttentionBlocks(*this);
  if (kernel.getSchedule() == "RowProgram")
    return emitRowProgram(*this);
  if (kernel.getSchedule() == "PoolRows")
    return emitPoolRows(*this);
  if (kernel.getSchedule() == "ResizeRows")
    return emitResizeRows(*this);
  if (kernel.getSchedule() == "RecurrentTiles")
    return emitRecurrentTiles(*this);
  if (kernel.getSchedule() == "LinearAttention")
    return emitStateTiles(*this);
  return emitGeneric();
}

LogicalResult Emitter::emitGeneric() {
  Operation *root = kernel::findRoot(kernel.getBlock());
  if (!root) {
    emitPointwiseRows(*this);
    return success();
  }
  for (auto emitRoot :
       {emitMatmul, emitWindows, emitReductions, emitNormalizations, emitAppend,
        emitScans, emitScatters, emitSuppress, emitTopk, emitResize,
        emitRecurrent, emitAttention, emitLinearAttention})
    if (emitRoot(*this, root))
      return success();
  return root->emitOpError("has no emission; please report this");
}

Value Emitter::giveUp(const Twine &reason) {
  if (!failedAlready)
    kernel.emitOpError(reason);
  failedAlready = true;
  return number(0);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Emitter::startFunctions() {
  MLIRContext *context = kernel.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = b.getI64Type();
  unsigned count = kernel::bufferCount(kernel);
  SmallVector<Type> inputs(count + 1, pointer);
  inputs.append({i64, i64, pointer});
  b.setInsertionPointToEnd(module.getBody());
  std::string name = (kernel.getSymName() + "." + level.name + ".rows").str();
  rowsFunction = LLVM::LLVMFuncOp::create(
      b, name, LLVM::LLVMFunctionType::get(b.getI32Type(), inputs),
      LLVM::Linkage::Internal);
  for (unsigned i = 0; i <= count; ++i)
    rowsFunction.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                            b.getUnitAttr());

  Block *entry = rowsFunction.addEntryBlock(b);
  llvm::append_range(buffers, entry->getArguments().take_front(count));
  params = entry->getArgument(count);
  begin = entry->getArgument(count + 1);
  end = entry->getArgument(count + 2);
  this->context = entry->getArgument(count + 3);
  b.setInsertionPointToStart(entry);
  Value one = arith::ConstantIntOp::create(b, 1, 64);
  faultSlot = LLVM::AllocaOp::create(b, pointer, b.getI32Type(), one);
  LLVM::StoreOp::create(b, arith::ConstantIntOp::create(b, 0, 32), faultSlot);
  entryEnd = arith::ConstantIntOp::create(b, 0, 1);
  // What the body computes lies behind the entry, which must not use it.
  scopes.emplace_back();
}

void Emitter::finishFunctions() {
  Value fault = LLVM::LoadOp::create(b, b.getI32Type(), faultSlot);
  LLVM::ReturnOp::create(b, fault);
  addWrapper();
}

void Emitter::addWrapper() {
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  Type i64 = b.getI64Type();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  std::string name = (kernel.getSymName() + "." + level.name).str();
  auto wrapper = LLVM::LLVMFuncOp::create(
      b, name,
      LLVM::LLVMFunctionType::get(b.getI32Type(),
                                  {pointer, pointer, i64, i64, pointer}));
  Block *entry = wrapper.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  SmallVector<Value> operands;
  for (size_t i = 0; i < buffers.size(); ++i) {
    Value slot = LLVM::GEPOp::create(b, pointer, pointer, entry->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(i)});
    operands.push_back(LLVM::LoadOp::create(b, pointer, slot));
  }
  llvm::append_range(operands, entry->getArguments().drop_front());
  auto call = LLVM::CallOp::create(b, rowsFunction, operands);
  LLVM::ReturnOp::create(b, call.getResult());
}

Value Emitter::symbolValue(unsigned ordinal) {
  return loadRaw(params, b.getI64Type(), number(ordinal));
}

Value Emitter::scratchBase() {
  return loadRaw(context, LLVM::LLVMPointerType::get(kernel.getContext()),
                 number(0));
}

Value Emitter::sharedBase() {
  constexpr int64_t place = 5; // In tenon_kernel_context_t.
  return loadRaw(context, LLVM::LLVMPointerType::get(kernel.getContext()),
                 number(place));
}

Value Emitter::cacheWays() {
  constexpr int64_t place = 6; // In tenon_kernel_context_t.
  return atEntry(
      [&] { return loadRaw(context, b.getI64Type(), number(place)); });
}

Value Emitter::argumentBuffer(unsigned i) {
  // An argument that the result overwrites has the result's address: read
  // through one pointer, so that the code knows that they are the same.
  auto inPlace = kernel->getAttrOfType<IntegerAttr>(kernel::inPlace);
  return inPlace && inPlace.getInt() == i ? resultBuffer(0) : buffers[i];
}

Value Emitter::resultBuffer(unsigned i) {
  return buffers[kernel.getBlock().getNumArguments() + i];
}

//===----------------------------------------------------------------------===//
// What formulas ask for
//===----------------------------------------------------------------------===//

Value Emitter::callMath(int function, ValueRange operands) {
  Type type = operands[0].getType();
  bool isDouble = type.isF64();
  // The tables follow each other in tenon_kernel_context_t.
  int table = 1 + (isDouble ? 0 : 2) + (operands.size() == 2 ? 1 : 0);
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  Value callee = atEntry([&] {
    return memo({&mathTag, tag(table), tag(function)}, [&]() -> Value {
      Value base = loadRaw(context, pointer, number(table));
      return loadRaw(base, pointer, number(function));
    });
  });
  SmallVector<Type> inputs(operands.size(), type);
  SmallVector<Value> all = {callee};
  llvm::append_range(all, operands);
  auto call =
      LLVM::CallOp::create(b, LLVM::LLVMFunctionType::get(type, inputs), all);
  auto none = LLVM::ModRefInfo::NoModRef;
  call.setMemoryEffectsAttr(LLVM::MemoryEffectsAttr::get(
      kernel.getContext(), {none, none, none, none, none, none}));
  call.setNoUnwind(true);
  call.setWillReturn(true);
  return call.getResult();
}

void Emitter::fault(Value bad, int code, Operation *op) {
  if (getConstantIntValue(bad) == 0)
    return;
  int64_t ordinal = std::distance(op->getBlock()->begin(), Block::iterator(op));
  Value none = arith::ConstantIntOp::create(b, 0, 32);
  Value word = arith::ConstantIntOp::create(b, code | ordinal << 8, 32);
  Value now = arith::SelectOp::create(b, bad, word, none);
  Value before = LLVM::LoadOp::create(b, b.getI32Type(), faultSlot);
  LLVM::StoreOp::create(b, arith::MaxUIOp::create(b, before, now), faultSlot);
}

//===----------------------------------------------------------------------===//
// Kernels without root
//===----------------------------------------------------------------------===//

/// What is yielded before transposes and reshapes, down to `last`.
static Value behindViews(Value value, Operation *last) {
  while (isa_and_present<graph::TransposeOp, graph::ReshapeOp>(
             value.getDefiningOp()) &&
         value.getDefiningOp() != last)
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

void Emitter::storeYields(ArrayRef<Value> index, Value position) {
  Block &body = kernel.getBlock();
  Operation *root = kernel::findRoot(body);
  SmallVector<Expr> dims = root ? graph::getDims(kernel::loopedOver(root))
                                : kernel::iterationDims(body);
  Indices turned;
  graph::TransposeOp turn;
  if (auto matmul = dyn_cast_if_present<graph::MatmulOp>(root))
    if ((turn = kernel::turnBehind(matmul))) {
      for (int64_t axis : turn.getPermutation())
        turned.push_back(index[axis]);
      index = turned;
      position = linearise(index, dimsOf(turn.getResult()));
      dims = graph::getDims(turn.getResult());
    }
  for (auto [i, yielded] : llvm::enumerate(kernel.getYielded())) {
    Value source = yielded;
    // What is known when all of a row is (see RowBytes.h).
    if (isa_and_present<graph::QuantizeRowsOp>(source.getDefiningOp()))
      continue;
    Value inner = kernel::behindReshapes(yielded);
    Value value, at = position;
    if (Value moved = root ? behindViews(yielded, turn) : Value();
        moved && moved != inner && graph::getDims(moved) == dims) {
      value = element(moved, index);
      at = positionInside(moved, yielded, index);
    } else if (graph::getDims(inner) == dims) {
      value = element(inner, index);
    } else if (graph::getDims(source) == dims) {
      value = element(source, index);
    } else {
      value = element(source, delinearise(position, dimsOf(source)));
    }
    Type element = graph::getElementType(source);
    auto pitch = kernel->getAttrOfType<IntegerAttr>(kernel::pitch);
    auto copyPitch = kernel->getAttrOfType<IntegerAttr>(kernel::copyPitch);
    if (pitch)
      at = positionApart(index, dims, pitch.getInt());
    store(value, resultBuffer(i), element, at);
    if (copyPitch)
      store(value, buffers.back(), element,
            positionApart(index, dims, copyPitch.getInt()));
  }
}

Value Emitter::positionApart(ArrayRef<Value> index, ArrayRef<Expr> dims,
                             int64_t pitch) {
  Indices sizes;
  for (Expr dim : dims)
    sizes.push_back(valueOf(dim));
  Value row = linearise(index.drop_back(), ArrayRef(sizes).drop_back());
  return add(mul(row, number(pitch)), index.back());
}

Value Emitter::positionInside(Value value, Value yielded,
                              ArrayRef<Value> index) {
  auto strides = kernel::stridesInside(value, yielded);
  if (!strides)
    return giveUp("cannot tell where an element of its result goes");
  Value position = number(0);
  for (auto [i, stride] : llvm::zip(index, *strides))
    position = add(position, mul(i, valueOf(stride)));
  return position;
}

void Emitter::storeRow(Operation *root, ArrayRef<Value> lead, Value row,
                       Value length, function_ref<Value(Value)> valueAt) {
  Value result = root->getResult(0);
  Value base = mul(row, length);
  columns(number(0), length, [&](Value i) {
    Indices index(lead);
    if (graph::getRank(result) > 0)
      index.push_back(i);
    bind(result, index, roundTo(b, valueAt(i), graph::getElementType(result)));
    storeYields(index, add(base, i));
  });
}

} // namespace tenon::cpu
