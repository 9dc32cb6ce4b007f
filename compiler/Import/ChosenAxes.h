//===- ChosenAxes.h - Axes that are chosen at run time --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_CHOSENAXES_H
#define TENON_COMPILER_IMPORT_CHOSENAXES_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

/// Some axes of a tensor, listed by a value that is only known at run time.
/// Each axis has a symbol that is 1 when it is listed, else 0.
class ChosenAxes {
public:
  /// `axes` is a vector of a known length.
  ChosenAxes(NodeConverter &node, mlir::Value axes, int64_t rank);

  /// Applies `one`, which leaves its axis with size 1, along each chosen axis.
  mlir::Value reduce(mlir::Value value,
                     llvm::function_ref<mlir::Value(mlir::Value, int64_t)> one);

  /// Removes the chosen axes from a value that has size 1 along them; `dims`
  /// holds the sizes of the others.
  mlir::Value drop(mlir::Value value, llvm::ArrayRef<graph::Expr> dims);

private:
  NodeConverter &node;
  int64_t rank;
  int64_t count = 0;       // How many axes are listed.
  mlir::Value flags;       // i64 [rank].
  Emitter::Exprs isChosen; // The same as symbols.
};

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_CHOSENAXES_H
