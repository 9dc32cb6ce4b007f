//===- Evaluate.h - What graph ops compute, by definition -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference for every other execution of a model. Each op computes in
// float64 (integers exactly, modulo 2^width) and rounds once to the element
// type that it declares; cast, quantize and dequantize follow the
// arithmetic of the ONNX specification. Nothing here shares a formula with the
// emitters.
//
// What the data or the sizes make impossible (an index out of range, a division
// of integers by zero, sizes that do not fit, a tensor over the bound) is an
// error: one sentence that names the node. Any op that its verifier accepts may
// be evaluated.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_REFERENCE_EVALUATE_H
#define TENON_COMPILER_REFERENCE_EVALUATE_H

#include "compiler/Reference/Tensor.h"
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace tenon::reference {

/// The values of size symbols.
using SymbolMap = llvm::StringMap<int64_t>;

struct EvaluateOptions {
  /// False computes every float in float64 without rounding: no reference, but
  /// its distance from one estimates how far roundings can carry.
  bool rounded = true;
  /// The largest tensor in the evaluator's memory, eight bytes per element.
  int64_t maxBytes = int64_t(1) << 31;
  /// The tensor of a `graph.weight`; called once per weight, when its first
  /// user runs, and freed after the last.
  std::function<llvm::Expected<Tensor>(llvm::StringRef name)> weight;
  /// Sees the results of each op in the order of execution.
  std::function<void(mlir::Operation *, llvm::ArrayRef<Tensor>)> observe;
};

/// The name of the node that an op comes from, or else the op's own.
std::string nodeName(mlir::Operation *op);

/// The number, or nothing: an unknown symbol, an overflow, a division by zero.
std::optional<int64_t> evaluateSize(graph::Expr expr, const SymbolMap &symbols);

/// The results of one op that has no region and reads no weight. `bind` adds
/// to the symbols.
llvm::Expected<llvm::SmallVector<Tensor>>
evaluateOp(mlir::Operation *op, llvm::ArrayRef<Tensor> operands,
           SymbolMap &symbols, const EvaluateOptions &options = {});

/// Runs a block on values for its arguments; gives the operands of its
/// terminator. An op of another dialect with one block of as many arguments as
/// it has operands runs that block. The symbols need not hold those that bind
/// from the arguments' types.
llvm::Expected<llvm::SmallVector<Tensor>>
evaluateBlock(mlir::Block &block, llvm::ArrayRef<Tensor> arguments,
              SymbolMap &symbols, const EvaluateOptions &options = {});

/// Runs a function: evaluateBlock after checking number, element types and
/// shapes of the inputs against the signature.
llvm::Expected<llvm::SmallVector<Tensor>>
evaluateFunction(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> inputs,
                 const EvaluateOptions &options = {});

/// The only result of an op on constant operands, when operands and result have
/// at most `maxElements` elements each; nothing for an op that fails, has
/// effects or regions, or whose sizes are not numbers.
std::optional<mlir::DenseElementsAttr>
foldToAttr(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
           int64_t maxElements);

} // namespace tenon::reference

#endif // TENON_COMPILER_REFERENCE_EVALUATE_H
