//===- FourierMatrix.h - The matrix of a Fourier transform ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_FOURIERMATRIX_H
#define TENON_COMPILER_IMPORT_FOURIERMATRIX_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

/// The largest matrix that is made as a constant, in numbers.
inline constexpr int64_t maxMatrix = int64_t(1) << 26;

struct Transform {
  graph::Expr length;          // Points of a period.
  graph::Expr inputs, outputs; // Points that are read and written.
  int64_t inputParts; // Numbers of a point: 1 when real, 2 when complex.
  int64_t outputParts;
  bool inverse;

  /// Of one half of the points of a real signal's transform.
  bool fromHalf() const { return inverse && outputParts == 1; }
  /// The sign of the exponent.
  double sign() const { return inverse ? 1 : -1; }
};

/// By which rows of points [.., inputs * parts] become such of the result:
/// [inputs * parts, outputs * parts]. A constant where its sizes are numbers,
/// else made of cosines when the model runs.
mlir::Value fourierMatrix(NodeConverter &node, const Transform &transform,
                          mlir::Type element);

/// A weight of these numbers, named after the node.
template <typename T>
mlir::Value madeTensor(NodeConverter &node, mlir::Type element,
                       llvm::ArrayRef<int64_t> shape, std::vector<T> numbers,
                       const llvm::Twine &name) {
  auto owner = std::make_shared<std::vector<T>>(std::move(numbers));
  llvm::ArrayRef<char> bytes(reinterpret_cast<const char *>(owner->data()),
                             owner->size() * sizeof(T));
  TensorData data{element, llvm::SmallVector<int64_t>(shape), bytes, owner};
  return node.tensor(data, (node.name() + name).str());
}

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_FOURIERMATRIX_H
