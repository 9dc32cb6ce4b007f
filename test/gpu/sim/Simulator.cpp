//===- Simulator.cpp - Runs PTX kernels without a GPU ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Simulator.h"
#include "test/gpu/sim/Cluster.h"
#include "test/gpu/sim/Text.h"

namespace tenon::sim {

namespace {

constexpr uint32_t kMostShared = 227 << 10;

std::string checkLaunch(const Kernel &kernel, const Memory &memory,
                        const Launch &launch) {
  uint64_t threads = 1, cluster = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (!launch.grid[axis] || !launch.block[axis] || !launch.cluster[axis])
      return "a dimension of the launch is zero";
    if (launch.grid[axis] % launch.cluster[axis])
      return "the grid is no multiple of the cluster";
    if (launch.grid[axis] > (axis ? 65535u : 0x7fffffffu))
      return "the grid is too large";
    if (kernel.requiredThreads[0] &&
        launch.block[axis] != kernel.requiredThreads[axis])
      return "the block is not what .reqntid says";
    if (kernel.requiredCluster[0] &&
        launch.cluster[axis] != kernel.requiredCluster[axis])
      return "the cluster is not what .reqnctapercluster says";
    threads *= launch.block[axis];
    cluster *= launch.cluster[axis];
  }
  if (threads > 1024)
    return "a block has more than 1024 threads";
  if (cluster > 16)
    return "a cluster has more than 16 blocks";
  if (kernel.maxThreads[0] && threads > uint64_t(kernel.maxThreads[0]) *
                                            kernel.maxThreads[1] *
                                            kernel.maxThreads[2])
    return "the block is larger than .maxntid says";
  if (threads % kernel.program->minimumBlock)
    return format("the block is no multiple of %u threads, as the kernel needs",
                  kernel.program->minimumBlock);
  uint64_t shared =
      uint64_t(kernel.program->dynamicBase) + launch.dynamicShared;
  if (shared > kMostShared)
    return format("%llu bytes of shared memory are more than a GPU has",
                  (unsigned long long)shared);
  if (launch.parameters.size() != kernel.parameterBytes)
    return format("%llu bytes of parameters are given, %u are declared",
                  (unsigned long long)launch.parameters.size(),
                  kernel.parameterBytes);
  if (!kernel.program->fixups.empty() &&
      kernel.program->module->loadedInto != &memory)
    return "its module has .global variables and was not loaded";
  return {};
}

} // namespace

std::string run(const Kernel &kernel, Memory &memory, const Launch &launch,
                Counts *counts) {
  std::string wrong = checkLaunch(kernel, memory, launch);
  if (!wrong.empty())
    return "kernel " + kernel.name + ": " + wrong;
  LaunchState state{kernel,
                    *kernel.program,
                    memory,
                    launch,
                    {},
                    {},
                    std::mt19937(launch.seed),
                    GlobalShadow(kernel.program->globalGranule),
                    {}};
  const uint32_t (&grid)[3] = launch.grid, (&step)[3] = launch.cluster;
  bool good = true;
  for (uint32_t z = 0; good && z < grid[2]; z += step[2])
    for (uint32_t y = 0; good && y < grid[1]; y += step[1])
      for (uint32_t x = 0; good && x < grid[0]; x += step[0])
        good = Cluster(state, {x, y, z}).run();
  if (counts)
    *counts = state.counts;
  return state.error;
}

} // namespace tenon::sim
