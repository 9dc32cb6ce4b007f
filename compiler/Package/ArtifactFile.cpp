//===- ArtifactFile.cpp - A file that appears when it is whole ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/ArtifactFile.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace llvm;
using namespace tenon;

namespace {
// A large page at a time: the system's cache then holds the file in such pages,
// and whoever maps it soon has few misses of address translation.
constexpr size_t bufferBytes = size_t(2) << 20;

Error refuse(StringRef path, const Twine &reason) {
  return createStringError("cannot write " + path + ": " + reason);
}

/// Zero, or an errno.
int writeAll(int descriptor, ArrayRef<char> bytes) {
  while (!bytes.empty()) {
    ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    if (done < 0 && errno != EINTR)
      return errno;
    if (done > 0)
      bytes = bytes.drop_front(size_t(done));
  }
  return 0;
}
} // namespace

Expected<std::unique_ptr<ArtifactFile>> ArtifactFile::create(StringRef path) {
  // A rename would replace a device or fail on a folder.
  sys::fs::file_status status;
  if (!sys::fs::status(path, status) && !sys::fs::is_regular_file(status))
    return refuse(path, "it is not a regular file");
  auto file = sys::fs::TempFile::create(
      path + ".%%%%%%%%.part", sys::fs::all_read | sys::fs::owner_write);
  if (!file)
    return refuse(path, toString(file.takeError()));
  return std::unique_ptr<ArtifactFile>(
      new ArtifactFile(path, std::move(*file)));
}

ArtifactFile::~ArtifactFile() {
  wait();
  if (file)
    consumeError(file->discard());
}

void ArtifactFile::wait() {
  if (!onItsWay.valid())
    return;
  int error = onItsWay.get();
  failure = failure ? failure : error;
}

/// Weights are packed and summed up while the system copies those before.
void ArtifactFile::flush() {
  wait();
  std::swap(buffer, leaving);
  buffer.clear();
  if (failure == 0)
    onItsWay = std::async(std::launch::async, writeAll, file->FD,
                          ArrayRef<char>(leaving));
}

void ArtifactFile::write(ArrayRef<char> bytes) {
  written += bytes.size();
  while (!bytes.empty()) {
    size_t part = std::min(bytes.size(), bufferBytes - buffer.size());
    buffer.insert(buffer.end(), bytes.begin(), bytes.begin() + part);
    bytes = bytes.drop_front(part);
    if (buffer.size() == bufferBytes)
      flush();
  }
}

void ArtifactFile::align(uint64_t alignment) {
  static const char zeros[4096] = {};
  for (uint64_t left = (alignment - written % alignment) % alignment; left;) {
    uint64_t part = std::min<uint64_t>(left, sizeof zeros);
    write({zeros, size_t(part)});
    left -= part;
  }
}

Error ArtifactFile::keep() {
  flush();
  wait();
  if (failure)
    return refuse(path, std::strerror(failure));
  Error error = file->keep(path);
  file.reset();
  if (error)
    return refuse(path, toString(std::move(error)));
  return Error::success();
}
