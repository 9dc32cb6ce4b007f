//===- ResizedAxes.h - Axes resized by what a run gives -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.resize has scales that are known. Where they are not, or what is
// cropped to is not, the same formulas (compiler/Reference/Resize.cpp) are
// written out: which elements each place of a result axis is the sum of, and
// what each counts.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_RESIZEDAXES_H
#define TENON_COMPILER_IMPORT_RESIZEDAXES_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

/// What the attributes of Resize ask for.
struct ResizeFormula {
  graph::ResizeMode mode = graph::ResizeMode::Nearest;
  std::string coordinates = "half_pixel";
  std::string nearest = "round_prefer_floor";
  /// In place of `nearest`: up where an axis shrinks, down elsewhere.
  bool roundsByScale = false;
  double cubic = -0.75, extrapolation = 0;
  bool excludeOutside = false, antialias = false;
};

/// One axis of the input, and its size in the result. Scalars are of f64.
struct ResizedAxis {
  int64_t axis;
  graph::Expr out;
  mlir::Value scale;
  mlir::Value start, end; // Of what is cropped to, from 0 to 1; null for all.
};

/// `image` with these axes resized, in its own type.
mlir::Value resizedAxes(NodeConverter &node, mlir::Value image,
                        llvm::ArrayRef<ResizedAxis> axes,
                        const ResizeFormula &formula);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_RESIZEDAXES_H
