//===- ThreadPool.cpp - Workers that spin, sleep and end ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/ThreadPool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <sys/resource.h>
#include <thread>

using namespace tenon::runtime;

namespace {
/// Takes numbers from 0 to 63 until there are none; counts each.
struct Job {
  std::atomic<int> next{0};
  std::atomic<int> done[64] = {};
  std::atomic<bool> came[1000] = {};

  static void take(void *self, int32_t participant) {
    auto *job = static_cast<Job *>(self);
    EXPECT_FALSE(job->came[participant].exchange(true)) << "came twice";
    for (int i; (i = job->next.fetch_add(1)) < 64;)
      ++job->done[i];
  }
  void expectDone() const {
    for (const std::atomic<int> &count : done)
      ASSERT_EQ(count, 1);
  }
};

void runMany(ThreadPool &pool, int jobs) {
  for (int i = 0; i < jobs; ++i) {
    Job job; // On the stack: nobody may touch it afterwards.
    pool.run(Job::take, &job, pool.size() - 1);
    job.expectDone();
  }
}

TEST(ThreadPool, RunsEveryPieceOnce) {
  for (uint32_t threads : {1, 2, 4, 9})
    for (uint32_t spin : {0, 20, 200}) {
      ThreadPool pool;
      ASSERT_TRUE(pool.start(threads, spin));
      EXPECT_EQ(pool.size(), threads);
      runMany(pool, 2000);
    }
}

TEST(ThreadPool, WakesAfterSleep) {
  ThreadPool pool;
  ASSERT_TRUE(pool.start(3, 10));
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    runMany(pool, 1 + i % 3);
  }
}

TEST(ThreadPool, WorkersDoHelp) {
  ThreadPool pool;
  ASSERT_TRUE(pool.start(2, 1000));
  // The caller's part waits for the worker's: both must be in one job.
  std::atomic<int> inside{0};
  auto meet = [](void *job, int32_t) {
    auto *inside = static_cast<std::atomic<int> *>(job);
    ++*inside;
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (*inside < 2 && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
  };
  pool.run(meet, &inside, 1);
  EXPECT_EQ(inside, 2);
}

TEST(ThreadPool, IdleWorkersTakeNoTime) {
  ThreadPool pool;
  ASSERT_TRUE(pool.start(2, 100));
  runMany(pool, 10);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  auto cpuTime = [] {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
  };
  double before = cpuTime();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LT(cpuTime() - before, 10.0);
}

TEST(ThreadPool, StartsAndEndsManyTimes) {
  for (int i = 0; i < 200; ++i) {
    ThreadPool pool;
    ASSERT_TRUE(pool.start(3, i % 2 ? 0 : 50));
    runMany(pool, i % 5);
  }
}

#if !__has_feature(address_sanitizer) // It needs address space itself.
/// Root is not bound by RLIMIT_NPROC, but stacks need address space.
void runWithoutAddressSpace() {
  rlimit none = {64 << 20, 64 << 20};
  setrlimit(RLIMIT_AS, &none);
  ThreadPool pool;
  bool fewer = pool.start(1000, 0) && pool.size() < 1000;
  runMany(pool, 10);
  _exit(fewer && !::testing::Test::HasFailure() ? 0 : 1);
}

TEST(ThreadPool, RunsWithFewerWhenThreadsCannotBeHad) {
  EXPECT_EXIT(runWithoutAddressSpace(), ::testing::ExitedWithCode(0), "");
}
#endif

} // namespace
