//===- FoldPads.cpp - Zeros around an image are its reader's border -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keras pads in front of each convolution with a stride and each causal one,
// PyTorch does for borders that differ. A kernel need not read those zeros, and
// none has to write them. Quantizers put pairs of ops in between, layouts
// transposes, and convolutions of one dimension an axis of size one.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/QuantizedFactors.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_FOLDPADSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::Expr;
using Exprs = SmallVector<Expr>;

/// How many elements are put in front of an axis and behind it.
struct Border {
  int64_t low = 0, high = 0;

  bool isEmpty() const { return low == 0 && high == 0; }
};

/// The number that all elements of a constant are.
std::optional<double> numberOf(Value value) {
  if (std::optional<double> number = splatOf(value))
    return number;
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  auto integers = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue())
                           : DenseIntElementsAttr();
  if (!integers || integers.empty() || !integers.isSplat())
    return std::nullopt;
  APInt number = integers.getSplatValue<APInt>();
  bool isUnsigned = integers.getElementType().isUnsignedInteger();
  return isUnsigned ? double(number.getZExtValue())
                    : double(number.getSExtValue());
}

/// Whether no element is below 0; one that is no number may be there.
bool isNonNegative(Value value, unsigned depth = 8) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  auto is = [&](unsigned operand) {
    return isNonNegative(op->getOperand(operand), depth - 1);
  };
  if (isa<graph::ConstantOp>(op))
    return numberOf(value).value_or(-1) >= 0;
  if (isa<graph::AbsOp, graph::ExpOp, graph::SigmoidOp, graph::SoftmaxOp>(op))
    return true;
  if (isa<graph::MaxOp>(op))
    return is(0) || is(1);
  if (isa<graph::MinOp, graph::AddOp, graph::MulOp, graph::PadOp>(op))
    return is(0) && is(1);
  if (isa<graph::TransposeOp, graph::ReshapeOp, graph::MaxPoolOp,
          graph::AveragePoolOp>(op))
    return is(0);
  if (auto dequantize = dyn_cast<graph::DequantizeOp>(op))
    return graph::getElementType(dequantize.getInput()).isUnsignedInteger() &&
           graph::isConstantOf(dequantize.getZeroPoint(), 0) && is(1);
  if (auto concat = dyn_cast<graph::ConcatOp>(op))
    return llvm::all_of(concat->getOperands(), [&](Value operand) {
      return isNonNegative(operand, depth - 1);
    });
  return false;
}

/// A tensor that is padded by as many elements everywhere, seen from the op
/// that reads it.
class PaddedTensor {
public:
  /// Looks from `operand` for a pad; null where there is none.
  static std::optional<PaddedTensor> behind(OpOperand &operand) {
    PaddedTensor found;
    Value value = operand.get();
    while (!value.getDefiningOp<graph::PadOp>()) {
      Operation *op = value.getDefiningOp();
      if (!op || !isStep(op) || !isReadByWindows(op))
        return std::nullopt;
      found.steps.insert(found.steps.begin(), op);
      value = op->getOperand(0);
    }
    if (!found.read(value.getDefiningOp<graph::PadOp>()) ||
        !llvm::all_of(found.steps,
                      [&](Operation *op) { return found.follow(op); }))
      return std::nullopt;
    return found;
  }

  /// What stands around the tensor, and how much of it along each axis.
  double filler() const { return number; }
  ArrayRef<Border> allBorders() const { return borders; }

  /// The tensor without its pad, as the op that reads it sees it.
  Value withoutPad(OpBuilder &builder) const {
    Value value = image;
    for (auto [op, sizes] : llvm::zip_equal(steps, dimsBehind)) {
      Operation *copy = builder.clone(*op);
      copy->setOperand(0, value);
      value = copy->getResult(0);
      value.setType(graph::tensorOf(sizes, graph::getElementType(value)));
    }
    return value;
  }

private:
  static bool isStep(Operation *op) {
    return isa<graph::TransposeOp, graph::ReshapeOp, graph::CastOp,
               graph::SubOp, graph::QuantizeOp, graph::DequantizeOp>(op);
  }

  /// Whether a copy of an op without the pad replaces it.
  static bool isReadByWindows(Operation *op) {
    return op->hasOneUse() || llvm::all_of(op->getUsers(), [](Operation *user) {
             return isa<graph::ConvOp>(user);
           });
  }

  bool read(graph::PadOp pad) {
    std::optional<double> value = numberOf(pad.getValue());
    if (pad.getMode() != graph::PadMode::Constant || !value)
      return false;
    number = *value;
    image = pad.getInput();
    dims = graph::getDims(image);
    for (auto [from, low, to] : llvm::zip_equal(
             dims, pad.getLow().exprs(), graph::getDims(pad.getResult()))) {
      Expr added = to - from;
      std::optional<int64_t> total = added ? added.asConstant() : std::nullopt;
      std::optional<int64_t> front = low.asConstant();
      if (!total || !front || *front < 0 || *total < *front)
        return false;
      borders.push_back({*front, *total - *front});
    }
    return true;
  }

  /// Takes a step towards the reader.
  bool follow(Operation *op) {
    bool isFollowed = true;
    if (auto transpose = dyn_cast<graph::TransposeOp>(op))
      reorder(transpose.getPermutation());
    else if (auto reshape = dyn_cast<graph::ReshapeOp>(op))
      isFollowed = rename(reshape);
    else
      isFollowed = compute(op);
    dimsBehind.push_back(dims);
    return isFollowed;
  }

  void reorder(ArrayRef<int64_t> order) {
    Exprs sizes;
    SmallVector<Border> around;
    for (int64_t axis : order) {
      sizes.push_back(dims[axis]);
      around.push_back(borders[axis]);
    }
    dims = std::move(sizes);
    borders = std::move(around);
  }

  /// A reshape that has only other axes of size one.
  bool rename(graph::ReshapeOp op) {
    Exprs from = graph::getDims(op.getInput()), to = graph::getDims(op);
    Exprs sizes(to.size(), Expr::constant(op.getContext(), 1));
    SmallVector<Border> around(to.size());
    size_t next = 0;
    for (auto [axis, size] : llvm::enumerate(from)) {
      if (size.isConstant(1)) {
        if (!borders[axis].isEmpty())
          return false;
        continue;
      }
      while (next < to.size() && to[next].isConstant(1))
        ++next;
      if (next == to.size() || to[next] != size)
        return false;
      sizes[next] = dims[axis];
      around[next++] = borders[axis];
    }
    for (; next < to.size(); ++next)
      if (!to[next].isConstant(1))
        return false;
    dims = std::move(sizes);
    borders = std::move(around);
    return true;
  }

  /// What an op makes of the elements, its other operands being one number
  /// each.
  bool compute(Operation *op) {
    for (Value operand : llvm::drop_begin(op->getOperands()))
      if (!graph::isOneNumber(operand) || !numberOf(operand))
        return false;
    if (graph::getDims(op->getOperand(0)) != graph::getDims(op->getResult(0)))
      return false;
    if (auto quantize = dyn_cast<graph::QuantizeOp>(op)) {
      bool isZero = number == 0;
      number = *numberOf(quantize.getZeroPoint());
      return isZero;
    }
    if (auto dequantize = dyn_cast<graph::DequantizeOp>(op)) {
      bool isZero = number == *numberOf(dequantize.getZeroPoint());
      number = 0;
      return isZero;
    }
    if (isa<graph::SubOp>(op)) {
      bool isZero = number == *numberOf(op->getOperand(1));
      number = 0;
      return isZero;
    }
    // A cast: bytes are widened without a change.
    return number == 0 ||
           (isByte(op->getOperand(0)) &&
            graph::getElementType(op->getResult(0)).isInteger(32));
  }

  Value image;
  SmallVector<Operation *> steps; // The one behind the pad comes first.
  SmallVector<Exprs> dimsBehind;  // Of each step, without the pad.
  Exprs dims;
  SmallVector<Border> borders;
  double number = 0;
};

/// The sizes of an op's windows, gaps included; none if one is not known.
SmallVector<int64_t> extentsOf(graph::ConvOp op) {
  SmallVector<int64_t> extents;
  Exprs filter = graph::getDims(op.getFilter());
  for (auto [taps, dilation] :
       llvm::zip_equal(llvm::drop_begin(filter, 2), op.getDilations())) {
    std::optional<int64_t> size = taps.asConstant();
    if (!size)
      return {};
    extents.push_back(dilation * (*size - 1) + 1);
  }
  return extents;
}

template <typename Pool> SmallVector<int64_t> extentsOf(Pool op) {
  SmallVector<int64_t> extents;
  for (auto [size, dilation] :
       llvm::zip_equal(op.getKernel(), op.getDilations()))
    extents.push_back(dilation * (size - 1) + 1);
  return extents;
}

/// The op's borders with those of its input; none where a window would lie
/// outside, or what is padded is no axis of the image.
template <typename Windows>
std::optional<Exprs> joinedPads(Windows op, ArrayRef<Border> borders) {
  SmallVector<int64_t> extents = extentsOf(op);
  size_t spatial = op.getStrides().size();
  size_t first = op.getChannelsLast() ? 1 : 2;
  if (extents.size() != spatial || borders.size() != spatial + 2)
    return std::nullopt;
  auto isSpatial = [&](size_t axis) {
    return axis >= first && axis < first + spatial;
  };
  for (auto [axis, border] : llvm::enumerate(borders))
    if (!isSpatial(axis) && !border.isEmpty())
      return std::nullopt;
  Exprs pads(op.getPads().exprs());
  for (size_t i = 0; i < 2 * spatial; ++i) {
    const Border &border = borders[first + i % spatial];
    pads[i] = pads[i] + Expr::constant(op.getContext(),
                                       i < spatial ? border.low : border.high);
    std::optional<int64_t> size = pads[i] ? pads[i].asConstant() : std::nullopt;
    if (!size || *size < 0 || *size >= extents[i % spatial])
      return std::nullopt;
  }
  return pads;
}

bool hasNoPads(graph::DimsAttr pads) {
  return llvm::all_of(pads.exprs(),
                      [](Expr size) { return size.isConstant(0); });
}

/// Whether what lies outside an op's input counts as the filler of a pad.
bool isFiller(graph::ConvOp, const PaddedTensor &input) {
  return input.filler() == 0;
}

bool isFiller(graph::AveragePoolOp op, const PaddedTensor &input) {
  return input.filler() == 0 && (op.getCountPads() || hasNoPads(op.getPads()));
}

/// The least number of a type.
double lowestOf(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isUnsigned() ? 0 : -std::ldexp(1, integer.getWidth() - 1);
  return -std::numeric_limits<double>::infinity();
}

/// Nothing outside is ever the largest: no window is outside altogether.
bool isFiller(graph::MaxPoolOp op, const PaddedTensor &input) {
  bool hasGaps = llvm::any_of(op.getDilations(),
                              [](int64_t dilation) { return dilation != 1; });
  return !hasGaps &&
         (input.filler() == lowestOf(graph::getElementType(op.getInput())) ||
          (input.filler() == 0 && isNonNegative(op.getInput())));
}

void countPads(Operation *) {}
void countPads(graph::AveragePoolOp op) { op.setCountPads(true); }

/// windows(pad(x)) -> windows(x) with a border
template <typename Windows> struct FoldPad : OpRewritePattern<Windows> {
  using OpRewritePattern<Windows>::OpRewritePattern;

  LogicalResult matchAndRewrite(Windows op,
                                PatternRewriter &rewriter) const override {
    auto input = PaddedTensor::behind(op->getOpOperand(0));
    if (!input || !isFiller(op, *input))
      return rewriter.notifyMatchFailure(op, "reads no zeros around an image");
    std::optional<Exprs> pads = joinedPads(op, input->allBorders());
    if (!pads)
      return rewriter.notifyMatchFailure(op,
                                         "the border is no part of windows");
    Value image = input->withoutPad(rewriter);
    rewriter.modifyOpInPlace(op, [&] {
      op->setOperand(0, image);
      op.setPadsAttr(graph::DimsAttr::get(op.getContext(), *pads));
      countPads(op);
    });
    return success();
  }
};

struct FoldPads : impl::FoldPadsPassBase<FoldPads> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldPad<graph::ConvOp>, FoldPad<graph::AveragePoolOp>,
                 FoldPad<graph::MaxPoolOp>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace tenon
