//===- Int8Products.h - Products of f32 that multiply 8 bits --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_INT8PRODUCTS_H
#define TENON_COMPILER_TRANSFORMS_INT8PRODUCTS_H

#include "compiler/Weights/WeightStore.h"
#include "dialects/Graph/Graph.h"
#include <map>

namespace tenon {

/// Numbers and what one of them is: of each row, of each column or of all.
struct Quantized {
  mlir::Value numbers, scale;
};

/// Rows, and the number in i32 that each of them counts from.
struct QuantizedRows : Quantized {
  mlir::Value zero;
};

/// A constant of rank 0 that is a float or an integer.
mlir::Value numberOf(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Type element, double value);

/// A tensor of f32 as numbers of `type` around `zero`, at its place in the
/// graph: with a scale for all elements along some axes, found at run time.
Quantized quantizeAlong(mlir::Value value, llvm::ArrayRef<int64_t> axes,
                        mlir::Type type, int64_t zero);

/// A tensor of f32 as ui8, at its place in the graph: each row (the last axis)
/// in 255 steps from its least element to its greatest, and zero is one of
/// them.
QuantizedRows quantizeRows(mlir::Value value);

/// f32 already in the unit of the numbers that it becomes: round(value) + zero,
/// of the type of `zero`.
mlir::Value numbersOf(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, mlir::Value zero);

/// Weights of products, quantized to i8 with a scale for each column.
class Int8Products {
public:
  /// Without a store, or of weights that are not in it, the graph computes the
  /// numbers.
  explicit Int8Products(WeightStore *weights) : weights(weights) {}

  /// Why an op cannot multiply 8 bits; empty where it can.
  std::string refusal(mlir::Operation *op);

  /// Replaces a product by one of lhs in ui8, which counts from `zero` (i32),
  /// and the weight in i8. The weight's row k is multiplied by 2^shifts[k]
  /// before.
  void multiply(graph::MatmulOp op, Quantized lhs, mlir::Value zero,
                llvm::ArrayRef<int8_t> shifts = {});

private:
  using Scales = std::vector<float>;

  Quantized weightOf(mlir::Value rhs, llvm::ArrayRef<int8_t> shifts);
  Quantized quantizeStored(mlir::Value rhs, const Weight &weight,
                           llvm::ArrayRef<int8_t> shifts);
  const Scales &scalesOf(const Weight &weight, llvm::ArrayRef<int8_t> shifts);

  using Key = std::pair<const void *, std::vector<int8_t>>;
  WeightStore *weights;
  std::map<Key, Quantized> made;        // Of values.
  std::map<Key, Scales> scalesOfStored; // Of entries.
};

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_INT8PRODUCTS_H
