//===- kernels.c - Kernels for the tests of the runtime -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled to an ELF image without a C library, as an artifact holds it.
//
//===----------------------------------------------------------------------===//

#include "runtime/model_format.h"

#define KERNEL(name)                                                           \
  __attribute__((visibility("default"))) int32_t name(                         \
      void *const *buffers, const int64_t *params, int64_t begin, int64_t end, \
      const tenon_kernel_context_t *context)

// y[i] = x[i] * w[0], a float each; absent weights count as 1.
KERNEL(scale) {
  const float *x = buffers[0], *w = buffers[1];
  float *y = buffers[2];
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] * (w ? w[0] : 1.0f);
  return 0;
}

// y[i] = x[i] + params[0], an int64 each.
KERNEL(add) {
  const int64_t *x = buffers[0];
  int64_t *y = buffers[1];
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] + params[0];
  return 0;
}

// y[i] = x[i] < params[0], a bool of an int64 each.
KERNEL(less) {
  const int64_t *x = buffers[0];
  unsigned char *y = buffers[1];
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] < params[0];
  return 0;
}

// y[i] = where the piece begins that i is in: shows how rows are split.
KERNEL(pieces) {
  int64_t *y = buffers[0];
  for (int64_t i = begin; i < end; ++i)
    y[i] = begin;
  return 0;
}

// y[i] = x[index[i]]; node 1 faults on a bad index, node 0 on a zero.
KERNEL(gather) {
  const int64_t *x = buffers[0], *index = buffers[1];
  int64_t *y = buffers[2];
  for (int64_t i = begin; i < end; ++i) {
    if (index[i] < 0 || index[i] >= params[0])
      return TENON_FAULT_INDEX | 1 << 8;
    if (x[index[i]] == 0)
      return TENON_FAULT_DIVIDE;
    y[i] = 1000 / x[index[i]];
  }
  return 0;
}

// y[i] = sum of x[0 .. params[0]) by way of scratch; wrong where two threads
// share it.
KERNEL(through_scratch) {
  const int64_t *x = buffers[0];
  int64_t *y = buffers[1];
  volatile int64_t *scratch = context->scratch;
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0; j < params[0]; ++j)
      scratch[j] = x[j] + i;
    int64_t sum = 0;
    for (int64_t j = 0; j < params[0]; ++j)
      sum += scratch[j];
    y[i] = sum;
  }
  return 0;
}

// y[0] = sum of x[0 .. params[0]), a row at a time, by whoever comes last: each
// row leaves its own in shared memory, behind what counts them.
KERNEL(through_shared) {
  const int64_t *x = buffers[0];
  int64_t *counter = context->shared;
  volatile int64_t *rows = counter + TENON_SHARED_ZEROS / 8;
  for (int64_t i = begin; i < end; ++i) {
    rows[i] = x[i];
    if (__atomic_add_fetch(counter, 1, __ATOMIC_ACQ_REL) != params[0])
      continue;
    int64_t sum = 0;
    for (int64_t j = 0; j < params[0]; ++j)
      sum += rows[j];
    *(int64_t *)buffers[1] = sum;
  }
  return 0;
}

// Each function of the context on x[i]: y[i] = f_i(x[0]), binary (x[0], x[1]).
KERNEL(math) {
  const double *x = buffers[0];
  double *y = buffers[1];
  for (int i = 0; i < TENON_MATH_UNARY_COUNT; ++i) {
    *y++ = context->unary[i](x[0]);
    *y++ = (double)context->unary_f32[i]((float)x[0]);
  }
  for (int i = 0; i < TENON_MATH_BINARY_COUNT; ++i) {
    *y++ = context->binary[i](x[0], x[1]);
    *y++ = (double)context->binary_f32[i]((float)x[0], (float)x[1]);
  }
  return 0;
}

// y[0] = which of the two ran.
KERNEL(level_low) {
  *(int64_t *)buffers[0] = 3;
  return 0;
}

KERNEL(level_high) {
  *(int64_t *)buffers[0] = 4;
  return 0;
}
