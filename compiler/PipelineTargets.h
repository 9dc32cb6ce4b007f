//===- PipelineTargets.h - Kernels become code for each target ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_PIPELINETARGETS_H
#define TENON_COMPILER_PIPELINETARGETS_H

#include "compiler/Options.h"
#include "compiler/Package/Package.h"
#include "mlir/IR/OwningOpRef.h"

namespace tenon {

/// The code of a model for one target, and its program.
class TargetCode {
public:
  /// `module` holds the kernels and the program.
  TargetCode(Target target, mlir::OwningOpRef<mlir::ModuleOp> module)
      : target(target), module(std::move(module)) {}

  /// Makes the code of all kernels, or reports why not, as `errors` or as
  /// diagnostics on the module.
  bool generate(const CompileOptions &options,
                std::vector<std::string> &errors);

  /// As the artifact takes it; refers to this object.
  TargetProgram program();

  /// What a stage before the artifact shows: object code or PTX.
  std::string text() const;

  /// Gives the module back; nothing may be asked afterwards.
  mlir::OwningOpRef<mlir::ModuleOp> release() { return std::move(module); }

private:
  bool generateForCpu(const CompileOptions &options,
                      std::vector<std::string> &errors);
  bool generateForCuda(const CompileOptions &options,
                       std::vector<std::string> &errors);

  Target target;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::string> archives; // One per level.
  std::string object; // Of the first level, if that is the last stage.
  std::vector<LevelCode> levels;
  std::vector<DeviceImage> images;
  std::vector<tenon_block_t> blocks;
};

/// Whether a CPU level of these options multiplies pairs of bf16.
bool multipliesPairs(const CompileOptions &options);
/// Whether one adds products up in f16.
bool addsInF16(const CompileOptions &options);

/// Adds to `errors` what no target of these options can be.
void checkTargets(const CompileOptions &options,
                  std::vector<std::string> &errors);

/// LLVM IR of a module's kernels for the first target; empty after errors.
std::string llvmIrOf(mlir::ModuleOp module, const CompileOptions &options);

} // namespace tenon

#endif // TENON_COMPILER_PIPELINETARGETS_H
