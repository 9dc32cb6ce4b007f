//===- FixedPointRow.h - A row's elements as whole numbers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block of a row, its elements as whole numbers of 15 bits and a sign times a
// power of two. What has 8 bits, as bf16 does, is exact unless it is less than
// 2^-7 of the block's largest element; what is less is rounded by 2^-15 of that
// one at most. Such numbers meet those of 4 bits in products of 16 bits, of
// which an instruction adds two for each lane of 32.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_FIXEDPOINTROW_H
#define TENON_COMPILER_TARGETS_CPU_FIXEDPOINTROW_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tenon::cpu {

class FixedPointRow {
public:
  using Value = mlir::Value;

  /// Of blocks of `block` elements, a multiple of 8. Code that works in vectors
  /// of 8 and has room for a block on the stack.
  FixedPointRow(mlir::ImplicitLocOpBuilder &b, int64_t block);

  /// What a block is besides its numbers, in each lane.
  struct Block {
    Value scale; // f32; NaN if an element is not finite.
    Value sum;   // i32: of all numbers.
  };
  /// Stores the numbers of `count` elements from this place on, each a bf16 as
  /// f32; those that a block lacks are zero.
  Block convert(Value elements, Value count);

  /// Number `step` of the 8 that begin at `first` (a value that is a multiple
  /// of 8), and the one 4 behind it, in each lane: vector<16xi16>.
  Value pairAt(Value first, int64_t step);

private:
  Value words(uint32_t value);
  Value splat(float value);
  Value at(Value base, mlir::Type type, mlir::LLVM::GEPArg offset);
  /// The elements' bits without their signs; the largest are in each lane.
  Value largest(mlir::ArrayRef<Value> elements);
  template <typename Combine> Value inEachLane(Value value, Combine combine);
  Value wholeBlock(Value elements, Value count);
  void storePairs(Value numbers, Value place);

  mlir::ImplicitLocOpBuilder &b;
  mlir::VectorType floats, ints;
  int64_t block;
  Value room, part;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_FIXEDPOINTROW_H
