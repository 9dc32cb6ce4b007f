//===- Program.h - A model's code and weights on a CUDA device ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_CUDA_PROGRAM_H
#define TENON_RUNTIME_CUDA_PROGRAM_H

#include "runtime/Artifact.h"
#include "runtime/Cuda/Device.h"
#include "runtime/Metadata.h"

namespace tenon::cuda {

/// Immutable once loaded; shared by all sessions of a model.
class Program {
public:
  Program() = default;
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  ~Program();

  /// Loads the image that fits the device best, and copies the weights there.
  [[nodiscard]] tenon_status_t load(tenon_device_t &onDevice,
                                    const runtime::Metadata &metadata,
                                    const runtime::Image &image,
                                    runtime::Artifact &artifact);

  /// Null for a model that runs on the CPU.
  tenon_device_t *getDevice() const { return device; }
  Function getKernel(uint32_t kernel) const { return kernels[kernel]; }
  char *getWeights() const { return static_cast<char *>(weights); }
  uint32_t imageInUse() const { return chosen; }
  /// Whether kernels wait by themselves for those before them.
  bool launchesMayOverlap() const { return mayOverlap; }

private:
  static constexpr uint32_t none = UINT32_MAX;

  uint32_t nextBest(const runtime::Metadata &metadata, uint64_t tried) const;
  tenon_status_t loadModule(const runtime::Metadata &metadata,
                            const runtime::Image &image, const char *path);
  tenon_status_t findKernels(const runtime::Metadata &metadata,
                             const char *path);
  tenon_status_t copyWeights(runtime::Artifact &artifact);

  tenon_device_t *device = nullptr;
  Module module = nullptr;
  runtime::Array<Function> kernels;
  void *weights = nullptr;
  uint32_t chosen = none;
  bool mayOverlap = false;
};

} // namespace tenon::cuda

#endif // TENON_RUNTIME_CUDA_PROGRAM_H
