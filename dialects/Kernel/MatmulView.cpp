//===- MatmulView.cpp - Matrix products as their operands lie -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/FineUnits.h"
#include "dialects/Kernel/Packing.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Whether a permutation exchanges the last two axes and nothing else.
bool exchangesLastTwo(ArrayRef<int64_t> order) {
  int64_t last = static_cast<int64_t>(order.size()) - 1;
  for (auto [i, axis] : llvm::enumerate(order.drop_back(2)))
    if (axis != static_cast<int64_t>(i))
      return false;
  return last >= 1 && order[last] == last - 1 && order[last - 1] == last;
}

bool isZero(Value value) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  auto numbers = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue())
                          : DenseFPElementsAttr();
  return numbers && numbers.isSplat() &&
         numbers.getSplatValue<APFloat>().isPosZero();
}

/// A select between zero and one of `values`, of their sizes, by a condition
/// per row.
std::optional<SkippedRows>
skippedBy(Operation *op, const llvm::SetVector<Operation *> &values) {
  auto select = dyn_cast<graph::SelectOp>(op);
  if (!select)
    return std::nullopt;
  auto condition = dyn_cast<BlockArgument>(select.getCondition());
  bool whenTrue = isZero(select.getLhs());
  Value other = whenTrue ? select.getRhs() : select.getLhs();
  if (!condition || (!whenTrue && !isZero(select.getRhs())) ||
      !values.contains(other.getDefiningOp()))
    return std::nullopt;
  SmallVector<Expr> dims = graph::getDims(select.getResult());
  dims.back() = Expr::constant(op->getContext(), 1);
  if (dims.size() != 3 || graph::getDims(condition) != dims)
    return std::nullopt;
  return SkippedRows{select, condition, whenTrue};
}

/// The choice that all users of a result lead to.
std::optional<SkippedRows> choiceBehind(Operation *op) {
  SmallVector<Expr> dims = graph::getDims(op->getResult(0));
  std::optional<SkippedRows> skipped;
  llvm::SetVector<Operation *> sofar;
  sofar.insert(op);
  for (size_t i = 0; i < sofar.size(); ++i) // It grows.
    for (Operation *user : sofar[i]->getUsers()) {
      if (!graph::isPointwise(user) ||
          graph::getDims(user->getResult(0)) != dims)
        return std::nullopt;
      std::optional<SkippedRows> found = skippedBy(user, sofar);
      if (found && skipped && skipped->select != found->select)
        return std::nullopt;
      if (found)
        skipped = found;
      else
        sofar.insert(user);
    }
  return skipped;
}

bool isOneBlockOfF32(graph::MatmulOp op) {
  std::optional<int64_t> depth =
      graph::getDims(op.getLhs()).back().asConstant();
  return graph::getElementType(op.getLhs()).isF32() && depth && *depth > 0 &&
         *depth <= blockDepth(depth);
}

bool isEven(Expr expr) {
  return expr.isConstant(0) ||
         bool(expr.exactDiv(Expr::constant(expr.getContext(), 2)));
}

} // namespace

bool liesInPairs(const StridedView &view, size_t axis) {
  SmallVector<Expr> others(view.strides);
  others.erase(others.begin() + axis);
  return view.strides[axis].isConstant(1) && isEven(view.offset) &&
         llvm::all_of(others, isEven);
}

bool canPackPairs(const StridedView &rhs) {
  return rhs.strides.back().isConstant(1) ||
         liesInPairs(rhs, rhs.strides.size() - 2);
}

bool rowsFold(ArrayRef<Expr> dims, ArrayRef<Expr> strides) {
  size_t rows = dims.size() - 2;
  Expr expected = strides[rows] * dims[rows];
  for (size_t i = rows; i-- > 0;) {
    if (dims[i].isConstant(1))
      continue;
    if (!expected || strides[i] != expected)
      return false;
    expected = expected * dims[i];
  }
  return true;
}

graph::TransposeOp turnBehind(graph::MatmulOp op) {
  SmallVector<Expr> dims = graph::getDims(op.getResult());
  if (!isOneBlockOfF32(op) || dims.back().isConstant(1) ||
      dims[dims.size() - 2].isConstant(1))
    return {};
  graph::TransposeOp turn;
  llvm::SetVector<Operation *> sofar;
  sofar.insert(op);
  for (size_t i = 0; i < sofar.size(); ++i) // It grows.
    for (Operation *user : sofar[i]->getUsers()) {
      if (graph::isPointwise(user) && user->getBlock() == op->getBlock() &&
          graph::getDims(user->getResult(0)) == dims) {
        sofar.insert(user);
        continue;
      }
      auto transpose = dyn_cast<graph::TransposeOp>(user);
      if (!transpose || (turn && turn != transpose) ||
          !exchangesLastTwo(transpose.getPermutation()))
        return {};
      turn = transpose;
    }
  return turn;
}

std::optional<SkippedRows> skippedRowsOf(graph::MatmulOp op) {
  // The last one: nothing is computed of its zeros in the kernel.
  std::optional<SkippedRows> skipped = choiceBehind(op);
  for (auto next = skipped; next;) {
    next = choiceBehind(next->select);
    skipped = next ? next : skipped;
  }
  return skipped;
}

std::optional<ColumnHalves> columnHalvesOf(graph::MatmulOp op) {
  ColumnHalves halves;
  std::optional<int64_t> columns =
      graph::getDims(op.getResult()).back().asConstant();
  if (!columns || *columns == 0 || *columns % 2 != 0)
    return std::nullopt;
  auto isHalf = [&](graph::SliceOp slice, int64_t start) {
    SmallVector<Expr> dims = graph::getDims(op.getResult());
    SmallVector<Expr> starts = slice.getStarts().exprs();
    dims.back() = Expr::constant(op.getContext(), *columns / 2);
    return starts.pop_back_val().isConstant(start) &&
           llvm::all_of(starts, [](Expr at) { return at.isConstant(0); }) &&
           llvm::all_of(slice.getSteps().exprs(),
                        [](Expr step) { return step.isConstant(1); }) &&
           graph::getDims(slice.getResult()) == dims;
  };
  for (Operation *user : op.getResult().getUsers()) {
    auto slice = dyn_cast<graph::SliceOp>(user);
    if (!slice || slice->getBlock() != op->getBlock())
      return std::nullopt;
    if (!halves.low && isHalf(slice, 0))
      halves.low = slice;
    else if (!halves.high && isHalf(slice, *columns / 2))
      halves.high = slice;
    else
      return std::nullopt;
  }
  if (!halves.low || !halves.high)
    return std::nullopt;
  return halves;
}

Value behindWidening(Value operand) {
  auto cast = operand.getDefiningOp<graph::CastOp>();
  if (!cast || !graph::getElementType(operand).isF32())
    return {};
  Type narrow = graph::getElementType(cast.getInput());
  return narrow.isBF16() || narrow.isF16() ? cast.getInput() : Value();
}

bool isWidenedBf16(Value operand) {
  Value narrow = behindWidening(operand);
  return narrow && graph::getElementType(narrow).isBF16();
}

Value unroundedOf(Value operand) {
  Value narrow = behindWidening(operand);
  auto rounding = narrow ? narrow.getDefiningOp<graph::CastOp>() : nullptr;
  if (!rounding || !graph::getElementType(rounding.getInput()).isF32())
    return {};
  return rounding.getInput();
}

bool roundsLhsToBf16(graph::MatmulOp op) {
  return isWidenedBf16(op.getLhs()) && unroundedOf(op.getLhs());
}

Value operandToRound(graph::MatmulOp op, Value operand) {
  // bf16 is what lies in memory, and the level with pairs of it wants that.
  bool isOfF16 = op->hasAttr(addsF16Attribute) && !isWidenedBf16(operand);
  Value exact = isOfF16 ? unroundedOf(operand) : Value();
  // A weight is stored rounded.
  bool isWeight = exact && exact.getDefiningOp<graph::WeightOp>();
  return isWeight ? Value() : exact;
}

graph::GatherOp pickedRhsOf(graph::MatmulOp op) {
  Value narrow = behindWidening(op.getRhs());
  Value rhs = narrow ? narrow : op.getRhs();
  auto gather = rhs.getDefiningOp<graph::GatherOp>();
  bool isPick = gather && gather.getAxis() == 0 &&
                graph::getRank(gather.getInput()) == 3 &&
                graph::getRank(gather.getIndices()) == 1 &&
                graph::getRank(op.getResult()) == 3 &&
                graph::getDim(gather.getInput(), 0).isPositive() &&
                graph::getDim(rhs, 0) == graph::getDim(op.getResult(), 0);
  return isPick ? gather : graph::GatherOp();
}

Value matricesOf(graph::MatmulOp op) {
  graph::GatherOp picks = pickedRhsOf(op);
  return picks ? picks.getInput() : op.getRhs();
}

bool isMatrixOrOnePerBatch(graph::MatmulOp op) {
  int64_t rank = graph::getRank(op.getRhs());
  return rank == 2 ||
         (rank == 3 && graph::getRank(op.getResult()) == 3 &&
          graph::getDim(op.getRhs(), 0) == graph::getDim(op.getResult(), 0));
}

bool sumsWait(graph::MatmulOp op) {
  auto yields = [](Operation *end) {
    return end->getNumOperands() > 0 &&
           !graph::getElementType(end->getOperand(0)).isF32();
  };
  return (behindWidening(op.getRhs()) || quantizedRhsOf(op.getRhs())) &&
         yields(op->getBlock()->getTerminator());
}

Value loopedOver(Operation *root) {
  if (auto matmul = dyn_cast<graph::MatmulOp>(root))
    if (std::optional<ColumnHalves> halves = columnHalvesOf(matmul))
      return halves->low.getResult();
  return root->getResult(0);
}

bool MatmulView::rowsLiePagesApart() const {
  std::optional<int64_t> stride = lhsRowStride().asConstant();
  std::optional<int64_t> steps = depth.asConstant();
  int64_t scale = hasHalfLhs() ? 2 : 1;
  return stride && *stride != 0 && *stride % (1024 * scale) == 0 && steps &&
         *steps >= 512 * scale;
}

bool MatmulView::lhsLiesInPairs() const {
  return hasHalfLhs() && isEven(depth) &&
         liesInPairs(lhs, lhs.strides.size() - 1);
}

bool MatmulView::streamsRhs() const {
  std::optional<int64_t> count = rows.asConstant();
  return count && *count > 0 && *count <= streamedRows &&
         graph::getElementType(lhs.base).isF32() &&
         graph::getElementType(rhs.base).isF32() &&
         rhs.strides.back().isConstant(1) && lhsDepthStride().isConstant(1) &&
         !halves && !skipped && !turn && !quantized && !mayAddF16;
}

bool MatmulView::mayCopyLhs() const {
  return !lhsDepthStride().isConstant(1) || rowsLiePagesApart() || skipped ||
         hasHalfLhs() || mayAddF16;
}

int64_t MatmulView::lhsScratchBytes(std::optional<int64_t> depth) const {
  if (!mayCopyLhs())
    return 0;
  bool isWide = mayAddF16 || hasHalfLhs();
  int64_t bytes = isWide ? widenedLhsBytes(depth) : lhsCopyBytes(depth);
  if (isWide && depth) // Both, as pairs, too.
    bytes = roundedLhsBytes(*depth);
  return bytes + (mayAddF16 ? rowFactorBytes : 0);
}

int64_t MatmulView::panelScratchBytes(std::optional<int64_t> depth,
                                      bool comesPacked) const {
  if (!comesPacked && streamsRhs())
    return 0;
  int64_t bytes = panelBytes(depth);
  bool isOfF32 = !comesPacked && !hasPairs(); // It becomes pairs in its place.
  if (hasBlocksOfPairs())
    bytes = std::max(bytes, panelBytes(*depth / 2) * (isOfF32 ? 2 : 1));
  else if (hasPairs() && !comesPacked)
    bytes = std::max(bytes, panelBytes(*depth / 2));
  return bytes + (mayAddF16 && !comesPacked ? columnFactorBytes : 0);
}

int64_t blocksOfGroup(graph::MatmulOp op, const MatmulView &view) {
  Operation *end = op->getBlock()->getTerminator();
  bool yieldsF32 = end->getNumOperands() > 0 &&
                   graph::getElementType(end->getOperand(0)).isF32();
  std::optional<int64_t> steps = view.depth.asConstant();
  bool isOneBlock = steps && *steps <= blockDepth(steps);
  bool mayBeTall = !view.streamsRhs() && !view.halves && !view.skipped &&
                   (isOneBlock || (yieldsF32 && !view.turn));
  return mayBeTall ? blocksOfTallGroup(view.rows, view.columns, view.batchDims)
                   : groupBlocks;
}

std::optional<MatmulView> matmulViewOf(graph::MatmulOp op) {
  auto operandView = [&](Value operand) {
    if (Value exact = operandToRound(op, operand))
      return stridedViewOf(exact);
    Value narrow = behindWidening(operand);
    return stridedViewOf(narrow ? narrow : operand);
  };
  Value matrices = matricesOf(op);
  std::optional<QuantizedRhs> quantized = quantizedRhsOf(matrices);
  graph::GatherOp picks = pickedRhsOf(op);
  std::optional<StridedView> lhs = operandView(op.getLhs());
  std::optional<StridedView> rhs =
      quantized ? stridedViewOf(quantized->numbers) : operandView(matrices);
  if (!lhs || !rhs || !isa<BlockArgument>(lhs->base) ||
      !isa<BlockArgument>(rhs->base) ||
      (picks && !isa<BlockArgument>(picks.getIndices())))
    return std::nullopt;
  SmallVector<Expr> result = graph::getDims(op.getResult());
  SmallVector<Expr> dims = graph::getDims(op.getLhs());
  MatmulView view{*lhs,
                  *rhs,
                  {},
                  result[result.size() - 2],
                  result.back(),
                  dims.back(),
                  columnHalvesOf(op),
                  skippedRowsOf(op),
                  turnBehind(op),
                  quantized,
                  picks,
                  op->hasAttr(addsF16Attribute)};
  if (view.halves)
    view.columns = graph::getDims(view.halves->low.getResult()).back();
  bool isOneMatrix =
      quantized ? quantized->batches == 0 : view.rhs.strides.size() == 2;
  if (!view.turn && isOneMatrix && rowsFold(dims, view.lhs.strides))
    view.rows = graph::product(op.getContext(), ArrayRef(result).drop_back());
  else
    llvm::append_range(view.batchDims, ArrayRef(result).drop_back(2));
  if (!view.rows)
    return std::nullopt;
  if (view.batchDims.size() != 1)
    view.skipped.reset();
  return view;
}

} // namespace tenon::kernel
