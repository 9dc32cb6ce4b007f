//===- Simulator.cpp - Runs PTX kernels without a GPU ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Simulator.h"
#include "test/gpu/sim/Cluster.h"
#include "test/gpu/sim/Text.h"

#include <numeric>

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

/// Nothing is promised about which clusters run first: from the first one,
/// from the last one, or in steps that come past each once.
struct ClusterOrder {
  ClusterOrder(uint64_t count, const Launch &launch, std::mt19937 &random)
      : count(count) {
    if (launch.order == Order::Lazy)
      first = step = count - 1;
    if (launch.order != Order::Random)
      return;
    first = random() % count;
    do
      step = random() % count;
    while (std::gcd(step, count) != 1);
  }
  uint64_t at(uint64_t i) const { return (first + i * step) % count; }

  uint64_t count, first = 0, step = 1;
};

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
  uint32_t across[3];
  for (int axis = 0; axis < 3; ++axis)
    across[axis] = launch.grid[axis] / launch.cluster[axis];
  ClusterOrder order(uint64_t(across[0]) * across[1] * across[2], launch,
                     state.random);
  for (uint64_t i = 0; i < order.count; ++i) {
    state.cluster = uint32_t(order.at(i));
    uint32_t rows = state.cluster / across[0];
    if (!Cluster(state, {state.cluster % across[0] * launch.cluster[0],
                         rows % across[1] * launch.cluster[1],
                         rows / across[1] * launch.cluster[2]})
             .run())
      break;
  }
  if (counts)
    *counts = state.counts;
  return state.error;
}

} // namespace tenon::sim
