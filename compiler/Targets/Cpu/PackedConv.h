//===- PackedConv.h - Convolutions with packed filters --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of PackedMatmul, over pixels of the result: per group of rows and
// chunk of panels, blocks of the depth outermost. What the group's rows read of
// a block is copied to scratch memory first, zeros where a tap lies outside of
// the image, so that the inner loops see no borders, strides or dilations. Rows
// of a matrix that lie pages apart are interleaved instead.
//
// Pairs of bf16 (see ConvDepth.h) are elements of 4 bytes as f32 are. There,
// what follows runs over each tile behind its last block, whose sums come on
// the stack; between blocks they wait in the result or in scratch memory.
// Levels that do not multiply pairs widen the group's rows of a block, and with
// AVX2 each panel that is read by many of them. Quads of bytes are such
// elements too, with sums of i32 (see QuadSums.h).
//
// Where windows are dilated, blocks of rows leave out blocks of the depth whose
// taps all lie beside the image.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_PACKEDCONV_H
#define TENON_COMPILER_TARGETS_CPU_PACKEDCONV_H

#include "compiler/Targets/Cpu/PackedMatmulStrip.h"
#include "compiler/Targets/Cpu/PanelEpilogue.h"
#include "compiler/Targets/Cpu/QuadSums.h"
#include "compiler/Targets/Cpu/ReachedLines.h"
#include "dialects/Kernel/ConvDepth.h"

namespace tenon::cpu {

class PackedConv {
public:
  PackedConv(Emitter &e, graph::ConvOp op);

  void emit();

private:
  Value onStack(int64_t count) {
    return cpu::onStack(e, e.b.getF32Type(), count);
  }
  void emitGroups();

  /// A block of the depth: lines [line, line + lines), of each `length`
  /// elements from `start` on.
  struct DepthBlock {
    Value line, lines, start, length;
    Value k, steps, isLast;
  };

  /// Units [from, to) of the group: unit u is block u % groupSize of panel
  /// u / groupSize.
  void emitGroup();
  void forEachBlock(llvm::function_ref<void(const DepthBlock &)> body);
  void emitChunk(Value begin, Value end);

  /// What the group's rows read of a block.
  void emitCopy(const DepthBlock &block);
  void copyWindows(const DepthBlock &block, Value from, Value to);

  /// The group's rows of a block, in the input or their copy.
  struct GroupRows {
    Value from, stride, count;
  };
  GroupRows rowsOf(const DepthBlock &block);
  void widenRows(const DepthBlock &block);
  void sumRows(const DepthBlock &block);

  Value firstRow(Value block) {
    return rowBlocks->first(e.add(firstBlock, block));
  }

  Value element(Value base, Value offset) {
    return e.address(base, e.b.getF32Type(), offset);
  }

  // What is done with a panel (PackedConvStrips.cpp).
  /// Panel `index` of [begin, end), those of a chunk.
  struct ChunkPanel {
    Value index, begin, end;
    bool isWhole;
  };
  /// The blocks of rows that a piece has of a panel.
  void emitStrip(const ChunkPanel &panel, const DepthBlock &block);
  /// Blocks [low, high) of the group.
  void emitStripOf(const ChunkPanel &panel, const DepthBlock &block, Value low,
                   Value high, Value accumulates);
  void callReachedTiles(const Strip &work, const DepthBlock &block, Value m);
  /// Rows [m, mEnd) by a panel, whose first column is n. `inResult`: sums are
  /// at home there.
  Strip stripOf(const ChunkPanel &panel, const DepthBlock &block, Value m,
                Value mEnd, Value n, bool inResult);
  /// Where step k of a panel lies in the filter.
  Value packedAt(Value panel, Value k);

  /// Rows of f32 read the panel as it lies or, where there are many of them,
  /// widened for all.
  void widenPanelOf(Strip &work);
  void callTile(const Strip &work, const StripTile &tile,
                const StripTarget &target);

  /// A strip whose sums go to the stack behind the last block.
  void emitTiles(const Strip &work, const DepthBlock &block, Value m, Value n,
                 Value width, bool staysInResult);

  /// Where the sums of a strip from row m on wait: those of a group's blocks
  /// that are strips of their own, one behind the other.
  Value tileOf(Value m);

  /// Everything behind the convolution, for some rows of a panel: their sums
  /// are in the result, or one row behind the other in `tile`.
  void emitBehind(Value m, Value mEnd, Value n, Value width, Value tile);

  Emitter &e;
  graph::ConvOp op;
  kernel::ConvDepth depth;
  int64_t columns, panels;
  int64_t resultStride; // Elements from one pixel of the result to the next.
  int64_t wholePanels;  // With tiles; else those whose sums wait in the result.
  int64_t chunkPanels;
  bool sumsFit, isBare, interleaves;
  StripKind kind;
  bool hasTiles; // What follows runs tile by tile.
  bool widens;   // Pairs.
  std::optional<QuadSums> quads;
  std::optional<ReachedLines> reached;
  Value input, filter, rows, copy;
  Value widenedRows, widenedPanel; // The latter where a panel is widened once.
  Value areMany;                   // Rows of the current strip.
  std::optional<RowBlocks> rowBlocks;
  Value tile, sums, waiting; // Of a panel, of a tile, of a chunk's panels.
  Indices leadDims;
  Value mapSums; // Of the current panel, behind it.
  // Of the current group.
  Value firstBlock, groupSize, from, to;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_PACKEDCONV_H
