//===- ChannelShuffles.cpp - Channels that are dealt out ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/ChannelShuffles.h"
#include "compiler/Transforms/AxisOrder.h"
#include "compiler/Transforms/Matching.h"

using namespace mlir;

namespace tenon {
namespace {
using graph::Expr;
using Exprs = SmallVector<Expr>;

/// Of an axis, `parts` of `each`: place j is of part j % parts.
struct Shuffle {
  Value input;
  int64_t axis, parts, each;
  Location loc; // Of all ops that it takes.

  int64_t sourceOf(int64_t place) const {
    return place % parts * each + place / parts;
  }
};

/// More channels than any model shuffles.
constexpr int64_t mostChannels = 1 << 16;

/// Which axis changes places with the one behind it, where no other moves.
std::optional<int64_t> swappedAxis(ArrayRef<int64_t> permutation) {
  for (int64_t axis = 0; axis + 1 < int64_t(permutation.size()); ++axis) {
    if (permutation[axis] == axis)
      continue;
    AxisOrder back(permutation);
    std::swap(back[axis], back[axis + 1]);
    return llvm::is_sorted(back) ? std::optional(axis) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Shuffle> shuffleOf(graph::ReshapeOp merge) {
  auto turn = merge.getInput().getDefiningOp<graph::TransposeOp>();
  auto split = turn ? turn.getInput().getDefiningOp<graph::ReshapeOp>()
                    : graph::ReshapeOp();
  if (!split || !turn->hasOneUse() || !split->hasOneUse())
    return std::nullopt;
  Value input = split.getInput();
  std::optional<int64_t> axis = swappedAxis(turn.getPermutation());
  if (!axis || input.getType() != merge.getType() || isStored(input))
    return std::nullopt;
  Exprs whole = graph::getDims(input), cut = graph::getDims(split);
  if (cut.size() != whole.size() + 1)
    return std::nullopt;
  std::optional<int64_t> parts = cut[*axis].asConstant(),
                         each = cut[*axis + 1].asConstant();
  if (!parts || !each || *parts < 2 || *each < 2 || *parts > mostChannels ||
      *each > mostChannels / *parts)
    return std::nullopt;
  cut.erase(cut.begin() + *axis);
  cut[*axis] = Expr::constant(merge.getContext(), *parts * *each);
  if (cut != whole)
    return std::nullopt;
  Location all = FusedLoc::get(merge.getContext(),
                               {split.getLoc(), turn.getLoc(), merge.getLoc()});
  return Shuffle{input, *axis, *parts, *each, all};
}

std::optional<Shuffle> shuffleOf(graph::GatherOp gather) {
  auto constant = gather.getIndices().getDefiningOp<graph::ConstantOp>();
  if (!constant || graph::getRank(constant) != 1 ||
      !graph::getElementType(constant).isInteger(64) ||
      gather.getInput().getType() != gather.getType())
    return std::nullopt;
  auto data = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!data || data.getNumElements() < 4 ||
      data.getNumElements() > mostChannels)
    return std::nullopt;
  auto places = llvm::to_vector(data.getValues<int64_t>());
  int64_t count = int64_t(places.size()), each = places[1];
  if (each < 2 || count % each != 0 || count == each)
    return std::nullopt;
  Shuffle shuffle{gather.getInput(), int64_t(gather.getAxis()), count / each,
                  each, gather.getLoc()};
  for (auto [place, source] : llvm::enumerate(places))
    if (source != shuffle.sourceOf(int64_t(place)))
      return std::nullopt;
  return shuffle;
}

Value gatherOf(OpBuilder &builder, const Shuffle &shuffle) {
  int64_t count = shuffle.parts * shuffle.each;
  SmallVector<int64_t> places;
  for (int64_t place = 0; place < count; ++place)
    places.push_back(shuffle.sourceOf(place));
  auto type = RankedTensorType::get({count}, builder.getI64Type());
  Value indices =
      graph::ConstantOp::create(builder, shuffle.loc, type,
                                DenseElementsAttr::get(type, ArrayRef(places)));
  return graph::GatherOp::create(builder, shuffle.loc, shuffle.input.getType(),
                                 shuffle.input, indices, shuffle.axis);
}

Value movesOf(OpBuilder &builder, const Shuffle &shuffle) {
  Exprs dims = graph::getDims(shuffle.input);
  Type element = graph::getElementType(shuffle.input);
  dims[shuffle.axis] = Expr::constant(builder.getContext(), shuffle.each);
  dims.insert(dims.begin() + shuffle.axis,
              Expr::constant(builder.getContext(), shuffle.parts));
  AxisOrder order = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  std::swap(order[shuffle.axis], order[shuffle.axis + 1]);
  Value value = graph::ReshapeOp::create(
      builder, shuffle.loc, graph::tensorOf(dims, element), shuffle.input);
  value = graph::TransposeOp::create(builder, shuffle.loc, value, order);
  return graph::ReshapeOp::create(builder, shuffle.loc, shuffle.input.getType(),
                                  value);
}

template <typename Op>
void rewrite(Operation *function,
             function_ref<Value(OpBuilder &, const Shuffle &)> to) {
  SmallVector<Op> all;
  function->walk([&](Op op) { all.push_back(op); });
  for (Op op : all) {
    std::optional<Shuffle> shuffle = shuffleOf(op);
    if (!shuffle)
      continue;
    OpBuilder builder(op);
    op.getResult().replaceAllUsesWith(to(builder, *shuffle));
    eraseUnused(op);
  }
}

} // namespace

void gatherShuffledChannels(Operation *function) {
  rewrite<graph::ReshapeOp>(function, gatherOf);
}

void shuffleGatheredChannels(Operation *function) {
  rewrite<graph::GatherOp>(function, movesOf);
}

} // namespace tenon
