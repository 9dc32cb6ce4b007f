//===- RecogniseRowIndices.cpp - One index for all elements of a row ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PyTorch gathers and scatters elements; rows are moved by indices that are
// expanded to the size of a row. As one index per row there is less to read and
// rows are copied whole.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"

#include <variant>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_RECOGNISEROWINDICESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::Expr;
using Exprs = SmallVector<Expr>;

/// Indices of elements along `axis` of `whole`, of which those of a row, all
/// axes behind, are one.
struct RowIndices {
  Value source; // That is expanded.
  Exprs dims;   // Without the axes behind `axis`.
  bool isSame;  // For everything along the axes in front, of which it has none.

  Value as(OpBuilder &builder, ArrayRef<Expr> to) const {
    RankedTensorType type = graph::tensorOf(to, graph::getElementType(source));
    if (type == source.getType())
      return source;
    return graph::ReshapeOp::create(builder, source.getLoc(), type, source);
  }
  /// Index vectors of one number.
  Value asVectors(OpBuilder &builder) const {
    Exprs to = dims;
    to.push_back(Expr::constant(builder.getContext(), 1));
    return as(builder, to);
  }
};

/// Says otherwise why they are not.
std::variant<RowIndices, StringRef> rowIndicesOf(Value indices, Value whole,
                                                 int64_t axis) {
  auto spread = indices.getDefiningOp<graph::BroadcastOp>();
  if (!spread)
    return "its indices are not expanded";
  Exprs from = graph::getDims(spread.getInput()), to = graph::getDims(indices),
        dims = graph::getDims(whole);
  from.insert(from.begin(), to.size() - from.size(),
              Expr::constant(indices.getContext(), 1));
  bool isRow = false;
  for (size_t i = axis + 1; i < to.size(); ++i) {
    if (!from[i].isConstant(1))
      return "its indices differ along a row";
    if (to[i] != dims[i])
      return "it moves parts of rows";
    isRow |= !to[i].isConstant(1);
  }
  if (!isRow)
    return "its rows are single elements";
  auto front = [&](ArrayRef<Expr> all) { return all.take_front(axis); };
  if (front(to) != front(dims))
    return "it leaves out some of what lies in front of its axis";
  bool isSame = graph::areOnes(front(from));
  if (!isSame && front(from) != front(to))
    return "its indices are the same along one axis in front, and not along "
           "another";
  if (from[axis] != to[axis])
    return "it moves one row to many places";
  from.resize(axis + 1);
  if (isSame)
    from.erase(from.begin(), from.begin() + axis);
  return RowIndices{spread.getInput(), std::move(from), isSame};
}

std::variant<Value, StringRef> rowsOf(graph::GatherElementsOp op) {
  int64_t axis = op.getAxis();
  auto found = rowIndicesOf(op.getIndices(), op.getInput(), axis);
  if (auto *why = std::get_if<StringRef>(&found))
    return *why;
  const auto &rows = std::get<RowIndices>(found);
  OpBuilder builder(op);
  if (rows.isSame)
    return graph::GatherOp::create(builder, op.getLoc(), op.getType(),
                                   op.getInput(), rows.as(builder, rows.dims),
                                   axis)
        .getResult();
  return graph::GatherNdOp::create(builder, op.getLoc(), op.getType(),
                                   op.getInput(), rows.asVectors(builder), axis)
      .getResult();
}

std::variant<Value, StringRef> rowsOf(graph::ScatterElementsOp op) {
  if (op.getAxis() != 0)
    return "it is along another axis than the first";
  auto found = rowIndicesOf(op.getIndices(), op.getInput(), 0);
  if (auto *why = std::get_if<StringRef>(&found))
    return *why;
  OpBuilder builder(op);
  Value indices = std::get<RowIndices>(found).asVectors(builder);
  return graph::ScatterNdOp::create(builder, op.getLoc(), op.getType(),
                                    op.getInput(), indices, op.getUpdates(),
                                    op.getKind())
      .getResult();
}

struct RecogniseRowIndices
    : impl::RecogniseRowIndicesPassBase<RecogniseRowIndices> {
  using RecogniseRowIndicesPassBase::RecogniseRowIndicesPassBase;

  void runOnOperation() override {
    rewriteAll<graph::GatherElementsOp>();
    rewriteAll<graph::ScatterElementsOp>();
  }

private:
  template <typename Op> void rewriteAll() {
    SmallVector<Op> all;
    getOperation().walk([&](Op op) { all.push_back(op); });
    for (Op op : all) {
      std::variant<Value, StringRef> found = rowsOf(op);
      if (auto *rows = std::get_if<Value>(&found)) {
        op.getResult().replaceAllUsesWith(*rows);
        eraseUnused(op);
      } else if (explain) {
        op->emitRemark("does not move rows: ") << std::get<StringRef>(found);
      }
    }
  }
};

} // namespace
} // namespace tenon
