//===- QuantizedTile.h - The inner kernels of quantized weights -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels of numbers, scales and zero points (see dialects/Kernel/Packing.h):
// a tile of few rows turns numbers into f32 in registers as it multiplies;
// for many rows a block of a panel is widened once, to scratch memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_QUANTIZEDTILE_H
#define TENON_COMPILER_TARGETS_CPU_QUANTIZEDTILE_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/QuantizedRhs.h"

namespace tenon::cpu {

/// A part of a panel: `depth` steps of k, of which the first one is the first
/// of a block, or all are of one block. Addresses.
struct QuantizedPanel {
  Value numbers, scales, zeros; // zeros: null where all have one.
  Value depth;
};

/// Addresses and strides, in f32: out = a * panel (+ c).
struct QuantizedProduct {
  Value a, aStride, rows, c, cStride, accumulate, out, outStride;
  bool wasHalf; // Whether the rows of `a` are widened ones of bf16.
};

/// The most rows of a tile.
int64_t quantizedTileRows(const CpuLevel &level);

/// Bytes of one step of k of a panel; of words of several steps, a whole number
/// of steps is a multiple of that.
int64_t bytesOfSteps(const kernel::QuantizedRhs &rhs, int64_t steps);
Value bytesOfSteps(Emitter &e, const kernel::QuantizedRhs &rhs, Value steps);

/// Computes a tile of all columns of a panel, by a function that all kernels of
/// a module share.
void callQuantizedTile(Emitter &e, const kernel::QuantizedRhs &rhs,
                       const QuantizedPanel &panel,
                       const QuantizedProduct &product);

/// What a function's name says about a weight and the level.
std::string quantizedForm(const kernel::QuantizedRhs &rhs,
                          const CpuLevel &level);

/// A panel's columns from `i` on.
QuantizedPanel columnsFrom(Emitter &e, const kernel::QuantizedRhs &rhs,
                           const QuantizedPanel &panel, int64_t i);

/// out[depth][panelColumns] = the panel as f32.
void callQuantizedCopy(Emitter &e, const kernel::QuantizedRhs &rhs,
                       const QuantizedPanel &panel, Value out);

/// out[depth / 2][panelColumns][2] = the panel as `half`, bf16 or f16; of an
/// even depth.
void callQuantizedPairs(Emitter &e, const kernel::QuantizedRhs &rhs,
                        const QuantizedPanel &panel, Value out,
                        mlir::Type half);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_QUANTIZEDTILE_H
