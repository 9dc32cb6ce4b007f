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

/// Links the code of all levels with the metadata of each target, and fills in
/// where code, device images and the next metadata lie. An error is one
/// sentence.
llvm::Expected<Image> buildImage(llvm::ArrayRef<LevelCode> levels,
                                 llvm::ArrayRef<Metadata> metadata);

/// One relocatable object of all that an archive holds.
llvm::Expected<std::string> joinObjects(llvm::ArrayRef<char> archive);

/// Read-only bytes of the image under a symbol.
struct ImageBytes {
  std::string symbol;
  llvm::StringRef bytes;
};

/// A relocatable object with these bytes, and the function that returns the
/// address of the first.
llvm::Expected<llvm::SmallVector<char, 0>>
compileDescriptor(llvm::ArrayRef<ImageBytes> parts);

inline constexpr char kDescriptorSymbol[] = "tenon_model_descriptor";

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_IMAGE_H
