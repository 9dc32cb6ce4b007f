//===- PanelCut.cpp - Columns in panels -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/PanelCut.h"
#include <gtest/gtest.h>

using namespace tenon::kernel;

namespace {

TEST(PanelCut, EachColumnIsInOnePanel) {
  for (bool isEven : {false, true})
    for (int64_t columns = 1; columns <= 400; ++columns) {
      PanelCut cut = {columns, isEven};
      int64_t next = 0;
      for (int64_t panel = 0; panel < cut.count(); ++panel) {
        EXPECT_EQ(cut.first(panel), next) << columns;
        EXPECT_GE(cut.width(panel), 1) << columns;
        EXPECT_LE(cut.width(panel), panelColumns) << columns;
        for (; next < cut.first(panel) + cut.width(panel); ++next)
          EXPECT_EQ(cut.panelOf(next), panel) << columns;
      }
      EXPECT_EQ(next, columns);
    }
}

TEST(PanelCut, ALastVectorIsNotAlone) {
  PanelCut of64 = {64, true}, of256 = {256, true};
  EXPECT_EQ(of64.width(0), 32);
  EXPECT_EQ(of64.width(1), 32);
  EXPECT_EQ(of256.first(4), 192);
  EXPECT_EQ(of256.first(5), 224);
  for (int64_t columns = 49; columns <= 400; ++columns) {
    PanelCut cut = {columns, true};
    EXPECT_GT(cut.width(cut.count() - 1), 16) << columns;
  }
}

/// Nor is anything moved where the last panel has more, or is the only one.
TEST(PanelCut, OthersStay) {
  for (int64_t columns : {1, 16, 48, 65, 80, 96, 128, 512})
    EXPECT_EQ((PanelCut{columns, true}.moved()), 0) << columns;
  EXPECT_EQ((PanelCut{64, false}.moved()), 0);
}

} // namespace
