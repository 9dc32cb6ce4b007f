//===- ConvTiles.cpp - Convolutions that devices compute by tiles ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/ConvTiles.h"
#include "dialects/Kernel/IntegerConvView.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Of the elements of a filter, padded to whole copies.
constexpr int64_t mostDepth = int64_t(1) << 30;
constexpr int64_t filterPadding = 8;

/// Of taps and pixels that a thread goes through at once: as much code.
constexpr int64_t mostProducts = 256;

/// Threads that keep a large device busy.
constexpr int64_t wantedThreads = int64_t(1) << 15;

/// The block argument that an operand is, by itself or widened from bf16.
BlockArgument argumentOf(Value operand) {
  Value narrow = behindWidening(operand);
  return dyn_cast<BlockArgument>(narrow ? narrow : operand);
}

/// Whether output `count - 1` ends inside, as the formula of `count` promises
/// where nothing is padded.
bool isNeverPadded(graph::ConvOp op, size_t i) {
  SmallVector<Expr> pads = op.getPads().exprs();
  return pads[i].isConstant(0) &&
         pads[op.getStrides().size() + i].isConstant(0);
}

bool addAxes(graph::ConvOp op, ArrayRef<int64_t> filter, ConvTilesView &view) {
  SmallVector<Expr> input = graph::getDims(op.getInput());
  SmallVector<Expr> result = graph::getDims(op.getResult());
  size_t count = op.getStrides().size();
  SmallVector<Expr> pads = op.getPads().exprs();
  Expr step = Expr::constant(op.getContext(), view.pixels);
  for (size_t i = count; i-- > 0;) {
    view.axes.insert(view.axes.begin(),
                     {filter[2 + i], op.getStrides()[i], op.getDilations()[i],
                      pads[i], input[1 + i], result[1 + i], step,
                      isNeverPadded(op, i)});
    if (step = step * input[1 + i]; !step)
      return false;
  }
  view.imageStep = step;
  return true;
}

} // namespace

int64_t ConvTilesView::taps() const {
  int64_t product = 1;
  for (const ConvTilesAxis &axis : axes)
    product *= axis.taps;
  return product;
}

bool ConvTilesView::isMatrix() const {
  return channels * groups == pixels &&
         llvm::all_of(axes, [](const ConvTilesAxis &axis) {
           return axis.taps == 1 && axis.stride == 1 && axis.isInside;
         });
}

int64_t ConvTilesView::tapBits() const {
  int64_t bits = 0;
  for (const ConvTilesAxis &axis : axes)
    bits += axis.isInside ? 0 : axis.taps;
  return bits;
}

int64_t ConvTilesView::copyBytes() const {
  int64_t width = graph::byteWidth(type());
  SmallVector<Expr> steps = {imageStep};
  for (const ConvTilesAxis &axis : ArrayRef(axes).drop_back())
    steps.push_back(axis.step);
  // Windows with several taps along the last axis begin at any pixel.
  bool isFolded = channels * groups != pixels;
  int64_t first = isFolded ? pixels * axes.back().stride : channels;
  auto fits = [&](int64_t bytes) {
    return channels * width % bytes == 0 && first * width % bytes == 0 &&
           (!isFolded || llvm::all_of(steps, [&](Expr step) {
             return bool(step.exactDiv(
                 Expr::constant(step.getContext(), bytes / width)));
           }));
  };
  int64_t bytes = 16;
  while (bytes > width && !fits(bytes))
    bytes /= 2;
  return bytes;
}

std::optional<ConvTilesView> convTilesViewOf(graph::ConvOp op,
                                             std::string &why) {
  auto refuse = [&](const char *reason) {
    why = reason;
    return std::nullopt;
  };
  if (!op.getChannelsLast())
    return refuse("channels are not the last axis");
  if (graph::getRank(op.getInput()) < 3)
    return refuse("it has no spatial axis");
  ConvTilesView view;
  std::optional<IntegerConvView> bytes = integerConvViewOf(op);
  if (bytes && bytes->needsRowSums())
    return refuse("its filter is of ui8 or has zero points");
  if (bytes) {
    view.image = dyn_cast<BlockArgument>(bytes->input.view.base);
    view.filter = dyn_cast<BlockArgument>(bytes->filter.view.base);
    view.zero = bytes->input.zero;
  } else {
    view.image = argumentOf(op.getInput());
    view.filter = argumentOf(op.getFilter());
  }
  if (!view.image || !view.filter)
    return refuse("an operand of the convolution is computed in the kernel");
  if (!bytes && view.type() != graph::getElementType(view.filter))
    return refuse("its operands are of two types");
  auto type = cast<RankedTensorType>(view.filter.getType());
  if (!type.hasStaticShape())
    return refuse("the filter has not numbers as sizes");
  if (type.getNumElements() == 0)
    return refuse("the filter is empty");
  if (!view.filter.hasOneUse())
    return refuse("the filter has another user in the kernel");
  ArrayRef<int64_t> filter = type.getShape();
  view.groups = op.getGroup();
  view.channels = filter[1], view.maps = filter[0] / view.groups;
  view.pixels = view.channels * view.groups;
  if (!addAxes(op, filter, view))
    return refuse("the size of an image is beyond what an expression holds");
  SmallVector<Expr> result = graph::getDims(op.getResult());
  view.images = result[0];
  view.rows = graph::product(op.getContext(), ArrayRef(result).drop_back());
  if (!view.rows)
    return refuse("the number of pixels is beyond what an expression holds");
  view.layout = {static_cast<int64_t>(llvm::alignTo(view.maps, filterPadding)),
                 view.groups};
  std::optional<int64_t> elements = view.layout.elements(filter);
  if (!elements || *elements > mostDepth)
    return refuse("the filter is too large");
  ConvTilesAxis &last = view.axes.back();
  if (view.groups == 1 && !view.isDepthwise() && last.isInside &&
      last.dilation == 1)
    view.channels *= std::exchange(last.taps, 1);
  return view;
}

bool ConvTilesView::isDepthwise() const { return channels == 1 && maps == 1; }

int64_t ConvTilesView::lanes() const {
  return groups % 4 == 0 ? 4 : groups % 2 == 0 ? 2 : 1;
}

int64_t ConvTilesView::pixelsAtOnce() const {
  std::optional<int64_t> outputs = rows.asConstant();
  for (int64_t count : {8, 4}) {
    bool isBusy = outputs
                      ? *outputs / count * (groups / lanes()) >= wantedThreads
                      : count <= 4;
    if (isBusy && axes.back().taps * count <= mostProducts)
      return count;
  }
  return 2;
}

Geometry depthwiseGeometry(const ConvTilesView &view, Block &body) {
  auto number = [&](int64_t value) {
    return Expr::constant(view.rows.getContext(), value);
  };
  Expr count = view.axes.back().count;
  Expr rows = view.images * number(view.groups / view.lanes());
  for (const ConvTilesAxis &axis : ArrayRef(view.axes).drop_back())
    rows = rows ? rows * axis.count : rows;
  rows = rows ? rows * count.ceilDiv(number(view.pixelsAtOnce())) : rows;
  if (!rows)
    return {};
  return {rows, number(deviceThreads(body)), number(0)};
}

bool isConvMma(StringRef schedule) {
  return schedule == convMmaSchedule || schedule == convMmaSmallSchedule;
}

bool isConvBytes(StringRef schedule) {
  return schedule == convBytesSchedule || schedule == convBytesSmallSchedule;
}

bool isConvTf32(StringRef schedule) {
  return schedule == convTf32Schedule || schedule == convTf32SmallSchedule;
}

bool isConvTf32x3(StringRef schedule) {
  return schedule == convTf32x3Schedule || schedule == convTf32x3SmallSchedule;
}

static bool isSmall(StringRef schedule) { return schedule.ends_with("Small"); }

/// Each thread copies something of a panel.
std::optional<DeviceTile> convTileOf(const ConvTilesView &view,
                                     StringRef schedule) {
  DeviceTile tile;
  int64_t columns = (view.maps - 1) % 128 < 64 ? 64 : 128;
  if (isConvMma(schedule)) {
    tile = isSmall(schedule) ? DeviceTile{64, 64, 64, 4, 128, 0}
                             : DeviceTile{128, columns, 32, 4, 128, 0};
    tile.sharedBytes = tile.depth * (tile.rows + tile.columns) * 2;
  } else if (isConvBytes(schedule)) {
    tile = isSmall(schedule) ? DeviceTile{64, 64, 64, 4, 128, 0}
                             : DeviceTile{128, columns, 64, 4, 2 * columns, 0};
    tile.sharedBytes = tile.depth * (tile.rows + tile.columns);
  } else if (isConvTf32(schedule) || isConvTf32x3(schedule)) {
    tile = isSmall(schedule) ? DeviceTile{64, 64, 16, 4, 128, 0}
                             : DeviceTile{128, columns, 16, 4, 2 * columns, 0};
    // Windows lie by pixels, four elements apart, and the filter by steps.
    tile.sharedBytes = (tile.rows * (tile.depth + 4) +
                        tile.depth * (tile.columns + mmaPadding)) *
                       4;
  } else if (schedule == convSimtSchedule ||
             schedule == convSimtSmallSchedule) {
    tile = isSmall(schedule) ? DeviceTile{64, 64, 16, 4, 256, 0}
           : columns == 64   ? DeviceTile{128, 64, 16, 3, 256, 0}
                             : DeviceTile{128, 128, 8, 4, 256, 0};
    tile.sharedBytes =
        tile.depth * (tile.rows + tile.columns + 2 * simtPadding) * 4;
  } else {
    return std::nullopt;
  }
  tile.sharedBytes *= tile.stages;
  return tile;
}

static Expr tilesOf(const ConvTilesView &view, StringRef schedule) {
  DeviceTile tile = *convTileOf(view, schedule);
  auto number = [&](int64_t value) {
    return Expr::constant(view.rows.getContext(), value);
  };
  return view.rows.ceilDiv(number(tile.rows)) *
         number(view.groups * llvm::divideCeil(view.maps, tile.columns));
}

Expr hasFewTiles(const ConvTilesView &view) {
  Expr tiles = tilesOf(view, convSimtSchedule);
  return tiles ? isFew(tiles) : Expr();
}

Expr tilePiecesOf(const ConvTilesView &view, StringRef schedule) {
  auto number = [&](int64_t value) {
    return Expr::constant(view.rows.getContext(), value);
  };
  if (!isSmall(schedule))
    return number(1);
  DeviceTile tile = *convTileOf(view, schedule);
  return tilePieces(tilesOf(view, schedule), tile, number(view.depth()),
                    isConvMma(schedule) || isConvBytes(schedule));
}

Geometry tileGeometry(const ConvTilesView &view, StringRef schedule) {
  return pieceGeometry(tilesOf(view, schedule), tilePiecesOf(view, schedule),
                       *convTileOf(view, schedule));
}

} // namespace tenon::kernel
