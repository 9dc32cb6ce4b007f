//===- Run.h - One launch of a test's kernel ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TENON_TEST_GPU_BUGS_RUN_H
#define TENON_TEST_GPU_BUGS_RUN_H

#include "test/gpu/bugs/Kernels.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace tenon::sim {

/// One launch of the only kernel of a text.
class Run {
public:
  explicit Run(const std::string &text) {
    module = Module::parse(text, outcome.report);
    if (module)
      module->load(memory, outcome.report);
  }

  template <typename T> uint64_t give(const std::vector<T> &values) {
    uint64_t bytes = values.size() * sizeof(T);
    uint64_t address = memory.allocate(bytes);
    memory.write(address, values.data(), bytes);
    return address;
  }

  uint64_t allocate(uint64_t bytes) { return memory.allocate(bytes); }

  /// Parameters are 64-bit all.
  void launch(std::vector<uint64_t> parameters, uint32_t grid, uint32_t block,
              Order order, uint32_t seed) {
    Launch launch;
    launch.grid[0] = grid;
    launch.block[0] = block;
    launch.order = order;
    launch.seed = seed;
    launch.parameters.resize(parameters.size() * 8);
    memcpy(launch.parameters.data(), parameters.data(), parameters.size() * 8);
    perform(launch);
  }

  /// In clusters as the kernel says.
  void perform(Launch launch) {
    if (!module || !outcome.report.empty())
      return;
    launch.instructionLimit = 100000;
    const Kernel &kernel = *module->kernels().front();
    if (kernel.requiredCluster[0])
      std::copy_n(kernel.requiredCluster, 3, launch.cluster);
    outcome.report = run(kernel, memory, launch);
  }

  template <typename T> std::vector<T> take(uint64_t address, size_t count) {
    std::vector<T> values(count);
    memory.read(address, values.data(), count * sizeof(T));
    return values;
  }

  Outcome outcome;

private:
  Memory memory;
  std::unique_ptr<Module> module;
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_BUGS_RUN_H
