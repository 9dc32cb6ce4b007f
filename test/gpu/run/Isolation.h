//===- Isolation.h - Work in a process of its own -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After a fault of a kernel a process can do nothing more on a GPU, and a
// kernel that hangs never returns. So each piece of work gets a process, which
// opens the device itself; the process that starts them must never do so.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_RUN_ISOLATION_H
#define TENON_TEST_GPU_RUN_ISOLATION_H

#include "test/gpu/run/Manifest.h"

#include <functional>

namespace tenon::trial {

/// Calls `work` in another process and returns the text that it returns. A
/// problem when the process ends before, does not end well after, or takes
/// longer than `seconds`, when it is killed.
Problem isolate(const std::function<std::string()> &work, double seconds,
                std::string &text);

} // namespace tenon::trial

#endif // TENON_TEST_GPU_RUN_ISOLATION_H
