//===- RecurrentView.h - Recurrent cells by vectors of units --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recurrent cell as the RecurrentTiles schedule runs it: a row of the launch
// is a part of some sequences of one direction. A tile sums all gates of
// `cellUnits` hidden units at once, so that what it reads of the recurrence R
// [D, G*H, H] for a step of the sum lies together:
//
//   [D][H / cellUnits][H][G][cellUnits]
//
// which is the layout named "cells16". Of an R that is quantized, whose op is
// dequantize(numbers, scale, zero) with scales and zero points that do not
// differ along H, the numbers are read as they are, four steps together:
//
//   [D][H / cellUnits][H / 4][G][cellUnits][4]
//
// and behind those of a direction their sums along H, [H / cellUnits][G]
// [cellUnits] of i32: the layout "cells16_quads". They are i8, those of a ui8
// less 128. Of an R of bf16, by which a state is multiplied that is rounded as
// well, two steps lie together, and zeros behind the last such that there are
// whole registers of matrices (a multiple of 32 steps):
//
//   [D][H / cellUnits][H / 2][G][cellUnits][2]
//
// the layout "cells16_pairs".
//
// Some sequences of a direction are a group, for which R is read once in each
// step: what it has of a vector of units multiplies the states of a few
// sequences after the other, which finds it in the core's cache. Where threads
// compute few groups together, each has as many rows as threads may take part.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_RECURRENTVIEW_H
#define TENON_DIALECTS_KERNEL_RECURRENTVIEW_H

#include "dialects/Graph/Graph.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace tenon::kernel {

inline constexpr int64_t cellUnits = 16;
inline constexpr int64_t cellQuad = 4;
inline constexpr llvm::StringLiteral cellsLayout = "cells16";
inline constexpr llvm::StringLiteral cellQuadsLayout = "cells16_quads";
inline constexpr llvm::StringLiteral cellPairsLayout = "cells16_pairs";

struct RecurrentView {
  int64_t directions, gates, hidden;
  bool hasBytes = false; // R is quantized.
  bool hasPairs = false; // R is bf16.
  int64_t entries = 1;   // Sequences of a group.
  int64_t abreast = 1;   // Those that a vector of R is multiplied by at once.

  int64_t units() const { return gates * hidden; }
  /// Where an element of R lies in its layout: of a direction, a unit of all
  /// gates, and the hidden unit that it multiplies.
  int64_t placeOf(int64_t direction, int64_t unit, int64_t step) const {
    int64_t gate = unit / hidden, of = unit % hidden;
    int64_t tile = direction * (hidden / cellUnits) + of / cellUnits;
    return ((tile * hidden + step) * gates + gate) * cellUnits + of % cellUnits;
  }
  /// Bytes of a direction in "cells16_quads", the place of such a number in
  /// it, and that of its unit's sum among those.
  int64_t quadsBytes() const { return units() * (hidden + 4); }
  int64_t quadPlaceOf(int64_t unit, int64_t step) const {
    int64_t tile = unit % hidden / cellUnits, quads = hidden / cellQuad;
    int64_t line = (tile * quads + step / cellQuad) * gates + unit / hidden;
    return (line * cellUnits + unit % cellUnits) * cellQuad + step % cellQuad;
  }
  int64_t sumPlaceOf(int64_t unit) const {
    int64_t tile = unit % hidden / cellUnits;
    return (tile * gates + unit / hidden) * cellUnits + unit % cellUnits;
  }
  /// Lines of "cells16_pairs", each of the gates' vectors of pairs, and where a
  /// number lies in it.
  int64_t pairLines() const {
    return llvm::alignTo(hidden, 2 * matrixSide) / 2;
  }
  int64_t pairPlaceOf(int64_t direction, int64_t unit, int64_t step) const {
    int64_t tile = direction * vectors() + unit % hidden / cellUnits;
    int64_t line = (tile * pairLines() + step / 2) * gates + unit / hidden;
    return (line * cellUnits + unit % cellUnits) * 2 + step % 2;
  }
  /// What a sequence carries, numbers of each hidden unit: h as even steps read
  /// it and as odd ones do, c, and of a GRU h behind its reset gate, and its
  /// update gate.
  int64_t stateBytes() const { return 4 * hidden * (gates == 3 ? 5 : 3); }

  int64_t recurrenceBytes() const {
    if (hasPairs)
      return 4 * units() * pairLines();
    return (hasBytes ? 1 : 4) * units() * hidden;
  }
  /// Threads that may compute a sequence together. To meet in each step
  /// pays only where each has many weights to read.
  int64_t parts() const {
    int64_t least = hasBytes ? partBytes / 2 : partBytes;
    // Halves of it fit the second level of a core's cache, which has 512 KB in
    // many that have AVX2.
    bool isHalved = !hasBytes && recurrenceBytes() > smallCacheBytes;
    return std::clamp<int64_t>(recurrenceBytes() / least, isHalved ? 2 : 1,
                               maxParts);
  }
  /// The most groups that they compute so, one after another; of more, each is
  /// one thread's. Groups of their own need no meeting, but of a large R a
  /// core's cache has only room for a part.
  int64_t mostTogether() const {
    return recurrenceBytes() > cacheBytes ? 8 : 1;
  }
  /// Vectors of units, and the tiles of them that are taken at once: two for
  /// each thread that may take part. To take one ends what a core reads ahead.
  int64_t vectors() const { return hidden / cellUnits; }
  int64_t tiles() const { return std::min(2 * parts(), vectors()); }
  /// Where the number that says who has a tile lies among as many as there may
  /// be: neighbours in a line of the cache are mostly one thread's.
  int64_t claimStride() const { return maxTiles / tiles(); }

  /// A thread's scratch memory: what it knows, states as the factors of bytes
  /// or pairs, sums of a vector of units, and the states of a group.
  int64_t factorsAt() const {
    return parts() > 1 ? (hasPairs ? lineBytes : factBytes) : 0;
  }
  int64_t factorBytes() const {
    return hasPairs   ? matrixRows() * factorStride()
           : hasBytes ? entries * factorStride()
                      : 0;
  }
  /// Of a state, of pairs a line of the cache more: registers have rows of 16,
  /// which lie in different sets of the cache then.
  int64_t factorStride() const {
    return hasPairs ? 4 * pairLines() + lineBytes : 2 * hidden;
  }
  int64_t sumsAt() const {
    return llvm::alignTo(factorsAt() + factorBytes(), lineBytes);
  }
  /// Those of one sequence are in registers, unless matrices make them.
  int64_t sumBytes() const {
    int64_t states = hasPairs ? matrixRows() : entries > 1 ? abreast : 0;
    return states * mostSums * 4 * cellUnits;
  }
  int64_t statesAt() const { return sumsAt() + sumBytes(); }
  /// Rows of registers for the states of a group: those of one, or of two.
  int64_t matrixRows() const {
    return entries > matrixSide ? 2 * matrixSide : entries;
  }
  static constexpr int64_t matrixSide = 16, lineBytes = 64;
  static constexpr int64_t mostSums = 4; // Of a state: gates, or chains.
  /// What threads share: the round that each tile was last taken for, how many
  /// have been computed, and behind these numbers the states of a group.
  static constexpr int64_t doneAt = 256, stateAt = 512; // TENON_SHARED_ZEROS
  static constexpr int64_t maxTiles = doneAt / 8, maxParts = 8;
  static constexpr int64_t partBytes = 512 << 10, cacheBytes = 1536 << 10;
  static constexpr int64_t smallCacheBytes = 384 << 10;
  static constexpr int64_t factBytes = 32;
  static constexpr int64_t mostOfTurns = 32; // Sequences of a group.
  static constexpr int64_t leastGroups = 4;  // Of many, each by one thread.
  /// Bytes are read in no more time than it takes to multiply them by two
  /// states, those that are near by one. Where there are turns, as many as have
  /// their sums in registers of 512 bits.
  int64_t mostAbreast() const {
    if (hasBytes)
      return parts() == 1 ? 1 : 2;
    return takesTurns() && gates < 4 ? 8 : 4;
  }
  /// Where a core's cache has no room for its part of R either, but has for
  /// what belongs to a vector of units. Matrices multiply many states in no
  /// more time than one.
  bool takesTurns() const {
    return hasPairs || (mostTogether() > 1 && !hasBytes);
  }
  /// Sequences of a group, of so many.
  int64_t entriesOf(std::optional<int64_t> batch) const {
    int64_t most = takesTurns() ? mostOfTurns : mostAbreast();
    if (parts() == 1) {
      // Other threads have groups of their own.
      int64_t all = std::max<int64_t>(batch.value_or(8), 1);
      int64_t least = hasPairs ? std::min<int64_t>((all + 1) / 2, 4) : 1;
      most = std::clamp<int64_t>(llvm::divideCeil(all, leastGroups), least,
                                 hasPairs ? matrixSide : mostAbreast());
    }
    return std::clamp<int64_t>(batch.value_or(most), 1, most);
  }
  /// So many sequences are a group each where their number is a symbol.
  int64_t mostApart() const {
    return entries > 1 && parts() == 1 && !hasPairs ? leastGroups : 1;
  }
  int64_t turns() const { return (entries + abreast - 1) / abreast; }
  /// Hidden units up to which sums of bytes times bytes are an i32.
  static constexpr int64_t mostOfBytes = 1 << 16;

  /// Of a weight of that shape; nullopt where it has no whole tiles.
  static std::optional<RecurrentView> of(llvm::ArrayRef<int64_t> recurrence);
};

/// What makes the recurrence of bytes that can be read as they are; null for
/// others.
graph::DequantizeOp cellBytesOf(graph::RecurrentOp op);

/// The same of a recurrence of bf16, where the state is rounded as well.
graph::CastOp cellPairsOf(graph::RecurrentOp op);

/// What memory has of a recurrence: itself, or such bytes or pairs.
mlir::Value storedRecurrenceOf(graph::RecurrentOp op);

/// nullopt with a reason for cells that it does not suit.
std::optional<RecurrentView> recurrentViewOf(graph::RecurrentOp op,
                                             std::string &why);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_RECURRENTVIEW_H
