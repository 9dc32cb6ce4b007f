//===- Model.h - One loaded artifact --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_MODEL_H
#define TENON_RUNTIME_MODEL_H

#include "runtime/Artifact.h"
#include "runtime/Code.h"
#include "runtime/Cuda/Program.h"
#include "runtime/Metadata.h"

#include <atomic>

/// Immutable once loaded.
struct tenon_model_t {
  /// A formula that needs no symbol is evaluated once, at load.
  struct Formula {
    int64_t value;
    bool constant;
  };

  tenon_model_t() = default;
  tenon_model_t(const tenon_model_t &) = delete;
  tenon_model_t &operator=(const tenon_model_t &) = delete;

  [[nodiscard]] tenon_status_t load(const char *path,
                                    const tenon_load_options_t &options);

  /// A dim of an input or output as text.
  const char *dimText(uint32_t dim) const { return dimTexts[dim].text; }

  static constexpr uint32_t noLevel = UINT32_MAX;

  std::atomic<uint32_t> references{1};
  tenon_footer_t footer = {};
  tenon::runtime::Metadata metadata;
  tenon::runtime::Code code;
  tenon::runtime::Weights weights;
  bool described = false; // There is no code.
  uint32_t programCount = 0;
  uint32_t level = noLevel; // In use.
  int64_t cacheWays = 0;    // Of this machine: see Level.h.
  tenon::runtime::Array<tenon_kernel_fn_t> functions;
  tenon::cuda::Program program;                  // On a device, if it has one.
  tenon::runtime::Array<Formula> formulas;       // Of each expression.
  tenon::runtime::Array<const char *> nodeNames; // Of each node.

private:
  struct DimText {
    char text[80];
  };

  tenon_status_t chooseProgram(const tenon::runtime::Image &image,
                               const tenon_load_options_t &options,
                               const char *path);
  tenon_status_t loadCode(const tenon::runtime::Image &image,
                          tenon::runtime::Artifact &artifact,
                          const tenon_load_options_t &options);
  tenon_status_t chooseLevel(const char *path, const char *wanted);
  tenon_status_t resolveKernels(const char *path);
  tenon_status_t prepareFormulas(const char *path);

  tenon::runtime::Array<DimText> dimTexts;
};

#endif // TENON_RUNTIME_MODEL_H
