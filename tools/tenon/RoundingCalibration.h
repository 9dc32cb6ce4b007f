//===- RoundingCalibration.h - What weights in few bits meet --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_ROUNDINGCALIBRATION_H
#define TENON_TOOLS_TENON_ROUNDINGCALIBRATION_H

#include "compiler/Options.h"
#include "tools/tenon/Commands.h"
#include "llvm/Support/Error.h"

namespace tenon {

/// Runs the model in f32 on the inputs of `request.calibrate`, and sums up what
/// the products read whose weights `options` ask for in few bits.
llvm::Expected<std::shared_ptr<const SquaresByWeight>>
observeSquares(const std::string &path, CompileOptions options,
               const PrecisionRequest &request);

} // namespace tenon

#endif // TENON_TOOLS_TENON_ROUNDINGCALIBRATION_H
