//===- ResultPlaces.h - Where kernels may leave their results --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's result lies in memory of its own, one row behind the other; or
// over an operand that nobody reads any more; or between the rows of others
// that it is joined with, so that nobody has to move it there.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_RESULTPLACES_H
#define TENON_DIALECTS_KERNEL_RESULTPLACES_H

#include "dialects/Kernel/Kernel.h"

namespace tenon::kernel {

/// The argument over which the result is written.
constexpr llvm::StringLiteral inPlace = "in_place";

/// The elements from one row of the result, of its last axis, to the next one.
constexpr llvm::StringLiteral pitch = "pitch";

/// The same of a second copy of the result, in a buffer behind the others.
constexpr llvm::StringLiteral copyPitch = "copy_pitch";

/// Whether the result may be written over argument `index`: each element of it
/// is read only to compute the element in its place, and before that is stored
/// in any form; or stays. The attribute `in_place` of a function names the
/// argument for which that is done.
bool mayOverwrite(FuncOp function, unsigned index);

/// Whether rows of the result may lie apart, and be stored a second time: all
/// of a CPU's code that stores it knows the index of what it stores. The
/// attributes `pitch` and `copy_pitch` of a function say for which that is
/// done.
bool mayStoreApart(FuncOp function);

/// Whether the second time costs less than to move the result: beside its other
/// work, a kernel waits for no store. Sums that wait in the result are finished
/// many at a time, which then takes as long as to move them (measured).
bool storesTwiceForLess(FuncOp function);

/// Whether a function, or a region before it is one, does so.
bool hasRowsApart(mlir::Operation *function);

/// The buffer that a second copy goes to is one more than arguments and
/// results.
unsigned bufferCount(FuncOp function);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_RESULTPLACES_H
