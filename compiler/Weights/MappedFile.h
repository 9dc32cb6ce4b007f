//===- MappedFile.h - A regular file, mapped read-only --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two ways to a file: by a path that the user gave (symlinks are followed), and
// by a location that a model gave, which must stay inside a folder: relative,
// without `..`, with no symlink on its way and no second hard link. Both refuse
// everything that is not a regular file, and neither blocks on a pipe.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_WEIGHTS_MAPPEDFILE_H
#define TENON_COMPILER_WEIGHTS_MAPPEDFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace tenon {

/// An open directory; files are found relative to it even when it is renamed.
class Folder {
public:
  /// Opens the folder that holds the file `path`; where that is a symbolic
  /// link, the folder of the file that it leads to as well.
  static llvm::Expected<std::shared_ptr<Folder>> of(llvm::StringRef path);
  ~Folder();
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  int descriptor() const { return fd; }
  /// Of the folder that the file itself lies in; -1 where that is this one.
  int descriptorBehindLink() const { return linked; }

private:
  Folder(int fd, int linked) : fd(fd), linked(linked) {}
  int fd, linked;
};

/// A read-only view of a whole file, valid as long as the object lives.
class MappedFile {
public:
  /// Maps the file at a path given by the user.
  static llvm::Expected<std::shared_ptr<MappedFile>> open(llvm::StringRef path);

  /// Maps the file at a location given by a model, confined to `folder`. A
  /// symbolic link is followed where the model is one and both lead to files of
  /// one folder, as in the cache of Hugging Face's tools.
  static llvm::Expected<std::shared_ptr<MappedFile>>
  openInside(const Folder &folder, llvm::StringRef location);

  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  llvm::ArrayRef<char> bytes() const { return {data, size}; }

private:
  MappedFile(const char *data, size_t size) : data(data), size(size) {}
  static llvm::Expected<std::shared_ptr<MappedFile>> map(int fd,
                                                         llvm::StringRef name);
  const char *data;
  size_t size;
};

} // namespace tenon

#endif // TENON_COMPILER_WEIGHTS_MAPPEDFILE_H
