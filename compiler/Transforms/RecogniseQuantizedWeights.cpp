//===- RecogniseQuantizedWeights.cpp - Products by weights of few bits ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files have quantized weights in many forms: numbers [N, K] or [K, N], a scale
// for all, for each column or for each block of k, as tensors of two axes or
// three; experts' are [E * N, K]. Products by them are given one form
// (dialects/Kernel/QuantizedRhs.h), whose three tensors are weights that
// kernels read as they are packed.
//
//===----------------------------------------------------------------------===//

#include "compiler/PrecisionPlan.h"
#include "compiler/Reference/Tensor.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/QuantizedWeights.h"
#include "compiler/Transforms/StoredTensors.h"
#include "compiler/Transforms/WeightPasses.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/QuantizedRhs.h"
#include <cstring>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_RECOGNISEQUANTIZEDWEIGHTSPASS
#include "compiler/Transforms/WeightPasses.h.inc"

namespace {

SmallVector<int64_t> shapeOf(Value value) {
  return SmallVector<int64_t>(
      cast<RankedTensorType>(value.getType()).getShape());
}

/// How numbers lie: [columns, blocks, block] where k is inner, else [blocks,
/// block, columns].
struct Lie {
  bool isDepthInner;
  int64_t columns, blocks, block;
  int64_t batches = 0; // Whose columns lie behind each other; 0: no batches.

  SmallVector<int64_t> shape() const {
    return isDepthInner ? SmallVector<int64_t>{columns, blocks, block}
                        : SmallVector<int64_t>{blocks, block, columns};
  }
  size_t blockAxis() const { return isDepthInner ? 2 : 1; }
};

class Recogniser {
public:
  Recogniser(WeightStore &weights, bool explain)
      : weights(weights), explain(explain) {}

  void run(graph::MatmulOp op) {
    Value rhs = op.getRhs();
    std::optional<kernel::StridedView> view = kernel::stridedViewOf(rhs);
    Operation *widened = view ? view->base.getDefiningOp() : nullptr;
    if (!kernel::widensNumbers(widened) || kernel::quantizedRhsOf(rhs) ||
        !llvm::all_of(widened->getOperands(), isWeightOrConstant))
      return;
    std::string why = rewrite(op, *view, widened);
    if (!why.empty() && explain)
      op.emitRemark("its weight is dequantized in memory: ") << why;
  }

private:
  std::string rewrite(graph::MatmulOp op, const kernel::StridedView &view,
                      Operation *widened) {
    Value numbers = widened->getOperand(0), scales = widened->getOperand(1);
    if (!graph::getElementType(op.getLhs()).isF32() ||
        !graph::getElementType(op.getRhs()).isF32())
      return "the product is not one of f32";
    SmallVector<int64_t> matrix = shapeOf(op.getRhs());
    SmallVector<int64_t> stored = shapeOf(numbers);
    if (matrix.size() > 3 || llvm::is_contained(stored, int64_t(0)))
      return "it is no matrix, nor one for each batch";
    if (graph::getElementType(numbers).getIntOrFloatBitWidth() != 8)
      return "its numbers have more than 8 bits";
    std::optional<Lie> lie = matrix.size() == 3
                                 ? lieOfBatches(matrix, stored, view)
                                 : lieOf(matrix, stored, view);
    if (!lie)
      return "its numbers do not lie in memory as a matrix";
    if (lie->blocks > 1 && !isBlock(lie->block))
      return "blocks of " + std::to_string(lie->block) + " steps of k";
    QuantizedWeight weight;
    weight.block = lie->block;
    weight.blocks = lie->blocks;
    weight.batches = lie->batches;
    size_t rank = stored.size();
    weight.scales = sideOf(scales, *lie, rank);
    if (!weight.scales)
      return "a scale is neither for a column nor for a block of one";
    if (auto decode = dyn_cast<graph::DecodeOp>(widened))
      weight.codebook = decode.getCodebook();
    else if (auto zero = onlyNumber(widened->getOperand(2)))
      weight.zeroPoint = *zero;
    else if (!(weight.zeros = sideOf(widened->getOperand(2), *lie, rank)))
      return "a zero point is neither for a column nor for a block of one";
    weight.numbers = matrixOf(numbers, *lie);
    if (!weight.numbers)
      return "its numbers cannot be stored";
    weight.bits = weight.numbers->elementType.isInteger(4) ? 4 : 8;
    if (!weight.codebook.empty() && weight.bits != 4)
      return "numbers of a codebook have a byte each";
    OpBuilder builder(op);
    Value before = op.getRhs();
    op.getRhsMutable().assign(
        quantizedRhs(builder, op.getLoc(), weight, matrix[matrix.size() - 2]));
    eraseUnused(before.getDefiningOp());
    return "";
  }

  /// `matrix` is [K, N], which the view sees in `stored`.
  static std::optional<Lie> lieOf(ArrayRef<int64_t> matrix,
                                  ArrayRef<int64_t> stored,
                                  const kernel::StridedView &view) {
    std::optional<int64_t> down = view.strides[0].asConstant();
    std::optional<int64_t> across = view.strides[1].asConstant();
    int64_t count = 1;
    for (int64_t size : stored)
      count *= size;
    size_t rank = stored.size();
    if (!view.offset.isConstant(0) || !down || !across || rank < 2 || rank > 3)
      return std::nullopt;
    // An axis of one element may have any stride.
    Lie lie = {false, matrix[1], 1, 0};
    if (stored.back() == matrix[1] && (*across == 1 || matrix[1] == 1) &&
        (*down == matrix[1] || matrix[0] == 1)) {
      lie.block = stored[rank - 2];
    } else if (stored.front() == matrix[1] && (*down == 1 || matrix[0] == 1) &&
               (*across * matrix[1] == count || matrix[1] == 1)) {
      lie.isDepthInner = true;
      lie.block = stored[rank - 1];
    } else {
      return std::nullopt;
    }
    if (rank == 3)
      lie.blocks = stored[lie.isDepthInner ? 1 : 0];
    return lie.blocks * lie.block >= matrix[0] ? std::optional(lie)
                                               : std::nullopt;
  }

  /// `matrix` is [E, K, N], which the view sees in [E * N, blocks, block].
  static std::optional<Lie> lieOfBatches(ArrayRef<int64_t> matrix,
                                         ArrayRef<int64_t> stored,
                                         const kernel::StridedView &view) {
    int64_t batches = matrix[0], depth = matrix[1], columns = matrix[2];
    int64_t strides[] = {columns * depth, 1, depth};
    for (auto [size, stride, own] : llvm::zip(matrix, strides, view.strides))
      if (size != 1 && !own.isConstant(stride))
        return std::nullopt;
    // A matrix begins with a word.
    if (!view.offset.isConstant(0) || stored.size() != 3 ||
        stored[0] != batches * columns || stored[1] * stored[2] != depth ||
        depth % blockStep != 0)
      return std::nullopt;
    return Lie{true, batches * columns, stored[1], stored[2], batches};
  }

  /// The number that all elements are; nullopt for others.
  std::optional<int64_t> onlyNumber(Value value) {
    std::optional<reference::Tensor> tensor = tensorOf(value, weights);
    if (!tensor || tensor->count() == 0)
      return std::nullopt;
    ArrayRef<int64_t> numbers = tensor->ints();
    if (!llvm::all_equal(numbers.take_front(tensor->count())))
      return std::nullopt;
    return numbers[0];
  }

  /// Scales or zero points, for numbers of that rank, as a weight [blocks,
  /// columns].
  const Weight *sideOf(Value value, const Lie &lie, size_t rank) {
    SmallVector<int64_t> own = shapeOf(value), all = lie.shape();
    while (own.size() < rank)
      own.insert(own.begin(), 1);
    if (rank == 2)
      own.insert(own.begin() + (lie.isDepthInner ? 1 : 0), 1);
    if (own[lie.blockAxis()] != 1)
      return nullptr;
    all[lie.blockAxis()] = 1;
    for (auto [size, whole] : llvm::zip(own, all))
      if (size != 1 && size != whole)
        return nullptr;
    SmallVector<int64_t> stored = lie.isDepthInner
                                      ? SmallVector<int64_t>{all[0], all[1]}
                                      : SmallVector<int64_t>{all[0], all[2]};
    return turned(expanded(value, own, all, stored), lie);
  }

  /// A tensor of sizes `own` repeated to `all`, as a weight of shape `stored`.
  const Weight *expanded(Value value, ArrayRef<int64_t> own,
                         ArrayRef<int64_t> all, ArrayRef<int64_t> stored) {
    auto op = value.getDefiningOp<graph::WeightOp>();
    const Weight *weight = op ? weights.lookup(op.getName()) : nullptr;
    if (weight && own == all)
      return added(reshaped(*weight, stored));
    std::optional<reference::Tensor> tensor = tensorOf(value, weights);
    if (!tensor)
      return nullptr;
    std::vector<char> from = tensor->toBytes(), to;
    size_t width = from.size() / std::max<size_t>(size_t(tensor->count()), 1);
    for (int64_t i = 0; i < all[0]; ++i)
      for (int64_t j = 0; j < all[1]; ++j)
        for (int64_t k = 0; k < all[2]; ++k) {
          int64_t at =
              ((own[0] > 1 ? i : 0) * own[1] + (own[1] > 1 ? j : 0)) * own[2] +
              (own[2] > 1 ? k : 0);
          auto begin = from.begin() + at * int64_t(width);
          to.insert(to.end(), begin, begin + int64_t(width));
        }
    return added(
        weights.addOwned("quantized", tensor->element, stored, std::move(to)));
  }

  const Weight *matrixOf(Value value, const Lie &lie) {
    int64_t depth = lie.blocks * lie.block;
    SmallVector<int64_t> shape = {depth, lie.columns};
    if (lie.isDepthInner)
      std::swap(shape[0], shape[1]);
    auto op = value.getDefiningOp<graph::WeightOp>();
    if (const Weight *weight = op ? weights.lookup(op.getName()) : nullptr)
      return turned(added(reshaped(*weight, shape)), lie);
    std::optional<reference::Tensor> tensor = tensorOf(value, weights);
    return tensor ? turned(added(weights.addOwned("quantized", tensor->element,
                                                  shape, tensor->toBytes())),
                           lie)
                  : nullptr;
  }

  llvm::Expected<const Weight *> reshaped(const Weight &weight,
                                          ArrayRef<int64_t> shape) {
    return weights.add(weight.name, weight.elementType, shape, weight.bytes(),
                       weight.owner());
  }

  const Weight *turned(const Weight *weight, const Lie &lie) {
    if (weight && lie.batches > 0)
      weight = batchesInRows(*weight, lie.batches);
    return weight && lie.isDepthInner
               ? weights.addTransposed(weight->name, *weight)
               : weight;
  }

  /// [E * N, width] as [N, E * width].
  const Weight *batchesInRows(const Weight &weight, int64_t batches) {
    int64_t rows = weight.shape[0] / batches;
    size_t width = weight.bytes().size() / size_t(weight.shape[0]);
    std::vector<char> bytes;
    bytes.reserve(weight.bytes().size());
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t batch = 0; batch < batches; ++batch)
        llvm::append_range(
            bytes,
            weight.bytes().slice(size_t(batch * rows + row) * width, width));
    return added(weights.addOwned(weight.name, weight.elementType,
                                  {rows, batches * weight.shape[1]},
                                  std::move(bytes)));
  }

  static const Weight *added(llvm::Expected<const Weight *> weight) {
    if (weight)
      return *weight;
    llvm::consumeError(weight.takeError());
    return nullptr;
  }

  WeightStore &weights;
  bool explain;
};

struct RecogniseQuantizedWeights
    : impl::RecogniseQuantizedWeightsPassBase<RecogniseQuantizedWeights> {
  using Base =
      impl::RecogniseQuantizedWeightsPassBase<RecogniseQuantizedWeights>;
  using Base::Base;
  RecogniseQuantizedWeights(WeightStore &weights,
                            RecogniseQuantizedWeightsPassOptions options)
      : Base(options), weights(&weights) {}

  void runOnOperation() override {
    WeightStore none;
    Recogniser recogniser(weights ? *weights : none, explain);
    SmallVector<graph::MatmulOp> products;
    getOperation().walk([&](graph::MatmulOp op) { products.push_back(op); });
    for (graph::MatmulOp op : products)
      recogniser.run(op);
  }

  WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass> createRecogniseQuantizedWeightsPass(
    WeightStore &weights, RecogniseQuantizedWeightsPassOptions options) {
  return std::make_unique<RecogniseQuantizedWeights>(weights,
                                                     std::move(options));
}
} // namespace tenon
