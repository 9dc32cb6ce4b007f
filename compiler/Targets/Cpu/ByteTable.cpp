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
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr int64_t tableSize = 256;
/// Steps, of which two are the scales, that take longer than a look.
constexpr size_t leastSteps = 3;
constexpr size_t mostSteps = 24;

bool isByte(Value value) { return graph::getElementType(value).isInteger(8); }

/// The number that all elements of a constant are, without axes; null for other
/// values.
DenseElementsAttr numberOf(Value value) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (!elements || elements.getNumElements() != 1)
    return {};
  return elements.reshape(RankedTensorType::get({}, elements.getElementType()));
}

/// The ops between a byte and one that is computed of it.
class Steps {
public:
  explicit Steps(graph::QuantizeOp end) : end(end) {}

  /// Whether all lead to one byte, of which they are enough.
  bool find() { return visit(end) && leaf && ops.size() >= leastSteps; }

  std::optional<ByteTable> evaluate() {
    SmallVector<char> bytes;
    for (int64_t i = 0; i < tableSize; ++i)
      bytes.push_back(char(i));
    llvm::DenseMap<Value, DenseElementsAttr> known;
    known[leaf] = DenseElementsAttr::getFromRawBuffer(typeOf(leaf), bytes);
    for (Operation *op : ops) {
      std::optional<DenseElementsAttr> result = evaluateForAll(op, known);
      if (!result)
        return std::nullopt;
      known[op->getResult(0)] = *result;
    }
    ByteTable table{leaf, {}};
    for (const APInt &number : known[end.getResult()].getValues<APInt>())
      table.numbers.push_back(char(number.getZExtValue()));
    return table;
  }

private:
  static RankedTensorType typeOf(Value value) {
    return RankedTensorType::get({tableSize}, graph::getElementType(value));
  }

  /// What a copy of an op gives, on operands of the table's size.
  static std::optional<DenseElementsAttr>
  evaluateForAll(Operation *op,
                 const llvm::DenseMap<Value, DenseElementsAttr> &known) {
    Block block;
    SmallVector<Attribute> operands;
    IRMapping map;
    for (Value operand : op->getOperands()) {
      DenseElementsAttr number = numberOf(operand);
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

  /// Adds an op behind those that it reads.
  bool visit(Operation *op) {
    if (ops.contains(op))
      return true;
    // Integers may be divided by a zero, which is a fault of the data.
    Type type = graph::getElementType(op->getResult(0));
    bool isTotal = op == end || isa<FloatType>(type) || type.isInteger(1);
    if (!graph::isPointwise(op) || op->getNumResults() != 1 ||
        ops.size() >= mostSteps || !isTotal ||
        !llvm::all_of(op->getOperands(), [&](Value x) { return reads(x); }))
      return false;
    ops.insert(op);
    return true;
  }

  bool reads(Value value) {
    if (numberOf(value))
      return true;
    if (graph::getDims(value) != graph::getDims(end.getResult()))
      return false;
    if (isByte(value)) {
      if (!leaf)
        leaf = value;
      return leaf == value;
    }
    return value.getDefiningOp() && visit(value.getDefiningOp());
  }

  graph::QuantizeOp end;
  Value leaf;
  llvm::SetVector<Operation *> ops;
};

} // namespace

std::optional<ByteTable> byteTableOf(graph::QuantizeOp op) {
  if (!isByte(op.getResult()))
    return std::nullopt;
  Steps steps(op);
  return steps.find() ? steps.evaluate() : std::nullopt;
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
