//===- CenterProducts.cpp - Products of bytes as devices multiply them ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix instructions of devices multiply numbers with a sign and know no zero
// points. A row of ui8 less z is one of i8, counted from 128, plus 128 - z; by
// a weight that is the product of the i8, plus the sums of the weight's columns
// times 128 - z. All of it modulo 2^32, as products of i32 are.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Int8Products.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/QuantizedFactors.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Kernel/ByteProduct.h"
#include "dialects/Kernel/IntegerMatmulView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_CENTERPRODUCTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using kernel::byteMiddle;

/// A weight [depth, columns] of ui8 as i8, `byteMiddle` lower.
std::vector<char> turned(ArrayRef<char> bytes) {
  std::vector<char> result(bytes.begin(), bytes.end());
  for (char &byte : result)
    byte = char(uint8_t(byte) ^ byteMiddle);
  return result;
}

/// The sums of a weight's columns, i32, of ui8 once it is such.
std::vector<char> columnSums(ArrayRef<char> bytes, size_t columns, bool turns) {
  std::vector<int32_t> sums(columns, 0);
  for (size_t i = 0; i < bytes.size(); ++i)
    sums[i % columns] += int8_t(uint8_t(bytes[i]) ^ (turns ? byteMiddle : 0));
  std::vector<char> result(columns * sizeof sums[0]);
  std::memcpy(result.data(), sums.data(), result.size());
  return result;
}

/// A zero point that is not known to be 0; null for others.
Value zeroOf(const kernel::IntegerFactor &factor, const WeightStore *weights) {
  Value known = factor.zero;
  if (auto cast = known ? known.getDefiningOp<graph::CastOp>() : nullptr)
    known = cast.getInput();
  return known && weights && isZero(known, *weights) ? Value() : factor.zero;
}

class Centering {
public:
  Centering(graph::MatmulOp op, WeightStore *weights)
      : op(op), weights(weights), b(op), loc(op.getLoc()), i32(b.getI32Type()) {
  }

  void run() {
    std::optional<kernel::IntegerMatmulView> view =
        kernel::integerMatmulViewOf(op);
    if (!view || kernel::byteProductOf(op) || !canCenter(*view))
      return;
    weight = view->rhs.view.base.getDefiningOp<graph::WeightOp>();
    Side lhs = centered(op.getLhs(), view->lhs),
         rhs = centered(op.getRhs(), view->rhs);
    auto product =
        graph::MatmulOp::create(b, loc, op.getType(), lhs.numbers, rhs.numbers);
    Value sum = product;
    auto add = [&](Value sums, Value times) {
      sum = graph::AddOp::create(b, loc, op.getType(), sum,
                                 multiplied(sums, times));
    };
    if (lhs.lower)
      add(sumsOfColumns(!view->rhs.isSigned(), rhs.lower), lhs.lower);
    if (rhs.lower)
      add(sumsOfRows(lhs.numbers), rhs.lower);
    op.getResult().replaceAllUsesWith(sum);
    eraseUnused(op);
  }

private:
  /// Of one zero point for all rows, or none, by a weight as it is stored.
  bool canCenter(const kernel::IntegerMatmulView &view) {
    Value rhs = view.rhs.view.base;
    return (!view.lhs.zero || graph::isOneNumber(view.lhs.zero)) &&
           view.isByKnownMatrix() && kernel::liesByFours(view.lhs.view) &&
           rhs.getDefiningOp<graph::WeightOp>() &&
           graph::getDims(rhs) == graph::getDims(op.getRhs()) &&
           view.rhs.view.strides.back().isConstant(1);
  }

  /// A factor as i8 in i32, and how much lower that is; null where it is not.
  struct Side {
    Value numbers, lower;
  };
  Side centered(Value operand, const kernel::IntegerFactor &factor) {
    Value wide = operand;
    if (auto sub = wide.getDefiningOp<graph::SubOp>())
      wide = sub.getLhs();
    bool isSigned = factor.isSigned(), isRhs = operand == op.getRhs();
    Value zero = zeroOf(factor, weights);
    if (!zero && (isSigned || !isRhs))
      return {wide, {}};
    Value from = numberOf(b, loc, i32, isSigned ? 0 : byteMiddle), lower = from;
    if (zero && !isSigned && graph::isConstantOf(zero, byteMiddle)) {
      lower = {};
    } else if (zero) {
      if (graph::isOneNumber(zero) && graph::getRank(zero) > 0)
        zero = graph::ReshapeOp::create(b, loc, graph::tensorOf({}, i32), zero);
      lower = graph::SubOp::create(b, loc, zero.getType(), from, zero);
    }
    if (!isSigned && isRhs)
      wide = castTo(
          b, loc,
          stored(".centered", graph::getDims(wide), b.getI8Type(), turned),
          i32);
    else if (!isSigned)
      wide = graph::SubOp::create(b, loc, wide.getType(), wide, from);
    return {wide, lower};
  }

  /// Those of the weight less its zero points, [N] or [1, N].
  Value sumsOfColumns(bool turns, Value lower) {
    graph::Expr columns = graph::getDims(weight.getResult()).back();
    Value sums = stored(".sums", {columns}, i32, [&](ArrayRef<char> bytes) {
      return columnSums(bytes, size_t(*columns.asConstant()), turns);
    });
    if (!lower)
      return sums;
    double depth = *graph::getDims(weight.getResult())[0].asConstant();
    Value more = multiplied(lower, numberOf(b, loc, i32, depth));
    Type type = graph::getRank(more) > 0 ? more.getType() : sums.getType();
    return graph::AddOp::create(b, loc, type, sums, more);
  }

  Value sumsOfRows(Value value) {
    SmallVector<graph::Expr> dims = graph::getDims(value);
    int64_t axis = graph::getRank(value) - 1;
    dims[axis] = graph::Expr::constant(b.getContext(), 1);
    return graph::ReduceOp::create(
        b, loc, graph::tensorOf(dims, i32), value,
        b.getDenseI64ArrayAttr({axis}),
        graph::ReduceKindAttr::get(b.getContext(), graph::ReduceKind::Sum));
  }

  /// Sums times one number, or sums of rows times numbers of columns.
  Value multiplied(Value sums, Value times) {
    SmallVector<graph::Expr> dims = graph::getDims(sums);
    if (graph::getRank(times) > 0)
      dims.back() = graph::getDims(times).back();
    return graph::MulOp::create(b, loc, graph::tensorOf(dims, i32), sums,
                                times);
  }

  /// What is made of the weight's bytes, of which only tests have none.
  Value stored(StringRef suffix, ArrayRef<graph::Expr> dims, Type element,
               function_ref<std::vector<char>(ArrayRef<char>)> make) {
    auto type = cast<RankedTensorType>(graph::tensorOf(dims, element));
    std::string name = (weight.getName() + suffix).str();
    const Weight *source =
        weights ? weights->lookup(weight.getName()) : nullptr;
    if (source) {
      std::vector<char> bytes = make(source->bytes());
      const Weight *made = llvm::cantFail(
          weights->addOwned(name, element, type.getShape(), std::move(bytes)));
      name = made->name;
    }
    return graph::WeightOp::create(b, loc, type, name);
  }

  graph::MatmulOp op;
  WeightStore *weights;
  graph::WeightOp weight;
  OpBuilder b;
  Location loc;
  Type i32;
};

struct CenterProducts : impl::CenterProductsPassBase<CenterProducts> {
  CenterProducts() = default;
  explicit CenterProducts(WeightStore &weights) : weights(&weights) {}

  void runOnOperation() override {
    SmallVector<graph::MatmulOp> products;
    getOperation().walk([&](graph::MatmulOp op) {
      if (graph::getElementType(op.getResult()).isSignlessInteger(32))
        products.push_back(op);
    });
    for (graph::MatmulOp op : products)
      Centering(op, weights).run();
  }

private:
  WeightStore *weights = nullptr;
};

} // namespace

std::unique_ptr<Pass> createCenterProductsPass(WeightStore &weights) {
  return std::make_unique<CenterProducts>(weights);
}
} // namespace tenon
