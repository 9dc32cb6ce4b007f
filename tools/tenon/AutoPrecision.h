//===- AutoPrecision.h - A precision plan within a bound on errors --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_AUTOPRECISION_H
#define TENON_TOOLS_TENON_AUTOPRECISION_H

#include "compiler/Options.h"
#include "tools/tenon/Commands.h"
#include "llvm/Support/Error.h"

namespace tenon {

/// The fastest plan that keeps `request.maxError`, as measured on inputs of
/// `request.calibrate`, or on seeded ones. Compiles the model several times,
/// with `options` but for the precision, and prints what each precision alone
/// would give beside what is chosen. For the first target of the options; for
/// CUDA, CPUs run what rounds as its kernels do.
llvm::Expected<PrecisionPlan> planPrecisions(const std::string &path,
                                             const CompileOptions &options,
                                             const PrecisionRequest &request);

} // namespace tenon

#endif // TENON_TOOLS_TENON_AUTOPRECISION_H
