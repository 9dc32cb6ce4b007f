//===- Calibration.h - Static scales of int8 products ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_CALIBRATION_H
#define TENON_TOOLS_TENON_CALIBRATION_H

#include "compiler/Options.h"
#include "tools/tenon/Commands.h"
#include "llvm/Support/Error.h"

namespace tenon {

/// The plan of int8 in which products have the scales, zero points and shifts
/// that suit the inputs in `request.calibrate`; those that would err much more
/// with them stay dynamic. Compiles the model once, runs all inputs three
/// times, and adds what came of it to `report`. The set of the index `without`
/// is left out, to try on what is not known.
llvm::Expected<PrecisionPlan> calibrateInt8(const std::string &path,
                                            const CompileOptions &options,
                                            const PrecisionRequest &request,
                                            std::string &report,
                                            std::optional<size_t> without = {});

} // namespace tenon

#endif // TENON_TOOLS_TENON_CALIBRATION_H
