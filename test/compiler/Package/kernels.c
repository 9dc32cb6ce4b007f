//===- kernels.c - Two kernels, as a CPU level would have them ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/model_format.h"

#define KERNEL(function, symbol)                                               \
  int32_t function(                                                            \
      void *const *buffers, const int64_t *params, int64_t begin, int64_t end, \
      const tenon_kernel_context_t *context) __asm__(symbol ".x86-64-v3");     \
  int32_t function(void *const *buffers, const int64_t *params, int64_t begin, \
                   int64_t end, const tenon_kernel_context_t *context)

// y[i, j] = x[i, j] + w[0][j][0]: the first column of a packed weight [100, N].
KERNEL(addColumn, "add_column") {
  const float *x = buffers[0], *w = buffers[1];
  float *y = buffers[2];
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < 100; ++j)
      y[i * 100 + j] = x[i * 100 + j] + w[j * 48];
  return 0;
}

KERNEL(fault, "fault") { return TENON_FAULT_INDEX | 1 << 8; }
