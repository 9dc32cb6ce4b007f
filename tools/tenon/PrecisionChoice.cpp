//===- PrecisionChoice.cpp - The fastest precisions within bounds ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With a price on errors and one on bytes, each op chooses by itself. Higher
// prices make both smaller, so the lowest prices that keep the bounds are found
// by bisection: the price of bytes within, that of errors without.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/PrecisionChoice.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tenon;

namespace {

using Ops = std::vector<std::vector<PrecisionCost>>;
using Choice = std::vector<size_t>;

/// Exponents of two between which prices are looked for.
constexpr double lowest = -120, highest = 120;
constexpr int halvings = 40;

struct Prices {
  double error, bytes;
};

Choice chooseBy(const Ops &ops, Prices prices) {
  Choice choice;
  for (const std::vector<PrecisionCost> &candidates : ops) {
    auto price = [&](const PrecisionCost &cost) {
      return cost.time + prices.error * cost.error + prices.bytes * cost.bytes;
    };
    choice.push_back(std::min_element(candidates.begin(), candidates.end(),
                                      [&](const auto &a, const auto &b) {
                                        return price(a) < price(b);
                                      }) -
                     candidates.begin());
  }
  return choice;
}

/// The lowest price, 0 or a power of two, at which `isGood` holds, as it does
/// for all above; nullopt when it never does.
template <typename Predicate>
std::optional<double> lowestPrice(Predicate isGood) {
  if (isGood(0.0))
    return 0.0;
  if (!isGood(std::exp2(highest)))
    return std::nullopt;
  double lo = lowest, hi = highest;
  for (int i = 0; i < halvings; ++i) {
    double middle = (lo + hi) / 2;
    (isGood(std::exp2(middle)) ? hi : lo) = middle;
  }
  return std::exp2(hi);
}

/// Takes faster candidates while they fit, those that save the most first.
void fillUp(const Ops &ops, Choice &choice, double mostError,
            double mostBytes) {
  PrecisionCost total = costOf(ops, choice);
  for (;;) {
    double best = 0;
    size_t op = 0, candidate = 0;
    for (size_t i = 0; i < ops.size(); ++i)
      for (size_t c = 0; c < ops[i].size(); ++c) {
        const PrecisionCost &now = ops[i][choice[i]], &then = ops[i][c];
        double saved = now.time - then.time;
        bool fits = total.error - now.error + then.error <= mostError &&
                    total.bytes - now.bytes + then.bytes <= mostBytes;
        if (fits && saved > best)
          best = saved, op = i, candidate = c;
      }
    if (best <= 0)
      return;
    choice[op] = candidate;
    total = costOf(ops, choice);
  }
}

} // namespace

PrecisionCost &PrecisionCost::operator+=(const PrecisionCost &other) {
  error += other.error;
  time += other.time;
  bytes += other.bytes;
  return *this;
}

PrecisionCost tenon::costOf(const Ops &ops, const Choice &choice) {
  PrecisionCost total;
  for (size_t i = 0; i < ops.size(); ++i)
    total += ops[i][choice[i]];
  return total;
}

std::optional<Choice> tenon::choosePrecisions(const Ops &ops, double mostError,
                                              double mostBytes) {
  // The price of bytes that goes with one of errors.
  auto bytesPrice = [&](double error) {
    return lowestPrice([&](double bytes) {
      return costOf(ops, chooseBy(ops, {error, bytes})).bytes <= mostBytes;
    });
  };
  std::optional<double> price = lowestPrice([&](double error) {
    std::optional<double> bytes = bytesPrice(error);
    return bytes &&
           costOf(ops, chooseBy(ops, {error, *bytes})).error <= mostError;
  });
  if (!price)
    return std::nullopt;
  Choice choice = chooseBy(ops, {*price, *bytesPrice(*price)});
  fillUp(ops, choice, mostError, mostBytes);
  return choice;
}
