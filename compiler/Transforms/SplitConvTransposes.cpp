//===- SplitConvTransposes.cpp - Transposed convolutions as plain ones ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Along an axis of stride s, position p = o + low of the result reads the taps
// k with k = p mod s, from the input at (p - k) / s. All positions of one
// remainder, a phase, are thus a convolution of stride 1 with the phase's taps
// in reverse. The phases of all axes are computed side by side as channels,
// which a transpose then puts in their places. Filters are left to
// fold-constants.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/AxisOrder.h"
#include "compiler/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SPLITCONVTRANSPOSESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using graph::Expr;

/// Of larger filters, some copies at a time would be many gigabytes.
constexpr int64_t maxFilter = int64_t(1) << 28;
/// Phases, and phases with filters of different sizes.
constexpr int64_t maxPhases = 64, maxUnequal = 16;

struct Axis {
  int64_t taps, stride, dilation, low;
  Expr input, result;
  int64_t first; // Results of a phase, counted from position 0.
  Expr count;

  int64_t tapsOf(int64_t phase) const {
    return llvm::divideCeil(taps - phase, stride);
  }
};

class Splitter {
public:
  Splitter(OpBuilder &b, graph::ConvTransposeOp op)
      : b(b), op(op), loc(op.getLoc()), group(op.getGroup()) {}

  /// Nothing, or why the op stays as it is.
  std::optional<std::string> split() {
    if (auto why = readAxes())
      return why;
    SmallVector<int64_t> permutation = toChannelsLast(axes.size() + 2);
    Value input =
        graph::TransposeOp::create(b, loc, op.getInput(), permutation);
    Value flat = groupedFilter();
    SmallVector<Value> filters;
    forEachPhase([&](ArrayRef<int64_t> phase) {
      filters.push_back(filterOf(flat, phase));
    });
    Value result;
    if (filters.size() == 1) {
      result = convolve(input, filters[0]);
    } else if (areEqual) {
      result = interleave(convolve(input, joined(filters)), group);
    } else {
      SmallVector<Value> parts;
      for (Value filter : filters)
        parts.push_back(convolve(input, filter));
      int64_t last = graph::getRank(parts[0]) - 1;
      result = interleave(graph::ConcatOp::create(b, loc, parts, last), 1);
    }
    op.replaceAllUsesWith(
        graph::TransposeOp::create(b, loc, result, inverse(permutation))
            .getResult());
    op.erase();
    return std::nullopt;
  }

private:
  Expr number(int64_t value) { return Expr::constant(b.getContext(), value); }

  Type elementType() { return graph::getElementType(op.getFilter()); }
  Type typeOf(ArrayRef<Expr> dims) {
    return graph::tensorOf(dims, elementType());
  }

  std::optional<std::string> readAxes() {
    auto filter = cast<RankedTensorType>(op.getFilter().getType());
    Type element = filter.getElementType();
    if (!(element.isF32() || element.isF16() || element.isBF16()) ||
        filter.getRank() < 3)
      return "it is not of f32, f16 or bf16 with spatial axes";
    if (!isStored(op.getFilter()) || !filter.hasStaticShape())
      return "its filter is no weight";
    if (filter.getNumElements() == 0 || filter.getNumElements() > maxFilter)
      return "its filter is empty or too large to be cut";
    channels = filter.getDimSize(0) / group;
    maps = filter.getDimSize(1);
    int64_t phases = 1;
    for (size_t i = 0; i < op.getStrides().size(); ++i) {
      std::optional<int64_t> low = op.getPads()[i].asConstant();
      Axis axis{filter.getDimSize(2 + i),
                op.getStrides()[i],
                op.getDilations()[i],
                0,
                graph::getDim(op.getInput(), 2 + i),
                graph::getDim(op.getResult(), 2 + i),
                0,
                Expr()};
      if (!low || std::abs(*low) > (1 << 24))
        return "a pad is no number";
      if (axis.stride > 1 && axis.dilation > 1)
        return "an axis has both a stride and a dilation";
      if (axis.stride > axis.taps)
        return "some results have no tap";
      if ((phases *= axis.stride) > maxPhases)
        return "it has too many phases";
      areEqual &= axis.taps % axis.stride == 0;
      axis.low = *low;
      axis.first = *graph::floorDivide(axis.low, axis.stride);
      axis.count = (axis.result + (axis.low - 1)).floorDiv(number(axis.stride));
      if (!axis.count || !(axis.count = axis.count + (1 - axis.first)))
        return "its sizes overflow";
      axes.push_back(axis);
    }
    if (!areEqual && phases > maxUnequal)
      return "it has too many phases of different sizes";
    return std::nullopt;
  }

  void forEachPhase(function_ref<void(ArrayRef<int64_t>)> body) {
    SmallVector<int64_t> phase(axes.size(), 0);
    while (true) {
      body(phase);
      size_t i = axes.size();
      while (i > 0 && ++phase[i - 1] == axes[i - 1].stride)
        phase[--i] = 0;
      if (i == 0)
        return;
    }
  }

  Value reshape(Value value, ArrayRef<int64_t> sizes) {
    return graph::ReshapeOp::create(
        b, loc, RankedTensorType::get(sizes, elementType()), value);
  }

  /// [C, M / group, taps..] -> [M, C / group, taps..]
  Value groupedFilter() {
    SmallVector<int64_t> parts = {group, channels, maps},
                         all = {group * maps, channels};
    SmallVector<int64_t> permutation = {0, 2, 1};
    for (auto [i, axis] : llvm::enumerate(axes)) {
      parts.push_back(axis.taps);
      all.push_back(axis.taps);
      permutation.push_back(3 + i);
    }
    Value moved = graph::TransposeOp::create(
        b, loc, reshape(op.getFilter(), parts), permutation);
    return reshape(moved, all);
  }

  Value filterOf(Value flat, ArrayRef<int64_t> phase) {
    SmallVector<Expr> starts = {number(0), number(0)},
                      steps = {number(1), number(1)};
    SmallVector<int64_t> sizes = {group * maps, channels};
    for (auto [axis, at] : llvm::zip(axes, phase)) {
      int64_t taps = axis.tapsOf(at);
      starts.push_back(number(at + axis.stride * (taps - 1)));
      steps.push_back(number(-axis.stride));
      sizes.push_back(taps);
    }
    return graph::SliceOp::create(
        b, loc, RankedTensorType::get(sizes, elementType()), flat,
        graph::DimsAttr::get(b.getContext(), starts),
        graph::DimsAttr::get(b.getContext(), steps));
  }

  /// Of each group all phases, one after the other.
  Value joined(ArrayRef<Value> filters) {
    SmallVector<Value> parts;
    auto type = cast<RankedTensorType>(filters[0].getType());
    SmallVector<int64_t> sizes = {group, maps};
    llvm::append_range(sizes, type.getShape().drop_front());
    for (Value filter : filters)
      parts.push_back(reshape(filter, sizes));
    SmallVector<int64_t> all(type.getShape());
    all[0] *= filters.size();
    return reshape(graph::ConcatOp::create(b, loc, parts, 1), all);
  }

  Value convolve(Value input, Value filter) {
    auto type = cast<RankedTensorType>(filter.getType());
    SmallVector<int64_t> strides(axes.size(), 1), dilations;
    SmallVector<Expr> lows, highs, dims = {graph::getDim(input, 0)};
    for (auto [i, axis] : llvm::enumerate(axes)) {
      int64_t reach = (type.getDimSize(2 + i) - 1) * axis.dilation;
      dilations.push_back(axis.dilation);
      lows.push_back(number(reach - axis.first));
      highs.push_back(axis.count - axis.input + axis.first);
      dims.push_back(axis.count);
    }
    llvm::append_range(lows, highs);
    dims.push_back(number(type.getDimSize(0)));
    return graph::ConvOp::create(
        b, loc, typeOf(dims), input, filter, strides, dilations,
        graph::DimsAttr::get(b.getContext(), lows), group,
        /*channels_last=*/true);
  }

  /// [N, count.., groups * phases * M] -> [N, result.., groups * M]
  Value interleave(Value value, int64_t groups) {
    int64_t rank = axes.size(), each = group * maps / groups;
    Expr images = graph::getDim(value, 0);
    SmallVector<Expr> apart = {images}, together = {images}, cut = {images};
    SmallVector<Expr> starts = {number(0)}, steps(rank + 2, number(1));
    SmallVector<int64_t> permutation = {0};
    for (auto [i, axis] : llvm::enumerate(axes)) {
      apart.push_back(axis.count);
      permutation.append({int64_t(1 + i), int64_t(2 + rank + i)});
      together.push_back(axis.count * axis.stride);
      cut.push_back(axis.result);
      starts.push_back(number(axis.low - axis.first * axis.stride));
    }
    apart.push_back(number(groups));
    for (const Axis &axis : axes)
      apart.push_back(number(axis.stride));
    apart.push_back(number(each));
    permutation.append({1 + rank, 2 + 2 * rank});
    together.push_back(number(groups * each));
    cut.push_back(number(groups * each));
    starts.push_back(number(0));
    value = graph::ReshapeOp::create(b, loc, typeOf(apart), value);
    value = graph::TransposeOp::create(b, loc, value, permutation);
    value = graph::ReshapeOp::create(b, loc, typeOf(together), value);
    return graph::SliceOp::create(b, loc, typeOf(cut), value,
                                  graph::DimsAttr::get(b.getContext(), starts),
                                  graph::DimsAttr::get(b.getContext(), steps));
  }

  OpBuilder &b;
  graph::ConvTransposeOp op;
  Location loc;
  int64_t group, channels = 0, maps = 0; // The latter two of a group.
  SmallVector<Axis> axes;
  bool areEqual = true; // The phases' filters.
};

struct SplitConvTransposes
    : impl::SplitConvTransposesPassBase<SplitConvTransposes> {
  using SplitConvTransposesPassBase::SplitConvTransposesPassBase;

  void runOnOperation() override {
    SmallVector<graph::ConvTransposeOp> ops;
    getOperation().walk([&](graph::ConvTransposeOp op) { ops.push_back(op); });
    for (graph::ConvTransposeOp op : ops) {
      OpBuilder builder(op);
      std::optional<std::string> why = Splitter(builder, op).split();
      if (why && explain)
        op.emitRemark("transposed convolution is not split: ") << *why;
    }
  }
};

} // namespace
} // namespace tenon
