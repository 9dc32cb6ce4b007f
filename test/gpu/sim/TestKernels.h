//===- TestKernels.h - PTX for the simulator's tests ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_TESTKERNELS_H
#define TENON_TEST_GPU_SIM_TESTKERNELS_H

#include "test/gpu/sim/Simulator.h"

#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace tenon::sim {

/// A module with what every test needs around its kernels. Where ptxas is
/// found, it has to take the text as well.
std::unique_ptr<Module> parseModule(const std::string &kernels,
                                    const std::string &target = "sm_80");

/// ".visible .entry NAME(64-bit parameters p0, p1, ...) { body }".
std::string entry(const std::string &name, int parameters,
                  const std::string &body);

/// Runs the kernel `k` of a body that loads its parameters itself.
class TestRun {
public:
  explicit TestRun(const std::string &kernels,
                   const std::string &target = "sm_80")
      : module(parseModule(kernels, target)) {}

  Launch launch;
  Memory memory;
  std::unique_ptr<Module> module;
  Counts counts;

  template <typename T> uint64_t upload(const std::vector<T> &values) {
    uint64_t address = memory.allocate(values.size() * sizeof(T));
    memory.write(address, values.data(), values.size() * sizeof(T));
    return address;
  }
  template <typename T> std::vector<T> download(uint64_t address, size_t size) {
    std::vector<T> values(size);
    EXPECT_TRUE(memory.read(address, values.data(), size * sizeof(T)));
    return values;
  }
  /// Empty: fine.
  std::string operator()(const std::vector<uint64_t> &parameters,
                         uint32_t threads, const char *name = "k") {
    if (!module)
      return "no module";
    launch.block[0] = threads;
    launch.parameters.resize(parameters.size() * 8);
    memcpy(launch.parameters.data(), parameters.data(),
           launch.parameters.size());
    const Kernel *kernel = module->kernel(name);
    return kernel ? run(*kernel, memory, launch, &counts) : "no kernel";
  }
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_TESTKERNELS_H
