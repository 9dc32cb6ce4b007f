//===- Workers.cpp - Jobs in processes of their own -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Workers.h"

#include "llvm/ADT/SmallVector.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace tenon;

namespace {

struct Worker {
  size_t index;
  pid_t process;
  int pipe;
  std::string output;
};

void writeAll(int descriptor, const std::string &text) {
  size_t at = 0;
  while (at < text.size()) {
    ssize_t written = ::write(descriptor, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR)
      return;
    at += size_t(std::max<ssize_t>(written, 0));
  }
}

std::optional<Worker> start(size_t index,
                            llvm::function_ref<std::string(size_t)> work) {
  int ends[2];
  if (::pipe(ends) != 0)
    return std::nullopt;
  std::fflush(nullptr);
  pid_t process = ::fork();
  if (process == 0) {
    ::close(ends[0]);
    // A model may loop for long: not longer than someone waits for it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    writeAll(ends[1], work(index));
    // Nothing of the parent's is to be flushed or destroyed here.
    ::_exit(0);
  }
  ::close(ends[1]);
  if (process < 0) {
    ::close(ends[0]);
    return std::nullopt;
  }
  return Worker{index, process, ends[0], ""};
}

/// How the process ended, unless well.
std::string reap(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
    return "exit code " + std::to_string(WEXITSTATUS(status));
  return "";
}

/// Reads what there is; false at the end.
bool receive(Worker &worker) {
  char buffer[4096];
  ssize_t got = ::read(worker.pipe, buffer, sizeof buffer);
  if (got > 0)
    worker.output.append(buffer, size_t(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

class Pool {
public:
  Pool(size_t count, llvm::function_ref<void(size_t, const Outcome &)> done)
      : outcomes(count), done(done) {}

  bool idle() const { return workers.empty(); }
  size_t busy() const { return workers.size(); }
  size_t firstRunning() const { return next; }

  void add(Worker worker) { workers.push_back(std::move(worker)); }

  void finish(size_t index, Outcome outcome) {
    outcomes[index] = std::move(outcome);
    for (; next < outcomes.size() && outcomes[next]; ++next) {
      done(next, *outcomes[next]);
      outcomes[next] = Outcome();
    }
  }

  /// Waits until something happened, half a second at most.
  void wait() {
    llvm::SmallVector<pollfd> polls;
    for (const Worker &worker : workers)
      polls.push_back({worker.pipe, POLLIN, 0});
    if (::poll(polls.data(), polls.size(), 500) <= 0)
      return;
    for (size_t i = workers.size(); i-- > 0;) {
      if (polls[i].revents == 0 || receive(workers[i]))
        continue;
      Worker ended = std::move(workers[i]);
      workers.erase(workers.begin() + i);
      ::close(ended.pipe);
      finish(ended.index, {std::move(ended.output), reap(ended.process)});
    }
  }

private:
  std::vector<std::optional<Outcome>> outcomes;
  std::vector<Worker> workers;
  llvm::function_ref<void(size_t, const Outcome &)> done;
  size_t next = 0;
};

} // namespace

void tenon::runForked(size_t count, unsigned jobs,
                      llvm::function_ref<std::string(size_t)> work,
                      llvm::function_ref<void(size_t, const Outcome &)> done,
                      llvm::function_ref<void(size_t)> tick) {
  Pool pool(count, done);
  for (size_t i = 0; i < count || !pool.idle();) {
    if (jobs == 0) {
      pool.finish(i, {work(i), ""});
      ++i;
      continue;
    }
    if (i < count && pool.busy() < jobs) {
      std::optional<Worker> worker = start(i, work);
      if (worker)
        pool.add(std::move(*worker));
      else // No process to be had: do it here.
        pool.finish(i, {work(i), ""});
      ++i;
      continue;
    }
    pool.wait();
    tick(pool.firstRunning());
  }
}
