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
  /// The symbol that each entry of the code table, all zero, is the address of.
  std::vector<std::string> codeSymbols;
  /// Those of the table of images, whose offsets are zero.
  llvm::ArrayRef<DeviceImage> images;

  const tenon_metadata_t &header() const {
    return *reinterpret_cast<const tenon_metadata_t *>(bytes.data());
  }
};

/// Adds the weights that `program` reads to `plan`. An error is one sentence.
llvm::Expected<Metadata> buildMetadata(const TargetProgram &program,
                                       const PackageOptions &options,
                                       WeightPlan &plan);

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_METADATA_H
