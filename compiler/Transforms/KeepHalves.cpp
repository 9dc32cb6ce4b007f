//===- KeepHalves.cpp - Weights that came in 16 bits are read in them -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Half the bytes, and the same numbers: where few rows are multiplied, reading
// the weight is what takes time.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/WeightPasses.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Kernel/MatmulView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_KEEPHALVESPASS
#include "compiler/Transforms/WeightPasses.h.inc"

namespace {

/// Smaller weights stay: fold-constants would only widen them again.
constexpr int64_t fewestElements = int64_t(1) << 12;

struct KeepHalves : impl::KeepHalvesPassBase<KeepHalves> {
  KeepHalves() = default;
  explicit KeepHalves(WeightStore &weights) : weights(&weights) {}

  void runOnOperation() override {
    if (!weights)
      return;
    SmallVector<graph::MatmulOp> products;
    SmallVector<graph::GatherOp> lookups;
    getOperation().walk([&](graph::MatmulOp op) { products.push_back(op); });
    getOperation().walk([&](graph::GatherOp op) { lookups.push_back(op); });
    for (graph::MatmulOp op : products)
      if (const Weight *weight = weightOf(op.getRhs()))
        if (canRead(op, *weight))
          keep(op, *weight);
    for (graph::GatherOp op : lookups)
      if (const Weight *table = weightOf(op.getInput()))
        keep(op, *table);
  }

private:
  /// One of some size that was widened; null for others.
  const Weight *weightOf(Value value) const {
    auto stored = value.getDefiningOp<graph::WeightOp>();
    const Weight *weight = stored ? weights->lookup(stored.getName()) : nullptr;
    bool isLarge =
        weight && elementCount(weight->shape).value_or(0) >= fewestElements;
    return isLarge && weight->widenedFrom() ? weight : nullptr;
  }

  /// Whether the kernel of a product reads its weight in 16 bits.
  static bool canRead(graph::MatmulOp op, const Weight &weight) {
    bool hasPairs = weight.shape[weight.shape.size() - 2] % 2 == 0;
    return kernel::isMatrixOrOnePerBatch(op) &&
           (weight.widenedFrom().isF16() || hasPairs);
  }

  Value asItCame(OpBuilder &builder, Location loc, const Weight &weight) {
    const Weight &own = *weights->addRounded(weight, weight.widenedFrom());
    auto type = RankedTensorType::get(own.shape, own.elementType);
    return graph::WeightOp::create(builder, loc, type, own.name);
  }

  void keep(graph::MatmulOp op, const Weight &weight) {
    OpBuilder builder(op);
    Value rhs = op.getRhs();
    op.getRhsMutable().assign(castTo(builder, op.getLoc(),
                                     asItCame(builder, rhs.getLoc(), weight),
                                     builder.getF32Type()));
    eraseUnused(rhs.getDefiningOp());
  }

  /// What is looked up is widened.
  void keep(graph::GatherOp op, const Weight &table) {
    OpBuilder builder(op);
    Value input = op.getInput();
    auto narrow = graph::GatherOp::create(
        builder, op.getLoc(),
        graph::tensorOf(graph::getDims(op.getResult()), table.widenedFrom()),
        asItCame(builder, input.getLoc(), table), op.getIndices(),
        op.getAxis());
    op.getResult().replaceAllUsesWith(
        castTo(builder, op.getLoc(), narrow, builder.getF32Type()));
    op->erase();
    eraseUnused(input.getDefiningOp());
  }

  WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass> createKeepHalvesPass(WeightStore &weights) {
  return std::make_unique<KeepHalves>(weights);
}
} // namespace tenon
