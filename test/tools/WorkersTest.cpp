//===- WorkersTest.cpp - Jobs that end well and badly ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Workers.h"
#include "gtest/gtest.h"

#include <csignal>
#include <unistd.h>
#include <vector>

using namespace tenon;

namespace {

TEST(Workers, ReportInOrderWhateverHappens) {
  for (unsigned jobs : {1u, 3u}) {
    std::vector<Outcome> outcomes;
    runForked(
        5, jobs,
        [](size_t i) {
          if (i == 1)
            std::raise(SIGKILL);
          if (i == 2)
            _exit(3);
          if (i == 0)
            usleep(50000);
          return std::string(i * 100000, 'x');
        },
        [&](size_t i, const Outcome &outcome) {
          EXPECT_EQ(i, outcomes.size());
          outcomes.push_back(outcome);
        },
        [](size_t) {});
    ASSERT_EQ(outcomes.size(), 5u);
    EXPECT_EQ(outcomes[0].crash, "");
    EXPECT_NE(outcomes[1].crash.find("signal 9"), std::string::npos);
    EXPECT_EQ(outcomes[2].crash, "exit code 3");
    EXPECT_EQ(outcomes[4].output.size(), 400000u);
  }
}

TEST(Workers, NoJobsMeansThisProcess) {
  pid_t self = getpid();
  int here = 0;
  runForked(
      2, 0,
      [&](size_t) {
        here += getpid() == self;
        return std::string();
      },
      [](size_t, const Outcome &) {}, [](size_t) {});
  EXPECT_EQ(here, 2);
}

} // namespace
