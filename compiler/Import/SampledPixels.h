//===- SampledPixels.h - Pixels at places between them --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N images, C channels, P places in each, R axes of an image.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_SAMPLEDPIXELS_H
#define TENON_COMPILER_IMPORT_SAMPLEDPIXELS_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

enum class Interpolation { Nearest, Linear, Cubic };

/// What lies outside of an image.
enum class Outside { Zeros, Edge, Mirror };

struct Sampling {
  Interpolation interpolation = Interpolation::Linear;
  Outside outside = Outside::Zeros;
  /// Whether an image ends at the middle of its last pixels, not at their edge.
  bool endsAtMiddle = false;
};

/// Pixels of `images` [N, C, sizes..] at `places` [N, P] in pixels along each
/// axis: [N, P, C]. Both have one float type.
mlir::Value sampledPixels(NodeConverter &node, mlir::Value images,
                          llvm::ArrayRef<mlir::Value> places,
                          const Sampling &sampling);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_SAMPLEDPIXELS_H
