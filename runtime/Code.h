//===- Code.h - The machine code of an artifact, in memory ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_CODE_H
#define TENON_RUNTIME_CODE_H

#include "runtime/tenon.h"

namespace tenon::runtime {

/// The loaded segments of an ELF image. No page is ever both writable and
/// executable, and nothing of the image runs before a kernel is called.
class Code {
public:
  Code() = default;
  Code(const Code &) = delete;
  Code &operator=(const Code &) = delete;
  ~Code();

  /// Copies the segments of a verified image to where they can run.
  [[nodiscard]] tenon_status_t load(const char *image, uint64_t bytes,
                                    const char *path);

  /// The code at a virtual address of the image; null where none is.
  const void *find(uint64_t address) const;

private:
  struct Segment {
    uint64_t address, bytes, fileOffset, fileBytes;
    int protection;
  };
  static constexpr uint32_t maxSegments = 16;

  const char *parse(const char *image, uint64_t bytes);
  const char *addSegment(const void *header, uint64_t imageBytes);

  Segment segments[maxSegments];
  uint32_t segmentCount = 0;
  uint64_t firstAddress = 0; // Page aligned; where `span` begins.
  uint64_t spanBytes = 0;
  char *span = nullptr;
};

} // namespace tenon::runtime

#endif // TENON_RUNTIME_CODE_H
