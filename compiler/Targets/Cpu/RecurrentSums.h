//===- RecurrentSums.h - What a cell's state is multiplied by -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_RECURRENTSUMS_H
#define TENON_COMPILER_TARGETS_CPU_RECURRENTSUMS_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/RecurrentView.h"

namespace tenon::cpu {

/// Sums of the states of a group times the recurrence R of a cell, for vectors
/// of kernel::cellUnits hidden units.
class RecurrentSums {
public:
  virtual ~RecurrentSums() = default;

  /// Looks at the states that the sums behind this are of: [hidden] of f32.
  virtual void read(llvm::ArrayRef<Value> states) = 0;

  /// The sums of some gates of the units from `unit` on, state by state.
  virtual llvm::SmallVector<Value> of(Value direction, Value unit,
                                      llvm::ArrayRef<int64_t> gates) = 0;
};

/// Of the R of the kernel's root, as memory has it.
std::unique_ptr<RecurrentSums>
makeRecurrentSums(Emitter &e, graph::RecurrentOp op,
                  const kernel::RecurrentView &view);

/// Sums that the registers have room for.
struct SumPiece {
  llvm::ArrayRef<int64_t> gates;
  int64_t entry, entries; // The first one, and how many.

  int64_t count() const { return int64_t(gates.size()) * entries; }
};

/// The sums of all entries and gates, entry by entry, by pieces of so many.
llvm::SmallVector<Value> inPieces(
    llvm::ArrayRef<int64_t> gates, int64_t entries, int64_t gatesEach,
    int64_t entriesEach,
    llvm::function_ref<llvm::SmallVector<Value>(const SumPiece &piece)> sumsOf);

/// `count` sums from `zero` on, to which `add` adds what each of `steps` steps
/// gives. Those of `chains` steps, a divisor of them, do not wait for each
/// other.
llvm::SmallVector<Value>
sumSteps(Emitter &e, Value steps, int64_t count, int64_t chains, Value zero,
         llvm::function_ref<void(Value step, llvm::MutableArrayRef<Value> sums)>
             add);

/// A vector from element `i` on.
inline Value loadUnits(Emitter &e, mlir::VectorType type, Value base, Value i) {
  mlir::Type element = type.getElementType();
  return mlir::LLVM::LoadOp::create(e.b, type, e.address(base, element, i),
                                    element.getIntOrFloatBitWidth() / 8);
}

/// Fetches such a vector to the first level of the cache. Past a buffer's end
/// nothing is read.
inline void fetchUnits(Emitter &e, Value base, Value i) {
  mlir::LLVM::Prefetch::create(e.b, e.address(base, e.b.getF32Type(), i),
                               /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_RECURRENTSUMS_H
