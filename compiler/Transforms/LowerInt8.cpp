//===- LowerInt8.cpp - Products by weights of 8-bit numbers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scales are what leaves the sum over k: one for each row of lhs, found at run
// time, and one for each column of the weight. The weight's numbers have a
// sign. Those of lhs use all 255 steps between a row's least and greatest
// element, since what GELU or SiLU gives is hardly ever below zero: with the
// sums of the weight's columns that costs a multiplication for each sum.
// Kernels of devices multiply signed numbers on both sides, so there lhs counts
// from 128.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Int8Products.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/PrecisionAttributes.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_LOWERINT8PASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

constexpr int64_t middle = 128;

struct LowerInt8 : impl::LowerInt8PassBase<LowerInt8> {
  using Base = impl::LowerInt8PassBase<LowerInt8>;
  using Base::Base;
  LowerInt8(WeightStore &weights, LowerInt8PassOptions options)
      : Base(options), weights(&weights) {}

  void runOnOperation() override {
    Int8Products products(weights);
    llvm::DenseMap<Value, QuantizedRows> rows;
    for (Operation *op : wanted()) {
      std::string why = products.refusal(op);
      if (!why.empty()) {
        leaveInFp32(op, why, explain && !isa<graph::GatherOp>(op));
        continue;
      }
      auto matmul = cast<graph::MatmulOp>(op);
      Value lhs = matmul.getLhs();
      auto [found, isNew] = rows.try_emplace(lhs);
      if (isNew)
        found->second =
            target == "cuda" ? aroundMiddle(lhs) : quantizeRows(stored(lhs));
      products.multiply(matmul, found->second, found->second.zero);
    }
  }

  /// Rows that a product's kernel makes lie in memory between that and the one
  /// that finds their ends: in bf16, which errs less than bytes do.
  static Value stored(Value lhs) {
    if (!endsProduct(lhs) || !llvm::all_of(lhs.getUsers(), isInt8Product))
      return lhs;
    OpBuilder builder(lhs.getContext());
    builder.setInsertionPointAfterValue(lhs);
    Value rounded = castTo(builder, lhs.getLoc(), lhs, builder.getBF16Type());
    return castTo(builder, lhs.getLoc(), rounded, builder.getF32Type());
  }

  /// Whether a value is what element by element becomes of a product.
  static bool endsProduct(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !graph::isPointwise(op))
      return false;
    while (op && (graph::isPointwise(op) || isa<graph::SliceOp>(op)))
      op = op->getOperand(0).getDefiningOp();
    return isa_and_present<graph::MatmulOp>(op);
  }

  static bool isInt8Product(Operation *op) {
    return isa<graph::MatmulOp>(op) &&
           precisionOf(op, Precision::Int8) == Precision::Int8 &&
           !op->hasAttr(lhsAttribute);
  }

  static QuantizedRows aroundMiddle(Value lhs) {
    Builder types(lhs.getContext());
    Quantized numbers =
        quantizeAlong(lhs, {graph::getRank(lhs) - 1},
                      types.getIntegerType(8, /*isSigned=*/false), middle);
    OpBuilder builder(lhs.getContext());
    builder.setInsertionPointAfterValue(numbers.numbers);
    return {numbers, numberOf(builder, lhs.getLoc(), builder.getI32Type(),
                              double(middle))};
  }

  SmallVector<Operation *> wanted() {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<graph::AttentionOp, graph::ConvOp, graph::GatherOp,
              graph::MatmulOp>(op) &&
          precisionOf(op, Precision::Int8) == Precision::Int8 &&
          !op->hasAttr(lhsAttribute))
        ops.push_back(op);
    });
    return ops;
  }

  WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass> createLowerInt8Pass(WeightStore &weights,
                                          LowerInt8PassOptions options) {
  return std::make_unique<LowerInt8>(weights, std::move(options));
}
} // namespace tenon
