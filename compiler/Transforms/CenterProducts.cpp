//===- CenterProducts.cpp - Products of bytes as devices multiply them ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix instructions of devices multiply bytes by i8 and know no zero points.
// A product of rows less z by a weight is that of the rows, less the sums of
// the weight's columns times z. A weight of ui8 is one of i8, counted from 128,
// and a product by it larger by the sums of rows times 128. All of it modulo
// 2^32, as products of i32 are.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Int8Products.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/StoredTensors.h"
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

/// The sums of a weight's columns times a number, i32, of ui8 once it is i8.
std::vector<char> columnSums(ArrayRef<char> bytes, size_t columns, bool turns,
                             int64_t times) {
  std::vector<int32_t> sums(columns, 0);
  for (size_t i = 0; i < bytes.size(); ++i)
    sums[i % columns] += int8_t(uint8_t(bytes[i]) ^ (turns ? byteMiddle : 0));
  for (int32_t &sum : sums)
    sum = int32_t(uint32_t(int64_t(sum) * times));
  std::vector<char> result(columns * sizeof sums[0]);
  std::memcpy(result.data(), sums.data(), result.size());
  return result;
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
    Value numbers = wide(op.getLhs());
    Side rhs = centered(view->rhs);
    Value sum =
        graph::MatmulOp::create(b, loc, op.getType(), numbers, rhs.numbers);
    if (Value rest = restOf(view->lhs.zero, !view->rhs.isSigned(), rhs.lower))
      sum = graph::SubOp::create(b, loc, op.getType(), sum, rest);
    if (rhs.lower)
      sum = graph::AddOp::create(b, loc, op.getType(), sum,
                                 multiplied(sumsOfRows(numbers), rhs.lower));
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

  /// A factor in i32 without its zero point.
  static Value wide(Value operand) {
    auto sub = operand.getDefiningOp<graph::SubOp>();
    return sub ? sub.getLhs() : operand;
  }

  /// The weight as i8 in i32, and how much lower that is; null where it is not.
  struct Side {
    Value numbers, lower;
  };
  Side centered(const kernel::IntegerFactor &factor) {
    Value numbers = wide(op.getRhs()), zero = factor.zero;
    if (factor.isSigned() && !zero)
      return {numbers, {}};
    Value from = numberOf(b, loc, i32, factor.isSigned() ? 0 : byteMiddle);
    Value lower = from;
    if (zero && !factor.isSigned() && graph::isConstantOf(zero, byteMiddle)) {
      lower = {};
    } else if (zero) {
      zero = number(zero);
      lower = graph::SubOp::create(b, loc, zero.getType(), from, zero);
    }
    if (!factor.isSigned())
      numbers = castTo(
          b, loc,
          stored(".centered", graph::getDims(numbers), b.getI8Type(), turned),
          i32);
    return {numbers, lower};
  }

  /// One number without axes; others as they are.
  Value number(Value zero) {
    if (!graph::isOneNumber(zero) || graph::getRank(zero) == 0)
      return zero;
    return graph::ReshapeOp::create(b, loc, graph::tensorOf({}, i32), zero);
  }

  /// What the zero point of lhs makes a product larger by: the sums of the
  /// weight's columns, less its own zero points, times it. Null where it is
  /// none, or known to be 0; a vector of its own where the model knows it.
  Value restOf(Value zero, bool turns, Value lower) {
    if (!zero)
      return {};
    std::optional<int64_t> known = lower ? std::nullopt : knownNumber(zero);
    if (!known)
      return multiplied(sumsOfColumns(turns, lower), number(zero));
    return *known == 0 ? Value() : storedSums(turns, *known);
  }

  /// Of a constant or a weight of one number.
  std::optional<int64_t> knownNumber(Value zero) {
    if (auto cast = zero.getDefiningOp<graph::CastOp>())
      zero = cast.getInput();
    std::optional<reference::Tensor> found;
    if (weights && graph::isOneNumber(zero))
      found = tensorOf(zero, *weights);
    return found ? std::optional(found->ints()[0]) : std::nullopt;
  }

  /// The sums of the weight's columns, times a number.
  Value storedSums(bool turns, int64_t times) {
    graph::Expr columns = graph::getDims(weight.getResult()).back();
    return stored(".sums", {columns}, i32, [&](ArrayRef<char> bytes) {
      return columnSums(bytes, size_t(*columns.asConstant()), turns, times);
    });
  }

  /// Those of the weight less its zero points, [N] or [1, N].
  Value sumsOfColumns(bool turns, Value lower) {
    Value sums = storedSums(turns, /*times=*/1);
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
