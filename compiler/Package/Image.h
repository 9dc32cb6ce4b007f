//===- Image.h - Object code and metadata as one ELF shared object --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_PACKAGE_IMAGE_H
#define TENON_COMPILER_PACKAGE_IMAGE_H

#include "compiler/Package/Metadata.h"

#include "llvm/ADT/SmallVector.h"

namespace tenon {

/// The ELF part of an artifact. It has no undefined symbol and no dynamic
/// relocation, and exports one function, `tenon_model_descriptor`, which
/// returns the address of the metadata.
struct Image {
  std::string bytes;
  uint64_t metadataOffset = 0; // In `bytes`.
};

/// Links the code of all levels with the metadata and fills in its code table.
/// An error is one sentence.
llvm::Expected<Image> buildImage(llvm::ArrayRef<LevelCode> levels,
                                 const Metadata &metadata);

/// A relocatable object with the metadata and the function that returns it.
llvm::Expected<llvm::SmallVector<char, 0>>
compileDescriptor(llvm::StringRef metadata);

inline constexpr char kMetadataSymbol[] = "tenon_metadata";
inline constexpr char kDescriptorSymbol[] = "tenon_model_descriptor";

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_IMAGE_H
