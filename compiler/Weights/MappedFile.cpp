//===- MappedFile.cpp - A regular file, mapped read-only ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Weights/MappedFile.h"
#include "compiler/Weights/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace tenon {
namespace {

/// Closes a descriptor at the end of a scope.
struct Descriptor {
  explicit Descriptor(int fd) : fd(fd) {}
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int release() { return std::exchange(fd, -1); }
  int fd;
};

Error refuse(StringRef name, const Twine &reason) {
  return createStringError(inconvertibleErrorCode(),
                           printable(name) + ": " + reason);
}

/// Only what a location may contain, before the file system is asked.
Error checkLocation(StringRef location) {
  if (location.empty())
    return refuse("external data", "the location is empty");
  if (location.contains('\0'))
    return refuse(location, "the location contains a NUL byte");
  if (location.contains('\\'))
    return refuse(location, "the location contains a backslash; use '/'");
  if (location.starts_with("/"))
    return refuse(location, "the location is an absolute path; external data "
                            "must lie in the model's folder");
  SmallVector<StringRef> parts;
  location.split(parts, '/');
  if (is_contained(parts, ".."))
    return refuse(location, "the location contains '..'; external data must "
                            "stay in the model's folder");
  return Error::success();
}

bool areSame(int lhs, int rhs) {
  struct stat left, right;
  return ::fstat(lhs, &left) == 0 && ::fstat(rhs, &right) == 0 &&
         left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

/// What a symbolic link in a folder leads to, opened where it lies beside the
/// file that the model's own link leads to; -1 otherwise. It is opened in the
/// folder that was looked at, and is no further link.
int openBesideModel(const Folder &folder, int at, StringRef name) {
  char text[PATH_MAX];
  ssize_t length =
      folder.descriptorBehindLink() < 0
          ? -1
          : ::readlinkat(at, name.str().c_str(), text, sizeof text);
  if (length <= 0 || size_t(length) == sizeof text)
    return -1;
  StringRef target(text, size_t(length)), file = sys::path::filename(target);
  std::string parent = sys::path::parent_path(target).str();
  Descriptor where(::openat(at, parent.empty() ? "." : parent.c_str(),
                            O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file == "." || file == ".." || where.fd < 0 ||
      !areSame(where.fd, folder.descriptorBehindLink()))
    return -1;
  return ::openat(where.fd, file.str().c_str(),
                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

} // namespace

Expected<std::shared_ptr<Folder>> Folder::of(StringRef path) {
  std::string parent = sys::path::parent_path(path).str();
  if (parent.empty())
    parent = ".";
  int fd = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return refuse(parent, std::strerror(errno));
  int linked = -1;
  SmallString<256> real;
  if (sys::fs::is_symlink_file(path) && !sys::fs::real_path(path, real))
    linked = ::open(sys::path::parent_path(real).str().c_str(),
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return std::shared_ptr<Folder>(new Folder(fd, linked));
}

Folder::~Folder() {
  ::close(fd);
  if (linked >= 0)
    ::close(linked);
}

Expected<std::shared_ptr<MappedFile>> MappedFile::map(int fd, StringRef name) {
  struct stat info;
  if (::fstat(fd, &info) != 0)
    return refuse(name, std::strerror(errno));
  if (S_ISDIR(info.st_mode))
    return refuse(name, "is a directory, not a file");
  if (!S_ISREG(info.st_mode))
    return refuse(name, "is not a regular file (a pipe, a device or a socket)");
  size_t size = info.st_size;
  const char *data = nullptr;
  if (size != 0) {
    void *mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED)
      return refuse(name, Twine("cannot be mapped: ") + std::strerror(errno));
    data = static_cast<const char *>(mapped);
  }
  return std::shared_ptr<MappedFile>(new MappedFile(data, size));
}

Expected<std::shared_ptr<MappedFile>> MappedFile::open(StringRef path) {
  // Non-blocking: opening a pipe without a writer must not wait for one.
  Descriptor file(
      ::open(path.str().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.fd < 0)
    return refuse(path, Twine("cannot be opened: ") + std::strerror(errno));
  return map(file.fd, path);
}

Expected<std::shared_ptr<MappedFile>>
MappedFile::openInside(const Folder &folder, StringRef location) {
  if (Error error = checkLocation(location))
    return std::move(error);
  SmallVector<StringRef> parts;
  location.split(parts, '/', -1, /*KeepEmpty=*/false);
  llvm::erase(parts, ".");
  if (parts.empty())
    return refuse(location, "the location names a folder");

  // One component at a time and never through a symlink, so that nothing can
  // be exchanged between a check and the use of what was checked.
  Descriptor at(::dup(folder.descriptor()));
  for (auto [index, part] : enumerate(parts)) {
    bool last = index + 1 == parts.size();
    int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC;
    flags |= last ? O_NONBLOCK : O_DIRECTORY;
    Descriptor next(::openat(at.fd, part.str().c_str(), flags));
    if (next.fd < 0 && last)
      next.fd = openBesideModel(folder, at.fd, part);
    if (next.fd < 0) {
      struct stat info;
      if (::fstatat(at.fd, part.str().c_str(), &info, AT_SYMLINK_NOFOLLOW) ==
              0 &&
          S_ISLNK(info.st_mode))
        return refuse(location, "leads through the symbolic link '" +
                                    printable(part) +
                                    "'; put a copy into the model's folder");
      return refuse(location, Twine("external data cannot be opened: ") +
                                  std::strerror(errno));
    }
    std::swap(at.fd, next.fd);
  }
  struct stat info;
  if (::fstat(at.fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink > 1)
    return refuse(location, "is a hard link to a file that may lie outside the "
                            "model's folder; put a copy there");
  return map(at.fd, location);
}

MappedFile::~MappedFile() {
  if (data)
    ::munmap(const_cast<char *>(data), size);
}

} // namespace tenon
