//===- PartialSizes.h - Lists of which some sizes are known ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_PARTIALSIZES_H
#define TENON_COMPILER_IMPORT_PARTIALSIZES_H

#include "dialects/Graph/Graph.h"

namespace tenon {

/// Follows the elements of small integer tensors through movement and sums:
/// exporters make lists of pads and sizes of zeros, sizes, and now and then a
/// number that is computed from data.
class PartialSizes {
public:
  using Exprs = llvm::SmallVector<graph::Expr>;
  /// All elements of a tensor, if they are known.
  using Known = llvm::function_ref<std::optional<Exprs>(mlir::Value)>;

  explicit PartialSizes(Known known) : known(known) {}

  /// The elements, row-major, null where they are not known. Empty where their
  /// number is not, or is beyond what expressions are made for.
  Exprs of(mlir::Value value) { return of(value, maxDepth); }

private:
  /// Ops that are looked through, one behind the other.
  static constexpr unsigned maxDepth = 16;

  Exprs of(mlir::Value value, unsigned depth);
  Exprs through(mlir::Operation *op, unsigned depth);
  Exprs combined(mlir::Operation *op, unsigned depth);
  Exprs moved(mlir::Operation *op, unsigned depth);

  Known known;
  llvm::DenseMap<mlir::Value, Exprs> found; // Each value is looked at once.
};

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_PARTIALSIZES_H
