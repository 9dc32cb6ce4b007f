//===- ReadLoop.h - What memory can deliver -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_LIMITS_READLOOP_H
#define TENON_TOOLS_LIMITS_READLOOP_H

#include <cstddef>

namespace tenon::limits {

/// Bytes per second that `threads` threads read together, who do nothing else,
/// from `bytes` of memory, each its own part again and again: the best of a few
/// tries. So few bytes are read from a cache, as the data of a model of that
/// size is. Takes some ten milliseconds, and that much memory for the time.
/// 0 when there is no memory.
double readLoopSpeed(size_t bytes, int threads);

} // namespace tenon::limits

#endif // TENON_TOOLS_LIMITS_READLOOP_H
