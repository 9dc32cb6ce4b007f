//===- ThreadPool.h - The worker threads of a session ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_THREADPOOL_H
#define TENON_RUNTIME_THREADPOOL_H

#include "runtime/Memory.h"

#include <atomic>
#include <pthread.h>
#include <sys/types.h>

namespace tenon::runtime {

/// Workers that spin for a while after each job, then sleep.
///
/// A job belongs to whoever comes: the caller takes part as participant 0 and
/// each worker that is awake in time as its own number. A worker that wakes
/// late is not waited for, so a job must be complete when the caller alone
/// has run out of work to take.
class ThreadPool {
public:
  using Body = void (*)(void *job, int32_t participant);

  ThreadPool() = default;
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;
  ~ThreadPool();

  /// Starts `threads - 1` workers, or as many as can be had. False only when
  /// memory is short.
  [[nodiscard]] bool start(uint32_t threads, uint32_t spinMicroseconds);

  /// Participants a job may have, with the caller.
  uint32_t size() const { return workerCount + 1; }

  /// Runs `body(job, 0)` here and elsewhere with other numbers; `helpers` is
  /// how many workers are worth waking. Not reentrant.
  void run(Body body, void *job, uint32_t helpers);

private:
  struct Worker {
    ThreadPool *pool;
    uint32_t number;
    pthread_t thread;
  };

  static void *enter(void *worker);
  void work(uint32_t number);
  void idle(uint32_t &pauses, uint64_t &idleSince, uint32_t seen);
  void sleep(uint32_t seen);
  void wake(uint32_t count);

  // state: generation << 32 | open << 31 | workers inside the job. A worker
  // enters only an open job; the caller closes it before waiting, so that
  // `body` and `job` are never replaced under a worker.
  static constexpr uint64_t openBit = uint64_t(1) << 31;
  static uint32_t generation(uint64_t state) { return uint32_t(state >> 32); }
  static bool offersWork(uint64_t state, uint32_t seen) {
    return (state & openBit) && generation(state) != seen;
  }

  alignas(64) std::atomic<uint64_t> state{0};
  Body body = nullptr;
  void *job = nullptr;
  alignas(64) std::atomic<uint32_t> wakeups{0}; // A futex.
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stopping{false};

  Array<Worker> workers;
  uint32_t workerCount = 0;
  uint64_t spinNanoseconds = 0;
  pid_t owner = 0;
};

/// A clock that never goes back.
uint64_t nanosecondsNow();

} // namespace tenon::runtime

#endif // TENON_RUNTIME_THREADPOOL_H
