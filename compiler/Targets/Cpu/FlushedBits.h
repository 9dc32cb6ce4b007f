//===- FlushedBits.h - Rounding to bf16 by an instruction -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `vcvtneps2bf16` rounds 16 numbers in the place of eight instructions, and
// takes those that are not normal for zeros. LLVM's vectorizer holds the
// conversion for so dear that it makes vectors of 128 bits of a loop that has
// it. So such a loop calls a function that is known to have a form for 16
// numbers, in whose places the instruction is put behind the vectorizer.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CPU_FLUSHEDBITS_H
#define TENON_COMPILER_TARGETS_CPU_FLUSHEDBITS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/IR/Module.h"

namespace tenon::cpu {

inline constexpr llvm::StringLiteral flushingIntrinsic =
    "llvm.x86.avx512bf16.cvtneps2bf16.512";

/// The bits of an f32 as bf16, as an i16; for code that expandFlushedBits sees
/// and a level that has the instruction.
mlir::Value callFlushedBits(mlir::ImplicitLocOpBuilder &b,
                            mlir::ModuleOp module, mlir::Value number);

/// Puts the instruction in the place of such calls; of one number as of 16, so
/// that a number has the same bits in the rest of a loop.
void expandFlushedBits(llvm::Module &code);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_FLUSHEDBITS_H
