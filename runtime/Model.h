//===- Model.h - One loaded artifact --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_MODEL_H
#define TENON_RUNTIME_MODEL_H

#include "runtime/Artifact.h"
#include "runtime/Code.h"
#include "runtime/Metadata.h"

#include <atomic>

/// Immutable once loaded.
struct tenon_model_t {
  /// A formula that needs no symbol is evaluated once, at load.
  struct Formula {
    int64_t value;
    bool constant;
  };

  [[nodiscard]] tenon_status_t load(const char *path,
                                    const tenon_load_options_t &options);

  /// A dim of an input or output as text.
  const char *dimText(uint32_t dim) const { return dimTexts[dim].text; }

  std::atomic<uint32_t> references{1};
  tenon_footer_t footer = {};
  tenon::runtime::Metadata metadata;
  tenon::runtime::Code code;
  tenon::runtime::Weights weights;
  uint32_t level = 0; // In use.
  tenon::runtime::Array<tenon_kernel_fn_t> functions;
  tenon::runtime::Array<Formula> formulas;       // Of each expression.
  tenon::runtime::Array<const char *> nodeNames; // Of each node.

private:
  struct DimText {
    char text[80];
  };

  tenon_status_t chooseLevel(const char *path, const char *wanted);
  tenon_status_t resolveKernels(const char *path);
  tenon_status_t prepareFormulas(const char *path);

  tenon::runtime::Array<DimText> dimTexts;
};

#endif // TENON_RUNTIME_MODEL_H
