//===- ArtifactFile.h - A file that appears when it is whole --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_PACKAGE_ARTIFACTFILE_H
#define TENON_COMPILER_PACKAGE_ARTIFACTFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

#include <future>
#include <optional>

namespace tenon {

/// Bytes go to a temporary file in the same folder, through a buffer; `keep`
/// gives it its name. Without `keep` nothing stays. The first error sticks.
class ArtifactFile {
public:
  static llvm::Expected<std::unique_ptr<ArtifactFile>>
  create(llvm::StringRef path);
  ~ArtifactFile();

  void write(llvm::ArrayRef<char> bytes);
  /// Zeros up to a multiple of `alignment`.
  void align(uint64_t alignment);
  uint64_t size() const { return written; }

  /// Ends the file and moves it to its place.
  llvm::Error keep();

private:
  ArtifactFile(llvm::StringRef path, llvm::sys::fs::TempFile file)
      : path(path), file(std::move(file)) {}
  void flush();
  void wait(); // Until nothing is on its way.

  std::string path;
  std::optional<llvm::sys::fs::TempFile> file;
  std::vector<char> buffer, leaving;
  std::future<int> onItsWay;
  uint64_t written = 0;
  int failure = 0; // errno
};

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_ARTIFACTFILE_H
