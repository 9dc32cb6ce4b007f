//===- FoldConstants.cpp - Compute what depends on weights only -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Evaluate.h"
#include "compiler/Transforms/FoldingRules.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/StoredTensors.h"
#include <cstring>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// A result up to here is worth having whatever its operands weigh.
constexpr int64_t smallBytes = 4096;

/// The elements of so many bytes that lie so far apart along each axis, one
/// after the other; runs of the last axis at once where they do already.
std::vector<char> gathered(const char *source, ArrayRef<int64_t> sizes,
                           ArrayRef<int64_t> steps, int64_t width) {
  int64_t inner = sizes.size(), chunk = width;
  if (inner > 0 && steps.back() == width)
    chunk *= sizes[--inner];
  int64_t chunks = 1;
  for (int64_t size : sizes.take_front(inner))
    chunks *= size;
  std::vector<char> result(chunks * chunk);
  SmallVector<int64_t> index(inner, 0);
  for (size_t at = 0; at < result.size(); at += chunk) {
    std::memcpy(&result[at], source, chunk);
    for (int64_t axis = inner - 1; axis >= 0; --axis) {
      source += steps[axis];
      if (++index[axis] < sizes[axis])
        break;
      source -= index[axis] * steps[axis];
      index[axis] = 0;
    }
  }
  return result;
}

/// Whether all of some elements are inside of an axis.
bool isInside(int64_t first, int64_t step, int64_t count, int64_t size) {
  int64_t last;
  return count > 0 && first >= 0 && first < size &&
         !__builtin_mul_overflow(step, count - 1, &last) &&
         !__builtin_add_overflow(last, first, &last) && last >= 0 &&
         last < size;
}

/// From one element to the next along each axis, in bytes.
SmallVector<int64_t> bytesApart(ArrayRef<int64_t> shape, int64_t width) {
  SmallVector<int64_t> strides(shape.size(), width);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

/// The bytes of weights end to end along an axis.
std::vector<char> concatenated(ArrayRef<const Weight *> parts, int64_t axis,
                               int64_t bytes) {
  int64_t rounds = 1;
  for (int64_t size : ArrayRef(parts[0]->shape).take_front(axis))
    rounds *= size;
  std::vector<char> result;
  result.reserve(bytes);
  for (int64_t round = 0; round < rounds; ++round)
    for (const Weight *part : parts) {
      size_t run = part->bytes().size() / rounds;
      const char *from = part->bytes().data() + round * run;
      result.insert(result.end(), from, from + run);
    }
  return result;
}

class Folder {
public:
  Folder(WeightStore &weights, Folding folding)
      : weights(weights), folding(folding) {}

  /// Replaces the op when its value can be computed now.
  void fold(Operation *op) {
    if (auto conv = dyn_cast<graph::ConvOp>(op))
      return storeFilter(conv);
    if (!mayFold(op) || (dequantizesFilter(op) && folding != Folding::Filters))
      return;
    const Weight *weight = weightOf(op->getOperand(0), weights);
    if (auto reshape = dyn_cast<graph::ReshapeOp>(op); reshape && weight)
      return foldReshape(reshape, *weight);
    if (auto transpose = dyn_cast<graph::TransposeOp>(op); transpose && weight)
      return foldTranspose(transpose, *weight);
    if (auto slice = dyn_cast<graph::SliceOp>(op); slice && weight)
      if (foldSlice(slice, *weight))
        return;
    if (auto cast = dyn_cast<graph::CastOp>(op); cast && weight)
      if (foldRounding(cast, *weight))
        return;
    if (auto concat = dyn_cast<graph::ConcatOp>(op); concat && weight)
      if (foldConcat(concat))
        return;
    evaluate(op);
  }

private:
  void replace(Operation *op, llvm::Expected<const Weight *> weight) {
    if (!weight) {
      // The op then runs at run time: nothing is lost.
      llvm::consumeError(weight.takeError());
      return;
    }
    OpBuilder builder(op);
    Value value = graph::WeightOp::create(
        builder, op->getLoc(), op->getResult(0).getType(), (*weight)->name);
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  /// Makes a weight of a filter that is few enough numbers for a constant:
  /// kernels of convolutions pack weights alone.
  void storeFilter(graph::ConvOp op) {
    auto constant = op.getFilter().getDefiningOp<graph::ConstantOp>();
    if (!constant || !isa<FloatType>(graph::getElementType(op.getFilter())))
      return;
    std::optional<reference::Tensor> tensor = tensorOf(op.getFilter(), weights);
    if (!tensor)
      return;
    auto type = cast<RankedTensorType>(op.getFilter().getType());
    auto weight = weights.addOwned("filter", type.getElementType(),
                                   type.getShape(), tensor->toBytes());
    if (!weight)
      return llvm::consumeError(weight.takeError()); // It stays a constant.
    OpBuilder builder(op);
    op.getFilterMutable().assign(
        graph::WeightOp::create(builder, op.getLoc(), type, (*weight)->name));
  }

  void foldReshape(graph::ReshapeOp op, const Weight &weight) {
    auto type = cast<RankedTensorType>(op.getType());
    if (type.hasStaticShape())
      replace(op, weights.add(weight.name + ".reshaped", weight.elementType,
                              type.getShape(), weight.bytes(), weight.owner()));
  }

  void foldTranspose(graph::TransposeOp op, const Weight &weight) {
    auto type = cast<RankedTensorType>(op.getType());
    std::optional<int64_t> width = elementBytes(weight.elementType);
    if (!width || !type.hasStaticShape())
      return;
    // A matrix may be wanted in this form alone, or packed from the other.
    if (op.getPermutation() == ArrayRef<int64_t>{1, 0})
      return replace(
          op, weights.addTransposed(weight.name + ".transposed", weight));
    SmallVector<int64_t> apart = bytesApart(weight.shape, *width), steps;
    for (int64_t axis : op.getPermutation())
      steps.push_back(apart[axis]);
    replace(op, weights.addOwned(weight.name + ".transposed",
                                 weight.elementType, type.getShape(),
                                 gathered(weight.bytes().data(),
                                          type.getShape(), steps, *width)));
  }

  /// However large it is: whether it was one whose place is known.
  bool foldSlice(graph::SliceOp op, const Weight &weight) {
    auto type = cast<RankedTensorType>(op.getType());
    std::optional<int64_t> width = elementBytes(weight.elementType);
    std::optional<int64_t> bytes = bytesOf(op.getResult());
    if (!width || !bytes || *bytes <= inlineBytes)
      return false;
    int64_t first = 0;
    SmallVector<int64_t> steps;
    for (auto [axis, apart] :
         llvm::enumerate(bytesApart(weight.shape, *width))) {
      std::optional<int64_t> start = op.getStarts()[axis].asConstant(),
                             step = op.getSteps()[axis].asConstant();
      if (!start || !step ||
          !isInside(*start, *step, type.getDimSize(axis), weight.shape[axis]))
        return false;
      first += *start * apart;
      steps.push_back(*step * apart);
    }
    replace(op, weights.addOwned(weight.name + ".sliced", weight.elementType,
                                 type.getShape(),
                                 gathered(weight.bytes().data() + first,
                                          type.getShape(), steps, *width)));
    return true;
  }

  /// From f32 to bf16 or f16, rounded when it is written: whether it was that.
  bool foldRounding(graph::CastOp op, const Weight &weight) {
    Type type = graph::getElementType(op.getResult());
    if (!weight.elementType.isF32() || weight.shape.empty() ||
        (!type.isBF16() && !type.isF16()))
      return false;
    replace(op, weights.addRounded(weight, type));
    return true;
  }

  /// Of weights alone: whether it was one.
  bool foldConcat(graph::ConcatOp op) {
    SmallVector<const Weight *> parts;
    for (Value operand : op.getInputs()) {
      parts.push_back(weightOf(operand, weights));
      if (!parts.back() || parts.back()->elementType != parts[0]->elementType)
        return false;
    }
    std::optional<int64_t> bytes = bytesOf(op.getResult());
    if (!bytes || *bytes == 0)
      return false;
    auto type = cast<RankedTensorType>(op.getType());
    if (type.getRank() == 2 && op.getAxis() == 1) {
      replace(op, weights.addJoined(parts[0]->name + ".joined",
                                    {parts.begin(), parts.end()}));
      return true;
    }
    replace(op, weights.addOwned(parts[0]->name + ".joined",
                                 parts[0]->elementType, type.getShape(),
                                 concatenated(parts, op.getAxis(), *bytes)));
    return true;
  }

  void evaluate(Operation *op) {
    std::optional<int64_t> out = bytesOf(op->getResult(0));
    int64_t in = 0;
    for (Value operand : op->getOperands()) {
      std::optional<int64_t> bytes = bytesOf(operand);
      if (!bytes || countOf(operand) > mostFoldedElements)
        return;
      in += *bytes;
    }
    if (!out || countOf(op->getResult(0)) > mostFoldedElements ||
        (*out > in && *out > smallBytes && !isa<graph::PadOp>(op) &&
         !widensVector(op) && !isForWideWeights(op->getResult(0)) &&
         !computesFilters(op) && folding != Folding::Filters &&
         folding != Folding::WideFilters))
      return;
    SmallVector<reference::Tensor> operands;
    for (Value operand : op->getOperands()) {
      std::optional<reference::Tensor> tensor = tensorOf(operand, weights);
      if (!tensor)
        return;
      operands.push_back(std::move(*tensor));
    }
    reference::SymbolMap symbols;
    auto results = reference::evaluateOp(op, operands, symbols);
    if (!results) {
      // A fault of constant data is reported when the model runs.
      llvm::consumeError(results.takeError());
      return;
    }
    store(op, (*results)[0], *out);
  }

  void store(Operation *op, const reference::Tensor &tensor, int64_t bytes) {
    if (bytes > inlineBytes) {
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      return replace(op, weights.addOwned("folded", type.getElementType(),
                                          type.getShape(), tensor.toBytes()));
    }
    OpBuilder builder(op);
    Value value = graph::ConstantOp::create(
        builder, op->getLoc(), op->getResult(0).getType(), tensor.toAttr());
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  WeightStore &weights;
  Folding folding;
};

struct FoldConstants : impl::FoldConstantsPassBase<FoldConstants> {
  FoldConstants() = default;
  FoldConstants(WeightStore &weights, Folding folding)
      : weights(&weights), folding(folding) {}

  void runOnOperation() override {
    WeightStore none;
    Folder folder(weights ? *weights : none, folding);
    // In order of the block, so that chains fold in one walk.
    getOperation().walk([&](Operation *op) {
      if (isWanted(op))
        folder.fold(op);
    });
  }

private:
  bool isWanted(Operation *op) const {
    switch (folding) {
    case Folding::All:
      return true;
    case Folding::Roundings:
      // What was rounded is for kernels that read it so.
      return (isa<graph::CastOp>(op) && !widensHalves(op)) ||
             isa<graph::PadOp>(op) ||
             (isa<graph::ReshapeOp, graph::TransposeOp>(op) &&
              computesFilters(op));
    case Folding::Filters:
      return dequantizesFilter(op);
    case Folding::WideFilters:
      return widensFilter(op);
    }
    llvm_unreachable("all kinds of folding");
  }

  WeightStore *weights = nullptr;
  Folding folding = Folding::All;
};

} // namespace

std::unique_ptr<Pass> createFoldConstantsPass(WeightStore &weights,
                                              Folding folding) {
  return std::make_unique<FoldConstants>(weights, folding);
}
} // namespace tenon
