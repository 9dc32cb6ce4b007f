//===- LineSums.h - Sums of pixels that lie in lines ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LineConv does for a unit of a block (see dialects/Kernel/LineConvView.h)
// and a panel of maps: its sums go to the stack, in matrix registers for two
// units at once, else by tiles of vectors.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_LINESUMS_H
#define TENON_COMPILER_TARGETS_CPU_LINESUMS_H

#include "compiler/Targets/Cpu/ConvTile.h"
#include "compiler/Targets/Cpu/Emitter.h"
#include "compiler/Targets/Cpu/ReachedTaps.h"
#include "dialects/Kernel/LineConvView.h"

namespace tenon::cpu {

/// How a level multiplies.
struct LineMethod {
  LineMethod(const CpuLevel &level, graph::ConvOp op,
             const kernel::LineConvView &view);

  bool widens; // What a block reads: each element of it becomes two.
  /// Whether each panel of the filter is widened as well, before its tiles;
  /// else tiles do it, which is as fast for pairs where they are eight pixels
  /// high.
  bool widensFilter;
  StripKind kind;    // Of tiles.
  bool hasUnit;      // Of matrix registers.
  bool runsOn;       // Those have places of any lines.
  int64_t unitLines; // Of a matrix unit, or of what tiles are cut from.
  int64_t unitRows;  // Of a matrix unit's register.
  /// Of a panel's depth, one after the other for all units: a panel, or the
  /// taps of a line each.
  int64_t depthParts;

  bool inF16() const { return kind == StripKind::F16Pairs; }
  /// Whether tiles read what a block reads in another type.
  bool copies() const { return widens || inF16(); }
  /// Elements of what is read, and of the filter, for each that it was.
  int64_t imageParts() const { return widens ? 2 : 1; }
  int64_t filterParts() const { return widensFilter ? 2 : 1; }
};

/// The block that units are of, and where what it reads lies: as the image has
/// it, and as tiles read it. Sums of f16 are multiplied by `scale`.
struct LineBlock {
  Value firstImage, images, firstLine, lines, group;
  Indices outer; // Of the axes before lines.
  Value base, read, scale;
};

struct LineUnit {
  Value image, line, pixel; // The first ones, in the block.
  // Of its lines and pixels, those that are not the unit's before it.
  Value firstLine, firstPixel;
};

/// A panel and the next one, of which units from `number` on of so many fetch
/// their share.
struct LinePanels {
  Value panel, firstMap, b, next, number, units;
  int64_t part = 0; // Of the panel's depth.
};

class LineSums {
public:
  LineSums(Emitter &e, graph::ConvOp op, const kernel::LineConvView &view,
           const LineMethod &method);

  /// Before the first unit and behind the last one.
  void begin();
  void end();

  /// Those of two units, one behind the other, or of one; of all units of a
  /// block where panels have several parts.
  Value place() const { return sums; }
  int64_t unitElements() const;

  void emitTwo(const LineBlock &block, llvm::ArrayRef<LineUnit> units,
               const LinePanels &panels, int64_t columns);
  void emitTiles(const LineBlock &block, const LineUnit &unit,
                 const LinePanels &panels, int64_t columns);

private:
  Value startOf(const LineBlock &block, const LineUnit &unit);
  Value stepsBehind(Value from, Value count);
  Value rowOf(const LineBlock &block, const LineUnit &unit);
  int64_t mostTileRows(int64_t columns) const;
  int64_t unitsOfBlock() const;
  bool mayLeaveOut() const;
  bool knowsPixels() const;
  TapRange outerTapsOf(const LineBlock &block);
  TapRange tapsOf(const LineBlock &block, const LineUnit &unit);
  void callTile(const LineUnit &unit, int64_t first, ConvTile tile,
                const ConvTilePlaces &places, int64_t part, int64_t columns);
  void callKnownTile(int64_t first, ConvTile tile, const ConvTilePlaces &places,
                     int64_t part, int64_t columns);
  Value byte(Value base, Value offset);
  Value element(Value base, Value offset);

  Emitter &e;
  graph::ConvOp op;
  const kernel::LineConvView &view;
  const kernel::ConvDepth &depth;
  LineMethod method;
  Value sums, starts;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_LINESUMS_H
