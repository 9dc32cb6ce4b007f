//===- IntegerProducts.cpp - Products of quantized numbers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is not one number for all of k cannot leave the sum: a scale for each
// row of the weight, or for blocks of them, keeps a product in f32. So do
// groups of a convolution, whose kernels have lanes of f32: those that come as
// integers become f32, where their sums are exact in it, and so do those of
// each channel, whose kernels read the image's bytes.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/StoredTensors.h"
#include "dialects/Kernel/IntegerMatmulView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_INTEGERPRODUCTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

bool isByte(Value value) {
  auto type = dyn_cast<IntegerType>(graph::getElementType(value));
  return type && type.getWidth() == 8;
}

bool isOneNumber(Value value) {
  return llvm::all_of(graph::getDims(value),
                      [](graph::Expr dim) { return dim.isConstant(1); });
}

/// Whether there is one number for all of k of a matrix [k, n].
bool isPerColumn(Value value) {
  SmallVector<graph::Expr> dims = graph::getDims(value);
  return dims.size() < 2 || dims[dims.size() - 2].isConstant(1);
}

/// Whether there is one number for each map of a filter [M, ..].
bool isPerMap(Value value, int64_t rank) {
  SmallVector<graph::Expr> dims = graph::getDims(value);
  size_t kept = int64_t(dims.size()) == rank ? 1 : 0;
  return llvm::all_of(ArrayRef(dims).drop_front(kept),
                      [](graph::Expr dim) { return dim.isConstant(1); });
}

/// Ops that change where elements are, on the way to what they are made of:
/// the last one first.
SmallVector<Operation *> viewsBehind(Value &value) {
  SmallVector<Operation *> views;
  for (Operation *op = value.getDefiningOp(); op && kernel::isViewOp(op);
       op = value.getDefiningOp()) {
    views.push_back(op);
    value = op->getOperand(0);
  }
  return views;
}

bool exchangesTwo(Operation *op) {
  auto transpose = dyn_cast<graph::TransposeOp>(op);
  return transpose && transpose.getPermutation() == ArrayRef<int64_t>{1, 0};
}

/// Whether the model says that integers are zeros, in a constant or, of many,
/// in a weight.
bool isZero(Value value, const WeightStore &weights) {
  if (!isa<IntegerType>(graph::getElementType(value)))
    return false;
  std::optional<reference::Tensor> numbers = tensorOf(value, weights);
  if (!numbers)
    return false;
  std::vector<char> bytes = numbers->toBytes();
  return llvm::all_of(bytes, [](char byte) { return byte == 0; });
}

/// Numbers, what they count from unless that is 0, and what one of them is.
struct Quantized {
  Value numbers, zero, scale;

  static Quantized of(graph::DequantizeOp op, const WeightStore &weights) {
    Value zero = op.getZeroPoint();
    return {op.getInput(), isZero(zero, weights) ? Value() : zero,
            op.getScale()};
  }
};

class Rewriter {
public:
  Rewriter(WeightStore &weights, bool hasStore, bool explain)
      : weights(weights), hasStore(hasStore), explain(explain) {}

  void rewrite(graph::MatmulOp op) {
    if (graph::getElementType(op.getResult()).isSignlessInteger(32)) {
      for (OpOperand &operand : op->getOpOperands())
        lowerViews(operand);
      return;
    }
    if (!graph::getElementType(op.getResult()).isF32())
      return;
    rewriteProduct(op);
  }

  void rewrite(graph::ConvOp op) {
    if (graph::getElementType(op.getResult()).isSignlessInteger(32)) {
      narrowFilter(op);
      lowerViews(op.getInputMutable());
      if (op.getGroup() != 1)
        widenGroups(op);
      return;
    }
    if (!graph::getElementType(op.getResult()).isF32())
      return;
    Value input = op.getInput();
    SmallVector<Operation *> views = viewsBehind(input);
    auto image = input.getDefiningOp<graph::DequantizeOp>();
    auto filter = op.getFilter().getDefiningOp<graph::DequantizeOp>();
    if (!image || !filter)
      return;
    std::string why = refusal(op, image, filter);
    if (why.empty())
      makeInteger(op, image, views, filter);
    else if (explain)
      op.emitRemark("convolves f32: ") << why;
  }

  /// The largest of dequantized numbers is that of the numbers, if they grow
  /// with them: of what a convolution stores in bytes, a pool reads bytes.
  void rewrite(graph::MaxPoolOp op) {
    auto dequantize = op.getInput().getDefiningOp<graph::DequantizeOp>();
    if (!dequantize || !isByte(dequantize.getInput()) ||
        !isOneNumber(dequantize.getScale()) ||
        !isOneNumber(dequantize.getZeroPoint()) ||
        splatOf(dequantize.getScale()).value_or(0) <= 0)
      return;
    OpBuilder builder(op);
    auto pool = cast<graph::MaxPoolOp>(builder.clone(*op));
    pool.getInputMutable().assign(dequantize.getInput());
    pool.getResult().setType(
        graph::tensorOf(graph::getDims(op.getResult()),
                        graph::getElementType(dequantize.getInput())));
    Value result = graph::DequantizeOp::create(
        builder, op.getLoc(), op.getType(), pool.getResult(),
        dequantize.getScale(), dequantize.getZeroPoint());
    op.getResult().replaceAllUsesWith(result);
    eraseUnused(op);
  }

  /// Quantizations behind convolutions of integers multiply by what they would
  /// divide by, which no other op of their kernels takes as long as.
  void multiplyByInverses(func::FuncOp function) {
    if (!convolves)
      return;
    function.walk([](graph::QuantizeOp op) {
      std::optional<double> scale = splatOf(op.getScale());
      if (!graph::getElementType(op.getInput()).isF32() ||
          !isOneNumber(op.getScale()) || !scale || *scale < smallestScale ||
          *scale > 1 / smallestScale || *scale == 1)
        return;
      OpBuilder builder(op);
      auto number = [&](double value) {
        return scalarOf(builder, op.getLoc(),
                        builder.getF32FloatAttr(float(value)));
      };
      Value scaled =
          graph::MulOp::create(builder, op.getLoc(), op.getInput().getType(),
                               op.getInput(), number(1 / *scale));
      op.getInputMutable().assign(scaled);
      op.getScaleMutable().assign(number(1));
    });
  }

private:
  /// Its inverse is a number.
  static constexpr double smallestScale = 0x1p-100;

  void rewriteProduct(graph::MatmulOp op) {
    Value lhs = op.getLhs(), rhs = op.getRhs();
    SmallVector<Operation *> lhsViews = viewsBehind(lhs);
    SmallVector<Operation *> rhsViews = viewsBehind(rhs);
    auto left = lhs.getDefiningOp<graph::DequantizeOp>();
    auto right = rhs.getDefiningOp<graph::DequantizeOp>();
    if (!left || !right)
      return;
    std::string why = refusal(left, right, rhsViews);
    if (why.empty())
      makeInteger(op, left, lhsViews, right, !rhsViews.empty());
    else if (explain)
      op.emitRemark("multiplies f32: ") << why;
  }

  static std::string refusal(graph::ConvOp op, graph::DequantizeOp image,
                             graph::DequantizeOp filter) {
    SmallVector<graph::Expr> dims = graph::getDims(op.getFilter());
    bool isDepthwise =
        dims[0].isConstant(op.getGroup()) && dims[1].isConstant(1);
    if (!op.getChannelsLast() || (op.getGroup() != 1 && !isDepthwise))
      return "it has several groups, or channels that are not last";
    if (isDepthwise && !hasExactSums(op, /*bound=*/255 * 255))
      return "sums of so many products are not exact in f32";
    if (!isByte(image.getInput()) || !isByte(filter.getInput()))
      return "an operand is not of 8 bits";
    if (!isOneNumber(image.getScale()) || !isOneNumber(image.getZeroPoint()))
      return "the image has several scales";
    if (!isWeightOrConstant(filter.getInput()))
      return "the filter is no weight";
    for (Value value : {filter.getScale(), filter.getZeroPoint()})
      if (!isPerMap(value, graph::getRank(op.getFilter())))
        return "scales of the filter differ inside of a map";
    return "";
  }

  void makeInteger(graph::ConvOp op, graph::DequantizeOp image,
                   ArrayRef<Operation *> views, graph::DequantizeOp filter) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Quantized lhs = Quantized::of(image, weights),
              rhs = Quantized::of(filter, weights);
    lhs.numbers = throughViews(builder, views, lhs.numbers);
    rhs.numbers = asWeight(builder, rhs.numbers);
    for (Value *each : {&lhs.zero, &lhs.scale})
      *each = *each ? asScalar(builder, *each) : Value();
    Type sumsType =
        graph::tensorOf(graph::getDims(op.getResult()), builder.getI32Type());
    Value sums = graph::ConvOp::create(
        builder, loc, sumsType, centered(builder, loc, lhs),
        centered(builder, loc, rhs), op.getStrides(), op.getDilations(),
        op.getPads(), op.getGroup(), op.getChannelsLast());
    Value wide = castTo(builder, loc, sums, builder.getF32Type());
    Value perMap = alongLast(builder, rhs.scale);
    Value scale =
        graph::MulOp::create(builder, loc, perMap.getType(), lhs.scale, perMap);
    Value result =
        graph::MulOp::create(builder, loc, op.getType(), wide, scale);
    op.getResult().replaceAllUsesWith(result);
    convolves = true;
    eraseUnused(op);
    if (auto conv = sums.getDefiningOp<graph::ConvOp>(); conv.getGroup() != 1)
      widenGroups(conv);
  }

  /// Whether f32 holds the sums of a filter's steps, each of `bound` at most.
  static bool hasExactSums(graph::ConvOp op, int64_t bound) {
    auto type = cast<RankedTensorType>(op.getFilter().getType());
    return type.hasStaticShape() && type.getDimSize(0) != 0 &&
           type.getNumElements() / type.getDimSize(0) * bound <= int64_t(1)
                                                                     << 24;
  }

  /// Small tensors of integers come as constants; kernels read filters that
  /// are stored.
  Value asWeight(OpBuilder &builder, Value value) {
    if (!hasStore || !value.getDefiningOp<graph::ConstantOp>())
      return value;
    auto type = cast<RankedTensorType>(value.getType());
    const Weight *stored = llvm::cantFail(
        weights.addOwned("filter", type.getElementType(), type.getShape(),
                         tensorOf(value, weights)->toBytes()));
    return graph::WeightOp::create(builder, value.getLoc(), type, stored->name);
  }

  /// Folding has made i32 of the bytes of small filters, less zero points:
  /// these back, if they are such.
  void narrowFilter(graph::ConvOp op) {
    auto sub = op.getFilter().getDefiningOp<graph::SubOp>();
    if (sub && sub.getLhs().getType() == sub.getType() &&
        isZero(sub.getRhs(), weights)) {
      op.getFilterMutable().assign(sub.getLhs());
      eraseUnused(sub);
    }
    auto constant = op.getFilter().getDefiningOp<graph::ConstantOp>();
    auto numbers = constant
                       ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                       : DenseIntElementsAttr();
    if (!numbers || numbers.empty())
      return;
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (const APInt &number : numbers.getValues<APInt>()) {
      low = std::min(low, number.getSExtValue());
      high = std::max(high, number.getSExtValue());
    }
    bool isSigned = low >= -128 && high <= 127;
    if (high - low > 255)
      return;
    if (isSigned)
      low = 0;
    OpBuilder builder(op);
    auto narrow = IntegerType::get(op.getContext(), 8,
                                   isSigned ? IntegerType::Signless
                                            : IntegerType::Unsigned);
    auto type = RankedTensorType::get(numbers.getType().getShape(), narrow);
    SmallVector<APInt> bytes;
    for (const APInt &number : numbers.getValues<APInt>())
      bytes.push_back((number - uint64_t(low)).trunc(8));
    Location loc = op.getLoc();
    Value filter = graph::ConstantOp::create(
        builder, loc, type, DenseElementsAttr::get(type, bytes));
    filter =
        castTo(builder, loc, asWeight(builder, filter), builder.getI32Type());
    if (low != 0)
      filter = graph::SubOp::create(
          builder, loc, filter.getType(), filter,
          scalarOf(builder, loc, builder.getI32IntegerAttr(int32_t(-low))));
    op.getFilterMutable().assign(filter);
    eraseUnused(constant);
  }

  /// A convolution of bytes by groups in f32, of numbers whose sums are
  /// integers that it holds.
  void widenGroups(graph::ConvOp op) {
    auto image = kernel::integerFactorOf(op.getInput());
    auto filter = kernel::integerFactorOf(op.getFilter());
    if (!image || !filter)
      return;
    int64_t bound = 255 * (filter->isSigned() && !filter->zero ? 128 : 255);
    if (!hasExactSums(op, bound)) {
      if (explain)
        op.emitRemark("convolves i32: sums of so many products are not exact "
                      "in f32");
      return;
    }
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type f32 = builder.getF32Type();
    Value sums = graph::ConvOp::create(
        builder, loc, graph::tensorOf(graph::getDims(op.getResult()), f32),
        castTo(builder, loc, op.getInput(), f32),
        castTo(builder, loc, op.getFilter(), f32), op.getStrides(),
        op.getDilations(), op.getPads(), op.getGroup(), op.getChannelsLast());
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      if (auto cast = dyn_cast<graph::CastOp>(user);
          cast && cast.getType() == sums.getType()) {
        cast.getResult().replaceAllUsesWith(sums);
        cast->erase();
      }
    if (!op->use_empty())
      op.getResult().replaceAllUsesWith(
          castTo(builder, loc, sums, builder.getI32Type()));
    eraseUnused(op);
  }

  /// One number, or [M, 1, ..] as [M].
  static Value alongLast(OpBuilder &builder, Value value) {
    if (isOneNumber(value))
      return asScalar(builder, value);
    Type type =
        graph::tensorOf(graph::getDims(value)[0], graph::getElementType(value));
    return graph::ReshapeOp::create(builder, value.getLoc(), type, value);
  }

  static std::string refusal(graph::DequantizeOp left,
                             graph::DequantizeOp right,
                             ArrayRef<Operation *> rhsViews) {
    if (!isByte(left.getInput()) || !isByte(right.getInput()))
      return "an operand is not of 8 bits";
    if (!isOneNumber(left.getScale()) || !isOneNumber(left.getZeroPoint()))
      return "lhs has several scales";
    Value weight = right.getInput();
    if (!weight.getDefiningOp<graph::WeightOp>() || graph::getRank(weight) != 2)
      return "rhs is no matrix of weights";
    bool turned = rhsViews.size() == 1 && exchangesTwo(rhsViews[0]);
    if (!rhsViews.empty() && !turned)
      return "the weight is seen in another shape";
    for (Value value : {right.getScale(), right.getZeroPoint()}) {
      SmallVector<graph::Expr> dims = graph::getDims(value);
      bool fits = turned ? dims.empty() || dims.back().isConstant(1)
                         : isPerColumn(value);
      if (!fits)
        return "scales of rhs differ along k";
    }
    return "";
  }

  void makeInteger(graph::MatmulOp op, graph::DequantizeOp left,
                   ArrayRef<Operation *> lhsViews, graph::DequantizeOp right,
                   bool isTurned) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Quantized lhs = Quantized::of(left, weights),
              rhs = Quantized::of(right, weights);
    lhs.numbers = throughViews(builder, lhsViews, lhs.numbers);
    for (Value *each : {&lhs.zero, &lhs.scale})
      *each = *each ? asScalar(builder, *each) : Value();
    for (Value *each : {&rhs.numbers, &rhs.zero, &rhs.scale})
      if (isTurned && *each)
        *each = turned(builder, *each);
    SmallVector<graph::Expr> dims = graph::getDims(op.getResult());
    Value first = centered(builder, loc, lhs);
    Value second = centered(builder, loc, rhs);
    Value sums = graph::MatmulOp::create(
        builder, loc, graph::tensorOf(dims, builder.getI32Type()), first,
        second);
    Value wide = castTo(builder, loc, sums, builder.getF32Type());
    SmallVector<graph::Expr> scaleDims = graph::getDims(rhs.scale);
    Value scale = graph::MulOp::create(
        builder, loc, graph::tensorOf(scaleDims, builder.getF32Type()),
        lhs.scale, rhs.scale);
    Value result =
        graph::MulOp::create(builder, loc, op.getType(), wide, scale);
    op.getResult().replaceAllUsesWith(result);
    eraseUnused(op);
  }

  /// The numbers less their zero point, as i32.
  static Value centered(OpBuilder &builder, Location loc,
                        const Quantized &value) {
    Type i32 = builder.getI32Type();
    Value wide = castTo(builder, loc, value.numbers, i32);
    if (!value.zero)
      return wide;
    return graph::SubOp::create(builder, loc, wide.getType(), wide,
                                castTo(builder, loc, value.zero, i32));
  }

  static Value asScalar(OpBuilder &builder, Value value) {
    if (graph::getRank(value) == 0)
      return value;
    Type type = graph::tensorOf({}, graph::getElementType(value));
    return graph::ReshapeOp::create(builder, value.getLoc(), type, value);
  }

  /// The transpose of a matrix; what is one number or a vector stays.
  static Value turned(OpBuilder &builder, Value value) {
    SmallVector<graph::Expr> dims = graph::getDims(value);
    if (dims.size() != 2)
      return isOneNumber(value) ? asScalar(builder, value) : value;
    std::swap(dims[0], dims[1]);
    return graph::TransposeOp::create(
        builder, value.getLoc(),
        graph::tensorOf(dims, graph::getElementType(value)), value,
        builder.getDenseI64ArrayAttr({1, 0}));
  }

  /// Brings views of an operand of a product of i32 in front of the cast.
  void lowerViews(OpOperand &operand) {
    Value value = operand.get();
    SmallVector<Operation *> views = viewsBehind(value);
    Quantized found = {};
    if (auto sub = value.getDefiningOp<graph::SubOp>()) {
      found.zero = sub.getRhs();
      if (graph::getDims(sub.getLhs()) != graph::getDims(value))
        return;
      value = sub.getLhs();
    }
    auto cast = value.getDefiningOp<graph::CastOp>();
    if (views.empty() || !cast || !isByte(cast.getInput()) ||
        (found.zero && !isOneNumber(found.zero)))
      return;
    OpBuilder builder(operand.getOwner());
    Location loc = operand.getOwner()->getLoc();
    Value wide =
        castTo(builder, loc, throughViews(builder, views, cast.getInput()),
               builder.getI32Type());
    if (found.zero)
      wide = graph::SubOp::create(builder, loc, wide.getType(), wide,
                                  asScalar(builder, found.zero));
    Operation *before = operand.get().getDefiningOp();
    operand.set(wide);
    eraseUnused(before);
  }

  WeightStore &weights;
  bool hasStore; // Else constants stay.
  bool explain, convolves = false;
};

struct IntegerProducts : impl::IntegerProductsPassBase<IntegerProducts> {
  using Base = impl::IntegerProductsPassBase<IntegerProducts>;
  using Base::Base;
  IntegerProducts(WeightStore &weights, IntegerProductsPassOptions options)
      : Base(options), weights(&weights) {}

  void runOnOperation() override {
    SmallVector<graph::MatmulOp> products;
    SmallVector<graph::ConvOp> convolutions;
    getOperation().walk([&](graph::MatmulOp op) { products.push_back(op); });
    getOperation().walk([&](graph::ConvOp op) { convolutions.push_back(op); });
    WeightStore none;
    SmallVector<graph::MaxPoolOp> pools;
    getOperation().walk([&](graph::MaxPoolOp op) { pools.push_back(op); });
    Rewriter rewriter(weights ? *weights : none, weights, explain);
    for (graph::MatmulOp op : products)
      rewriter.rewrite(op);
    for (graph::ConvOp op : convolutions)
      rewriter.rewrite(op);
    for (graph::MaxPoolOp op : pools)
      rewriter.rewrite(op);
    rewriter.multiplyByInverses(getOperation());
  }

private:
  WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass>
createIntegerProductsPass(WeightStore &weights,
                          IntegerProductsPassOptions options) {
  return std::make_unique<IntegerProducts>(weights, std::move(options));
}
} // namespace tenon
