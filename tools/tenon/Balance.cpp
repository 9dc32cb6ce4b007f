//===- Balance.cpp - How evenly threads would share work ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Balance.h"

#include "tools/tenon/InPlaceRun.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

#include <chrono>
#include <map>

using namespace tenon;
using Clock = std::chrono::steady_clock;

double tenon::secondsOf(llvm::ArrayRef<double> pieces, int threads) {
  size_t parts = std::min(pieces.size(), size_t(threads));
  std::vector<size_t> next(parts), end(parts);
  for (size_t i = 0; i < parts; ++i) {
    next[i] = pieces.size() * i / parts;
    end[i] = pieces.size() * (i + 1) / parts;
  }
  // A thread without a part takes nothing that another would not take sooner.
  std::vector<double> clocks(parts);
  for (size_t taken = 0; taken < pieces.size(); ++taken) {
    size_t first = size_t(llvm::min_element(clocks) - clocks.begin());
    size_t from = first;
    while (next[from] == end[from])
      from = (from + 1) % parts;
    clocks[first] += pieces[next[from]++];
  }
  return clocks.empty() ? 0 : *llvm::max_element(clocks);
}

namespace {
/// The pieces of launches, by step and how often a run has come by it.
class PieceTimes {
public:
  explicit PieceTimes(tenon_session_t *session) : session(session) {
    tenon_session_set_observer(session, observe, this);
  }
  ~PieceTimes() { tenon_session_set_observer(session, nullptr, nullptr); }
  PieceTimes(const PieceTimes &) = delete;
  PieceTimes &operator=(const PieceTimes &) = delete;

  /// Says that a run is about to begin.
  void begin() { visits.clear(); }

  Balance shared(int threads) const {
    Balance balance;
    balance.threads = threads;
    llvm::StringMap<size_t> known;
    for (const auto &[place, launch] : launches) {
      SharedWork time;
      for (double piece : launch.seconds)
        time.work += piece;
      time.seconds = secondsOf(launch.seconds, threads);
      auto [found, isNew] =
          known.try_emplace(launch.kernel, balance.kernels.size());
      if (isNew)
        balance.kernels.push_back({launch.kernel, 0, 0, {}});
      SharedKernel &kernel = balance.kernels[found->second];
      ++kernel.launches;
      kernel.pieces = int(launch.seconds.size());
      for (SharedWork *sum : {&kernel.time, &balance.time}) {
        sum->work += time.work;
        sum->seconds += time.seconds;
      }
    }
    llvm::sort(balance.kernels, [&](const auto &a, const auto &b) {
      return a.time.waiting(threads) > b.time.waiting(threads);
    });
    return balance;
  }

private:
  struct Launch {
    std::string kernel;
    std::vector<double> seconds;
  };

  static void observe(void *self, const tenon_launch_t *launch) {
    if (!launch->piece_nanoseconds)
      return;
    auto *times = static_cast<PieceTimes *>(self);
    uint32_t visit = times->visits[launch->step]++;
    Launch &seen = times->launches[{launch->step, visit}];
    // Sizes of a later run may differ, as of boxes that were found.
    if (seen.seconds.size() != launch->pieces)
      seen = {launch->kernel_name, std::vector<double>(launch->pieces, 1e9)};
    for (uint32_t i = 0; i < launch->pieces; ++i)
      seen.seconds[i] =
          std::min(seen.seconds[i], double(launch->piece_nanoseconds[i]) / 1e9);
  }

  tenon_session_t *session;
  std::map<std::pair<uint32_t, uint32_t>, Launch> launches;
  std::map<uint32_t, uint32_t> visits; // Of each step, in the run at hand.
};
} // namespace

llvm::Expected<Balance> tenon::measureBalance(const Session &session,
                                              const std::vector<Tensor> &inputs,
                                              int threads, double seconds) {
  constexpr int fewest = 3;
  auto alone = session.oneByOne(threads);
  if (!alone)
    return alone.takeError();
  auto runs = InPlaceRun::prepare(**alone, inputs);
  if (!runs)
    return runs.takeError();
  PieceTimes times((*alone)->handle());
  auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(seconds));
  for (int run = 0; run < fewest || Clock::now() < until; ++run) {
    times.begin();
    if (llvm::Error error = runs->run())
      return error;
  }
  return times.shared(threads);
}

void tenon::printBalance(llvm::raw_ostream &os, const Balance &balance) {
  const SharedWork &all = balance.time;
  os << llvm::format("balance  %d threads: %.3f ms of %.3f ms of work, %.2f "
                     "times as fast\n",
                     balance.threads, all.seconds * 1e3, all.work * 1e3,
                     all.speedup());
  for (const SharedKernel &kernel : balance.kernels) {
    double share = kernel.time.waiting(balance.threads) / all.seconds;
    if (share < 0.01)
      break;
    os << llvm::format("         %4.1f %% waiting in ", 100 * share)
       << kernel.name
       << llvm::format(" (%d x %d pieces)\n", kernel.launches, kernel.pieces);
  }
}

llvm::json::Object tenon::jsonOf(const Balance &balance) {
  llvm::json::Array kernels;
  for (const SharedKernel &kernel : balance.kernels)
    kernels.push_back(
        llvm::json::Object{{"name", llvm::json::fixUTF8(kernel.name)},
                           {"launches", kernel.launches},
                           {"pieces", kernel.pieces},
                           {"work_ms", kernel.time.work * 1e3},
                           {"ms", kernel.time.seconds * 1e3}});
  return llvm::json::Object{{"threads", balance.threads},
                            {"work_ms", balance.time.work * 1e3},
                            {"ms", balance.time.seconds * 1e3},
                            {"speedup", balance.time.speedup()},
                            {"kernels", std::move(kernels)}};
}
