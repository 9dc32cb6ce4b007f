//===- Call.h - One op under evaluation -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of this folder share: a Call is an op with its operands and
// the shapes of its results, and each family fills in the results' elements.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_REFERENCE_CALL_H
#define TENON_COMPILER_REFERENCE_CALL_H

#include "compiler/Reference/Evaluate.h"
#include "compiler/Reference/Numbers.h"
#include <cstring>

namespace tenon::reference {

struct Call {
  mlir::Operation *op;
  llvm::ArrayRef<Tensor> operands;
  SymbolMap &symbols;
  const EvaluateOptions &options;
  /// Element type and shape are set; data is null until `make`.
  llvm::SmallVector<Tensor> results;

  /// Allocates a result, all zero. Its size has been checked.
  Tensor &make(unsigned i = 0);
  /// Rounds a float result to its type, unless that is turned off.
  void round(unsigned i = 0);
  double round(mlir::Type element, double value) const {
    return options.rounded ? roundTo(element, value) : value;
  }
  /// A tensor apart from the results, or an error when it is over the bound.
  llvm::Expected<Tensor> temporary(mlir::Type element,
                                   llvm::ArrayRef<int64_t> shape) const;
  /// The numbers of a list of sizes.
  llvm::Expected<Shape> sizes(graph::DimsAttr dims) const;
};

/// The reason why an op cannot be evaluated; evaluateOp adds the node's name.
llvm::Error fault(const llvm::Twine &reason);

/// Operand i as an op with optional ones names it; null where it is left out.
template <typename Op>
const Tensor *optionalOperand(const Call &call, Op op, unsigned i) {
  auto [index, length] = op.getODSOperandIndexAndLength(i);
  return length ? &call.operands[index] : nullptr;
}

/// An error unless an operand has this shape, or is left out.
llvm::Error expectShape(const Tensor *operand, llvm::ArrayRef<int64_t> shape,
                        llvm::StringRef name);

/// Strides of an operand that broadcasts to `shape`; 0 where it repeats.
llvm::Expected<Shape> broadcastStrides(llvm::ArrayRef<int64_t> from,
                                       llvm::ArrayRef<int64_t> shape);

/// Walks `shape` row by row. `body` gets, for the first element of a row along
/// the last axis, the number of elements before it and the offset by each
/// list of strides. A tensor of rank 0 is one row of one element.
void forEachRow(
    llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Shape> strides,
    llvm::function_ref<void(int64_t, llvm::ArrayRef<int64_t>)> body);

inline int64_t rowLength(llvm::ArrayRef<int64_t> shape) {
  return shape.empty() ? 1 : shape.back();
}
inline int64_t rowStride(const Shape &strides) {
  return strides.empty() ? 0 : strides.back();
}

/// Steps a multi-index to the next in row-major order; false after the last.
bool step(llvm::MutableArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape);

/// Copies elements of any type: both tensors hold eight-byte words.
inline void copyWords(Tensor &to, int64_t at, const Tensor &from,
                      int64_t offset, int64_t count = 1) {
  std::memcpy(to.data.get() + 8 * at, from.data.get() + 8 * offset, 8 * count);
}

/// The sizes before, of and after an axis, as three factors.
struct AxisView {
  int64_t outer, size, inner;
  AxisView(llvm::ArrayRef<int64_t> shape, int64_t axis);
};

/// C[m, n] += A[m, k] * B[k, n], all row-major; the last three arguments are
/// the lengths of their rows.
void multiplyAdd(int64_t m, int64_t n, int64_t k, const double *a,
                 const double *b, double *c, int64_t aRow, int64_t bRow,
                 int64_t cRow);
void multiplyAdd(int64_t m, int64_t n, int64_t k, const int64_t *a,
                 const int64_t *b, int64_t *c, int64_t aRow, int64_t bRow,
                 int64_t cRow);

/// Runs an op with channels last by `evaluate`, which sees its first operand
/// and its result with channels first.
llvm::Error
evaluateChannelsLast(Call &call,
                     llvm::function_ref<llvm::Error(Call &)> evaluate);

// One function per family.
llvm::Error evaluatePointwise(Call &call); // Pointwise.cpp
llvm::Error evaluateCast(Call &call);      // Convert.cpp
llvm::Error evaluateBitcast(Call &call);
llvm::Error evaluateRoundFloat(Call &call);
llvm::Error evaluateQuantize(Call &call);
llvm::Error evaluateDecode(Call &call);
llvm::Error evaluateDequantize(Call &call);
llvm::Error evaluateQuantizeRows(Call &call);
llvm::Error evaluateReshape(Call &call); // Movement.cpp
llvm::Error evaluateBroadcast(Call &call);
llvm::Error evaluateTranspose(Call &call);
llvm::Error evaluateSlice(Call &call);
llvm::Error evaluateConcat(Call &call);
llvm::Error evaluatePad(Call &call);
llvm::Error evaluateRotary(Call &call);
llvm::Error evaluateWindows(Call &call);
llvm::Error evaluateAppend(Call &call);
llvm::Error evaluateGather(Call &call); // Indexing.cpp
llvm::Error evaluateGatherElements(Call &call);
llvm::Error evaluateGatherNd(Call &call);
llvm::Error evaluateScatterElements(Call &call);
llvm::Error evaluateScatterNd(Call &call);
llvm::Error evaluateNonzero(Call &call);
llvm::Error evaluateResize(Call &call); // Resize.cpp
llvm::Error evaluateMatmul(Call &call); // Contraction.cpp
llvm::Error evaluateConv(Call &call);   // Convolution.cpp
llvm::Error evaluateConvTranspose(Call &call);
llvm::Error evaluatePool(Call &call);   // Windows.cpp
llvm::Error evaluateReduce(Call &call); // Rows.cpp
llvm::Error evaluateArgReduce(Call &call);
llvm::Error evaluateCumulative(Call &call);
llvm::Error evaluateTopk(Call &call);
llvm::Error evaluateSuppress(Call &call); // Suppress.cpp
llvm::Error evaluateSoftmax(Call &call);  // Normalize.cpp
llvm::Error evaluateNorm(Call &call);
llvm::Error evaluateLinearAttention(Call &call); // LinearAttention.cpp
llvm::Error evaluateRecurrent(Call &call);       // Recurrent.cpp
llvm::Error evaluateAttention(Call &call);       // Attention.cpp

} // namespace tenon::reference

#endif // TENON_COMPILER_REFERENCE_CALL_H
