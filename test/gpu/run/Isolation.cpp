//===- Isolation.cpp - Fork, wait and read --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/run/Isolation.h"
#include "test/gpu/run/Runner.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tenon::trial;

/// In the new process: writes what the work returns, and ends as a program
/// does, so that libraries close.
[[noreturn]] static void child(const std::function<std::string()> &work,
                               int pipe) {
  std::string text = work();
  for (size_t done = 0; done < text.size();) {
    ssize_t count = write(pipe, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR)
      std::exit(1);
    done += size_t(std::max<ssize_t>(count, 0));
  }
  std::exit(0);
}

/// Appends what comes until the pipe closes; false when that is too late.
static bool readAll(int pipe, double seconds, std::string &text) {
  double end = now() + seconds * 1e3;
  for (;;) {
    pollfd waiting = {pipe, POLLIN, 0};
    double left = end - now();
    if (left <= 0 || poll(&waiting, 1, int(left) + 1) == 0)
      return false;
    char buffer[4096];
    ssize_t count = read(pipe, buffer, sizeof buffer);
    if (count == 0)
      return true;
    if (count > 0)
      text.append(buffer, size_t(count));
    else if (errno != EINTR)
      return false;
  }
}

Problem tenon::trial::isolate(const std::function<std::string()> &work,
                              double seconds, std::string &text) {
  int ends[2];
  std::fflush(nullptr); // Or both processes would write it.
  if (pipe(ends) != 0)
    return std::string("cannot make a pipe: ") + std::strerror(errno);
  pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    child(work, ends[1]);
  }
  close(ends[1]);
  Problem problem;
  if (process < 0)
    problem = std::string("cannot start a process: ") + std::strerror(errno);
  else if (!readAll(ends[0], seconds, text)) {
    kill(process, SIGKILL);
    problem = "it took more than " + std::to_string(int(seconds)) +
              " seconds and was ended; --limit sets another bound";
  }
  close(ends[0]);
  int status = 0;
  if (process < 0)
    return problem;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (problem)
    return problem;
  if (WIFSIGNALED(status))
    return "its process was ended by signal " +
           std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status))
    return "its process exited with " + std::to_string(WEXITSTATUS(status)) +
           ", what it printed says why";
  return std::nullopt;
}
