//===- Progress.cpp - A line on the terminal while work goes on -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Progress.h"

#include <cstdio>
#include <unistd.h>

using namespace tenon;
using namespace std::chrono_literals;

ProgressLine::ProgressLine()
    : start(std::chrono::steady_clock::now()), terminal(isatty(2)) {}

ProgressLine::~ProgressLine() {
  if (shown)
    std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::show(const std::string &text) {
  if (!terminal || std::chrono::steady_clock::now() - start < 2s)
    return;
  shown = true;
  std::fprintf(stderr, "\r\x1b[K%.100s", text.c_str());
  std::fflush(stderr);
}

ProgressTimer::ProgressTimer(std::string text) {
  if (isatty(2))
    thread = std::thread([this, text = std::move(text)] { loop(text); });
}

ProgressTimer::~ProgressTimer() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    ended = true;
  }
  wake.notify_all();
  thread.join();
}

void ProgressTimer::loop(const std::string &text) {
  ProgressLine line;
  std::unique_lock lock(mutex);
  for (int halfSeconds = 1; !ended; ++halfSeconds) {
    wake.wait_for(lock, 500ms, [this] { return ended; });
    line.show(text + " ... " + std::to_string(halfSeconds / 2) + " s");
  }
}
