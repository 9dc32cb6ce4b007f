//===- LowerInt8.cpp - Products by weights of 8-bit numbers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scales are what leaves the sum over k: one for each row of lhs, found at run
// time, and one for each column of the weight. Both are symmetric. So lhs
// counts from 128, which needs nothing but the sums of the weight's columns.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/PrecisionAttributes.h"
#include "compiler/Weights/WeightStore.h"
#include <cmath>
#include <cstring>
#include <map>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_LOWERINT8PASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// Smaller weights stay: reading them is not what takes time.
constexpr int64_t fewestElements = int64_t(1) << 12;
constexpr float largest = 127;
/// Rows of less than that are zeros: their scale has no inverse.
constexpr float smallest = 1e-30f;

/// Numbers and, of each row or column of them, what one is.
struct Quantized {
  Value numbers, scale;
};

class Lowering {
public:
  Lowering(func::FuncOp function, WeightStore *weights, bool explain)
      : function(function), weights(weights), explain(explain) {}

  void run() {
    SmallVector<Operation *> wanted;
    function.walk([&](Operation *op) {
      if (isa<graph::AttentionOp, graph::ConvOp, graph::GatherOp,
              graph::MatmulOp>(op) &&
          precisionOf(op, Precision::Int8) == Precision::Int8)
        wanted.push_back(op);
    });
    for (Operation *op : wanted) {
      auto matmul = dyn_cast<graph::MatmulOp>(op);
      std::string why =
          matmul ? refusal(matmul) : "only products by weights multiply 8 bits";
      if (why.empty())
        lower(matmul);
      else
        leaveInFp32(op, why, explain && !isa<graph::GatherOp>(op));
    }
  }

private:
  std::string refusal(graph::MatmulOp op) {
    auto type = cast<RankedTensorType>(op.getRhs().getType());
    if (!graph::getElementType(op.getLhs()).isF32())
      return "its operands are not f32";
    if (!op.getRhs().getDefiningOp<graph::WeightOp>() ||
        !type.hasStaticShape() || type.getRank() != 2 ||
        type.getNumElements() < fewestElements)
      return "rhs is no matrix of weights of some size";
    StringRef name = op.getRhs().getDefiningOp<graph::WeightOp>().getName();
    const Weight *weight = weights ? weights->lookup(name) : nullptr;
    if (weight && !llvm::all_of(scalesOf(*weight), [](float scale) {
          return std::isfinite(scale);
        }))
      return ("weight '" + name + "' has infinities in it").str();
    return "";
  }

  void lower(graph::MatmulOp op) {
    Value lhs = op.getLhs(), rhs = op.getRhs();
    Type byte = IntegerType::get(op.getContext(), 8, IntegerType::Unsigned);
    Quantized columns = once(rhs, [&] { return quantizedWeight(rhs); });
    Quantized rows = once(lhs, [&] {
      return quantized(lhs, graph::getRank(lhs) - 1, byte, 128);
    });
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type i32 = builder.getI32Type();
    Value wide = castTo(builder, loc, rows.numbers, i32);
    wide = graph::SubOp::create(builder, loc, wide.getType(), wide,
                                number(builder, loc, i32, 128));
    Type sums = graph::tensorOf(graph::getDims(op.getResult()), i32);
    auto product = graph::MatmulOp::create(
        builder, loc, sums, wide, castTo(builder, loc, columns.numbers, i32));
    product->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    Value result = castTo(builder, loc, product, builder.getF32Type());
    for (Value scale : {rows.scale, columns.scale})
      result = graph::MulOp::create(builder, loc, op.getType(), result, scale);
    op.getResult().replaceAllUsesWith(result);
    op.erase();
  }

  Quantized once(Value value, function_ref<Quantized()> make) {
    auto found = known.find(value);
    if (found != known.end())
      return found->second;
    Quantized made = make();
    known[value] = made;
    return made;
  }

  static Value number(OpBuilder &builder, Location loc, Type element,
                      double value) {
    TypedAttr attr = isa<FloatType>(element)
                         ? TypedAttr(builder.getFloatAttr(element, value))
                         : builder.getIntegerAttr(element, int64_t(value));
    return scalarOf(builder, loc, attr);
  }

  /// A tensor with a scale for all elements along an axis.
  static Quantized quantized(Value value, int64_t axis, Type type,
                             int64_t zeroPoint) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    Location loc = value.getLoc();
    Type f32 = builder.getF32Type();
    SmallVector<graph::Expr> dims = graph::getDims(value), kept = dims;
    kept[axis] = graph::Expr::constant(value.getContext(), 1);
    Type scales = graph::tensorOf(kept, f32);
    auto f32Number = [&](double each) {
      return number(builder, loc, f32, each);
    };
    Value size = graph::AbsOp::create(builder, loc, value.getType(), value);
    Value most = graph::ReduceOp::create(
        builder, loc, scales, size, builder.getDenseI64ArrayAttr({axis}),
        graph::ReduceKindAttr::get(builder.getContext(),
                                   graph::ReduceKind::Max));
    Value isNone = graph::LessOp::create(
        builder, loc, graph::tensorOf(kept, builder.getI1Type()), most,
        f32Number(smallest));
    Value step =
        graph::DivOp::create(builder, loc, scales, most, f32Number(largest));
    Value scale = graph::SelectOp::create(builder, loc, scales, isNone,
                                          f32Number(1), step);
    // A division for each row, not for each element.
    Value inverse =
        graph::DivOp::create(builder, loc, scales, f32Number(1), scale);
    Value scaled =
        graph::MulOp::create(builder, loc, value.getType(), value, inverse);
    Value numbers = graph::QuantizeOp::create(
        builder, loc, graph::tensorOf(dims, type), scaled, f32Number(1),
        number(builder, loc, type, double(zeroPoint)));
    return {numbers, scale};
  }

  Quantized quantizedWeight(Value value) {
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    StringRef name = value.getDefiningOp<graph::WeightOp>().getName();
    const Weight *weight = weights ? weights->lookup(name) : nullptr;
    Type i8 = builder.getI8Type();
    if (!weight)
      return quantized(value, 0, i8, 0);
    int64_t depth = weight->shape[0], columns = weight->shape[1];
    const std::vector<float> &scales = scalesOf(*weight);
    std::vector<char> numbers(size_t(depth * columns));
    const char *source = weight->bytes().data();
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t n = 0; n < columns; ++n) {
        float each;
        std::memcpy(&each, source + (k * columns + n) * 4, sizeof each);
        float rounded = std::nearbyint(each / scales[n]);
        // What is no number is none of these.
        numbers[k * columns + n] =
            char(rounded >= -largest && rounded <= largest ? int(rounded) : 0);
      }
    auto add = [&](const char *suffix, Type element, ArrayRef<int64_t> shape,
                   std::vector<char> bytes) -> Value {
      const Weight *added = llvm::cantFail(weights->addOwned(
          (name + suffix).str(), element, shape, std::move(bytes)));
      return graph::WeightOp::create(builder, value.getLoc(),
                                     RankedTensorType::get(shape, element),
                                     added->name);
    };
    std::vector<char> scaleBytes(scales.size() * sizeof(float));
    std::memcpy(scaleBytes.data(), scales.data(), scaleBytes.size());
    return {
        add(".int8", i8, {depth, columns}, std::move(numbers)),
        add(".scales", builder.getF32Type(), {columns}, std::move(scaleBytes))};
  }

  /// Of each column: its largest magnitude over 127, or 1 of zeros.
  const std::vector<float> &scalesOf(const Weight &weight) {
    auto [found, isNew] = scalesOfWeights.try_emplace(&weight);
    std::vector<float> &scales = found->second;
    if (!isNew)
      return scales;
    int64_t depth = weight.shape[0], columns = weight.shape[1];
    scales.assign(size_t(columns), 0.0f);
    const char *source = weight.bytes().data();
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t n = 0; n < columns; ++n) {
        float each;
        std::memcpy(&each, source + (k * columns + n) * 4, sizeof each);
        scales[n] = std::max(scales[n], std::fabs(each));
      }
    for (float &scale : scales)
      scale = scale < smallest ? 1 : scale / largest;
    return scales;
  }

  func::FuncOp function;
  WeightStore *weights;
  bool explain;
  llvm::DenseMap<Value, Quantized> known;
  std::map<const Weight *, std::vector<float>> scalesOfWeights;
};

struct LowerInt8 : impl::LowerInt8PassBase<LowerInt8> {
  using Base = impl::LowerInt8PassBase<LowerInt8>;
  using Base::Base;
  LowerInt8(WeightStore &weights, LowerInt8PassOptions options)
      : Base(options), weights(&weights) {}

  void runOnOperation() override {
    Lowering(getOperation(), weights, explain).run();
  }

  WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass> createLowerInt8Pass(WeightStore &weights,
                                          LowerInt8PassOptions options) {
  return std::make_unique<LowerInt8>(weights, std::move(options));
}
} // namespace tenon
