//===- FusedActivation.h - Activations inside of other operators ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_FUSEDACTIVATION_H
#define TENON_COMPILER_IMPORT_FUSEDACTIVATION_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

/// The number of an activation that its operator has as an attribute of that
/// name; the second argument where it is left out.
using ActivationNumber = llvm::function_ref<double(llvm::StringRef, double)>;

/// The activation of this ONNX name; a problem for a name that is not known.
mlir::Value activated(NodeConverter &node, mlir::Value x, llvm::StringRef name,
                      ActivationNumber number);

/// x * sigmoid(alpha * x)
mlir::Value swishOf(NodeConverter &node, mlir::Value x, double alpha = 1);
mlir::Value geluOf(NodeConverter &node, mlir::Value x, graph::GeluKind kind);

/// The halves of the last axis of x, which must have two: a problem that begins
/// with `what` otherwise, and nulls after one.
std::pair<mlir::Value, mlir::Value> halvesOf(NodeConverter &node, mlir::Value x,
                                             llvm::StringRef what);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_FUSEDACTIVATION_H
