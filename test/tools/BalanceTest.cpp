//===- BalanceTest.cpp - Pieces that threads share ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Balance.h"
#include "gtest/gtest.h"

using namespace tenon;

namespace {

TEST(Balance, ThreadsTakeTheirOwnPiecesFirst) {
  EXPECT_EQ(secondsOf({}, 4), 0);
  EXPECT_EQ(secondsOf({3, 1, 2}, 1), 6);
  EXPECT_EQ(secondsOf({3, 1, 2}, 3), 3);
  EXPECT_EQ(secondsOf({3, 1, 2}, 100), 3);
  EXPECT_EQ(secondsOf({1, 1, 1, 1, 1, 1}, 4), 2);
  // The first has {4, 1}, of which the second, who has {1, 1}, takes the last.
  EXPECT_EQ(secondsOf({4, 1, 1, 1}, 2), 4);
  // Nobody else can take what was begun: {1, 4} and {1, 1}.
  EXPECT_EQ(secondsOf({1, 4, 1, 1}, 2), 5);
}

TEST(Balance, WaitingIsWhatIsNotWork) {
  SharedWork time{8, 3};
  EXPECT_DOUBLE_EQ(time.speedup(), 8.0 / 3);
  EXPECT_DOUBLE_EQ(time.waiting(4), 1);
  EXPECT_DOUBLE_EQ(SharedWork().speedup(), 1);
}

} // namespace
