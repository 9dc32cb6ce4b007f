//===- CalibrationRequest.h - What --calibrate asks for -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_CALIBRATIONREQUEST_H
#define TENON_TOOLS_TENON_CALIBRATIONREQUEST_H

#include "compiler/Options.h"
#include "tools/tenon/Commands.h"
#include "llvm/Support/Error.h"

namespace tenon {

/// Why --calibrate does not go with what else was asked for; empty where it
/// does.
std::string refusalOfCalibration(const CompileOptions &options);

/// Runs the inputs of `request.calibrate`, and sets what they say: a plan with
/// scales of int8, or what weights in few bits are rounded by. Adds to `report`
/// a line that says what came of it, where there is more than one outcome.
llvm::Error calibrate(const std::string &model, CompileOptions &options,
                      const PrecisionRequest &request, std::string &report);

} // namespace tenon

#endif // TENON_TOOLS_TENON_CALIBRATIONREQUEST_H
