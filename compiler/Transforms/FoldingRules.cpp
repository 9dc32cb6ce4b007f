//===- FoldingRules.cpp - What may be computed ahead ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/FoldingRules.h"
#include "compiler/Transforms/StoredTensors.h"
#include "dialects/Kernel/QuantizedRhs.h"
#include "dialects/Kernel/RecurrentView.h"

using namespace mlir;

namespace tenon {
namespace {

/// Whether an op multiplies a matrix, or a filter of one group.
bool multipliesFactor(Operation *op, size_t rank) {
  auto conv = dyn_cast<graph::ConvOp>(op);
  return conv ? conv.getGroup() == 1 : isa<graph::MatmulOp>(op) && rank == 2;
}

/// Whether an op makes numbers of 32 bits of those of 8 that a product reads.
bool widensFactor(Operation *op) {
  auto multiplies = [&](Operation *user) {
    return multipliesFactor(user, size_t(graph::getRank(op->getResult(0))));
  };
  auto reaches = [&](Operation *user) {
    return multiplies(user) || (isa<graph::SubOp>(user) &&
                                llvm::any_of(user->getUsers(), multiplies));
  };
  auto cast = dyn_cast<graph::CastOp>(op);
  return cast && graph::getElementType(cast.getResult()).isInteger(32) &&
         graph::getElementType(cast.getInput()).isInteger(8) &&
         llvm::any_of(op->getUsers(), reaches);
}

/// Whether an op belongs to the form in which kernels take in weights of few
/// bits (see QuantizedRhs.h).
bool isOfQuantizedRhs(Operation *op) {
  auto isWhole = [](Operation *user) {
    return isa<graph::ReshapeOp>(user) &&
           kernel::quantizedRhsOf(user->getResult(0));
  };
  if (kernel::widensNumbers(op))
    return llvm::any_of(op->getUsers(), isWhole);
  return isa<graph::ReshapeOp>(op) &&
         llvm::any_of(op->getUsers(), [&](Operation *user) {
           return kernel::widensNumbers(user) &&
                  llvm::any_of(user->getUsers(), isWhole);
         });
}

/// Whether an op makes many of one number, for others to be put among them. As
/// a weight they would be no less work, and nobody would see that they are
/// zeros (see SkipExperts.cpp).
bool fillsScatter(Operation *op) {
  auto broadcast = dyn_cast<graph::BroadcastOp>(op);
  if (!broadcast)
    return false;
  std::optional<int64_t> bytes = bytesOf(broadcast.getResult());
  return bytes && *bytes > inlineBytes && countOf(broadcast.getInput()) == 1 &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           return isa<graph::ScatterElementsOp, graph::ScatterNdOp>(user) &&
                  user->getOperand(0) == broadcast.getResult();
         });
}

} // namespace

std::optional<int64_t> bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.hasStaticShape())
    return std::nullopt;
  return tensorBytes(type.getElementType(), type.getShape());
}

int64_t countOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

bool dequantizesFilter(Operation *op) {
  auto dequantize = dyn_cast<graph::DequantizeOp>(op);
  return dequantize &&
         graph::getElementType(dequantize.getInput()).isInteger(8) &&
         llvm::any_of(op->getUsers(), [](Operation *user) {
           auto conv = dyn_cast<graph::ConvOp>(user);
           return conv && (conv.getGroup() == 1 ||
                           graph::getDims(conv.getFilter())[1].isConstant(1));
         });
}

bool widensHalves(Operation *op) {
  auto cast = dyn_cast<graph::CastOp>(op);
  return cast && graph::getElementType(cast.getResult()).isF32() &&
         graph::byteWidth(graph::getElementType(cast.getInput())) == 2;
}

bool widensFilter(Operation *op) {
  return widensHalves(op) && llvm::all_of(op->getUsers(), [&](Operation *user) {
           auto conv = dyn_cast<graph::ConvOp>(user);
           return conv && conv.getFilter() == op->getResult(0);
         });
}

bool computesFilters(Operation *op) {
  if (isa<graph::CastOp>(op))
    return false;
  llvm::SetVector<Value> values;
  values.insert(op->getResult(0));
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto conv = dyn_cast<graph::ConvOp>(user);
          conv && conv.getFilter() == values[i])
        continue;
      if (!kernel::isViewOp(user) && !graph::isPointwise(user))
        return false;
      values.insert(user->getResult(0));
    }
  return !op->use_empty();
}

bool isForWideWeights(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUsers(), [&](Operation *user) {
           if (kernel::isViewOp(user) || isa<graph::CastOp, graph::SubOp>(user))
             return isForWideWeights(user->getResult(0));
           if (auto conv = dyn_cast<graph::ConvOp>(user))
             return conv.getGroup() != 1 &&
                    graph::getElementType(conv.getResult()).isF32();
           if (auto conv = dyn_cast<graph::ConvTransposeOp>(user))
             return conv.getFilter() == value;
           auto cell = dyn_cast<graph::RecurrentOp>(user);
           return cell && !(cell.getRecurrence() == value &&
                            kernel::storedRecurrenceOf(cell) != value);
         });
}

bool widensVector(Operation *op) {
  return isa<graph::DequantizeOp>(op) && graph::getRank(op->getResult(0)) == 1;
}

bool mayFold(Operation *op) {
  kernel::Role role = kernel::roleOf(op);
  if (op->getNumResults() != 1 || widensFactor(op) || isOfQuantizedRhs(op) ||
      fillsScatter(op) || role == kernel::Role::Foreign ||
      role == kernel::Role::Constant || op->getNumOperands() == 0)
    return false;
  return llvm::all_of(op->getOperands(), isWeightOrConstant);
}

} // namespace tenon
