//===- ProgramList.h - The programs of an artifact, one per target --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_PROGRAMLIST_H
#define TENON_RUNTIME_PROGRAMLIST_H

#include "runtime/Metadata.h"

namespace tenon::runtime {

/// Where in an artifact's image the metadata of each program lies. Of that
/// only what leads from one to the next is checked here.
class ProgramList {
public:
  struct Entry {
    uint64_t offset, bytes;
    uint32_t target; // tenon_target_t
  };

  [[nodiscard]] tenon_status_t
  read(const Image &image, const tenon_footer_t &footer, const char *path);

  /// The program for a target, or null.
  const Entry *find(uint32_t target) const;

  uint32_t size() const { return count; }
  const Entry &operator[](uint32_t index) const { return entries[index]; }

private:
  const char *add(const Image &image, Entry &entry, uint32_t minor);

  Entry entries[TENON_TARGET_CUDA + 1];
  uint32_t count = 0;
};

} // namespace tenon::runtime

#endif // TENON_RUNTIME_PROGRAMLIST_H
