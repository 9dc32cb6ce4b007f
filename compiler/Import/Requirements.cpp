//===- Requirements.cpp - What sizes must satisfy at run time -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type inference refuses numbers that clash. Where sizes are expressions, the
// rules of the ops become requirements here, once for all converters.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Emitter.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using graph::Relation;

/// Sizes aligned at the end must be equal or 1.
void requireBroadcast(Emitter &emitter, ArrayRef<Expr> lhs,
                      ArrayRef<Expr> rhs) {
  size_t common = std::min(lhs.size(), rhs.size());
  for (auto [a, b] : llvm::zip(lhs.take_back(common), rhs.take_back(common)))
    emitter.require(a, Relation::Broadcasts, b,
                    "sizes must be equal or 1 to broadcast");
}

void requirePointwise(Emitter &emitter, Operation *op) {
  if (llvm::all_equal(op->getOperandTypes()))
    return;
  for (size_t i = 1; i < op->getNumOperands(); ++i)
    for (size_t j = 0; j < i; ++j)
      requireBroadcast(emitter, graph::getDims(op->getOperand(j)),
                       graph::getDims(op->getOperand(i)));
}

void requireMatmul(Emitter &emitter, graph::MatmulOp op) {
  auto lhs = graph::getDims(op.getLhs()), rhs = graph::getDims(op.getRhs());
  emitter.require(lhs.back(), Relation::Equal, rhs[rhs.size() - 2],
                  "columns of the left must be rows of the right operand");
  requireBroadcast(emitter, ArrayRef(lhs).drop_back(2),
                   ArrayRef(rhs).drop_back(2));
}

void requireConcat(Emitter &emitter, graph::ConcatOp op) {
  auto result = graph::getDims(op.getResult());
  for (Value input : op.getInputs())
    for (auto [i, dim] : llvm::enumerate(graph::getDims(input)))
      if (i != op.getAxis())
        emitter.require(dim, Relation::Equal, result[i],
                        "sizes beside the joined axis must be equal");
}

void requireReshape(Emitter &emitter, graph::ReshapeOp op) {
  emitter.require(graph::elementCount(op.getInput()), Relation::Equal,
                  graph::elementCount(op.getResult()),
                  "a reshape must keep the number of elements");
}

/// The input's sizes are 1 or those of the result.
void requireExpanded(Emitter &emitter, graph::BroadcastOp op) {
  auto from = graph::getDims(op.getInput()),
       to = graph::getDims(op.getResult());
  for (auto [a, b] : llvm::zip(from, ArrayRef(to).take_back(from.size()))) {
    StringRef what = "a size must be 1 or that of the result to broadcast";
    if (b.asConstant().value_or(1) != 1)
      emitter.require(a, Relation::Broadcasts, b, what);
    else if (!a.isConstant(1))
      emitter.require(a.broadcast(b), Relation::Equal, b, what);
  }
}

/// Both must be of the same size along each axis.
void requireSame(Emitter &emitter, Value lhs, Value rhs, const Twine &what) {
  for (auto [a, b] : llvm::zip(graph::getDims(lhs), graph::getDims(rhs)))
    emitter.require(a, Relation::Equal, b, what);
}

void requireConv(Emitter &emitter, graph::ConvOp op) {
  emitter.require(graph::getDim(op.getInput(), 1), Relation::Equal,
                  graph::getDim(op.getFilter(), 1) * op.getGroup(),
                  "channels of the input must fit the filters");
}

void requireGatherElements(Emitter &emitter, graph::GatherElementsOp op) {
  auto input = graph::getDims(op.getInput());
  for (auto [i, dim] : llvm::enumerate(graph::getDims(op.getIndices())))
    if (i != op.getAxis())
      emitter.require(dim, Relation::LessEqual, input[i],
                      "indices must not exceed the input beside the axis");
}

void requireGatherNd(Emitter &emitter, graph::GatherNdOp op) {
  for (int64_t i = 0; i < int64_t(op.getBatchDims()); ++i)
    emitter.require(graph::getDim(op.getInput(), i), Relation::Equal,
                    graph::getDim(op.getIndices(), i),
                    "batch sizes of input and indices must be equal");
}

void requireScatterNd(Emitter &emitter, graph::ScatterNdOp op) {
  auto indices = graph::getDims(op.getIndices());
  auto updates = graph::getDims(op.getUpdates());
  SmallVector<Expr> expected(ArrayRef(indices).drop_back());
  auto input = graph::getDims(op.getInput());
  if (std::optional<int64_t> depth = indices.back().asConstant())
    llvm::append_range(expected, ArrayRef(input).drop_front(*depth));
  for (auto [a, b] : llvm::zip(updates, expected))
    emitter.require(a, Relation::Equal, b,
                    "sizes of the updates must follow from the indices");
}

} // namespace

void requireSizes(Emitter &emitter, Operation *op) {
  if (graph::isPointwise(op))
    return requirePointwise(emitter, op);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](graph::BroadcastOp each) { requireExpanded(emitter, each); })
      .Case([&](graph::ConcatOp each) { requireConcat(emitter, each); })
      .Case([&](graph::ConvOp each) { requireConv(emitter, each); })
      .Case([&](graph::GatherElementsOp each) {
        requireGatherElements(emitter, each);
      })
      .Case([&](graph::GatherNdOp each) { requireGatherNd(emitter, each); })
      .Case([&](graph::MatmulOp each) { requireMatmul(emitter, each); })
      .Case([&](graph::ReshapeOp each) { requireReshape(emitter, each); })
      .Case([&](graph::ScatterElementsOp each) {
        requireSame(emitter, each.getIndices(), each.getUpdates(),
                    "indices and updates must have the same sizes");
      })
      .Case([&](graph::ScatterNdOp each) { requireScatterNd(emitter, each); });
}

} // namespace tenon
