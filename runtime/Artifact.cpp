//===- Artifact.cpp - An artifact file, opened and verified ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Artifact.h"
#include "runtime/Error.h"
#include "runtime/Memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace tenon::runtime;

namespace {
/// More code and metadata than any model needs.
constexpr uint64_t maxImageBytes = uint64_t(1) << 30;
} // namespace

Artifact::~Artifact() {
  if (descriptor >= 0)
    close(descriptor);
}

tenon_status_t Artifact::open(const char *name) {
  path = name;
  // Not to wait for the writer of a FIFO.
  descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return fail(errno == ENOENT ? TENON_NOT_FOUND : TENON_IO_ERROR,
                "%.300s: cannot open: %s", path, strerror(errno));
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    return fail(TENON_IO_ERROR, "%.300s: cannot stat: %s", path,
                strerror(errno));
  if (!S_ISREG(status.st_mode))
    return fail(TENON_BAD_FORMAT, "%.300s: not a regular file", path);
  fileBytes = uint64_t(status.st_size);
  if (fileBytes < sizeof footer)
    return fail(TENON_BAD_FORMAT,
                "%.300s: not a Tenon artifact: it has only %llu bytes", path,
                static_cast<unsigned long long>(fileBytes));
  if (tenon_status_t status =
          read(fileBytes - sizeof footer, &footer, sizeof footer))
    return status;
  return checkFooter();
}

tenon_status_t Artifact::read(uint64_t offset, void *target, uint64_t bytes) {
  char *next = static_cast<char *>(target);
  while (bytes > 0) {
    ssize_t got = pread(descriptor, next, bytes, off_t(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail(TENON_IO_ERROR, "%.300s: cannot read: %s", path,
                  strerror(errno));
    if (got == 0)
      return fail(TENON_BAD_FORMAT, "%.300s: it shrank while being read", path);
    next += got;
    offset += uint64_t(got);
    bytes -= uint64_t(got);
  }
  return TENON_OK;
}

tenon_status_t Artifact::checkFooter() {
  if (footer.magic != TENON_FOOTER_MAGIC)
    return fail(TENON_BAD_FORMAT,
                "%.300s: not a Tenon artifact, or cut off: its end is not an "
                "artifact's",
                path);
  if (XXH3_64bits(&footer, offsetof(tenon_footer_t, footer_xxh3)) !=
      footer.footer_xxh3)
    return fail(TENON_BAD_FORMAT,
                "%.300s: damaged: its footer has a wrong checksum", path);
  if (footer.format_major != TENON_FORMAT_MAJOR ||
      footer.format_minor > TENON_FORMAT_MINOR)
    return fail(TENON_UNSUPPORTED,
                "%.300s: its format is %u.%u but this runtime reads %u.0 to "
                "%u.%u; compile the model again or update the runtime",
                path, footer.format_major, footer.format_minor,
                TENON_FORMAT_MAJOR, TENON_FORMAT_MAJOR, TENON_FORMAT_MINOR);
  if (footer.machine != TENON_MACHINE_X86_64)
    return fail(TENON_UNSUPPORTED,
                "%.300s: it was compiled for machine %u, not for x86-64 (%u)",
                path, footer.machine, TENON_MACHINE_X86_64);
  if (const char *reason = checkRanges())
    return fail(TENON_BAD_FORMAT, "%.300s: damaged: %s", path, reason);
  return TENON_OK;
}

const char *Artifact::checkRanges() const {
  const tenon_footer_t &f = footer;
  auto within = [](uint64_t begin, uint64_t bytes, uint64_t end) {
    return begin <= end && bytes <= end - begin;
  };
  if (f.file_bytes != fileBytes)
    return "its size is not the one it was written with";
  uint64_t end = fileBytes - sizeof f;
  if (f.image_bytes > end || f.image_bytes > maxImageBytes)
    return "its code lies outside the file";
  if (!within(f.metadata_offset, f.metadata_bytes, f.image_bytes))
    return "its metadata lies outside its code";
  if (f.weights_bytes == 0)
    return nullptr;
  if (f.weights_offset % TENON_WEIGHTS_ALIGN != 0 ||
      f.weights_offset < f.image_bytes ||
      !within(f.weights_offset, f.weights_bytes, end))
    return "its weights lie outside the file";
  uint64_t blocks = (f.weights_bytes - 1) / TENON_WEIGHTS_BLOCK + 1;
  if (f.checksums_offset % 8 != 0 ||
      f.checksums_offset < f.weights_offset + f.weights_bytes ||
      !within(f.checksums_offset, blocks * 8, end))
    return "its weights' checksums lie outside the file";
  return nullptr;
}

tenon_status_t Artifact::readImage(Array<char> &image) {
  if (!image.allocate(footer.image_bytes))
    return fail(TENON_OUT_OF_MEMORY, "%.300s: no memory for its code", path);
  if (tenon_status_t status = read(0, image.begin(), footer.image_bytes))
    return status;
  XXH128_hash_t sum = XXH3_128bits(image.begin(), footer.image_bytes);
  if (sum.low64 != footer.image_xxh3[0] || sum.high64 != footer.image_xxh3[1])
    return fail(TENON_BAD_FORMAT,
                "%.300s: damaged: its code has a wrong checksum", path);
  return TENON_OK;
}

/// Maps the rest of a file from `offset` on, where its large pages in the
/// system's cache can be large pages of the process: weights that come from
/// memory are one page after the other, and in a virtual machine each miss of
/// address translation costs hundreds of cycles.
static void *mapRest(int descriptor, uint64_t offset, uint64_t bytes) {
  void *reserved = mmap(nullptr, bytes + hugePage, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    return mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor,
                off_t(offset));
  char *start = static_cast<char *>(reserved);
  uint64_t skipped = (offset - uint64_t(start)) % hugePage;
  char *wanted = start + skipped;
  void *mapped = mmap(wanted, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED,
                      descriptor, off_t(offset));
  if (mapped == MAP_FAILED) {
    int reason = errno;
    munmap(reserved, bytes + hugePage);
    errno = reason;
    return MAP_FAILED;
  }
  if (skipped > 0)
    munmap(start, skipped);
  constexpr uint64_t page = 4096;
  uint64_t used = skipped + (bytes + page - 1) / page * page;
  if (used < bytes + hugePage)
    munmap(start + used, bytes + hugePage - used);
  madvise(mapped, bytes, MADV_HUGEPAGE); // A wish; it may fail.
  return mapped;
}

Weights::~Weights() {
  if (mappedBytes)
    munmap(data, mappedBytes);
}

tenon_status_t Weights::map(const Artifact &artifact) {
  const tenon_footer_t &footer = artifact.getFooter();
  if (footer.weights_bytes == 0)
    return TENON_OK;
  uint64_t length = footer.file_bytes - footer.weights_offset;
  void *mapped =
      mapRest(artifact.getDescriptor(), footer.weights_offset, length);
  if (mapped == MAP_FAILED)
    return fail(TENON_OUT_OF_MEMORY, "%.300s: cannot map its weights: %s",
                artifact.getPath(), strerror(errno));
  data = static_cast<char *>(mapped);
  bytes = footer.weights_bytes;
  mappedBytes = length;
  return TENON_OK;
}

tenon_status_t Weights::verify(const tenon_footer_t &footer) const {
  if (bytes == 0)
    return TENON_OK;
  uint64_t blocks = (bytes - 1) / TENON_WEIGHTS_BLOCK + 1;
  const char *sums = data + (footer.checksums_offset - footer.weights_offset);
  if (XXH3_64bits(sums, blocks * 8) != footer.checksums_xxh3)
    return fail(TENON_BAD_FORMAT,
                "the table of the weights' checksums is damaged");
  for (uint64_t block = 0; block < blocks; ++block) {
    uint64_t begin = block * TENON_WEIGHTS_BLOCK;
    uint64_t size = bytes - begin < TENON_WEIGHTS_BLOCK ? bytes - begin
                                                        : TENON_WEIGHTS_BLOCK;
    uint64_t wanted;
    memcpy(&wanted, sums + block * 8, 8);
    if (XXH3_64bits(data + begin, size) != wanted)
      return fail(
          TENON_BAD_FORMAT,
          "the weights are damaged: bytes %llu to %llu of the file",
          static_cast<unsigned long long>(footer.weights_offset + begin),
          static_cast<unsigned long long>(footer.weights_offset + begin +
                                          size));
  }
  return TENON_OK;
}
