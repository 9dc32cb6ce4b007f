//===- OverlappedTiles.h - What follows a tile, while AMX multiplies ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AMX works on a step's products for some hundred cycles, in which the core has
// nothing else to do. So what follows a tile (biases, activations, roundings,
// stores) is computed a few rows at a time between the steps of the next tile,
// and its sums wait in one of two places on the stack.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_OVERLAPPEDTILES_H
#define TENON_COMPILER_TARGETS_CPU_OVERLAPPEDTILES_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "compiler/Targets/Cpu/PackedMatmulStrip.h"
#include <functional>

namespace tenon::cpu {

class OverlappedTiles {
public:
  /// Whether strips of that kind and depth have enough steps, and whole ones.
  static bool suits(const CpuLevel &level, StripKind kind,
                    std::optional<int64_t> depth);

  /// Emits what follows the sums at `waits` on of `sums`, which are those of a
  /// row from a column on of the product.
  using Behind =
      std::function<void(Value row, Value column, Value sums, Value waits)>;
  OverlappedTiles(Emitter &e, StripKind kind, int64_t depth, Behind behind);

  /// Computes a tile of a whole panel, whose first element is at that place of
  /// the product, and what follows the tile before.
  void compute(const Strip &strip, const StripTile &tile, Value row,
               Value column);
  /// Computes what follows the last tile: before anything else that `behind`
  /// depends on changes.
  void finish();

private:
  enum Slot { Row, Column, Count, Place, Slots };
  Value slot(Slot which);
  void set(Slot which, Value value);
  Value sumsAt(Value place);
  void multiply(const Strip &strip, const StripTile &tile, Value out);
  void rowsBehind(Value begin, Value end);

  Emitter &e;
  StripKind kind;
  int64_t steps, rowsPerStep;
  Behind behind;
  Value slots, sums; // On the stack.
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_OVERLAPPEDTILES_H
