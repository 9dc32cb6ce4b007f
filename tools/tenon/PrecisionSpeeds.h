//===- PrecisionSpeeds.h - What precisions take, by a model ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_PRECISIONSPEEDS_H
#define TENON_TOOLS_TENON_PRECISIONSPEEDS_H

#include "compiler/Options.h"
#include <string>
#include <vector>

namespace tenon {

/// What a precision costs: operations in the time of one of f32, what it takes
/// to make its numbers of an activation included, bytes of a weight's element,
/// scales of blocks included, and of an activation's, as kernels store it.
struct PrecisionSpeed {
  Precision precision;
  double speed, weightBytes, dataBytes = 4;
};

/// A machine as plans are chosen for it. The unit of time is that of an
/// operation of f32.
struct PrecisionSpeeds {
  std::string machine;                // For reports.
  std::vector<PrecisionSpeed> speeds; // Of what it has; that of f32 first.
  double flopsPerByte;                // Operations in the time of a byte.
  double least;                       // No op takes less.
  /// Whether int8 is worth it only where what an op reads was calibrated: else
  /// a kernel of its own looks for what rows count in.
  bool calibratesInt8 = false;

  double timeOf(double flops, double weightElements, double dataElements,
                const PrecisionSpeed &speed) const;
};

/// Of the highest CPU level, or of the GPU that explain would ask: the last of
/// the compute capabilities, or an H200.
PrecisionSpeeds speedsOf(const CompileOptions &options);

} // namespace tenon

#endif // TENON_TOOLS_TENON_PRECISIONSPEEDS_H
