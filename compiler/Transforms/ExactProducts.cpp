//===- ExactProducts.cpp - Products that bf16 has without an error --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/FewBitFloats.h"
#include "compiler/Transforms/PrecisionAttributes.h"
#include "compiler/Transforms/WeightPasses.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_EXACTPRODUCTSPASS
#include "compiler/Transforms/WeightPasses.h.inc"

namespace {

struct ExactProducts : impl::ExactProductsPassBase<ExactProducts> {
  ExactProducts() = default;
  explicit ExactProducts(WeightStore &weights) : weights(&weights) {}

  void runOnOperation() override {
    Builder builder(&getContext());
    getOperation().walk([&](Operation *op) {
      Precision wanted = precisionOf(op, Precision::Fp32);
      if (!op->hasAttr(precisionAttribute) ||
          (wanted != Precision::Fp32 && wanted != Precision::Bf16) ||
          !multipliesFewBits(op, weights))
        return;
      op->setAttr(precisionAttribute,
                  builder.getStringAttr(nameOf(Precision::Bf16)));
      op->setAttr(exactAttribute, builder.getUnitAttr());
    });
  }

  WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass> createExactProductsPass(WeightStore &weights) {
  return std::make_unique<ExactProducts>(weights);
}
} // namespace tenon
