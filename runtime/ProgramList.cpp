//===- ProgramList.cpp - The programs of an artifact, one per target ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/ProgramList.h"
#include "runtime/Error.h"

#include <string.h>

using namespace tenon::runtime;

/// Adds the program at `entry`, and sets it to the one behind it, of no bytes
/// when there is none. Why that cannot be done, or null.
const char *ProgramList::add(const Image &image, Entry &entry, uint32_t minor) {
  if (!image.holds(entry.offset, entry.bytes))
    return "a program lies outside its code";
  if (entry.offset % 8 != 0)
    return "a program lies askew";
  tenon_metadata_t header = {};
  if (minor >= 2) { // Before, there was but one program.
    if (entry.bytes < sizeof header)
      return "bad size";
    memcpy(&header, image.data + entry.offset, sizeof header);
  }
  if (header.target > TENON_TARGET_CUDA)
    return "its target is unknown";
  if (find(header.target)) // As there is where they go round, too.
    return "it has two programs for one target";
  entries[count++] = {entry.offset, entry.bytes, header.target};
  if (header.next_bytes == 0 && header.next_offset != 0)
    return "a program has no size";
  entry = {header.next_offset, header.next_bytes, 0};
  return nullptr;
}

tenon_status_t ProgramList::read(const Image &image,
                                 const tenon_footer_t &footer,
                                 const char *path) {
  Entry next = {footer.metadata_offset, footer.metadata_bytes, 0};
  do {
    if (const char *reason = add(image, next, footer.format_minor))
      return fail(TENON_BAD_FORMAT, "%.300s: its metadata is damaged: %s", path,
                  reason);
  } while (next.bytes != 0);
  return TENON_OK;
}

const ProgramList::Entry *ProgramList::find(uint32_t target) const {
  for (uint32_t i = 0; i < count; ++i)
    if (entries[i].target == target)
      return &entries[i];
  return nullptr;
}
