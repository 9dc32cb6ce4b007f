//===- Error.h - The last error of each thread ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_ERROR_H
#define TENON_RUNTIME_ERROR_H

#include "runtime/tenon.h"

namespace tenon::runtime {

/// Sets this thread's last error and returns `status`.
[[nodiscard]] __attribute__((format(printf, 2, 3), cold)) tenon_status_t
fail(tenon_status_t status, const char *format, ...);

} // namespace tenon::runtime

#endif // TENON_RUNTIME_ERROR_H
