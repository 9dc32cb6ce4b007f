//===- Text.h - Sentences of the simulator --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_TEXT_H
#define TENON_TEST_GPU_SIM_TEXT_H

#include <cstdio>
#include <string>

namespace tenon::sim {

/// printf into a string. Integers of 64 bits are given as %ll.
template <typename... Values>
std::string format(const char *pattern, Values... values) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-security"
#pragma clang diagnostic ignored "-Wformat"
  char buffer[1024];
  int size = snprintf(buffer, sizeof buffer, pattern, values...);
#pragma clang diagnostic pop
  if (size < 0)
    return pattern;
  return std::string(buffer, size < 1023 ? size : 1023);
}

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_TEXT_H
