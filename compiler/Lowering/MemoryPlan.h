//===- MemoryPlan.h - Where each value of a program lies ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A storage is the memory of one value and of its reshapes. Storages with
// disjoint lifetimes share a slot; the slots of a segment lie one after the
// other, so that offsets and the segment's size are closed formulas of the
// symbols. A size that depends on a symbol born at run time puts the storage
// in a segment that is made after that birth.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_LOWERING_MEMORYPLAN_H
#define TENON_COMPILER_LOWERING_MEMORYPLAN_H

#include "dialects/Graph/Graph.h"

namespace tenon {

struct Storage {
  graph::Expr bytes;
  /// First and last step, counted over nested blocks in order.
  unsigned begin, end;
  /// Orders storages that begin together.
  unsigned id = 0;
  unsigned segment = 0;
  /// The plan's result: bytes from the start of the segment.
  graph::Expr offset;
};

/// What a symbol is taken for where plans are compared or drawn.
constexpr int64_t usualSize = 128;

/// Rounds up to TENON_BUFFER_ALIGN.
graph::Expr alignedBytes(graph::Expr bytes);

/// The segments' sizes, null where one overflows. Behind those that were asked
/// for come some that continue others, of whose slots the sum is more than an
/// expression holds: they are made where these are.
struct SegmentPlan {
  llvm::SmallVector<graph::Expr> sizes;
  llvm::SmallVector<unsigned>
      continues; // By segment; itself where it does not.

  /// A segment and all that continue it.
  llvm::SmallVector<unsigned> withAll(unsigned segment) const;
};

/// Places storages in slots of their segments.
SegmentPlan planMemory(mlir::MLIRContext *context,
                       llvm::MutableArrayRef<Storage *> storages,
                       unsigned segments);

} // namespace tenon

#endif // TENON_COMPILER_LOWERING_MEMORYPLAN_H
