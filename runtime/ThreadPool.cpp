//===- ThreadPool.cpp - The worker threads of a session -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/ThreadPool.h"
#include "runtime/FloatMode.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

using namespace tenon::runtime;

namespace {
constexpr size_t stackBytes = size_t(1) << 20;
constexpr uint32_t pausesPerClockRead = 32;
constexpr uint32_t pausesBeforeYield = 4096;

void futex(std::atomic<uint32_t> &word, int operation, uint32_t value) {
  syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr,
          nullptr, 0);
}
} // namespace

uint64_t tenon::runtime::nanosecondsNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

bool ThreadPool::start(uint32_t threads, uint32_t spinMicroseconds) {
  spinNanoseconds = uint64_t(spinMicroseconds) * 1000;
  owner = getpid();
  if (threads <= 1)
    return true;
  if (!workers.allocate(threads - 1))
    return false;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0)
    return true; // Run alone.
  pthread_attr_setstacksize(&attributes, stackBytes);
  // Signals are for the threads of the host.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (Worker &worker : workers) {
    worker = {this, workerCount + 1, {}};
    if (pthread_create(&worker.thread, &attributes, enter, &worker) != 0)
      break; // Run with those that we have.
    ++workerCount;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return true;
}

ThreadPool::~ThreadPool() {
  if (workerCount == 0 || getpid() != owner) // A forked child has no workers.
    return;
  stopping.store(true);
  wake(workerCount);
  for (uint32_t i = 0; i < workerCount; ++i)
    pthread_join(workers[i].thread, nullptr);
}

void ThreadPool::wake(uint32_t count) {
  wakeups.fetch_add(1);
  futex(wakeups, FUTEX_WAKE, count);
}

void ThreadPool::run(Body newBody, void *newJob, uint32_t helpers) {
  if (workerCount == 0 || helpers == 0)
    return newBody(newJob, 0);
  body = newBody;
  job = newJob;
  uint32_t next = generation(state.load(std::memory_order_relaxed)) + 1;
  // Sequentially consistent, as is `sleepers`: either we see a worker about
  // to sleep or it sees this job.
  state.store(uint64_t(next) << 32 | openBit);
  if (sleepers.load() != 0)
    wake(helpers);
  newBody(newJob, 0);

  uint64_t inside = state.fetch_and(~openBit, std::memory_order_acq_rel);
  uint32_t pauses = 0;
  while (uint32_t(inside) & ~uint32_t(openBit)) {
    if (++pauses < pausesBeforeYield)
      _mm_pause();
    else
      sched_yield();
    inside = state.load(std::memory_order_acquire);
  }
}

void *ThreadPool::enter(void *argument) {
  auto *worker = static_cast<Worker *>(argument);
  char name[16];
  snprintf(name, sizeof name, "tenon-%u", worker->number % 1000000);
  pthread_setname_np(pthread_self(), name);
  worker->pool->work(worker->number);
  return nullptr;
}

void ThreadPool::work(uint32_t number) {
  FloatMode mode;
  uint32_t seen = 0, pauses = 0;
  uint64_t idleSince = 0;
  while (!stopping.load(std::memory_order_relaxed)) {
    uint64_t now = state.load(std::memory_order_acquire);
    if (!offersWork(now, seen)) {
      idle(pauses, idleSince, seen);
      continue;
    }
    if (!state.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel))
      continue;
    seen = generation(now);
    body(job, int32_t(number));
    state.fetch_sub(1, std::memory_order_acq_rel);
    pauses = 0;
  }
}

/// One step of waiting: a pause in the first half of the time to spin, a yield
/// in the second, then sleep.
void ThreadPool::idle(uint32_t &pauses, uint64_t &idleSince, uint32_t seen) {
  if (pauses == 0)
    idleSince = nanosecondsNow();
  if (++pauses % pausesPerClockRead != 0 && spinNanoseconds != 0)
    return _mm_pause();
  uint64_t waited = nanosecondsNow() - idleSince;
  if (waited < spinNanoseconds / 2)
    return _mm_pause();
  if (waited < spinNanoseconds) {
    sched_yield();
    return;
  }
  sleep(seen);
  pauses = 0;
}

void ThreadPool::sleep(uint32_t seen) {
  uint32_t ticket = wakeups.load();
  sleepers.fetch_add(1);
  if (!offersWork(state.load(), seen) && !stopping.load())
    futex(wakeups, FUTEX_WAIT, ticket);
  sleepers.fetch_sub(1);
}
