//===- Allocation.cpp - A second run allocates nothing --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/TinyModels.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>

using namespace tenon;
using namespace tenon::test;

namespace {
std::atomic<long> allocations{0};
std::atomic<long> allowed{LONG_MAX}; // Then every allocation fails.

bool refuses() { return ++allocations > allowed; }
} // namespace

// These stand in for the C library's own; glibc offers them by these names.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t bytes) {
  if (refuses())
    return nullptr;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  if (refuses())
    return nullptr;
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  if (refuses())
    return nullptr;
  return __libc_realloc(old, bytes);
}
int posix_memalign(void **out, size_t alignment, size_t bytes) {
  *out = refuses() ? nullptr : __libc_memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  if (refuses())
    return nullptr;
  return __libc_memalign(alignment, bytes);
}
}

namespace {
/// The allocations of one run of the scale model.
long countRun(Session &session, int64_t rows, int shift, bool callerOwned) {
  static char x[16100], y[16100];
  tenon_tensor_t input = tensor(TENON_F32, {rows, 4}, x + shift);
  tenon_tensor_t output =
      callerOwned ? result(y + shift, sizeof y - shift) : result();
  long before = allocations;
  tenon_status_t status = session.run({&input, 1}, {&output, 1});
  long count = allocations - before;
  EXPECT_EQ(status, TENON_OK) << lastError();
  return count;
}

TEST(Allocation, OnlyTheFirstRunOfAShapeAllocates) {
  for (int threads : {1, 2}) {
    tenon_session_options_t options = withThreads(threads);
    Loaded model(scaleModel(), &options);
    EXPECT_GT(countRun(model.session, 100, 0, false), 0);
    for (int i = 0; i < 10; ++i)
      EXPECT_EQ(countRun(model.session, 100, 0, false), 0);
    EXPECT_EQ(countRun(model.session, 7, 0, false), 0); // A smaller one.
    EXPECT_GT(countRun(model.session, 1000, 0, false), 0);
    EXPECT_EQ(countRun(model.session, 1000, 0, false), 0);
    EXPECT_EQ(countRun(model.session, 100, 0, false), 0);
    countRun(model.session, 100, 1, true); // Misaligned: copies.
    EXPECT_EQ(countRun(model.session, 100, 1, true), 0);
  }
}

/// Loads and runs with only `count` allocations to be had.
tenon_status_t runWith(long count, const char *path) {
  float x[400] = {};
  tenon_tensor_t input = tensor(TENON_F32, {100, 4}, x), output = result();
  tenon_session_options_t options = withThreads(1);
  allocations = 0;
  allowed = count;
  Model model;
  Session session;
  tenon_status_t status = Model::load(path, model);
  if (!status)
    status = Session::create(model, session, &options);
  if (!status)
    status = session.run({&input, 1}, {&output, 1});
  allowed = LONG_MAX;
  return status;
}

TEST(Allocation, EveryFailedAllocationIsAnError) {
  TemporaryFile file(scaleModel().build());
  for (long count = 0;; ++count) {
    ASSERT_LT(count, 200);
    tenon_status_t status = runWith(count, file.path());
    if (status == TENON_OK) // It had all it needs.
      break;
    EXPECT_EQ(status, TENON_OUT_OF_MEMORY) << count << ": " << lastError();
  }
}

TEST(Allocation, FailedRunsDoNotAllocateEither) {
  Loaded model(gatherModel());
  int64_t x[2] = {10, 0}, index[2] = {0, 1};
  std::vector<tenon_tensor_t> inputs = {tensor(TENON_I64, {2}, x),
                                        tensor(TENON_I64, {2}, index)};
  tenon_tensor_t output = result();
  ASSERT_EQ(model.session.run(inputs, {&output, 1}), TENON_FAILED);
  long before = allocations;
  tenon_status_t status = model.session.run(inputs, {&output, 1});
  long count = allocations - before;
  EXPECT_EQ(status, TENON_FAILED);
  EXPECT_EQ(count, 0);
}
} // namespace
