//===- GraphOps.cpp - Verifiers of the Graph ops --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Graph/Graph.h"

#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.cpp.inc"

using namespace mlir;

namespace tenon::graph {
namespace {

LogicalResult checkSameDims(Operation *op, Value lhs, Value rhs,
                            StringRef what) {
  if (getDims(lhs) != getDims(rhs))
    return op->emitOpError() << what << " must have the same sizes";
  return success();
}

LogicalResult checkSameElements(Operation *op, Value lhs, Value rhs,
                                StringRef what) {
  if (getElementType(lhs) != getElementType(rhs))
    return op->emitOpError() << what << " must have one element type";
  return success();
}

/// Each input axis, aligned at the end, is 1 or may equal the result's.
LogicalResult checkBroadcasts(Operation *op, ArrayRef<Expr> input,
                              ArrayRef<Expr> result) {
  if (input.size() > result.size())
    return op->emitOpError() << "cannot broadcast rank " << input.size()
                             << " to rank " << result.size();
  ArrayRef<Expr> tail = result.take_back(input.size());
  for (auto [from, to] : llvm::zip(input, tail)) {
    std::optional<int64_t> a = from.asConstant(), b = to.asConstant();
    if (a && b && *a != *b && *a != 1)
      return op->emitOpError()
             << "cannot broadcast size " << *a << " to size " << *b;
  }
  return success();
}

/// Windows over all axes but the first two: one entry per axis, two per pad.
template <typename Op>
LogicalResult checkWindows(Op op, Value result, ArrayRef<int64_t> kernel) {
  int64_t rank = getRank(op.getInput()), spatial = rank - 2;
  auto count = [](ArrayRef<int64_t> list) {
    return static_cast<int64_t>(list.size());
  };
  if (spatial < 0 || getRank(result) != rank || count(kernel) != spatial ||
      count(op.getStrides()) != spatial ||
      count(op.getDilations()) != spatial ||
      static_cast<int64_t>(op.getPads().size()) != 2 * spatial)
    return op.emitOpError(
        "input, result and attributes differ in spatial rank");
  for (ArrayRef<int64_t> list : {kernel, op.getStrides(), op.getDilations()})
    for (int64_t value : list)
      if (value < 1)
        return op.emitOpError("kernel, strides and dilations must be positive");
  return success();
}

template <typename Op> LogicalResult checkPool(Op op) {
  if (failed(checkSameElements(op, op.getInput(), op.getResult(),
                               "input and result")))
    return failure();
  return checkWindows(op, op.getResult(), op.getKernel());
}

} // namespace

LogicalResult CastOp::verify() {
  return checkSameDims(*this, getInput(), getResult(), "input and result");
}

LogicalResult BitcastOp::verify() {
  if (byteWidth(getElementType(getInput())) !=
      byteWidth(getElementType(getResult())))
    return emitOpError("input and result must have elements of as many bits");
  return checkSameDims(*this, getInput(), getResult(), "input and result");
}

LogicalResult RoundFloatOp::verify() {
  if (isa<Float8E4M3FNType, Float8E4M3FNUZType, Float8E5M2Type,
          Float8E5M2FNUZType, Float4E2M1FNType>(getTo()))
    return success();
  return emitOpError("cannot round to ") << getTo();
}

LogicalResult QuantizeOp::verify() {
  if (failed(checkSameDims(*this, getInput(), getResult(), "input and result")))
    return failure();
  if (getElementType(getZeroPoint()) != getElementType(getResult()))
    return emitOpError("zero point and result must have one element type");
  if (failed(checkBroadcasts(*this, getDims(getScale()), getDims(getInput()))))
    return failure();
  return checkBroadcasts(*this, getDims(getZeroPoint()), getDims(getInput()));
}

LogicalResult DequantizeOp::verify() {
  if (failed(checkSameDims(*this, getInput(), getResult(), "input and result")))
    return failure();
  if (getElementType(getZeroPoint()) != getElementType(getInput()))
    return emitOpError("zero point and input must have one element type");
  if (failed(checkBroadcasts(*this, getDims(getScale()), getDims(getInput()))))
    return failure();
  return checkBroadcasts(*this, getDims(getZeroPoint()), getDims(getInput()));
}

LogicalResult DecodeOp::verify() {
  if (failed(checkSameDims(*this, getInput(), getResult(), "input and result")))
    return failure();
  if (getCodebook().size() != 16)
    return emitOpError("a codebook has 16 values, not ")
           << getCodebook().size();
  return checkBroadcasts(*this, getDims(getScale()), getDims(getInput()));
}

LogicalResult ConstantOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  auto value = cast<ShapedType>(getValue().getType());
  if (type.getShape() != value.getShape() ||
      type.getElementType() != value.getElementType())
    return emitOpError("value has type ") << value;
  return success();
}

LogicalResult SizesOp::verify() {
  Expr count = elementCount(getResult());
  if (!count || !count.isConstant(getValue().size()))
    return emitOpError("has ") << getValue().size() << " sizes for a result of "
                               << count.str() << " elements";
  return success();
}

LogicalResult BindOp::verify() {
  Expr count = elementCount(getInput());
  if (!count || !count.isConstant(getSymbols().size()))
    return emitOpError("has ")
           << getSymbols().size() << " symbols for an input of " << count.str()
           << " elements";
  if (getLo().size() != getSymbols().size() ||
      getHi().size() != getSymbols().size())
    return emitOpError("needs one range per symbol");
  return success();
}

LogicalResult RequireOp::verify() {
  if (getSizes().size() != 2)
    return emitOpError("relates two sizes, not ") << getSizes().size();
  return success();
}

LogicalResult IotaOp::verify() {
  if (getRank(getResult()) != 1)
    return emitOpError("result must have rank 1");
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (failed(checkSameElements(*this, getInput(), getResult(),
                               "input and result")))
    return failure();
  Expr from = elementCount(getInput()), to = elementCount(getResult());
  if (!from || !to)
    return emitOpError("the number of elements overflows");
  if (from.asConstant() && to.asConstant() && from != to)
    return emitOpError("cannot reshape ")
           << *from.asConstant() << " elements to " << *to.asConstant();
  return success();
}

LogicalResult BroadcastOp::verify() {
  if (failed(checkSameElements(*this, getInput(), getResult(),
                               "input and result")))
    return failure();
  return checkBroadcasts(*this, getDims(getInput()), getDims(getResult()));
}

LogicalResult SliceOp::verify() {
  if (failed(checkSameElements(*this, getInput(), getResult(),
                               "input and result")))
    return failure();
  size_t rank = getRank(getInput());
  if (getStarts().size() != rank || getSteps().size() != rank ||
      static_cast<size_t>(getRank(getResult())) != rank)
    return emitOpError("needs a start, a step and a result size per axis");
  for (size_t i = 0; i < rank; ++i)
    if (getSteps()[i].isConstant(0))
      return emitOpError("step of axis ") << i << " is zero";
  return success();
}

LogicalResult WindowsOp::verify() {
  if (failed(checkSameElements(*this, getInput(), getResult(),
                               "input and result")))
    return failure();
  SmallVector<Expr> expected = getDims(getInput()), dims = getDims(getResult());
  if (getAxis() >= expected.size())
    return emitOpError("axis ") << getAxis() << " is outside the input";
  if (dims.size() != expected.size() + 1)
    return emitOpError("result must have one axis more than the input");
  if (static_cast<int64_t>(getStride()) < 1 ||
      static_cast<int64_t>(getStep()) < 1)
    return emitOpError("stride and step must be positive");
  Expr size = expected[getAxis()];
  Expr windows = dims[getAxis()], positions = dims[getAxis() + 1];
  Expr end = (windows - 1) * static_cast<int64_t>(getStride()) +
             (positions - 1) * static_cast<int64_t>(getStep()) + 1;
  // Of no window or no position nothing is read.
  bool isEmpty = windows.isConstant(0) || positions.isConstant(0);
  if (!isEmpty && (!end || !(size - end).isNonNegative()))
    return emitOpError("reads outside of axis ") << getAxis();
  expected[getAxis()] = positions;
  expected.insert(expected.begin() + getAxis(), windows);
  if (expected != dims)
    return emitOpError("changes the size of an axis other than ") << getAxis();
  return success();
}

LogicalResult AppendOp::verify() {
  if (failed(checkSameElements(*this, getBuffer(), getResult(),
                               "buffer and result")) ||
      failed(
          checkSameElements(*this, getRows(), getResult(), "rows and result")))
    return failure();
  if (getAxis() >= static_cast<uint64_t>(getRank(getResult())))
    return emitOpError("axis ") << getAxis() << " is outside the result";
  if (getLength().size() != 1)
    return emitOpError("needs one length");
  auto otherDims = [&](Value value) {
    SmallVector<Expr> dims = getDims(value);
    if (getAxis() < dims.size())
      dims.erase(dims.begin() + getAxis());
    return dims;
  };
  SmallVector<Expr> expected = otherDims(getResult());
  if (getRank(getBuffer()) != getRank(getResult()) ||
      getRank(getRows()) != getRank(getResult()) ||
      otherDims(getBuffer()) != expected || otherDims(getRows()) != expected)
    return emitOpError("operands and result differ in an axis other than ")
           << getAxis();
  return success();
}

LogicalResult PadOp::verify() {
  if (failed(checkSameElements(*this, getInput(), getResult(),
                               "input and result")))
    return failure();
  size_t rank = getRank(getInput());
  if (getLow().size() != rank ||
      static_cast<size_t>(getRank(getResult())) != rank)
    return emitOpError("needs a border and a result size per axis");
  if (getRank(getValue()) != 0 ||
      getElementType(getValue()) != getElementType(getInput()))
    return emitOpError("value must be a scalar of the input's type");
  return success();
}

LogicalResult TopkOp::verify() {
  if (failed(checkSameElements(*this, getInput(), getValues(),
                               "input and values")))
    return failure();
  if (getAxis() >= static_cast<uint64_t>(getRank(getInput())))
    return emitOpError("axis ") << getAxis() << " is outside the input";
  return checkSameDims(*this, getValues(), getIndices(), "both results");
}

LogicalResult QuantizeRowsOp::verify() {
  SmallVector<Expr> dims = getDims(getInput());
  if (dims.empty())
    return emitOpError("needs an axis");
  if (failed(
          checkSameDims(*this, getInput(), getNumbers(), "input and numbers")))
    return failure();
  dims.back() = Expr::constant(getContext(), 1);
  if (getDims(getScale()) != dims || getDims(getZeroPoint()) != dims)
    return emitOpError("needs a scale and a zero point for each row");
  auto isByte = [](Value value) {
    return getElementType(value).isUnsignedInteger(8);
  };
  if (!getElementType(getInput()).isF32() ||
      !getElementType(getScale()).isF32() || !isByte(getNumbers()) ||
      !isByte(getZeroPoint()))
    return emitOpError("makes ui8 of f32, with scales of f32");
  return success();
}

void YieldOp::build(OpBuilder &, OperationState &) {}

LogicalResult MaxPoolOp::verify() { return checkPool(*this); }
LogicalResult AveragePoolOp::verify() { return checkPool(*this); }
LogicalResult LpPoolOp::verify() { return checkPool(*this); }
LogicalResult MaxPoolIndicesOp::verify() {
  return checkWindows(*this, getResult(), getKernel());
}

LogicalResult ConvTransposeOp::verify() {
  if (getElementType(getInput()) != getElementType(getResult()))
    return emitOpError("input and result must have one element type");
  if (getRank(getFilter()) != getRank(getInput()))
    return emitOpError("input and filter differ in rank");
  if (getGroup() < 1)
    return emitOpError("group must be positive, not ") << getGroup();
  return checkWindows(*this, getResult(), getStrides());
}

LogicalResult ResizeOp::verify() {
  int64_t rank = getRank(getInput());
  if (getElementType(getInput()) != getElementType(getResult()))
    return emitOpError("input and result must have one element type");
  if (getRank(getResult()) != rank)
    return emitOpError("input and result differ in rank");
  auto fits = [](ArrayRef<double> list, int64_t size) {
    return list.empty() || static_cast<int64_t>(list.size()) == size;
  };
  if (!fits(getScales(), rank) || !fits(getRoi(), 2 * rank))
    return emitOpError("scales and roi do not fit rank ") << rank;
  return success();
}

LogicalResult NonzeroOp::verify() {
  SmallVector<Expr> dims = getDims(getResult());
  if (dims.size() != 2 || !dims[0].isConstant(getRank(getInput())))
    return emitOpError("result must be [")
           << getRank(getInput()) << ", n], a column per element";
  return success();
}

LogicalResult IfOp::verify() {
  for (Region *region : {&getThenRegion(), &getElseRegion()}) {
    auto yield = cast<YieldOp>(region->front().getTerminator());
    if (yield.getNumOperands() != getNumResults())
      return emitOpError("has ") << getNumResults() << " results but yields "
                                 << yield.getNumOperands();
    for (auto [value, result] : llvm::zip(yield.getValues(), getResults()))
      if (getElementType(value) != getElementType(result) ||
          getRank(value) != getRank(result))
        return emitOpError("a branch yields ")
               << value.getType() << " for " << result.getType();
  }
  return success();
}

YieldOp LoopOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

Value LoopOp::getNextCondition() { return getYield().getValues()[0]; }

OperandRange LoopOp::getNextState() {
  return getYield().getValues().slice(1, getInit().size());
}

OperandRange LoopOp::getRows() {
  return getYield().getValues().drop_front(1 + getInit().size());
}

ResultRange LoopOp::getLastState() {
  return getResults().take_front(getInit().size());
}

ResultRange LoopOp::getStacks() {
  return getResults().drop_front(getInit().size());
}

LogicalResult LoopOp::verify() {
  Block &block = getBody().front();
  size_t count = getInit().size();
  if (getStep().empty() || getRoom().size() != 1)
    return emitOpError("needs the name of a step, and one size as its room");
  if (block.getNumArguments() != count || getNumResults() < count ||
      getYield().getNumOperands() != getNumResults() + 1)
    return emitOpError("has ")
           << count << " values of state, but a body of "
           << block.getNumArguments() << ", " << getNumResults()
           << " results, and yields " << getYield().getNumOperands();
  if (!getElementType(getNextCondition()).isInteger(1) ||
      getRank(getNextCondition()) != 0 || getRank(getCondition()) != 0)
    return emitOpError("needs scalars of bool as its conditions");
  auto isLike = [](Value lhs, Value rhs, int64_t more = 0) {
    return getElementType(lhs) == getElementType(rhs) &&
           getRank(lhs) == getRank(rhs) + more;
  };
  for (auto [init, state, next, last] : llvm::zip_equal(
           getInit(), block.getArguments(), getNextState(), getLastState()))
    if (!isLike(state, init) || !isLike(next, state) || !isLike(last, state))
      return emitOpError("a state of ")
             << state.getType() << " begins as " << init.getType()
             << ", goes on as " << next.getType() << " and ends as "
             << last.getType();
  for (auto [row, stack] : llvm::zip_equal(getRows(), getStacks()))
    if (!isLike(stack, row, 1))
      return emitOpError("stacks ")
             << row.getType() << " to " << stack.getType();
  return success();
}

} // namespace tenon::graph
