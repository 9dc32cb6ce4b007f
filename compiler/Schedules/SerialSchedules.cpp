//===- SerialSchedules.cpp - Schedules of what one thread would do --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/MemorySchedules.h"
#include "dialects/Kernel/LinearAttentionView.h"
#include "dialects/Kernel/RecurrentView.h"
#include "dialects/Kernel/SerialTiles.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

constexpr llvm::StringLiteral tooMany =
    "the number of its blocks is beyond what an expression holds";

/// A row of the launch per block.
kernel::Geometry blocks(Expr count) {
  if (!count)
    return {};
  MLIRContext *context = count.getContext();
  return {count, Expr::constant(context, 1), Expr::constant(context, 0)};
}

Expr rowsBut(Value tensor, int64_t axis) {
  return graph::product(tensor.getContext(), kernel::dimsBut(tensor, axis));
}

SmallVector<std::string> rowMajor(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

/// Whether an op behind the root only renames what is yielded.
bool isTailReshape(Operation *op) {
  return isa<graph::ReshapeOp>(op) &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<kernel::YieldOp, graph::ReshapeOp>(user);
         });
}

/// Whether all that is yielded can be computed from one element of the root's
/// result at a time.
bool isByElements(Block &body, Operation *root) {
  llvm::SmallPtrSet<Operation *, 8> behind = {root};
  for (Operation &op : body.without_terminator()) {
    if (!llvm::any_of(op.getOperands(), [&](Value operand) {
          return behind.contains(operand.getDefiningOp());
        }))
      continue;
    if (kernel::roleOf(&op) != kernel::Role::Pointwise && !isTailReshape(&op))
      return false;
    behind.insert(&op);
  }
  SmallVector<Expr> dims = graph::getDims(root->getResult(0));
  return llvm::all_of(body.getTerminator()->getOperands(), [&](Value yielded) {
    return graph::getDims(kernel::behindReshapes(yielded)) == dims ||
           graph::getDims(yielded) == dims;
  });
}

template <typename RootOp> RootOp rootOf(const KernelView &view) {
  return dyn_cast_if_present<RootOp>(kernel::findRoot(view.body));
}

} // namespace

//===--- BlockScan ---===//

std::optional<std::string> refusalBlockScan(const KernelView &view) {
  auto op = rootOf<graph::CumulativeOp>(view);
  if (!op)
    return "its root is no running sum";
  int64_t axis = op.getAxis();
  if (!kernel::isInnermost(op.getResult(), axis))
    return "its sums run along columns, each of which a thread has";
  constexpr int64_t fewest = 32;
  Expr length = graph::getDim(op.getResult(), axis);
  if (length.asConstant().value_or(fewest) < fewest)
    return "its rows are so short that a thread may as well have them";
  if (!isByElements(view.body, op))
    return "it moves data behind the sums";
  if (!geometryBlockScan(view))
    return tooMany.str();
  return std::nullopt;
}

kernel::Geometry geometryBlockScan(const KernelView &view) {
  auto op = rootOf<graph::CumulativeOp>(view);
  return blocks(rowsBut(op.getResult(), op.getAxis()));
}

SmallVector<std::string> layoutsBlockScan(const KernelView &view) {
  return rowMajor(view);
}

//===--- BlockNonzero ---===//

std::optional<std::string> refusalBlockNonzero(const KernelView &view) {
  auto op = rootOf<graph::NonzeroOp>(view);
  if (!op)
    return "its root looks for nothing";
  if (view.body.getTerminator()->getNumOperands() != 1 ||
      !kernel::yieldsRoot(view.body, op))
    return "something follows what it finds";
  return std::nullopt;
}

kernel::Geometry geometryBlockNonzero(const KernelView &view) {
  return blocks(Expr::constant(view.body.getParentOp()->getContext(), 1));
}

SmallVector<std::string> layoutsBlockNonzero(const KernelView &view) {
  return rowMajor(view);
}

//===--- BlockRecurrent ---===//

std::optional<std::string> refusalBlockRecurrent(const KernelView &view) {
  auto op = rootOf<graph::RecurrentOp>(view);
  if (!op)
    return "its root is no recurrent cell";
  if (!kernel::yieldsRoot(view.body, op))
    return "something follows the cell";
  if (kernel::recurrentAreas(op).empty())
    return "the size of its state is a symbol, or beyond shared memory";
  if (!geometryBlockRecurrent(view))
    return tooMany.str();
  return std::nullopt;
}

kernel::Geometry geometryBlockRecurrent(const KernelView &view) {
  auto op = rootOf<graph::RecurrentOp>(view);
  return blocks(graph::getDim(op.getRecurrence(), 0) *
                graph::getDim(op.getInput(), 1));
}

SmallVector<std::string> layoutsBlockRecurrent(const KernelView &view) {
  return rowMajor(view);
}

//===--- RecurrentTiles ---===//

std::optional<std::string> refusalRecurrentTiles(const KernelView &view) {
  auto op = rootOf<graph::RecurrentOp>(view);
  if (!op)
    return "its root is no recurrent cell";
  if (!kernel::yieldsRoot(view.body, op))
    return "something follows the cell";
  std::string why;
  if (!kernel::recurrentViewOf(op, why))
    return why;
  Value stored = kernel::storedRecurrenceOf(op);
  if (!llvm::all_of(op->getOperands(), [&](Value operand) {
        return isa<BlockArgument>(operand == op.getRecurrence() ? stored
                                                                : operand);
      }))
    return "an operand of the cell is computed in the kernel";
  auto recurrence = cast<BlockArgument>(stored);
  if (!view.isWeight[recurrence.getArgNumber()] || !recurrence.hasOneUse())
    return "the recurrence is no weight of its own";
  if (graph::DequantizeOp bytes = kernel::cellBytesOf(op))
    for (Value side : {bytes.getScale(), bytes.getZeroPoint()})
      if (!isa<BlockArgument>(side) &&
          cast<RankedTensorType>(side.getType()).getNumElements() > 2)
        return "scales or zero points of units are computed in the kernel";
  if (!geometryRecurrentTiles(view))
    return tooMany.str();
  return std::nullopt;
}

kernel::Geometry geometryRecurrentTiles(const KernelView &view) {
  auto op = rootOf<graph::RecurrentOp>(view);
  std::string why;
  kernel::RecurrentView cells = *kernel::recurrentViewOf(op, why);
  auto number = [&](int64_t value) {
    return Expr::constant(op.getContext(), value);
  };
  Expr batch = graph::getDim(op.getInput(), 1);
  Expr groups = batch.ceilDiv(number(cells.entries));
  if (cells.mostApart() > 1 && !batch.asConstant())
    groups = groups.max(batch.min(number(cells.mostApart())));
  groups = number(cells.directions) * groups;
  Expr states = batch.min(number(cells.entries)) * number(cells.stateBytes());
  if (!groups || !states)
    return {};
  kernel::Geometry rows = blocks(groups * number(cells.parts()));
  rows.scratch = number(cells.statesAt()) + states;
  if (cells.parts() > 1)
    rows.shared = number(cells.stateAt) + states;
  return rows;
}

SmallVector<std::string> layoutsRecurrentTiles(const KernelView &view) {
  SmallVector<std::string> layouts = rowMajor(view);
  auto op = rootOf<graph::RecurrentOp>(view);
  layouts[cast<BlockArgument>(kernel::storedRecurrenceOf(op)).getArgNumber()] =
      (kernel::cellPairsOf(op)   ? kernel::cellPairsLayout
       : kernel::cellBytesOf(op) ? kernel::cellQuadsLayout
                                 : kernel::cellsLayout)
          .str();
  return layouts;
}

//===--- LinearAttention and BlockState ---===//

std::optional<std::string> refusalBlockState(const KernelView &view) {
  auto op = rootOf<graph::LinearAttentionOp>(view);
  if (!op)
    return "its root is no linear attention";
  if (!kernel::yieldsRoot(view.body, op) ||
      view.body.getTerminator()->getNumOperands() != 2)
    return "its two results are not what is yielded";
  if (!geometryBlockState(view))
    return tooMany.str();
  return std::nullopt;
}

kernel::Geometry geometryBlockState(const KernelView &view) {
  SmallVector<Expr> last =
      graph::getDims(rootOf<graph::LinearAttentionOp>(view).getLast());
  return blocks(last[0] * last[1]);
}

SmallVector<std::string> layoutsBlockState(const KernelView &view) {
  return rowMajor(view);
}

std::optional<std::string> refusalLinearAttention(const KernelView &view) {
  if (std::optional<std::string> why = refusalBlockState(view))
    return why;
  auto op = rootOf<graph::LinearAttentionOp>(view);
  if (kernel::LinearAttentionView(op).columns() == 0)
    return "head sizes are symbols, or that of values no multiple of 16";
  if (!llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>))
    return "an operand is computed in the kernel";
  if (!geometryLinearAttention(view))
    return tooMany.str();
  return std::nullopt;
}

kernel::Geometry geometryLinearAttention(const KernelView &view) {
  auto op = rootOf<graph::LinearAttentionOp>(view);
  kernel::LinearAttentionView sizes(op);
  kernel::Geometry rows = geometryBlockState(view);
  if (!rows)
    return {};
  auto number = [&](int64_t value) {
    return Expr::constant(op.getContext(), value);
  };
  rows = blocks(rows.rows * number(sizes.tiles()));
  rows.scratch = number(sizes.scratchBytes());
  return rows;
}

SmallVector<std::string> layoutsLinearAttention(const KernelView &view) {
  return rowMajor(view);
}

//===--- BlockTopk and RankTopk ---===//

std::optional<std::string> refusalRankTopk(const KernelView &view) {
  auto op = rootOf<graph::TopkOp>(view);
  if (!op)
    return "its root is no topk";
  if (!isByElements(view.body, op))
    return "it moves data behind the topk";
  if (!geometryRankTopk(view))
    return tooMany.str();
  return std::nullopt;
}

kernel::Geometry geometryRankTopk(const KernelView &view) {
  auto op = rootOf<graph::TopkOp>(view);
  int64_t axis = op.getAxis();
  Expr width = Expr::constant(op.getContext(), kernel::rankThreads);
  Expr rows = rowsBut(op.getValues(), axis);
  // At least one for each row: that may have less than what is asked for.
  Expr one = Expr::constant(op.getContext(), 1);
  return blocks(
      rows ? rows * graph::getDim(op.getInput(), axis).ceilDiv(width).max(one)
           : rows);
}

SmallVector<std::string> layoutsRankTopk(const KernelView &view) {
  return rowMajor(view);
}

std::optional<std::string> refusalBlockTopk(const KernelView &view) {
  if (std::optional<std::string> why = refusalRankTopk(view))
    return why;
  if (!kernel::takesFew(rootOf<graph::TopkOp>(view)))
    return "it takes many, or more than is known";
  return std::nullopt;
}

kernel::Geometry geometryBlockTopk(const KernelView &view) {
  auto op = rootOf<graph::TopkOp>(view);
  return blocks(rowsBut(op.getValues(), op.getAxis()));
}

SmallVector<std::string> layoutsBlockTopk(const KernelView &view) {
  return rowMajor(view);
}

//===--- ScatterFold ---===//

std::optional<std::string> refusalScatterFold(const KernelView &view) {
  Operation *root = kernel::findRoot(view.body);
  if (!root || !isa<graph::ScatterElementsOp, graph::ScatterNdOp>(root))
    return "its root is no scatter";
  if (!isByElements(view.body, root))
    return "it moves data behind the scatter";
  if (llvm::any_of(graph::getDims(root->getResult(0)),
                   [](Expr dim) { return dim.isConstant(0); }))
    return "its result is empty";
  if (!geometryScatterFold(view))
    return tooMany.str();
  return std::nullopt;
}

kernel::Geometry geometryScatterFold(const KernelView &view) {
  Operation *root = kernel::findRoot(view.body);
  Expr count = graph::elementCount(root->getResult(0));
  Expr width = Expr::constant(root->getContext(), kernel::scatterThreads);
  return blocks(count ? count.ceilDiv(width) : count);
}

SmallVector<std::string> layoutsScatterFold(const KernelView &view) {
  return rowMajor(view);
}

} // namespace tenon
