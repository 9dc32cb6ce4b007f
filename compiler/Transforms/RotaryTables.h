//===- RotaryTables.h - Tables of cosines whose columns repeat ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_ROTARYTABLES_H
#define TENON_COMPILER_TRANSFORMS_ROTARYTABLES_H

#include "dialects/Graph/Graph.h"

namespace tenon {

/// Takes every second of the columns of a table that holds each one twice:
/// in two equal halves, or `interleaved` side by side.
class RotaryTables {
public:
  explicit RotaryTables(bool interleaved) : interleaved(interleaved) {}

  /// Whether the last axis is proven to hold each column twice.
  bool isDoubled(mlir::Value table) { return isDoubled(table, 0); }

  /// The table without the repetition, made where the table is made; only for
  /// tables for which isDoubled holds.
  mlir::Value halve(mlir::Value table);

private:
  bool isDoubled(mlir::Value table, unsigned depth);
  /// The value whose columns `table` repeats; null when it does no such thing
  /// itself.
  mlir::Value repeated(mlir::Value table) const;

  bool interleaved;
  llvm::DenseMap<mlir::Value, mlir::Value> halves;
};

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_ROTARYTABLES_H
