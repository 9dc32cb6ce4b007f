//===- PointwiseView.cpp - The axes of a kernel without root --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/PointwiseView.h"
#include "dialects/Kernel/ResultPlaces.h"
#include "dialects/Kernel/RowView.h"
#include <set>

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Answers whether two axes of a tensor can be counted as one.
class Contiguity {
public:
  /// Axes `first` and `second` of `tensor`; -1 for one along which it repeats.
  bool holds(Value tensor, int64_t first, int64_t second) {
    if (first < 0 && second < 0)
      return true;
    if (!seen.insert({tensor.getAsOpaquePointer(), first, second}).second)
      return true;
    Operation *op = tensor.getDefiningOp();
    if (!op || roleOf(op) == Role::Constant)
      return isRowMajor(tensor, first, second);
    if (auto transpose = dyn_cast<graph::TransposeOp>(op)) {
      auto axis = [&](int64_t i) {
        return i < 0 ? -1 : transpose.getPermutation()[i];
      };
      return holds(transpose.getInput(), axis(first), axis(second));
    }
    if (roleOf(op) != Role::Pointwise && !isa<graph::BroadcastOp>(op))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      std::optional<int64_t> x = axisOf(operand, tensor, first),
                             y = axisOf(operand, tensor, second);
      return x && y && holds(operand, *x, *y);
    });
  }

private:
  static bool isRowMajor(Value tensor, int64_t first, int64_t second) {
    if (first < 0 || second <= first)
      return false;
    SmallVector<Expr> dims = graph::getDims(tensor);
    return graph::areOnes(ArrayRef(dims).slice(first + 1, second - first - 1));
  }

  /// The operand's axis that an axis of the result runs along; none where that
  /// is known only at run time.
  static std::optional<int64_t> axisOf(Value operand, Value result,
                                       int64_t axis) {
    if (axis < 0)
      return -1;
    int64_t own = axis - (graph::getRank(result) - graph::getRank(operand));
    if (own < 0)
      return -1;
    Expr dim = graph::getDim(operand, own);
    if (dim.isConstant(1))
      return -1;
    if (dim == graph::getDim(result, axis))
      return own;
    return std::nullopt;
  }

  std::set<std::tuple<const void *, int64_t, int64_t>> seen;
};

/// The values whose elements are asked for at the index of the iteration;
/// empty when some yield is asked for in another way.
SmallVector<Value> yieldsAtIndex(Block &body, ArrayRef<Expr> dims) {
  SmallVector<Value> values;
  for (Value yielded : body.getTerminator()->getOperands()) {
    Value inner = behindReshapes(yielded);
    if (graph::getDims(inner) == dims)
      values.push_back(inner);
    else if (graph::getDims(yielded) == dims)
      values.push_back(yielded);
    else
      return {};
  }
  return values;
}

/// Larger tensors give threads two vectors: both are on their way at once.
constexpr int64_t manyElements = int64_t(1) << 21;

/// Below this many elements along an axis, most of a tile would be empty.
constexpr int64_t fewest = 8;

bool isLong(Expr size) { return size.asConstant().value_or(fewest) >= fewest; }

} // namespace

PointwiseView pointwiseViewOf(Block &body) {
  PointwiseView view;
  view.dims = iterationDims(body);
  SmallVector<Value> values = yieldsAtIndex(body, view.dims);
  view.isOneShape = !values.empty();
  size_t last = view.dims.size() - 1;
  for (auto [i, dim] : llvm::enumerate(view.dims)) {
    if (dim.isConstant(1))
      continue;
    int64_t axis = i;
    Contiguity contiguity;
    Expr joined = view.runs.empty() ? Expr() : view.runs.back().size * dim;
    bool endsRows = i == last && hasRowsApart(body.getParentOp());
    if (joined && view.isOneShape && !endsRows &&
        llvm::all_of(values, [&](Value value) {
          return contiguity.holds(value, view.runs.back().axis, axis);
        }))
      view.runs.back() = {axis, joined};
    else
      view.runs.push_back({axis, dim});
  }
  return view;
}

VectorTile vectorTileOf(Block &body, const PointwiseView &view) {
  int64_t narrowest = 4;
  for (Value yielded : body.getTerminator()->getOperands())
    if (Type element = graph::getElementType(yielded); isa<FloatType>(element))
      narrowest = std::min<int64_t>(narrowest, graph::byteWidth(element));
  constexpr int64_t threads = 128;
  VectorTile tile = {16 / narrowest, threads, threads * (16 / narrowest)};
  Expr count = graph::product(body.getTerminator()->getContext(), view.dims);
  bool isLarge = count && count.asConstant().value_or(0) >= manyElements;
  // Lanes that are no neighbours somewhere would be read one by one.
  if (!view.runs.empty() &&
      !llvm::all_of(yieldsAtIndex(body, view.dims), [&](Value value) {
        return liesAlong(value, view.runs.back().axis);
      }))
    tile.width = 1;
  tile.elements *= isLarge ? 2 : 1;
  return tile;
}

std::optional<TurnedPlane> turnedPlaneOf(Block &body,
                                         const PointwiseView &view) {
  if (!view.isOneShape || view.runs.size() < 2 ||
      !isLong(view.runs.back().size))
    return std::nullopt;
  for (auto op : body.getOps<graph::TransposeOp>()) {
    if (graph::getDims(op.getResult()) != view.dims)
      continue;
    // The axis along which the operand is contiguous.
    SmallVector<Expr> dims = graph::getDims(op.getInput());
    int64_t last = dims.size() - 1;
    while (last > 0 && dims[last].isConstant(1))
      --last;
    int64_t axis =
        llvm::find(op.getPermutation(), last) - op.getPermutation().begin();
    for (auto [i, run] : llvm::enumerate(ArrayRef(view.runs).drop_back()))
      if (run.axis == axis && isLong(run.size))
        return TurnedPlane{op, i};
  }
  return std::nullopt;
}

std::optional<TurnedChannels> turnedChannelsOf(Operation *op) {
  constexpr int64_t most = 8;
  auto pad = dyn_cast<graph::PadOp>(op);
  auto turn = dyn_cast_if_present<graph::TransposeOp>(
      pad ? pad.getInput().getDefiningOp() : op);
  if (!turn || graph::getRank(turn.getResult()) < 2)
    return std::nullopt;
  // Rows of planes become columns of pixels.
  ArrayRef<int64_t> permutation = turn.getPermutation();
  if (permutation[permutation.size() - 2] != int64_t(permutation.size()) - 1)
    return std::nullopt;
  SmallVector<Expr> dims = graph::getDims(turn.getResult());
  std::optional<int64_t> channels = dims.back().asConstant(), padded = channels;
  if (pad) {
    SmallVector<Expr> wider = graph::getDims(pad.getResult());
    padded = wider.back().asConstant();
    bool isBehind = pad.getMode() == graph::PadMode::Constant &&
                    turn->hasOneUse() &&
                    ArrayRef(dims).drop_back() == ArrayRef(wider).drop_back() &&
                    llvm::all_of(pad.getLow().exprs(),
                                 [](Expr low) { return low.isConstant(0); });
    if (!isBehind)
      return std::nullopt;
  }
  if (!channels || !padded || *channels < 2 || *padded < *channels ||
      *padded > most)
    return std::nullopt;
  return TurnedChannels{turn, pad, op, *channels, *padded};
}

} // namespace tenon::kernel
