//===- ConvTiles.h - Convolutions that devices compute by tiles -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution with channels last as a product of matrices, one for each
// group: a row per pixel of the result, a column per map of the group, and
// steps of k that go through the channels of a tap before the next tap. The
// matrix on the left is the image, read where each window has its taps; that on
// the right is the filter, packed as one panel of all maps of a group (see
// FilterLayout.h), whose rows are whole copies of 16 bytes.
//
// A convolution of i32 is one of bytes where it is one of IntegerConvView.h by
// a filter of i8 without zero points, which lies as FragmentLayout.h has bytes.
// What lies around the image is then its zero point.
//
// Where no window of one group leaves the image along the last axis, its taps
// there and their channels lie together, and count as channels of one tap.
//
// Where each channel is a group with one map, a thread has some channels that
// lie together, in some pixels side by side: what it reads of a line serves all
// of them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_CONVTILES_H
#define TENON_DIALECTS_KERNEL_CONVTILES_H

#include "dialects/Kernel/DeviceTiles.h"
#include "dialects/Kernel/FilterLayout.h"

namespace tenon::kernel {

constexpr llvm::StringLiteral convSimtSchedule = "ConvSimt";
constexpr llvm::StringLiteral convSimtSmallSchedule = "ConvSimtSmall";
constexpr llvm::StringLiteral convMmaSchedule = "ConvMma";
constexpr llvm::StringLiteral convMmaSmallSchedule = "ConvMmaSmall";
constexpr llvm::StringLiteral convBytesSchedule = "ConvMmaInt8";
constexpr llvm::StringLiteral convBytesSmallSchedule = "ConvMmaInt8Small";
constexpr llvm::StringLiteral convTf32Schedule = "ConvTf32";
constexpr llvm::StringLiteral convTf32SmallSchedule = "ConvTf32Small";
constexpr llvm::StringLiteral convTf32x3Schedule = "ConvTf32x3";
constexpr llvm::StringLiteral convTf32x3SmallSchedule = "ConvTf32x3Small";
constexpr llvm::StringLiteral depthwiseSchedule = "DepthwiseDevice";

/// Tiles with fewer maps would be mostly empty.
constexpr int64_t fewestTileMaps = 8;

/// One spatial axis: output o of `count` reads positions o * stride + tap *
/// dilation - low of `size`, which lie `step` elements apart.
struct ConvTilesAxis {
  int64_t taps, stride, dilation;
  Expr low, size, count, step;
  bool isInside; // No tap lies outside of the image.
};

struct ConvTilesView {
  mlir::BlockArgument image, filter; // Of the type that is multiplied.
  mlir::Value zero; // Of an image of bytes, as i32; null: it counts from 0.
  int64_t groups, channels, maps; // The latter two of one group.
  llvm::SmallVector<ConvTilesAxis> axes;
  Expr images, rows; // The latter are pixels of all images.
  Expr imageStep;    // Elements from one image to the next.
  int64_t pixels;    // Channels of all groups: elements between two pixels.
  FilterLayout layout;

  bool isDepthwise() const;
  int64_t lanes() const;        // Channels of a thread,
  int64_t pixelsAtOnce() const; // and pixels.

  int64_t taps() const;
  int64_t depth() const { return taps() * channels; }
  /// Whether windows are pixels, one after the other: the image is the matrix.
  bool isMatrix() const;
  /// Bits that tell which taps of a window lie inside.
  int64_t tapBits() const;
  mlir::Type type() const { return graph::getElementType(image); }
  bool isOfBytes() const { return graph::byteWidth(type()) == 1; }
  /// Bytes of the widest copies of channels of one tap, up to 16, that all
  /// begin at multiples of them.
  int64_t copyBytes() const;
};

/// nullopt with a reason for convolutions that it does not suit.
std::optional<ConvTilesView> convTilesViewOf(graph::ConvOp op,
                                             std::string &why);

/// Of those schedules: whether one multiplies 16 bits by mma.sync, or bytes, or
/// tf32, or that in two parts; and its tiles, nothing for others.
bool isConvMma(llvm::StringRef schedule);
bool isConvBytes(llvm::StringRef schedule);
bool isConvTf32(llvm::StringRef schedule);
bool isConvTf32x3(llvm::StringRef schedule);
std::optional<DeviceTile> convTileOf(const ConvTilesView &view,
                                     llvm::StringRef schedule);

/// 1 where large tiles would leave most of a large device idle, else 0.
Expr hasFewTiles(const ConvTilesView &view);

/// Blocks that share the steps of k of a tile.
Expr tilePiecesOf(const ConvTilesView &view, llvm::StringRef schedule);

/// A row of the launch per thread of a depthwise convolution.
Geometry depthwiseGeometry(const ConvTilesView &view, mlir::Block &body);

/// A row of the launch per piece of a tile, of all groups.
Geometry tileGeometry(const ConvTilesView &view, llvm::StringRef schedule);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_CONVTILES_H
