//===- Tensor.h - The evaluator's values ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor in the evaluator: row-major, eight bytes per element. Floats of
// every type are doubles; integers are int64_t, sign- or zero-extended from
// their declared width (ui64 keeps its bits); bools are 0 or 1.
//
// A Tensor is a handle: copies share their elements. Only whoever has just made
// one writes to it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_REFERENCE_TENSOR_H
#define TENON_COMPILER_REFERENCE_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <vector>

namespace tenon::reference {

using Shape = llvm::SmallVector<int64_t>;

/// Product of the sizes; nothing when one is negative or it overflows.
std::optional<int64_t> countOf(llvm::ArrayRef<int64_t> shape);

/// Row-major strides, in elements.
Shape stridesOf(llvm::ArrayRef<int64_t> shape);

/// "[2, 3]", for messages.
std::string str(llvm::ArrayRef<int64_t> shape);

struct Tensor {
  mlir::Type element;
  Shape shape;
  std::shared_ptr<char[]> data;

  Tensor() = default;
  /// All zero. The shape must have a count.
  Tensor(mlir::Type element, llvm::ArrayRef<int64_t> shape);

  static Tensor fromFloats(mlir::Type element, llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<double> values);
  static Tensor fromInts(mlir::Type element, llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<int64_t> values);

  /// From the bytes of the declared type (little endian, a bool one byte), of
  /// any alignment. Fails with a sentence when they are too many or too few.
  static llvm::Expected<Tensor> fromBytes(mlir::Type element,
                                          llvm::ArrayRef<int64_t> shape,
                                          llvm::ArrayRef<char> bytes);
  /// The reverse; rounds what is not yet rounded.
  std::vector<char> toBytes() const;

  /// From and to the form that attributes have; null for other attributes.
  static std::optional<Tensor> fromAttr(mlir::Attribute attr);
  mlir::DenseElementsAttr toAttr() const;

  bool isFloat() const { return llvm::isa<mlir::FloatType>(element); }
  size_t rank() const { return shape.size(); }
  int64_t count() const { return countOf(shape).value_or(0); }
  /// The same elements under another shape of the same count.
  Tensor reshaped(llvm::ArrayRef<int64_t> shape) const;

  llvm::ArrayRef<double> floats() const;
  llvm::ArrayRef<int64_t> ints() const;
  llvm::MutableArrayRef<double> writeFloats();
  llvm::MutableArrayRef<int64_t> writeInts();

  /// Element i as a double, whatever the type.
  double number(int64_t i) const;
};

} // namespace tenon::reference

#endif // TENON_COMPILER_REFERENCE_TENSOR_H
