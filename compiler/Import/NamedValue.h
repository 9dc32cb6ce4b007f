//===- NamedValue.h - What a name of the model stands for -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors are values of the graph. Sequences and optionals are known to the
// importer alone: a sequence is a list of values, as long as it is known to be,
// and an optional is what it holds, or absent.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_NAMEDVALUE_H
#define TENON_COMPILER_IMPORT_NAMEDVALUE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>

namespace tenon {

/// Tensors of one element type.
struct Sequence {
  mlir::Type element;
  llvm::SmallVector<mlir::Value> values;
  /// Behind them as many as a run decides, along its first axis; null: none.
  mlir::Value stack;
};

/// What a name of the model stands for where it is used.
struct NamedValue {
  enum class State {
    Present,  // A tensor.
    Sequence, // A sequence of tensors.
    Absent,   // An optional input that is left out, or an empty optional.
    Poisoned, // The output of a node that has a problem.
  };
  State state = State::Absent;
  mlir::Value value;                        // Of a tensor.
  std::shared_ptr<const Sequence> sequence; // Never changed, so it is shared.

  static NamedValue of(mlir::Value value) {
    return {value ? State::Present : State::Poisoned, value, nullptr};
  }
};

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_NAMEDVALUE_H
