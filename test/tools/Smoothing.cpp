//===- Smoothing.cpp - Shifts of channels that a test plants --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Smoothing.h"
#include <gtest/gtest.h>
#include <limits>

using namespace tenon;

namespace {

using Shifts = std::vector<int8_t>;
using Floats = std::vector<float>;

TEST(Smoothing, HalfOfWhatAChannelExceedsOthersByMoves) {
  EXPECT_EQ(smoothingShifts(Floats{1, 64, 1, 1}, Floats{1, 1, 1, 1}),
            (Shifts{0, 3, 0, 0}));
  EXPECT_EQ(smoothingShifts(Floats{1, 1, 1, 1}, Floats{1, 16, 1, 0.25f}),
            (Shifts{0, -2, 0, 1}));
  EXPECT_EQ(smoothingShifts(Floats{4, 256, 4, 4}, Floats{2, 0.5f, 2, 2}),
            (Shifts{0, 4, 0, 0}));
}

TEST(Smoothing, LikeChannelsStay) {
  EXPECT_EQ(smoothingShifts(Floats{3, 4, 5}, Floats{1, 1, 1}), Shifts());
  EXPECT_EQ(smoothingShifts({}, {}), Shifts());
}

TEST(Smoothing, ChannelsAndRowsOfZerosHaveNoShift) {
  EXPECT_EQ(smoothingShifts(Floats{0, 0}, Floats{1, 1}), Shifts());
  EXPECT_EQ(smoothingShifts(Floats{1, 64, 1, 64, 0}, Floats{1, 1, 1, 0, 9}),
            (Shifts{0, 3, 0, 0, 0}));
}

TEST(Smoothing, ShiftsAreWhatPlansMayHave) {
  float least = std::numeric_limits<float>::min(), most = 3e38f;
  EXPECT_EQ(smoothingShifts(Floats{1, most, 1}, Floats{1, least, 1}),
            (Shifts{0, 31, 0}));
}

} // namespace
