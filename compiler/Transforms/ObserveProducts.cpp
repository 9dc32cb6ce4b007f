//===- ObserveProducts.cpp - The left operands of int8 products -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Int8Convs.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/PrecisionAttributes.h"
#include "compiler/Transforms/PrecisionProbes.h"
#include "compiler/Transforms/QuantizedWeights.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_OBSERVEPRODUCTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

struct ObserveProducts : impl::ObserveProductsPassBase<ObserveProducts> {
  using Base = impl::ObserveProductsPassBase<ObserveProducts>;
  using Base::Base;
  ObserveProducts(WeightStore &weights, std::vector<ObservedProduct> &observed,
                  ObserveProductsPassOptions options)
      : Base(options), weights(&weights), observed(&observed) {}

  void runOnOperation() override {
    Int8Products products(weights);
    // What a branch computes cannot be returned: its products stay dynamic.
    for (graph::MatmulOp op :
         getOperation().getBody().front().getOps<graph::MatmulOp>()) {
      Precision own = precisionOf(op, Precision::Fp32);
      bool isWanted =
          ofWeights ? isOfFewBits(own) && refusalOfFewBits(op).empty() &&
                          graph::getRank(op.getRhs()) == 2
                    : own == Precision::Int8 && products.refusal(op).empty();
      if (!isWanted)
        continue;
      setFp32(op);
      observe(op, op.getLhs(), op.getRhs());
    }
    if (!ofWeights)
      observeConvs();
    if (ofWeights)
      getOperation().walk([&](Operation *op) {
        if (op->hasAttr(precisionAttribute))
          setFp32(op);
      });
  }

private:
  void setFp32(Operation *op) {
    op->setAttr(precisionAttribute,
                StringAttr::get(&getContext(), nameOf(Precision::Fp32)));
  }

  void observeConvs() {
    Int8Convs convs(weights);
    for (graph::ConvOp op :
         getOperation().getBody().front().getOps<graph::ConvOp>()) {
      if (precisionOf(op, Precision::Fp32) != Precision::Int8 ||
          !convs.refusal(op).empty())
        continue;
      setFp32(op);
      observe(op, op.getInput(), op.getFilter());
    }
  }

  void observe(Operation *op, Value lhs, Value rhs) {
    unsigned count = unsigned(outputs.size());
    auto [found, isNew] = outputs.try_emplace(lhs, count);
    if (isNew)
      addResult(lhs, found->second);
    auto name = op->getAttrOfType<StringAttr>(opNameAttribute);
    auto weight = rhs.getDefiningOp<graph::WeightOp>();
    if (observed && name)
      observed->push_back({name.str(), weight.getName().str(), found->second});
  }

  void addResult(Value value, unsigned number) {
    func::FuncOp function = getOperation();
    Builder b(&getContext());
    auto name = b.getStringAttr("graph.lhs " + Twine(number));
    unsigned index = function.getNumResults();
    (void)function.insertResult(
        index, value.getType(),
        b.getDictionaryAttr(b.getNamedAttr("graph.name", name)));
    function.getBody().front().getTerminator()->insertOperands(index, value);
  }

  WeightStore *weights = nullptr;
  std::vector<ObservedProduct> *observed = nullptr;
  llvm::MapVector<Value, unsigned> outputs;
};

} // namespace

std::unique_ptr<Pass>
createObserveProductsPass(WeightStore &weights,
                          std::vector<ObservedProduct> &observed,
                          ObserveProductsPassOptions options) {
  return std::make_unique<ObserveProducts>(weights, observed, options);
}
} // namespace tenon
