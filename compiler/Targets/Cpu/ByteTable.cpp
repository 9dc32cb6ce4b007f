//===- ByteTable.cpp - What is computed of one byte -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// There are 256 bytes: what follows of each is computed here, by the
// evaluator, and kernels look it up, sixteen at once by permutes of registers.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/ByteTable.h"
#include "compiler/Reference/Evaluate.h"
#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/ByteChain.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t tableSize = 256;

RankedTensorType typeOf(Value value) {
  return RankedTensorType::get({tableSize}, graph::getElementType(value));
}

/// What a copy of an op gives, on operands of the table's size.
std::optional<DenseElementsAttr>
evaluateForAll(Operation *op,
               const llvm::DenseMap<Value, DenseElementsAttr> &known) {
  Block block;
  SmallVector<Attribute> operands;
  IRMapping map;
  for (Value operand : op->getOperands()) {
    DenseElementsAttr number = tenon::kernel::knownNumberOf(operand);
    operands.push_back(number ? number : known.lookup(operand));
    map.map(operand,
            block.addArgument(cast<TypedAttr>(operands.back()).getType(),
                              op->getLoc()));
  }
  Operation *copy = op->clone(map);
  block.push_back(copy);
  copy->getResult(0).setType(typeOf(op->getResult(0)));
  return reference::foldToAttr(copy, operands, tableSize);
}

} // namespace

std::optional<ByteTable> byteTableOf(graph::QuantizeOp op) {
  std::optional<tenon::kernel::ByteChain> chain =
      tenon::kernel::byteChainOf(op);
  if (!chain)
    return std::nullopt;
  SmallVector<char> bytes;
  for (int64_t i = 0; i < tableSize; ++i)
    bytes.push_back(char(i));
  llvm::DenseMap<Value, DenseElementsAttr> known;
  known[chain->leaf] =
      DenseElementsAttr::getFromRawBuffer(typeOf(chain->leaf), bytes);
  for (Operation *step : chain->ops) {
    std::optional<DenseElementsAttr> result = evaluateForAll(step, known);
    if (!result)
      return std::nullopt;
    known[step->getResult(0)] = *result;
  }
  ByteTable table{chain->leaf, {}};
  for (const APInt &number : known[op.getResult()].getValues<APInt>())
    table.numbers.push_back(char(number.getZExtValue()));
  return table;
}

const ByteTable *Emitter::tableOf(Operation *op) {
  auto quantize = dyn_cast<graph::QuantizeOp>(op);
  if (!quantize || !level.byteTables)
    return nullptr;
  auto [found, isNew] = tables.try_emplace(op);
  if (isNew)
    if (std::optional<ByteTable> table = byteTableOf(quantize))
      found->second = std::make_unique<ByteTable>(std::move(*table));
  return found->second.get();
}

bool Emitter::looksUp() {
  auto ops = kernel.getBlock().getOps<graph::QuantizeOp>();
  return llvm::any_of(ops, [&](graph::QuantizeOp op) { return tableOf(op); });
}

Value Emitter::lookUp(Operation *op, const ByteTable &table, Value byte) {
  Value base = bytesBase(op, table.numbers);
  Type i8 = b.getI8Type();
  auto few = dyn_cast<VectorType>(byte.getType());
  if (!few)
    return loadRaw(base, i8, arith::ExtUIOp::create(b, b.getI64Type(), byte));
  // The instruction looks bytes up in two registers, by their lower bits.
  constexpr int64_t lanes = 64;
  auto type = VectorType::get({lanes}, i8);
  auto resized = [&](Value vector, int64_t from, int64_t to) -> Value {
    SmallVector<int32_t> mask(to, -1);
    for (int64_t i = 0; i < std::min(from, to); ++i)
      mask[i] = int32_t(i);
    return LLVM::ShuffleVectorOp::create(b, vector, vector, mask);
  };
  Value places = resized(byte, few.getNumElements(), lanes);
  auto half = [&](int64_t first) -> Value {
    Value low = loadRaw(base, type, number(first)),
          high = loadRaw(base, type, number(first + 1));
    return LLVM::CallIntrinsicOp::create(
               b, type, b.getStringAttr("llvm.x86.avx512.vpermi2var.qi.512"),
               ValueRange{low, places, high})
        .getResult(0);
  };
  Value isUpper = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, places,
                                        constantLike(b, type, 0));
  Value found = arith::SelectOp::create(b, isUpper, half(2), half(0));
  return resized(found, lanes, few.getNumElements());
}

} // namespace tenon::cpu
