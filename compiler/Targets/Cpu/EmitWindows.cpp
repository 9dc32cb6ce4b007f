//===- EmitWindows.cpp - Loops ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Targets/Cpu/Emitter.h"
namespace tenon::cpu {
bool emitWindows(Emitter &, mlir::Operation *) { return false; }
} // namespace tenon::cpu
