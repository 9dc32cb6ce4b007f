//===- Cores.h - How many threads are worth starting ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_CORES_H
#define TENON_RUNTIME_CORES_H

#include <sched.h>
#include <stdint.h>

namespace tenon::runtime {

/// Cores of the CPUs in `mask`, at most as many as the control group that we
/// are in may keep busy; at least 1. Kernels fill a core's arithmetic, so its
/// second hardware thread would only share it. Where the system does not say
/// which CPUs share a core, or how much of them we get, each is one, and we get
/// all. `root` comes before /proc and /sys.
uint32_t coresOf(const cpu_set_t &mask, const char *root);

/// The same of the CPUs that this thread may run on.
uint32_t usableCores();

} // namespace tenon::runtime

#endif // TENON_RUNTIME_CORES_H
