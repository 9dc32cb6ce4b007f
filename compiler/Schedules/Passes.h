//===- Passes.h - Passes on kernels ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_SCHEDULES_PASSES_H
#define TENON_COMPILER_SCHEDULES_PASSES_H

#include "dialects/Kernel/Kernel.h"
#include "mlir/Pass/Pass.h"

namespace tenon {
#define GEN_PASS_DECL
#include "compiler/Schedules/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/Schedules/Passes.h.inc"

class WeightStore;

std::unique_ptr<mlir::Pass> createShareTablesPass(const WeightStore &weights);
} // namespace tenon

#endif // TENON_COMPILER_SCHEDULES_PASSES_H
