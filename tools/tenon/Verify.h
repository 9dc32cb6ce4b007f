//===- Verify.h - Does a model compute what it should? --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_VERIFY_H
#define TENON_TOOLS_TENON_VERIFY_H

#include "tools/tenon/Commands.h"
#include "tools/tenon/Tensor.h"

#include "compiler/Options.h"
#include "compiler/Reference/Tensor.h"
#include "compiler/Weights/WeightStore.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace tenon {

class ModelFile;

struct Verdict {
  enum Status { Ok, Fail, Unsupported };
  Status status = Ok;
  double error = 0; // The worst; it counts only for Ok and Fail.
  std::string reason;

  static Verdict fail(std::string reason) { return {Fail, 0, reason}; }
};

/// A model as the importer sees it.
struct ImportedModel {
  mlir::MLIRContext context;
  WeightStore weights;
  std::shared_ptr<const ModelFile> file;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp main;
  std::vector<std::string> inputs, outputs; // Names.

  explicit ImportedModel(bool threads);
};

/// Imports a model; a verdict when that cannot be done.
std::optional<Verdict> import(const std::string &path, ImportedModel &model);

/// What runs a model: the evaluator or compiled code.
struct Execution {
  std::function<llvm::Expected<std::vector<Tensor>>(
      const std::vector<Tensor> &inputs)>
      run;
  /// Runs once more and compares kernels with the evaluator: all, within
  /// `tolerance`, or those on integers only, exactly. A sentence on the first
  /// that differs, or empty. Null where there are no kernels.
  std::function<std::string(const std::vector<Tensor> &inputs,
                            bool integersOnly, double tolerance)>
      compareKernels;
};

/// The evaluator on an imported model, which must outlive the result.
Execution evaluation(ImportedModel &model);

/// Compiles the model at `path` into a temporary artifact and loads it. The
/// verdict says why that cannot be done.
std::optional<Verdict> compiledExecution(const std::string &path,
                                         const VerifyCommand &command,
                                         Execution &execution);

/// Between the tools' tensors and the evaluator's.
llvm::Expected<reference::Tensor> toReference(mlir::MLIRContext *context,
                                              const Tensor &tensor);
Tensor fromReference(const reference::Tensor &tensor);

/// Inputs for a model without data: sizes from `dims`, their least, or small,
/// others at each of three attempts; ids within the table that they index,
/// masks of 0 and 1, else seeded noise.
llvm::Expected<std::vector<Tensor>> seededInputs(ImportedModel &model,
                                                 llvm::ArrayRef<DimRange> dims,
                                                 unsigned attempt);
inline constexpr unsigned kSeedAttempts = 3;

/// Verifies one model: each data set of a folder, or seeded inputs.
Verdict verifyModel(const std::string &path, const VerifyCommand &command);

} // namespace tenon

#endif // TENON_TOOLS_TENON_VERIFY_H
