//===- Workers.h - Jobs in processes of their own -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_WORKERS_H
#define TENON_TOOLS_TENON_WORKERS_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace tenon {

struct Outcome {
  std::string output; // What the job returned.
  std::string crash;  // "signal 11 (Segmentation fault)"; empty: none.
};

/// Runs work(i) for i in [0, count), each in a forked process, `jobs` at a
/// time, and calls done(i, outcome) in order of i. Call it before the process
/// has started any thread. With `jobs` 0 it runs all in this process.
void runForked(size_t count, unsigned jobs,
               llvm::function_ref<std::string(size_t)> work,
               llvm::function_ref<void(size_t, const Outcome &)> done,
               llvm::function_ref<void(size_t)> tick);

} // namespace tenon

#endif // TENON_TOOLS_TENON_WORKERS_H
