//===- DepthwiseView.cpp - Convolutions of small groups, by tiles ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/DepthwiseView.h"
#include "dialects/Kernel/MatmulView.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Of a line of the filter: a tile's code has each tap of each pixel.
constexpr int64_t maxTaps = 64;
/// Tiles at an end of a line that reach over it have code of their own.
constexpr int64_t maxReach = 64;
/// Bands of an image, and lines of one.
constexpr int64_t mostBands = 8, leastLines = 4;

} // namespace

int64_t DepthwiseView::bands() const {
  for (int64_t bands = mostBands; bands > 1; --bands)
    if (lines.count % bands == 0 && lines.count / bands >= leastLines)
      return bands;
  return 1;
}

std::optional<DepthwiseView> depthwiseViewOf(graph::ConvOp op,
                                             std::string &why) {
  size_t count = op.getStrides().size();
  if (count > 2) {
    why = "it has more than two spatial axes";
    return std::nullopt;
  }
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  DepthwiseView view{filter.getDimSize(0),
                     filter.getDimSize(1),
                     {1, 1, 1, 1, 1, 0},
                     {1, 1, 1, 1, 1, 0},
                     count == 2};
  if (view.members > 1 && op.getGroup() == 1) {
    why = "it has one group";
    return std::nullopt;
  }
  if (view.members < 1 || view.members > mostMembers ||
      !llvm::isPowerOf2_64(uint64_t(view.members)) ||
      view.channels / view.members != int64_t(op.getGroup())) {
    why = "its groups have many channels, or not as many maps";
    return std::nullopt;
  }
  for (size_t i = 0; i < count; ++i) {
    std::optional<DirectConvAxis> axis = directConvAxisOf(op, i);
    if (!axis) {
      why = "heights, widths or pads are not numbers";
      return std::nullopt;
    }
    (i + 1 == count ? view.pixels : view.lines) = *axis;
  }
  const DirectConvAxis &pixels = view.pixels;
  if (pixels.count < 1 || view.lines.count < 1) {
    why = "its result is empty";
    return std::nullopt;
  }
  int64_t reach = (pixels.taps - 1) * pixels.dilation;
  if (pixels.taps > maxTaps || pixels.low > maxReach ||
      reach - pixels.low > maxReach) {
    why = "windows are wide";
    return std::nullopt;
  }
  int64_t all = view.channels;
  for (int64_t size : {view.lines.size, pixels.size, int64_t(4)})
    if (__builtin_mul_overflow(all, size, &all)) {
      why = "its sizes overflow";
      return std::nullopt;
    }
  if (all > (int64_t(1) << 40)) {
    why = "its images are large";
    return std::nullopt;
  }
  return view;
}

bool isDepthwise(graph::ConvOp op) {
  SmallVector<graph::Expr> filter = graph::getDims(op.getFilter());
  return filter[0].isConstant(op.getGroup()) && filter[1].isConstant(1);
}

/// By a filter of its own for each channel, of known sizes.
static bool isOfEachChannel(graph::ConvOp op) {
  if (!cast<ShapedType>(op.getFilter().getType()).hasStaticShape())
    return false;
  std::string why;
  std::optional<DepthwiseView> view = depthwiseViewOf(op, why);
  return op.getChannelsLast() && view && view->members == 1;
}

std::optional<IntegerFactor> depthwiseBytesOf(graph::ConvOp op) {
  auto wide = op.getInput().getDefiningOp<graph::CastOp>();
  if (!wide || !graph::getElementType(wide.getResult()).isF32())
    return std::nullopt;
  std::optional<IntegerFactor> bytes = integerFactorInPlace(wide.getInput());
  if (!bytes || !isOfEachChannel(op) ||
      (bytes->zero && !llvm::all_of(graph::getDims(bytes->zero), [](Expr dim) {
         return dim.isConstant(1);
       })))
    return std::nullopt;
  return bytes;
}

bool mayReadBf16(graph::ConvOp op) {
  return graph::getElementType(op.getInput()).isF32() && isOfEachChannel(op);
}

Value depthwiseBf16Of(graph::ConvOp op) {
  Value narrow = behindWidening(op.getInput());
  bool isBf16 = narrow && graph::getElementType(narrow).isBF16();
  return isBf16 && mayReadBf16(op) ? narrow : Value();
}

} // namespace tenon::kernel
