//===- CalibrationRequest.cpp - What --calibrate asks for -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/CalibrationRequest.h"
#include "tools/tenon/Calibration.h"
#include "tools/tenon/Progress.h"
#include "tools/tenon/RoundingCalibration.h"

#include "llvm/ADT/STLExtras.h"

using namespace tenon;

namespace {

/// Whether weights are to be rounded by inputs.
bool isCompensated(const CompileOptions &options) {
  return options.precisionPlan ? options.precisionPlan->countCompensated() != 0
                               : isOfFewBits(options.precision);
}

} // namespace

std::string tenon::refusalOfCalibration(const CompileOptions &options) {
  bool rounds = isCompensated(options);
  if (!rounds && options.precision != Precision::Int8)
    return "--calibrate is for --precision=int8, whose scales it makes "
           "static, for int8-weights, int4-weights and plans with "
           "\"compensated\" ops, whose weights it rounds, and for "
           "--precision=auto";
  if (!rounds || !llvm::is_contained(options.targets, Target::Cuda))
    return "";
  return "--calibrate rounds weights in few bits for CPUs alone, and CUDA is a "
         "target: leave it out, or say --target=cpu";
}

llvm::Error tenon::calibrate(const std::string &model, CompileOptions &options,
                             const PrecisionRequest &request,
                             std::string &report) {
  if (isCompensated(options)) {
    ProgressTimer progress("observing " + model);
    auto squares = observeSquares(model, options, request);
    if (!squares)
      return squares.takeError();
    options.squares = std::move(*squares);
    return llvm::Error::success();
  }
  ProgressTimer progress("calibrating " + model);
  auto plan = calibrateInt8(model, options, request, report);
  if (!plan)
    return plan.takeError();
  options.precisionPlan = std::move(*plan);
  return llvm::Error::success();
}
