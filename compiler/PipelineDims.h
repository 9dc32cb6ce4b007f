//===- PipelineDims.h - What --dim says of a model's sizes ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_PIPELINEDIMS_H
#define TENON_COMPILER_PIPELINEDIMS_H

#include "compiler/Import/ModelFile.h"
#include "compiler/Options.h"
#include "mlir/IR/BuiltinOps.h"

namespace tenon {

/// Options by the names that the model gives its dims. Reports give those of
/// their symbols, and are taken at their word.
std::vector<DimRange> modelDims(const ModelFile &file,
                                llvm::ArrayRef<DimRange> options);

/// Refuses an option for a dim that no input has: it would have no effect.
bool checkDims(const ModelFile &file, llvm::ArrayRef<DimRange> dims,
               std::vector<std::string> &errors);

/// What the user promised of the inputs' sizes, for the launch table.
void setDimRanges(mlir::ModuleOp module, const ModelFile &file,
                  llvm::ArrayRef<DimRange> dims);

} // namespace tenon

#endif // TENON_COMPILER_PIPELINEDIMS_H
