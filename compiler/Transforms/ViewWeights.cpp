//===- ViewWeights.cpp - Products read transposed weights as they lie -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPUs pack a weight for its product in any case, from whatever it is the
// transpose of. Devices read weights where they lie: a table that is looked up
// as well as multiplied by would be stored twice, and one whose rows begin at
// odd places could not be copied 16 bytes at a time.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "compiler/Weights/WeightStore.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_VIEWWEIGHTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// Elements of a row that begin at multiples of 16 bytes, even of bf16.
constexpr int64_t aligned = 8;

bool isRhs(OpOperand &use) {
  return isa<graph::MatmulOp>(use.getOwner()) && use.getOperandNumber() == 1;
}

struct ViewWeights : impl::ViewWeightsPassBase<ViewWeights> {
  ViewWeights() = default;
  explicit ViewWeights(const WeightStore &weights) : weights(&weights) {}

  void runOnOperation() override {
    WeightStore none;
    const WeightStore &store = weights ? *weights : none;
    SmallVector<graph::WeightOp> ops;
    llvm::StringSet<> used;
    getOperation().walk([&](graph::WeightOp op) {
      ops.push_back(op);
      used.insert(op.getName());
    });
    for (graph::WeightOp op : ops) {
      const Weight *weight = store.lookup(op.getName());
      const Weight *source = weight ? weight->transposed : nullptr;
      if (!source || !llvm::all_of(op->getUses(), isRhs))
        continue;
      bool isAligned = weight->shape[1] % aligned == 0;
      if (used.contains(source->name) || !isAligned)
        view(op, *source);
    }
  }

private:
  static void view(graph::WeightOp op, const Weight &source) {
    OpBuilder builder(op);
    auto type = RankedTensorType::get(source.shape, source.elementType);
    Value stored =
        graph::WeightOp::create(builder, op->getLoc(), type, source.name);
    Value turned = graph::TransposeOp::create(builder, op->getLoc(),
                                              op.getType(), stored, {1, 0});
    op.getResult().replaceAllUsesWith(turned);
    op->erase();
  }

  const WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass> createViewWeightsPass(const WeightStore &weights) {
  return std::make_unique<ViewWeights>(weights);
}
} // namespace tenon
