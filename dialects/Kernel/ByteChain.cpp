//===- ByteChain.cpp - What is computed of one byte -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/ByteChain.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Steps, of which two are the scales, that take longer than a look.
constexpr size_t leastSteps = 3;
constexpr size_t mostSteps = 64;

bool isByte(Value value) { return graph::getElementType(value).isInteger(8); }

/// The ops between a byte and one that is computed of it.
class Steps {
public:
  explicit Steps(graph::QuantizeOp end) : end(end) {}

  /// Whether all lead to one byte, of which they are enough.
  std::optional<ByteChain> find() {
    if (!visit(end) || !leaf || ops.size() < leastSteps)
      return std::nullopt;
    return ByteChain{leaf, ops.takeVector()};
  }

private:
  /// Adds an op behind those that it reads.
  bool visit(Operation *op) {
    if (ops.contains(op))
      return true;
    // Integers may be divided by a zero, which is a fault of the data.
    Type type = graph::getElementType(op->getResult(0));
    bool isTotal =
        isa<graph::QuantizeOp>(op) || isa<FloatType>(type) || type.isInteger(1);
    if (!graph::isPointwise(op) || op->getNumResults() != 1 ||
        ops.size() >= mostSteps || !isTotal ||
        !llvm::all_of(op->getOperands(), [&](Value x) { return reads(x); }))
      return false;
    ops.insert(op);
    return true;
  }

  bool reads(Value value) {
    if (knownNumberOf(value))
      return true;
    if (graph::getDims(value) != graph::getDims(end.getResult()))
      return false;
    Operation *op = value.getDefiningOp();
    if (!isByte(value))
      return op && visit(op);
    return isBehindLeaf(value) || isLeaf(value);
  }

  bool isLeaf(Value value) {
    if (!leaf)
      leaf = value;
    return leaf == value;
  }

  /// Whether a byte is itself computed of the leaf; it need not be the leaf
  /// where it is, and several such may be read.
  bool isBehindLeaf(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || value == leaf || tried.contains(op))
      return false;
    size_t before = ops.size();
    Value leafBefore = leaf;
    if (visit(op))
      return true;
    while (ops.size() > before)
      ops.pop_back();
    leaf = leafBefore;
    tried.insert(op);
    return false;
  }

  graph::QuantizeOp end;
  Value leaf;
  llvm::SetVector<Operation *, SmallVector<Operation *>> ops;
  llvm::SmallDenseSet<Operation *> tried; // Bytes of more than the leaf.
};

} // namespace

DenseElementsAttr knownNumberOf(Value value) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (!elements || elements.getNumElements() != 1)
    return {};
  return elements.reshape(RankedTensorType::get({}, elements.getElementType()));
}

std::optional<ByteChain> byteChainOf(graph::QuantizeOp end) {
  return isByte(end.getResult()) ? Steps(end).find() : std::nullopt;
}

} // namespace tenon::kernel
