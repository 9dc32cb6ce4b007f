//===- Kernels.h - Real kernels to plant bugs in --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TENON_TEST_GPU_BUGS_KERNELS_H
#define TENON_TEST_GPU_BUGS_KERNELS_H

#include "test/gpu/sim/Simulator.h"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace tenon::sim {

/// What became of a launch: a report, or whether the results were right.
struct Outcome {
  std::string report;
  bool right = false;
};

/// A kernel, with memory of exactly the size that it needs, and its results.
struct TestKernel {
  std::string name;
  /// Runs `text`, the kernel's PTX or what was made of it.
  std::function<Outcome(const std::string &text, Order order, uint32_t seed)>
      run;
};

inline void PrintTo(const TestKernel &kernel, std::ostream *out) {
  *out << kernel.name;
}

/// Kernels of sm_90a: clusters, TMA and wgmma.
Outcome runGemm(const std::string &text, Order order, uint32_t seed);
Outcome runAttention(const std::string &text, Order order, uint32_t seed);

/// The kernel in NAME.ptx beside this file.
const TestKernel &testKernel(const std::string &name);
const std::vector<TestKernel> &testKernels();
std::string textOf(const TestKernel &kernel);

} // namespace tenon::sim

#endif // TENON_TEST_GPU_BUGS_KERNELS_H
