//===- Sessions.h - Several sessions of a model at once -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_SESSIONS_H
#define TENON_TOOLS_TENON_SESSIONS_H

#include "tools/tenon/Session.h"

namespace tenon {

/// What sessions got through together.
struct Throughput {
  int sessions = 0;
  double runsPerSecond = 0; // Of all.
  uint64_t addedBytes = 0;  // Memory of the process that was not there before.
};

/// Runs `count` sessions for that long, each in a thread of its own with
/// `threads` threads: `first` and others of its model, which share its weights.
llvm::Expected<Throughput> runTogether(Session &first,
                                       const std::vector<Tensor> &inputs,
                                       int count, int threads, double seconds);

} // namespace tenon

#endif // TENON_TOOLS_TENON_SESSIONS_H
