//===- LowerStaticInt8.cpp - Products whose lhs was calibrated ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lhs counts in is known when it is made: so the kernel that makes it
// stores bytes, and no other reads it for its largest magnitude. Of an image
// that a convolution reads so, sums read the bytes as well: else its kernel
// would have to store it in f32 beside them.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Int8Convs.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/PrecisionAttributes.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>
#include <cstring>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_LOWERSTATICINT8PASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

struct LowerStaticInt8 : impl::LowerStaticInt8PassBase<LowerStaticInt8> {
  using Base = impl::LowerStaticInt8PassBase<LowerStaticInt8>;
  using Base::Base;
  LowerStaticInt8(WeightStore &weights, LowerStaticInt8PassOptions options)
      : Base(options), weights(&weights) {}

  void runOnOperation() override {
    Int8Products products(weights);
    Int8Convs convs(weights);
    SmallVector<Operation *> wanted;
    getOperation().walk([&](Operation *op) {
      if (op->hasAttr(lhsAttribute) &&
          precisionOf(op, Precision::Int8) == Precision::Int8)
        wanted.push_back(op);
    });
    for (Operation *op : wanted) {
      auto conv = dyn_cast<graph::ConvOp>(op);
      std::string why = conv ? convs.refusal(conv) : products.refusal(op);
      if (!why.empty())
        leaveInFp32(op, why, explain);
      else if (failed(conv ? lower(convs, conv)
                           : lower(products, cast<graph::MatmulOp>(op))))
        return signalPassFailure();
    }
    for (auto &[value, numbers] : images)
      if (numbers.isForAll)
        readBytes(value, numbers);
  }

private:
  LogicalResult lower(Int8Products &products, graph::MatmulOp op) {
    StaticLhs lhs = *staticLhsOf(op);
    int64_t depth = cast<ShapedType>(op.getRhs().getType()).getDimSize(0);
    if (!lhs.shifts.empty() && int64_t(lhs.shifts.size()) != depth)
      return op.emitOpError("has ")
             << depth << " channels of lhs, but the precision plan has "
             << lhs.shifts.size() << " shifts; calibrate again";
    // Products that share lhs share its numbers.
    auto [found, isNew] =
        made.try_emplace({op.getLhs(), op->getAttr(lhsAttribute)});
    if (isNew)
      found->second = quantize(op.getLhs(), depth, lhs);
    const StaticNumbers &numbers = found->second;
    products.multiply(op, {numbers.numbers, numbers.scale}, numbers.zero,
                      lhs.shifts);
    return success();
  }

  LogicalResult lower(Int8Convs &convs, graph::ConvOp op) {
    StaticLhs lhs = *staticLhsOf(op);
    if (!lhs.shifts.empty())
      return op.emitOpError("has shifts of its image in the precision plan, "
                            "which products alone have; calibrate again");
    auto filter = cast<ShapedType>(op.getFilter().getType());
    auto [found, isNew] = images.try_emplace(op.getInput(), StaticNumbers());
    if (isNew)
      found->second = quantize(op.getInput(), filter.getDimSize(1), lhs);
    StaticNumbers &numbers = found->second;
    numbers.isForAll |= !isProbe(op);
    convs.convolve(op, {numbers.numbers, numbers.scale}, numbers.from);
    return success();
  }

  struct StaticNumbers {
    Value numbers, scale, zero, from; // ui8, f32, and in i32 and ui8.
    bool isForAll = false;            // Not for probes alone.
  };

  /// Gives other readers of an image what its bytes stand for.
  void readBytes(Value image, const StaticNumbers &numbers) {
    Operation *scaled =
        numbers.numbers.getDefiningOp()->getOperand(0).getDefiningOp();
    for (OpOperand &use : llvm::make_early_inc_range(image.getUses())) {
      Operation *user = use.getOwner();
      if (user == scaled || !isa<graph::AddOp>(user))
        continue;
      OpBuilder builder(user);
      use.set(graph::DequantizeOp::create(builder, user->getLoc(),
                                          image.getType(), numbers.numbers,
                                          numbers.scale, numbers.from));
    }
  }

  StaticNumbers quantize(Value value, int64_t depth, const StaticLhs &lhs) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(value);
    Location loc = value.getLoc();
    // One for each channel even where they are the same: kernels of layers with
    // and without shifts are one.
    SmallVector<float> factors(size_t(depth), 1 / lhs.scale);
    for (auto [factor, shift] : llvm::zip(factors, lhs.shifts))
      factor = std::ldexp(factor, -shift);
    Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
    Type byte = IntegerType::get(&getContext(), 8, IntegerType::Unsigned);
    Value factor = stored<float>(builder, loc, "factors", f32, depth, factors);
    Value scale = stored<float>(builder, loc, "scale", f32, {}, lhs.scale);
    Value from =
        stored<uint8_t>(builder, loc, "zero", byte, {}, uint8_t(lhs.zero));
    Value zero =
        stored<int32_t>(builder, loc, "zero", i32, {}, int32_t(lhs.zero));
    Value scaled =
        graph::MulOp::create(builder, loc, value.getType(), value, factor);
    return {numbersOf(builder, loc, scaled, from), scale, zero, from};
  }

  /// What calibration found is data, like weights: kernels of layers that
  /// differ by it are one.
  template <typename T>
  Value stored(OpBuilder &builder, Location loc, StringRef name, Type element,
               ArrayRef<int64_t> shape, ArrayRef<T> values) {
    auto type = RankedTensorType::get(shape, element);
    if (!weights)
      return graph::ConstantOp::create(builder, loc, type,
                                       DenseElementsAttr::get(type, values));
    std::vector<char> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    const Weight *added = llvm::cantFail(weights->addOwned(
        ("lhs." + name).str(), element, shape, std::move(bytes)));
    return graph::WeightOp::create(builder, loc, type, added->name);
  }

  WeightStore *weights = nullptr;
  llvm::DenseMap<std::pair<Value, Attribute>, StaticNumbers> made;
  llvm::MapVector<Value, StaticNumbers> images; // Of convolutions.
};

} // namespace

std::unique_ptr<Pass>
createLowerStaticInt8Pass(WeightStore &weights,
                          LowerStaticInt8PassOptions options) {
  return std::make_unique<LowerStaticInt8>(weights, std::move(options));
}
} // namespace tenon
