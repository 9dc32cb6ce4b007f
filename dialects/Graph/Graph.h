//===- Graph.h - The Graph dialect: what the model computes ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_GRAPH_GRAPH_H
#define TENON_DIALECTS_GRAPH_GRAPH_H

#include "dialects/Graph/Expr.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tenon::graph {

/// True for a ranked tensor whose every dim is a number or an expression.
bool hasDims(mlir::Type type);

/// The dims of a tensor type for which hasDims holds.
llvm::SmallVector<Expr> getDims(mlir::Type type);
llvm::SmallVector<Expr> getDims(mlir::Value value);
Expr getDim(mlir::Value value, int64_t axis);
mlir::Type getElementType(mlir::Value value);
int64_t getRank(mlir::Value value);

/// Whether all of some dims are 1; and so all of a tensor's.
bool areOnes(llvm::ArrayRef<Expr> dims);
bool isOneNumber(mlir::Value value);

/// Whether a value is a constant whose integers all are `number`.
bool isConstantOf(mlir::Value value, int64_t number);

/// Visits the symbols in a type's dims; of an op, those in its attributes and
/// in the types that it reads and gives.
void forEachSymbol(mlir::Type type, llvm::function_ref<void(Expr)> visit);
void forEachSymbol(mlir::Operation *op, llvm::function_ref<void(Expr)> visit);

/// Whether an op divides integers, which faults where the divisor is zero.
bool dividesIntegers(mlir::Operation *op);

/// The tensor type with these dims; null when a dim is null or a negative
/// number. Only types with a symbolic dim carry an encoding.
mlir::RankedTensorType tensorOf(llvm::ArrayRef<Expr> dims, mlir::Type element);

/// Dims of the NumPy broadcast, nullopt (and a reason) when two numbers clash.
std::optional<llvm::SmallVector<Expr>>
broadcastDims(llvm::ArrayRef<Expr> lhs, llvm::ArrayRef<Expr> rhs,
              std::string *reason = nullptr);

/// How many elements; null on overflow.
Expr elementCount(mlir::Value value);

/// Bytes of one element in memory: bool takes one.
unsigned byteWidth(mlir::Type element);

/// The elements of a small integer tensor as expressions, row-major, when the
/// value is a `constant` or a `sizes`.
std::optional<llvm::SmallVector<Expr>> getIndexValues(mlir::Value value);

/// Marks ops that compute element by element under broadcasting.
template <typename ConcreteType>
class Pointwise : public mlir::OpTrait::TraitBase<ConcreteType, Pointwise> {};

inline bool isPointwise(mlir::Operation *op) {
  return op->hasTrait<Pointwise>();
}

} // namespace tenon::graph

#include "dialects/Graph/GraphDialect.h.inc"
#include "dialects/Graph/GraphEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Graph/GraphAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.h.inc"

#endif // TENON_DIALECTS_GRAPH_GRAPH_H
