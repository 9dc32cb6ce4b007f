//===- LowerInt8.cpp - Products by weights of 8-bit numbers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scales are what leaves the sum over k: one for each row of lhs, found at run
// time, and one for each column of the weight. Both are symmetric. So lhs
// counts from 128, which needs nothing but the sums of the weight's columns.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Int8Products.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/PrecisionAttributes.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_LOWERINT8PASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

constexpr int64_t zeroOfRows = 128;

struct LowerInt8 : impl::LowerInt8PassBase<LowerInt8> {
  using Base = impl::LowerInt8PassBase<LowerInt8>;
  using Base::Base;
  LowerInt8(WeightStore &weights, LowerInt8PassOptions options)
      : Base(options), weights(&weights) {}

  void runOnOperation() override {
    Int8Products products(weights);
    llvm::DenseMap<Value, Quantized> rows;
    for (Operation *op : wanted()) {
      std::string why = products.refusal(op);
      if (!why.empty()) {
        leaveInFp32(op, why, explain && !isa<graph::GatherOp>(op));
        continue;
      }
      auto matmul = cast<graph::MatmulOp>(op);
      Value lhs = matmul.getLhs();
      auto [found, isNew] = rows.try_emplace(lhs);
      if (isNew) {
        Type byte = IntegerType::get(&getContext(), 8, IntegerType::Unsigned);
        found->second =
            quantizeAlong(lhs, {graph::getRank(lhs) - 1}, byte, zeroOfRows);
      }
      OpBuilder builder(op);
      Value zero = numberOf(builder, op->getLoc(), builder.getI32Type(),
                            double(zeroOfRows));
      products.multiply(matmul, found->second, zero);
    }
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
