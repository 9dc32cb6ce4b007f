//===- FakeCublas.cpp - A cuBLAS that takes its time and does nothing -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For trying gpu_run without a GPU: the few functions that it calls, which
// check what they can of their arguments.
//
//===----------------------------------------------------------------------===//

namespace {
int handles = 0;
constexpr int notInitialized = 1, invalidValue = 7;
} // namespace

#define FAKE_CUBLAS extern "C" __attribute__((visibility("default"))) int

FAKE_CUBLAS cublasCreate_v2(void **handle) {
  *handle = &handles;
  ++handles;
  return 0;
}

FAKE_CUBLAS cublasDestroy_v2(void *handle) {
  return handle == &handles && handles-- > 0 ? 0 : notInitialized;
}

FAKE_CUBLAS cublasSetStream_v2(void *handle, void *stream) {
  return handle == &handles && stream ? 0 : invalidValue;
}

FAKE_CUBLAS cublasGemmEx(void *handle, int transposeA, int transposeB, int m,
                         int n, int k, const void *alpha, const void *a,
                         int typeOfA, int strideOfA, const void *b, int typeOfB,
                         int strideOfB, const void *beta, void *c, int typeOfC,
                         int strideOfC, int sums, int) {
  bool fits = handle == &handles && handles > 0 && !transposeA && !transposeB &&
              alpha && a && b && beta && c && typeOfA == typeOfB &&
              typeOfB == typeOfC && strideOfA >= m && strideOfB >= k &&
              strideOfC >= m && n > 0 && sums == 68;
  return fits ? 0 : invalidValue;
}
