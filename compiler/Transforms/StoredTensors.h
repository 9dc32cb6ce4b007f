//===- StoredTensors.h - What the model holds -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_STOREDTENSORS_H
#define TENON_COMPILER_TRANSFORMS_STOREDTENSORS_H

#include "compiler/Reference/Tensor.h"
#include "compiler/Weights/WeightStore.h"
#include "mlir/IR/Value.h"

namespace tenon {

/// Elements of an operand of what is computed at compile time: the evaluator
/// holds eight bytes for each; larger ones run at run time.
inline constexpr int64_t mostFoldedElements = int64_t(1) << 23;

/// Whether a value is a weight or a constant.
bool isWeightOrConstant(mlir::Value value);

/// The entry that a value is; null for others.
const Weight *weightOf(mlir::Value value, const WeightStore &weights);

/// The elements of a weight or a constant; nullopt for others, and for types
/// that the evaluator does not have.
std::optional<reference::Tensor> tensorOf(mlir::Value value,
                                          const WeightStore &weights);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_STOREDTENSORS_H
