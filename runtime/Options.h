//===- Options.h - Structs that cross the interface -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A caller may have been compiled with an older or newer tenon.h: a struct is
// read and written only as far as its own size says.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_OPTIONS_H
#define TENON_RUNTIME_OPTIONS_H

#include "runtime/Error.h"

#include <string.h>

namespace tenon::runtime {

/// Copies a caller's options (or none) into `known`. Options of a newer
/// caller are accepted as long as what we do not know of is zero.
template <typename T>
[[nodiscard]] tenon_status_t readOptions(const T *options, T &known,
                                         const char *what) {
  known = T{};
  if (!options)
    return TENON_OK;
  size_t size = options->struct_size;
  if (size < sizeof(size_t) * 2 || size > 65536)
    return fail(TENON_INVALID_ARGUMENT, "%s: struct_size is %zu, not %zu", what,
                size, sizeof(T));
  const char *bytes = reinterpret_cast<const char *>(options);
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i] != 0)
      return fail(TENON_INVALID_ARGUMENT,
                  "%s: it asks for something that this runtime lacks", what);
  memcpy(&known, options, size < sizeof(T) ? size : sizeof(T));
  return TENON_OK;
}

/// Copies `info` out as far as the caller's struct goes.
template <typename T>
[[nodiscard]] tenon_status_t writeInfo(const T &info, T *out,
                                       const char *what) {
  if (!out)
    return fail(TENON_INVALID_ARGUMENT, "%s: out_info is NULL", what);
  size_t size = out->struct_size;
  if (size < sizeof(size_t) * 2 || size > 65536)
    return fail(TENON_INVALID_ARGUMENT, "%s: struct_size is %zu, not %zu", what,
                size, sizeof(T));
  memset(out, 0, size);
  memcpy(out, &info, size < sizeof(T) ? size : sizeof(T));
  out->struct_size = size;
  return TENON_OK;
}

} // namespace tenon::runtime

#endif // TENON_RUNTIME_OPTIONS_H
