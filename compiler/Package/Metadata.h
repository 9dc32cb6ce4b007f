//===- Metadata.h - The launch table as bytes of the artifact -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_PACKAGE_METADATA_H
#define TENON_COMPILER_PACKAGE_METADATA_H

#include "compiler/Package/Package.h"
#include "compiler/Package/WeightPlan.h"

namespace tenon {

/// The metadata block of runtime/model_format.h.
struct Metadata {
  std::string bytes;
  /// Where its code table starts: an address per kernel and level, all zero.
  uint64_t codeOffset = 0;
  /// The symbol that each entry of the code table is the address of.
  std::vector<std::string> codeSymbols;
};

/// Adds the weights that `program` reads to `plan`. An error is one sentence.
llvm::Expected<Metadata> buildMetadata(exec::ProgramOp program,
                                       mlir::ModuleOp kernels,
                                       llvm::ArrayRef<LevelCode> levels,
                                       const PackageOptions &options,
                                       WeightPlan &plan);

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_METADATA_H
