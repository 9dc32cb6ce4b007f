//===- Prediction.h - How long launches should take on a GPU --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model, not a measurement: what a launch has to do, over what the device
// can do with as many blocks as the launch has. It says which limit binds and
// what the best case is; instructions that are not the product's own, latency
// inside a block and caches are not in it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CUDA_PREDICTION_H
#define TENON_COMPILER_TARGETS_CUDA_PREDICTION_H

#include "compiler/Targets/Cuda/Compile.h"
#include "compiler/Targets/Cuda/Device.h"
#include "dialects/Exec/Exec.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace tenon::cuda {

/// From one launch to the next in a graph, when neither has much to do.
inline constexpr double launchSeconds = 1.5e-6;

enum class Limit { Launch, Compute, Memory };
llvm::StringRef nameOf(Limit limit);

/// What all launches of a kernel in a run have to do, and should take.
struct PredictedKernel {
  std::string name, schedule;
  int64_t launches = 0;
  double flops = 0, bytes = 0;
  KernelResources resources;
  int64_t threads = 0;  // Of a block.
  double occupancy = 0; // Threads that a multiprocessor holds, of its most.
  int64_t blocks = 0;   // Of the largest launch.
  double waves = 0;     // Rounds of blocks that it takes.
  double seconds = 0;
  Limit limit = Limit::Launch; // That of the largest part of the time.
};

/// The kernels of a run with `sizes` for the symbols (128, or the nearest that
/// the range allows, for others), the most expensive first. `resources` by
/// kernel may lack some. An error when a size overflows.
llvm::Expected<std::vector<PredictedKernel>>
predict(exec::ProgramOp program, const CudaCode &code,
        const llvm::StringMap<KernelResources> &resources,
        const Device &device);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_PREDICTION_H
