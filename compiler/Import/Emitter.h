//===- Emitter.h - Builds graph ops, and notices when they cannot be ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every op of an import is made by an Emitter. It infers the result type,
// verifies, states what the sizes must satisfy at run time (graph.require) and
// folds. Nothing it is given can make it crash:
//
//  * What breaks the rules of an op becomes the problem of the node.
//  * After the first problem every call returns null or an empty list, and a
//    null operand gives a null result. So a converter is written straight on,
//    and asks `failed()` only before it looks *into* a value or a size.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_EMITTER_H
#define TENON_COMPILER_IMPORT_EMITTER_H

#include "compiler/Import/ImportReport.h"
#include "compiler/Import/TensorData.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Graph/Graph.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <limits>
#include <optional>

namespace tenon {

/// What all nodes of one import share.
struct ImportState {
  ImportState(mlir::MLIRContext *context, WeightStore &weights,
              std::shared_ptr<const ModelFile> file)
      : context(context), weights(weights), file(std::move(file)) {}

  mlir::MLIRContext *context;
  WeightStore &weights;
  std::shared_ptr<const ModelFile> file;

  /// An identifier that no symbol has yet, made from any text.
  std::string uniqueSymbol(llvm::StringRef hint);
  /// All that were made, in that order.
  std::vector<std::string> symbolsMade;

  /// What holds where the builder stands: symbols read from values, and
  /// requirements already stated. Restored at the end of a branch.
  struct Known {
    llvm::DenseMap<mlir::Value, llvm::SmallVector<graph::Expr>> bound;
    llvm::DenseSet<mlir::Attribute> required;
  };
  Known known;

  /// Constants of 2- or 4-bit integers, whose type says 8 bits.
  llvm::DenseSet<mlir::Value> narrow;

  /// Tensors of floats of 8 or 4 bits, which are bf16, and what they are.
  llvm::DenseMap<mlir::Value, mlir::FloatType> fewBits;

  /// Tensors of the model that are weights already: a loop reads them again.
  struct Stored {
    std::string weight;
    mlir::RankedTensorType type;
    bool isNarrow;
    mlir::FloatType fewBits;
  };
  llvm::DenseMap<const onnx::TensorProto *, Stored> stored;

  /// What is noted of values. Goes back, with what is known, when values that
  /// were made in between are given up.
  struct Notes {
    Known known;
    llvm::DenseSet<mlir::Value> narrow;
    llvm::DenseMap<mlir::Value, mlir::FloatType> fewBits;
  };
  Notes notes() const { return {known, narrow, fewBits}; }
  void goBack(Notes to) {
    known = std::move(to.known);
    narrow = std::move(to.narrow);
    fewBits = std::move(to.fewBits);
  }

  /// What numbers are drawn by: an i64 of rank 0 that a caller gives, or if
  /// null a number; and how many nodes have drawn some.
  mlir::Value seedInput;
  uint64_t seed = 0, draws = 0;
  /// The step that the builder stands in of each loop that a run counts.
  llvm::SmallVector<graph::Expr> countedSteps;

  /// How many loops are being unrolled around the builder, and how many nodes
  /// all loops and sequences have become so far.
  int loops = 0;
  uint64_t repeatedNodes = 0;

  /// How many elements all sequences have that were made so far.
  uint64_t sequenceElements = 0;

  /// Text of the last error that MLIR reported.
  std::string lastError;

private:
  llvm::StringMap<unsigned> symbols;
};

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Why a node cannot be imported.
struct Problem {
  NodeIssue::Kind kind;
  std::string reason, fix;
};

class Emitter {
public:
  using Expr = graph::Expr;
  using Exprs = llvm::SmallVector<graph::Expr>;
  using Attrs = llvm::ArrayRef<mlir::NamedAttribute>;

  Emitter(ImportState &state, mlir::OpBuilder &builder, mlir::Location loc,
          std::string who)
      : state(state), builder(builder), loc(loc), who(std::move(who)) {}

  ImportState &state;
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::MLIRContext *context() const { return state.context; }

  //===--- Problems: the first one counts ---===//

  /// Valid ONNX that Tenon does not do. `fix` says what the user can do.
  mlir::LogicalResult unsupported(const llvm::Twine &reason,
                                  const llvm::Twine &fix = "");
  /// Against the operator's specification.
  mlir::LogicalResult invalid(const llvm::Twine &reason);
  bool failed() const { return problem.has_value(); }
  mlir::LogicalResult result() const { return mlir::success(!failed()); }
  const std::optional<Problem> &getProblem() const { return problem; }

  //===--- Attributes of ops ---===//

  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute value);
  mlir::NamedAttribute i64(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute i64s(llvm::StringRef name,
                            llvm::ArrayRef<int64_t> values);
  mlir::NamedAttribute f64(llvm::StringRef name, double value);
  mlir::NamedAttribute f64s(llvm::StringRef name,
                            llvm::ArrayRef<double> values);
  mlir::NamedAttribute flag(llvm::StringRef name, bool value);
  mlir::NamedAttribute text(llvm::StringRef name, llvm::StringRef value);
  mlir::NamedAttribute texts(llvm::StringRef name,
                             llvm::ArrayRef<llvm::StringRef> values);
  mlir::NamedAttribute dims(llvm::StringRef name, llvm::ArrayRef<Expr> values);

  //===--- Ops ---===//

  /// One op with one result, e.g. `emit<graph::AddOp>({a, b})`. Without
  /// `type` the op must infer its own.
  template <typename Op>
  mlir::Value emit(mlir::ValueRange operands, Attrs attrs = {},
                   mlir::Type type = {}) {
    auto results =
        emitOp(Op::getOperationName(), operands, attrs,
               type ? mlir::TypeRange(type) : mlir::TypeRange(), !type);
    return results.empty() ? mlir::Value() : results.front();
  }
  /// One op with any number of results, whose types are given.
  template <typename Op>
  llvm::SmallVector<mlir::Value> emitAll(mlir::ValueRange operands, Attrs attrs,
                                         mlir::TypeRange types) {
    return emitOp(Op::getOperationName(), operands, attrs, types, false);
  }

  //===--- Sizes ---===//

  Expr size(int64_t value) { return Expr::constant(context(), value); }
  Exprs sizes(llvm::ArrayRef<int64_t> values);
  /// A symbol of its own; the hint may be any text.
  Expr freshSymbol(llvm::StringRef hint, bool maybeNegative = false);
  /// The dims of a value; empty after a problem.
  Exprs dimsOf(mlir::Value value);
  /// One of them; null after a problem, or where there is no such axis.
  Expr dimOf(mlir::Value value, size_t axis);
  /// States lhs RELATION rhs; nothing is emitted for what is provable, and a
  /// provable contradiction is a problem. `what` ends "node 'n' (Op): ".
  void require(Expr lhs, graph::Relation relation, Expr rhs,
               const llvm::Twine &what);

  /// Notes what follows from other requirements, so that `require` does not
  /// state it again. False when it was noted or stated before.
  bool assume(Expr lhs, graph::Relation relation, Expr rhs);
  /// Whether a relation is provable, noted or stated.
  bool holds(Expr lhs, graph::Relation relation, Expr rhs) const;

  //===--- Values known at build time ---===//

  /// Whether a value holds integers of fewer bits than its type says.
  bool isNarrow(mlir::Value value) const {
    return state.narrow.contains(value);
  }
  /// What a tensor of floats of 8 or 4 bits is; null for others.
  mlir::FloatType fewBitsOf(mlir::Value value) const {
    return state.fewBits.lookup(value);
  }
  /// Notes that, and gives the value; a null type changes nothing.
  mlir::Value ofFewBits(mlir::Value value, mlir::FloatType type) {
    if (value && type)
      state.fewBits[value] = type;
    return value;
  }
  /// The elements of an integer or bool tensor that are known now, as sizes.
  std::optional<Exprs> knownSizes(mlir::Value value);
  /// The same where some are; null stands for the others, and there are none
  /// where not even their number is known or small.
  Exprs partlyKnownSizes(mlir::Value value);
  /// The same where all are numbers.
  std::optional<llvm::SmallVector<int64_t>> constantInts(mlir::Value value);
  /// The elements of a small constant of any type.
  std::optional<llvm::SmallVector<double>> constantFloats(mlir::Value value);
  /// The only element of an integer or bool tensor, computed where it depends
  /// on constants alone.
  std::optional<int64_t> computedInt(mlir::Value value);
  /// The elements of an i32 or i64 tensor: those known, else symbols bound at
  /// run time, each within lo..hi. A problem when their number is not known.
  Exprs readSizes(mlir::Value value, int64_t lo = 0, int64_t hi = INT32_MAX);
  /// The same of one; null, and a problem with `what`, where there are more.
  Expr readSize(mlir::Value value, const llvm::Twine &what);

  //===--- Compositions ---===//

  mlir::Type elementOf(mlir::Value value); // Null for null.
  mlir::Type f32() { return builder.getF32Type(); }
  /// What is computed in f32, but for f64: the type of the two.
  mlir::Type computedType(mlir::Type element) {
    return element && element.isF64() ? element : f32();
  }
  mlir::Type boolean() { return builder.getI1Type(); }
  mlir::Type integer(unsigned bits) { return builder.getIntegerType(bits); }
  mlir::Type unsignedInteger(unsigned bits) {
    return builder.getIntegerType(bits, false);
  }

  /// Rank 0, of any element type; integers must be representable as double.
  mlir::Value scalar(mlir::Type element, double value);
  /// Values of a constant, row-major; element integer or float.
  mlir::Value constant(mlir::Type element, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<double> values);
  /// A tensor of the model: graph.constant when small, else graph.weight, which
  /// is the same wherever the tensor is read.
  mlir::Value tensor(const onnx::TensorProto &proto, llvm::StringRef name);
  mlir::Value tensor(const TensorData &data, llvm::StringRef name);
  /// What the store has added, as a value; a problem where it refused.
  mlir::Value weight(llvm::Expected<const Weight *> added,
                     mlir::RankedTensorType type);
  /// The weight that a value is; null for others.
  const Weight *weightOf(mlir::Value value) const;
  /// Sizes as an i64 (or other integer) vector.
  mlir::Value sizesVector(llvm::ArrayRef<Expr> values, mlir::Type element = {});
  /// One as a scalar, i64 or of any type.
  mlir::Value sizeScalar(Expr value, mlir::Type element = {});

  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<Expr> dims);
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<Expr> dims);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// Inserts an axis of size 1 at each place of the result.
  mlir::Value unsqueeze(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  /// Removes axes, which must have size 1.
  mlir::Value squeeze(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  mlir::Value cast(mlir::Value value, mlir::Type element);
  /// Elements [start, start + size) of one axis.
  mlir::Value slice(mlir::Value value, int64_t axis, Expr start, Expr size);
  /// Where the sum of sizes is more than an expression holds, a part of it has
  /// a symbol of its own.
  mlir::Value concat(llvm::ArrayRef<mlir::Value> values, int64_t axis);
  /// The value with a symbol, bound at run time, as the size of an axis.
  mlir::Value named(mlir::Value value, int64_t axis);
  /// What lies at these places of one axis.
  mlir::Value gather(mlir::Value value, mlir::Value places, int64_t axis = 0);
  /// Largest and smallest bools are whether any and whether all hold.
  mlir::Value reduce(mlir::Value value, llvm::ArrayRef<int64_t> axes,
                     graph::ReduceKind kind, bool keepDims = true);
  mlir::Value softmax(mlir::Value value, int64_t axis);
  /// So many along an axis, largest or smallest first, of equal ones the first;
  /// and where they lie on it, in i64. Nulls after a problem.
  struct Sorted {
    mlir::Value values, places;
  };
  Sorted topk(mlir::Value value, int64_t axis, Expr count, bool largest = true);
  mlir::Value select(mlir::Value condition, mlir::Value lhs, mlir::Value rhs);
  /// 0, 1, ..., size - 1.
  mlir::Value iota(Expr size, mlir::Type element);

  /// The coordinates [rank, n] of what is not zero; n is bound first.
  mlir::Value nonzero(mlir::Value value);

  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value div(mlir::Value lhs, mlir::Value rhs);
  mlir::Value maximum(mlir::Value lhs, mlir::Value rhs);
  mlir::Value minimum(mlir::Value lhs, mlir::Value rhs);
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs);
  /// The same with a number on the right, in the type of lhs.
  mlir::Value add(mlir::Value lhs, double rhs);
  mlir::Value sub(mlir::Value lhs, double rhs);
  mlir::Value mul(mlir::Value lhs, double rhs);
  mlir::Value div(mlir::Value lhs, double rhs);
  mlir::Value maximum(mlir::Value lhs, double rhs);
  mlir::Value minimum(mlir::Value lhs, double rhs);

private:
  llvm::SmallVector<mlir::Value> emitOp(llvm::StringRef name,
                                        mlir::ValueRange operands, Attrs attrs,
                                        mlir::TypeRange types, bool infer);
  /// The result of an op on small constants, computed.
  void computeNow(mlir::Operation *op, llvm::SmallVector<mlir::Value> &folded);
  mlir::Type typeOf(llvm::ArrayRef<Expr> dims, mlir::Type element);
  void checkSize(mlir::RankedTensorType type);

  /// No machine holds such a tensor; its size is a mistake or an attack.
  static constexpr int64_t maxTensorBytes = int64_t(1) << 40;

  std::string who; // "node 'n' (Op)", for messages at run time.
  std::optional<Problem> problem;
};

/// States what the sizes of the operands of `op` must satisfy at run time
/// where their expressions do not prove it.
void requireSizes(Emitter &emitter, mlir::Operation *op);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_EMITTER_H
