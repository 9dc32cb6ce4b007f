//===- Import.h - From an ONNX file to a module of graph ops --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The result is a module with one function, `main`. Each input and output of
// the model is an argument or a result of it, with its ONNX name in the
// attribute `graph.name`. Every op has the location of its ONNX node, a
// NameLoc. Weights go to the store; they refer to the mapped files and the
// parsed model, which it keeps alive.
//
// Dims of inputs that share a `dim_param` share a symbol. A dim_param such as
// `past + sequence` is that sum when inputs name its parts, else a symbol.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_IMPORT_H
#define TENON_COMPILER_IMPORT_IMPORT_H

#include "compiler/Import/ImportReport.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace tenon {

class ModelFile;
class WeightStore;

/// The most nodes that a model may have once its functions are expanded.
inline constexpr uint64_t kMaxNodes = 1'000'000;

/// How many nodes all loops and sequences of a model may become.
inline constexpr uint64_t kMaxRepeatedNodes = 16384;

/// Steps of a loop that is one op, where the model says how many. The caller's
/// inputs may ask for more.
inline constexpr int64_t kMaxCountedSteps = 1 << 20;

/// The input that seeds come by.
inline constexpr llvm::StringLiteral kSeedInput = "seed";

/// How many elements all sequences of a model may have, each of which is a list
/// of its own.
inline constexpr uint64_t kMaxSequenceElements = 4 << 20;

struct ImportOptions {
  /// Symbolic dims, by dim_param, that shall be numbers.
  llvm::StringMap<int64_t> dims;
  /// Those that shall be others. They lead in no circle.
  llvm::StringMap<std::string> same;
  /// What nodes draw random numbers by that have no seed of their own. None:
  /// the model gets one more input `seed`, an i64 of rank 0.
  std::optional<uint64_t> seed = 0;
};

/// What a symbol for a dim of this name is called, but that names which become
/// the same are told apart: at most 64 letters, digits and '_'.
std::string symbolNameOf(llvm::StringRef dim);

/// The dim that a name stands for, as `same` has it; none where that leads in a
/// circle.
std::optional<llvm::StringRef>
meantDim(const llvm::StringMap<std::string> &same, llvm::StringRef name);

/// Imports the model at `path`. Null when the report is not `ok`.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext *context,
                                              llvm::StringRef path,
                                              WeightStore &weights,
                                              const ImportOptions &options,
                                              ImportReport &report);

/// The same for a model that was opened or parsed before.
mlir::OwningOpRef<mlir::ModuleOp>
importModel(mlir::MLIRContext *context, std::shared_ptr<const ModelFile> file,
            WeightStore &weights, const ImportOptions &options,
            ImportReport &report);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_IMPORT_H
