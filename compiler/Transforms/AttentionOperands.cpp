//===- AttentionOperands.cpp - Layouts and repeats around attention -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/AttentionOperands.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Weights/WeightStore.h"
#include <cmath>
#include <cstring>

using namespace mlir;

namespace tenon {

using graph::Expr;

RankedTensorType swappedType(Value value) {
  auto dims = graph::getDims(value);
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return graph::tensorOf(dims, graph::getElementType(value));
}

namespace {

/// Before reshape [.., 1, ..], broadcast [.., G, ..], reshape [.., KV * G, ..].
Value withoutHeadRepeat(Value value) {
  auto merge = value.getDefiningOp<graph::ReshapeOp>();
  auto repeat = merge ? merge.getInput().getDefiningOp<graph::BroadcastOp>()
                      : graph::BroadcastOp();
  auto unsqueeze = repeat ? repeat.getInput().getDefiningOp<graph::ReshapeOp>()
                          : graph::ReshapeOp();
  if (!unsqueeze)
    return value;
  Value source = unsqueeze.getInput();
  auto from = graph::getDims(source), one = graph::getDims(repeat.getInput());
  auto many = graph::getDims(repeat.getResult()), to = graph::getDims(value);
  if (from.size() != 4 || one.size() != 5 || many.size() != 5 || to.size() != 4)
    return value;
  SmallVector<Expr> expected = {from[0], from[1], one[2], from[2], from[3]};
  if (!one[2].isConstant(1) || one != expected)
    return value;
  expected[2] = many[2];
  bool merged = to[0] == from[0] && to[1] == from[1] * many[2] &&
                to[2] == from[2] && to[3] == from[3];
  return many == expected && merged ? source : value;
}

/// Numbers from which nothing of a mask's size is made by a few additions.
bool isSmall(double value) { return std::abs(value) <= 1e6; }

bool isSmallData(Type element, ArrayRef<char> bytes) {
  if (!element.isF32())
    return false;
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    float each;
    std::memcpy(&each, bytes.data() + i, 4);
    if (!isSmall(each))
      return false;
  }
  return true;
}

bool isSmallConstant(graph::ConstantOp op) {
  auto dense = dyn_cast<DenseFPElementsAttr>(op.getValue());
  return dense && llvm::all_of(dense, [](const APFloat &each) {
           APFloat value = each;
           bool inexact = false;
           value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                         &inexact);
           return isSmall(value.convertToDouble());
         });
}

bool isSmallWithin(Value value, const WeightStore *weights, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 16)
    return false;
  if (auto constant = dyn_cast<graph::ConstantOp>(op))
    return isSmallConstant(constant);
  if (auto name = dyn_cast<graph::WeightOp>(op)) {
    const Weight *weight = weights ? weights->lookup(name.getName()) : nullptr;
    return weight && isSmallData(weight->elementType, weight->bytes());
  }
  if (isa<graph::ReshapeOp, graph::TransposeOp, graph::SliceOp,
          graph::BroadcastOp, graph::GatherOp>(op))
    return isSmallWithin(op->getOperand(0), weights, depth + 1);
  if (isa<graph::AddOp, graph::SubOp>(op))
    return isSmallWithin(op->getOperand(0), weights, depth + 1) &&
           isSmallWithin(op->getOperand(1), weights, depth + 1);
  return false;
}

} // namespace

bool keepsLastAxes(graph::ReshapeOp op) {
  auto from = graph::getDims(op.getInput()),
       to = graph::getDims(op.getResult());
  return from.size() >= 2 && to.size() >= 2 &&
         ArrayRef(from).take_back(2) == ArrayRef(to).take_back(2) &&
         graph::product(op.getContext(), ArrayRef(from).drop_back(2)) ==
             graph::product(op.getContext(), ArrayRef(to).drop_back(2));
}

bool mayBeScoresOf(Value scores, Value sum) {
  if (scores.getType() == sum.getType())
    return true;
  auto from = graph::getDims(scores), to = graph::getDims(sum);
  return graph::getElementType(scores) == graph::getElementType(sum) &&
         from.size() == to.size() && from.size() > 1 &&
         !from.back().isConstant(1) &&
         ArrayRef(from).drop_back() == ArrayRef(to).drop_back();
}

bool comesFromScores(Value value) {
  constexpr size_t most = 64;
  SmallVector<Value> next = {value};
  for (size_t visited = 0; !next.empty() && visited < most; ++visited) {
    Operation *op = next.pop_back_val().getDefiningOp();
    if (!op)
      continue;
    if (isa<graph::MatmulOp>(op) && graph::getRank(op->getResult(0)) > 2 &&
        graph::getRank(op->getOperand(1)) > 2)
      return true;
    if (isa<graph::ReshapeOp>(op))
      next.push_back(op->getOperand(0));
    else if (isa<graph::AddOp, graph::DivOp, graph::MaxOp, graph::MulOp,
                 graph::SelectOp, graph::TanhOp>(op))
      for (Value operand : llvm::reverse(op->getOperands()))
        if (mayBeScoresOf(operand, op->getResult(0)))
          next.push_back(operand);
  }
  return false;
}

Value withLastAxesSwapped(Value value, OpBuilder &builder) {
  size_t rank = graph::getRank(value);
  if (auto transpose = value.getDefiningOp<graph::TransposeOp>()) {
    SmallVector<int64_t> axes(transpose.getPermutation());
    std::swap(axes[rank - 1], axes[rank - 2]);
    if (llvm::equal(axes, llvm::seq<int64_t>(0, rank)))
      return transpose.getInput();
    return graph::TransposeOp::create(builder, value.getLoc(),
                                      swappedType(value), transpose.getInput(),
                                      axes);
  }
  if (auto reshape = value.getDefiningOp<graph::ReshapeOp>();
      reshape && keepsLastAxes(reshape)) {
    Value inner = withLastAxesSwapped(reshape.getInput(), builder);
    Operation *source = inner.getDefiningOp();
    RankedTensorType type = swappedType(value);
    if (auto before = dyn_cast_or_null<graph::ReshapeOp>(source))
      inner = before.getInput();
    if (inner.getType() == type)
      return inner;
    return graph::ReshapeOp::create(builder, value.getLoc(), type, inner);
  }
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(rank)));
  std::swap(axes[rank - 1], axes[rank - 2]);
  return graph::TransposeOp::create(builder, value.getLoc(), swappedType(value),
                                    value, axes);
}

bool turnTransposedProduct(graph::TransposeOp transpose) {
  auto product = transpose.getInput().getDefiningOp<graph::MatmulOp>();
  int64_t rank = graph::getRank(transpose.getInput());
  if (!product || !product->hasOneUse() || rank < 3)
    return false;
  SmallVector<int64_t> axes(transpose.getPermutation());
  std::swap(axes[rank - 1], axes[rank - 2]);
  if (!llvm::equal(axes, llvm::seq<int64_t>(0, rank)) ||
      graph::getRank(product.getLhs()) != rank ||
      graph::getRank(product.getRhs()) != rank)
    return false;
  OpBuilder builder(transpose);
  Value lhs = withLastAxesSwapped(product.getRhs(), builder);
  Value rhs = withLastAxesSwapped(product.getLhs(), builder);
  Value turned = graph::MatmulOp::create(builder, product.getLoc(),
                                         transpose.getType(), lhs, rhs);
  transpose.getResult().replaceAllUsesWith(turned);
  eraseUnused(transpose);
  return true;
}

void dropHeadRepeats(Value &key, Value &value) {
  Value k = withoutHeadRepeat(key), v = withoutHeadRepeat(value);
  if (graph::getDim(k, 1) != graph::getDim(v, 1))
    return;
  key = k;
  value = v;
}

Value withoutBatchRepeat(Value value, OpBuilder &builder) {
  auto merge = value.getDefiningOp<graph::ReshapeOp>();
  auto repeat = merge ? merge.getInput().getDefiningOp<graph::BroadcastOp>()
                      : graph::BroadcastOp();
  if (!repeat || graph::getRank(value) != 4)
    return value;
  Value source = repeat.getInput();
  auto from = graph::getDims(source);
  auto many = graph::getDims(repeat.getResult()), to = graph::getDims(value);
  if (from.size() != 5 || many.size() != 5 || !from[0].isConstant(1) ||
      ArrayRef(from).drop_front() != ArrayRef(many).drop_front() ||
      ArrayRef(from).drop_front(2) != ArrayRef(to).drop_front() ||
      to[0] != many[0] * many[1])
    return value;
  return graph::ReshapeOp::create(builder, value.getLoc(),
                                  graph::tensorOf(ArrayRef(from).drop_front(),
                                                  graph::getElementType(value)),
                                  source);
}

Value withRank4(Value value, OpBuilder &builder) {
  auto dims = graph::getDims(value);
  if (dims.size() == 4)
    return value;
  SmallVector<Expr> all(4 - dims.size(),
                        Expr::constant(builder.getContext(), 1));
  llvm::append_range(all, dims);
  return graph::ReshapeOp::create(
      builder, value.getLoc(),
      graph::tensorOf(all, graph::getElementType(value)), value);
}

bool isSmall(Value value, const WeightStore *weights) {
  return isSmallWithin(value, weights, 0);
}

} // namespace tenon
