//===- Progress.h - A line on the terminal while work goes on -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_PROGRESS_H
#define TENON_TOOLS_TENON_PROGRESS_H

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tenon {

/// One line on stderr that is written over and removed at the end; nothing
/// when stderr is no terminal, nor in the first two seconds.
class ProgressLine {
public:
  ProgressLine();
  ~ProgressLine();
  void show(const std::string &text);

private:
  std::chrono::steady_clock::time_point start;
  bool terminal, shown = false;
};

/// Shows `text` and the seconds since its construction, until it ends. Starts
/// a thread where stderr is a terminal.
class ProgressTimer {
public:
  explicit ProgressTimer(std::string text);
  ~ProgressTimer();

private:
  void loop(const std::string &text);
  std::mutex mutex;
  std::condition_variable wake;
  bool ended = false;
  std::thread thread;
};

} // namespace tenon

#endif // TENON_TOOLS_TENON_PROGRESS_H
