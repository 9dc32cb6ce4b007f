//===- Error.cpp - The last error of each thread --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Error.h"

#include <stdarg.h>
#include <stdio.h>

namespace {
constinit thread_local char lastError[1024] = "";
} // namespace

tenon_status_t tenon::runtime::fail(tenon_status_t status, const char *format,
                                    ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(lastError, sizeof lastError, format, arguments);
  va_end(arguments);
  return status;
}

const char *tenon_last_error(void) { return lastError; }
