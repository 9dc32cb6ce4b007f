//===- GraphInfer.cpp - Result types from operands and attributes ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inference is also verification: an op whose declared type differs from the
// inferred one is refused, and what has no type has a reason.
//
//===----------------------------------------------------------------------===//

#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace tenon::graph {
namespace {

LogicalResult put(SmallVectorImpl<Type> &types, std::optional<Location> loc,
                  ArrayRef<Expr> dims, Type element) {
  RankedTensorType type = tensorOf(dims, element);
  if (!type)
    return emitOptionalError(loc, "a size is negative or overflows");
  types.push_back(type);
  return success();
}

LogicalResult checkAxis(std::optional<Location> loc, int64_t axis,
                        int64_t rank) {
  if (axis < 0 || axis >= rank)
    return emitOptionalError(loc, "axis ", axis,
                             " is outside a tensor of rank ", rank);
  return success();
}

LogicalResult broadcastAll(SmallVectorImpl<Type> &types,
                           std::optional<Location> loc, ValueRange operands,
                           Type element) {
  // Mostly all have one type, of which there is nothing to merge.
  auto first = cast<RankedTensorType>(operands.front().getType());
  if (hasDims(first) && first.hasStaticShape() == !first.getEncoding() &&
      llvm::all_equal(operands.getTypes())) {
    types.push_back(first.clone(element));
    return success();
  }
  SmallVector<Expr> dims;
  for (Value operand : operands) {
    std::string reason;
    std::optional<SmallVector<Expr>> merged =
        broadcastDims(dims, getDims(operand), &reason);
    if (!merged)
      return emitOptionalError(loc, reason);
    dims = std::move(*merged);
  }
  return put(types, loc, dims, element);
}

/// Two sizes that must be equal: an error only when both are numbers.
LogicalResult checkEqual(std::optional<Location> loc, Expr lhs, Expr rhs,
                         StringRef what) {
  std::optional<int64_t> a = lhs.asConstant(), b = rhs.asConstant();
  if (a && b && *a != *b)
    return emitOptionalError(loc, what, ": ", *a, " is not ", *b);
  return success();
}

LogicalResult checkPermutation(std::optional<Location> loc,
                               ArrayRef<int64_t> permutation, int64_t rank) {
  SmallVector<bool> seen(rank, false);
  bool good = static_cast<int64_t>(permutation.size()) == rank;
  for (int64_t axis : permutation) {
    good = good && axis >= 0 && axis < rank && !seen[axis];
    if (!good)
      break;
    seen[axis] = true;
  }
  return good ? success()
              : emitOptionalError(loc, "is no permutation of ", rank,
                                  " axes: ", permutation);
}

} // namespace

#define INFER(OP)                                                              \
  LogicalResult OP::inferReturnTypes(MLIRContext *context,                     \
                                     std::optional<Location> loc, Adaptor op,  \
                                     SmallVectorImpl<Type> &types)

#define INFER_BROADCAST(OP)                                                    \
  INFER(OP) {                                                                  \
    return broadcastAll(types, loc, op.getOperands(),                          \
                        getElementType(op.getLhs()));                          \
  }
INFER_BROADCAST(AddOp)
INFER_BROADCAST(AndOp)
INFER_BROADCAST(BitAndOp)
INFER_BROADCAST(BitOrOp)
INFER_BROADCAST(BitXorOp)
INFER_BROADCAST(DivOp)
INFER_BROADCAST(FmodOp)
INFER_BROADCAST(MaxOp)
INFER_BROADCAST(MinOp)
INFER_BROADCAST(ModOp)
INFER_BROADCAST(MulOp)
INFER_BROADCAST(OrOp)
INFER_BROADCAST(PowOp)
INFER_BROADCAST(RandomBitsOp)
INFER_BROADCAST(ShiftLeftOp)
INFER_BROADCAST(ShiftRightOp)
INFER_BROADCAST(SubOp)
INFER_BROADCAST(XorOp)

INFER(SelectOp) {
  if (getElementType(op.getLhs()) != getElementType(op.getRhs()))
    return emitOptionalError(loc, "lhs and rhs differ in element type");
  return broadcastAll(types, loc, op.getOperands(),
                      getElementType(op.getLhs()));
}

#define INFER_BOOL(OP)                                                         \
  INFER(OP) {                                                                  \
    return broadcastAll(types, loc, op.getOperands(),                          \
                        IntegerType::get(context, 1));                         \
  }
INFER_BOOL(EqualOp)
INFER_BOOL(LessOp)
INFER_BOOL(LessEqualOp)
INFER_BOOL(IsNanOp)
INFER_BOOL(IsInfOp)

INFER(TransposeOp) {
  SmallVector<Expr> input = getDims(op.getInput()), dims;
  if (failed(checkPermutation(loc, op.getPermutation(), input.size())))
    return failure();
  for (int64_t axis : op.getPermutation())
    dims.push_back(input[axis]);
  return put(types, loc, dims, getElementType(op.getInput()));
}

INFER(ConcatOp) {
  if (op.getInputs().empty())
    return emitOptionalError(loc, "needs an operand");
  int64_t axis = op.getAxis(), rank = getRank(op.getInputs()[0]);
  if (failed(checkAxis(loc, axis, rank)))
    return failure();
  SmallVector<Expr> dims = getDims(op.getInputs()[0]);
  for (Value input : op.getInputs().drop_front()) {
    if (getRank(input) != rank ||
        getElementType(input) != getElementType(op.getInputs()[0]))
      return emitOptionalError(loc, "operands differ in rank or element type");
    for (int64_t i = 0; i < rank; ++i) {
      Expr dim = getDim(input, i);
      if (i == axis)
        dims[i] = dims[i] + dim;
      else if (failed(checkEqual(loc, dims[i], dim, "sizes differ")))
        return failure();
      else if (dim.asConstant())
        dims[i] = dim; // A number says more than a symbol.
    }
  }
  return put(types, loc, dims, getElementType(op.getInputs()[0]));
}

INFER(GatherOp) {
  SmallVector<Expr> input = getDims(op.getInput());
  int64_t axis = op.getAxis();
  if (failed(checkAxis(loc, axis, input.size())))
    return failure();
  SmallVector<Expr> dims(input.begin(), input.begin() + axis);
  llvm::append_range(dims, getDims(op.getIndices()));
  dims.append(input.begin() + axis + 1, input.end());
  return put(types, loc, dims, getElementType(op.getInput()));
}

INFER(GatherElementsOp) {
  if (getRank(op.getInput()) != getRank(op.getIndices()))
    return emitOptionalError(loc, "input and indices differ in rank");
  if (failed(checkAxis(loc, op.getAxis(), getRank(op.getInput()))))
    return failure();
  return put(types, loc, getDims(op.getIndices()),
             getElementType(op.getInput()));
}

INFER(GatherNdOp) {
  SmallVector<Expr> input = getDims(op.getInput());
  SmallVector<Expr> indices = getDims(op.getIndices());
  int64_t batch = op.getBatchDims();
  if (indices.empty() || batch < 0 ||
      batch >= static_cast<int64_t>(indices.size()))
    return emitOptionalError(loc, "batch_dims ", batch,
                             " does not fit indices of rank ", indices.size());
  std::optional<int64_t> depth = indices.back().asConstant();
  if (!depth || *depth < 1 ||
      batch + *depth > static_cast<int64_t>(input.size()))
    return emitOptionalError(loc, "index vectors of length ",
                             indices.back().str(),
                             " do not fit an input of rank ", input.size());
  SmallVector<Expr> dims(indices.begin(), indices.end() - 1);
  dims.append(input.begin() + batch + *depth, input.end());
  return put(types, loc, dims, getElementType(op.getInput()));
}

INFER(ScatterElementsOp) {
  int64_t rank = getRank(op.getInput());
  if (getRank(op.getIndices()) != rank || getRank(op.getUpdates()) != rank)
    return emitOptionalError(loc, "input, indices and updates differ in rank");
  if (getElementType(op.getInput()) != getElementType(op.getUpdates()))
    return emitOptionalError(loc, "input and updates differ in element type");
  if (failed(checkAxis(loc, op.getAxis(), rank)))
    return failure();
  for (int64_t i = 0; i < rank; ++i)
    if (failed(checkEqual(loc, getDim(op.getIndices(), i),
                          getDim(op.getUpdates(), i), "updates")))
      return failure();
  types.push_back(op.getInput().getType());
  return success();
}

INFER(ScatterNdOp) {
  SmallVector<Expr> input = getDims(op.getInput());
  SmallVector<Expr> indices = getDims(op.getIndices());
  SmallVector<Expr> updates = getDims(op.getUpdates());
  if (indices.empty() || !indices.back().asConstant())
    return emitOptionalError(loc, "the length of index vectors is not known");
  int64_t depth = *indices.back().asConstant(), rank = input.size();
  if (depth < 1 || depth > rank)
    return emitOptionalError(loc, "index vectors of length ", depth,
                             " do not fit an input of rank ", rank);
  if (static_cast<int64_t>(updates.size()) !=
          static_cast<int64_t>(indices.size()) - 1 + rank - depth ||
      getElementType(op.getInput()) != getElementType(op.getUpdates()))
    return emitOptionalError(loc, "updates do not fit input and indices");
  types.push_back(op.getInput().getType());
  return success();
}

INFER(MatmulOp) {
  SmallVector<Expr> lhs = getDims(op.getLhs()), rhs = getDims(op.getRhs());
  if (lhs.size() < 2 || rhs.size() < 2)
    return emitOptionalError(loc, "operands must have rank 2 or more");
  Expr m = lhs[lhs.size() - 2], n = rhs.back();
  if (failed(checkEqual(loc, lhs.back(), rhs[rhs.size() - 2],
                        "columns of lhs and rows of rhs")))
    return failure();
  std::string reason;
  std::optional<SmallVector<Expr>> dims = broadcastDims(
      ArrayRef(lhs).drop_back(2), ArrayRef(rhs).drop_back(2), &reason);
  if (!dims)
    return emitOptionalError(loc, reason);
  dims->append({m, n});
  return put(types, loc, *dims, getElementType(op.getLhs()));
}

INFER(ConvOp) {
  SmallVector<Expr> input = getDims(op.getInput());
  SmallVector<Expr> filter = getDims(op.getFilter());
  size_t spatial = op.getStrides().size(), rank = spatial + 2;
  if (input.size() != rank || filter.size() != rank ||
      op.getDilations().size() != spatial || op.getPads().size() != 2 * spatial)
    return emitOptionalError(
        loc, "input, filter and attributes differ in spatial rank");
  int64_t group = op.getGroup();
  if (group < 1)
    return emitOptionalError(loc, "group must be positive, not ", group);
  bool last = op.getChannelsLast();
  if (last)
    std::rotate(input.begin() + 1, input.end() - 1, input.end());
  if (failed(checkEqual(loc, input[1], filter[1] * group, "input channels")))
    return failure();
  if (auto maps = filter[0].asConstant(); maps && *maps % group != 0)
    return emitOptionalError(loc, *maps, " filters are no multiple of group ",
                             group);
  SmallVector<Expr> dims = {input[0], filter[0]};
  for (size_t i = 0; i < spatial; ++i) {
    int64_t stride = op.getStrides()[i], dilation = op.getDilations()[i];
    if (stride < 1 || dilation < 1)
      return emitOptionalError(loc, "strides and dilations must be positive");
    Expr padded = input[2 + i] + op.getPads()[i] + op.getPads()[spatial + i];
    Expr reach = (filter[2 + i] - 1) * dilation + 1;
    dims.push_back((padded - reach).floorDiv(Expr::constant(context, stride)) +
                   1);
  }
  if (last)
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return put(types, loc, dims, getElementType(op.getInput()));
}

INFER(ReduceOp) {
  SmallVector<Expr> dims = getDims(op.getInput());
  for (int64_t axis : op.getAxes()) {
    if (failed(checkAxis(loc, axis, dims.size())))
      return failure();
    dims[axis] = Expr::constant(context, 1);
  }
  return put(types, loc, dims, getElementType(op.getInput()));
}

INFER(ArgReduceOp) {
  SmallVector<Expr> dims = getDims(op.getInput());
  if (failed(checkAxis(loc, op.getAxis(), dims.size())))
    return failure();
  dims[op.getAxis()] = Expr::constant(context, 1);
  return put(types, loc, dims, IntegerType::get(context, 64));
}

#define INFER_ALONG_AXIS(OP)                                                   \
  INFER(OP) {                                                                  \
    if (failed(checkAxis(loc, op.getAxis(), getRank(op.getInput()))))          \
      return failure();                                                        \
    types.push_back(op.getInput().getType());                                  \
    return success();                                                          \
  }
INFER_ALONG_AXIS(SoftmaxOp)
INFER_ALONG_AXIS(LogSoftmaxOp)
INFER_ALONG_AXIS(LayerNormOp)
INFER_ALONG_AXIS(RmsNormOp)
INFER_ALONG_AXIS(CumulativeOp)

INFER(SuppressOp) {
  SmallVector<Expr> boxes = getDims(op.getBoxes());
  SmallVector<Expr> rows = getDims(op.getCandidates());
  if (rows.empty() || boxes.size() != rows.size() + 1 ||
      !boxes.back().isConstant(4))
    return emitOptionalError(loc, "needs a box of 4 numbers per candidate");
  for (auto [box, candidate] : llvm::zip(boxes, rows))
    if (failed(checkEqual(loc, box, candidate, "boxes and candidates")))
      return failure();
  if (getRank(op.getThreshold()) != 0 || getRank(op.getLimit()) != 0)
    return emitOptionalError(loc, "threshold and limit must be scalars");
  if (!getElementType(op.getBoxes()).isF32() ||
      !getElementType(op.getThreshold()).isF32() ||
      !getElementType(op.getLimit()).isInteger(64))
    return emitOptionalError(loc,
                             "boxes and threshold must be f32, the limit i64");
  types.push_back(op.getCandidates().getType());
  return success();
}

INFER(RotaryOp) {
  SmallVector<Expr> dims = getDims(op.getInput());
  SmallVector<Expr> table = getDims(op.getCos());
  if (dims.size() != 4 || table.size() != 3 || table != getDims(op.getSin()))
    return emitOptionalError(loc, "needs an input of rank 4 and two equal "
                                  "tables of rank 3");
  Type element = getElementType(op.getInput());
  if (getElementType(op.getCos()) != element ||
      getElementType(op.getSin()) != element)
    return emitOptionalError(loc, "input and tables differ in element type");
  if (!table[0].isConstant(1) &&
      failed(checkEqual(loc, table[0], dims[0], "batch of the tables")))
    return failure();
  if (failed(checkEqual(loc, table[1], dims[2], "positions of the tables")))
    return failure();
  std::optional<int64_t> half = table[2].asConstant(),
                         width = dims[3].asConstant();
  if (!half || !width || *half * 2 > *width)
    return emitOptionalError(loc, "tables of ", table[2].str(),
                             " columns do not fit heads of size ",
                             dims[3].str());
  types.push_back(op.getInput().getType());
  return success();
}

} // namespace tenon::graph
