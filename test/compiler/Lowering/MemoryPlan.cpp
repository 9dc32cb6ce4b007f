//===- MemoryPlan.cpp - Storages that live together never overlap ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Lowering/MemoryPlan.h"
#include "runtime/model_format.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace tenon;
using graph::Expr;

namespace {

struct LoadedContext : MLIRContext {
  LoadedContext() : MLIRContext(Threading::DISABLED) {
    loadDialect<graph::GraphDialect>();
  }
};

struct MemoryPlanTest : testing::Test {
  LoadedContext context;
  Expr s = Expr::symbol(&context, "s"), t = Expr::symbol(&context, "t");

  Expr number(int64_t value) { return Expr::constant(&context, value); }

  SmallVector<Expr> plan(std::vector<Storage> &storages,
                         unsigned segments = 1) {
    SmallVector<Storage *> pointers;
    for (Storage &storage : storages)
      pointers.push_back(&storage);
    return planMemory(&context, pointers, segments).sizes;
  }

  int64_t at(Expr expr, int64_t sValue, int64_t tValue) {
    std::optional<int64_t> value =
        expr.evaluate([&](StringRef name) -> std::optional<int64_t> {
          return name == "s" ? sValue : tValue;
        });
    EXPECT_TRUE(value) << expr.str();
    return value.value_or(-1);
  }
};

TEST_F(MemoryPlanTest, AlignedBytes) {
  EXPECT_EQ(alignedBytes(number(0)), number(0));
  EXPECT_EQ(alignedBytes(number(1)), number(TENON_BUFFER_ALIGN));
  EXPECT_EQ(alignedBytes(s * TENON_BUFFER_ALIGN), s * TENON_BUFFER_ALIGN);
  EXPECT_EQ(at(alignedBytes(s * 4), 17, 0), 2 * TENON_BUFFER_ALIGN);
  EXPECT_FALSE(alignedBytes(Expr()));
  EXPECT_FALSE(alignedBytes(number(INT64_MAX)));
}

/// More slots than a sum of their sizes can have terms.
TEST_F(MemoryPlanTest, ManySizesAreSeveralSegments) {
  std::vector<Storage> storages;
  for (unsigned i = 0; i < 100; ++i) {
    storages.push_back(
        {Expr::symbol(&context, "n" + std::to_string(i)) * 64, 0, 200, i});
    storages.back().segment = i < 10 ? 0 : 1;
  }
  SmallVector<Storage *> pointers;
  for (Storage &storage : storages)
    pointers.push_back(&storage);
  SegmentPlan plan = planMemory(&context, pointers, 2);
  EXPECT_EQ(plan.withAll(0), SmallVector<unsigned>{0});
  EXPECT_EQ(plan.withAll(1), (SmallVector<unsigned>{1, 2}));
  // All of a segment, one after the other.
  SmallVector<Expr> ends(plan.sizes.size(), number(0));
  for (const Storage &storage : storages) {
    EXPECT_EQ(storage.offset, ends[storage.segment]);
    ends[storage.segment] = storage.offset + storage.bytes;
  }
  EXPECT_EQ(ends, plan.sizes);
}

TEST_F(MemoryPlanTest, DisjointLifetimesShareASlot) {
  std::vector<Storage> storages = {
      {s * 64, 1, 2, 0}, {s * 64, 3, 4, 1}, {s * 64, 5, 6, 2}};
  EXPECT_EQ(plan(storages)[0], s * 64);
  for (Storage &storage : storages)
    EXPECT_EQ(storage.offset, number(0));
}

TEST_F(MemoryPlanTest, AStepInCommonIsAnOverlap) {
  std::vector<Storage> storages = {{s * 64, 1, 3, 0}, {s * 64, 3, 4, 1}};
  EXPECT_EQ(plan(storages)[0], s * 128);
  EXPECT_NE(storages[0].offset, storages[1].offset);
}

TEST_F(MemoryPlanTest, SizesThatDoNotCompareDoNotShare) {
  std::vector<Storage> storages = {{s * 64, 1, 2, 0}, {t * 64, 3, 4, 1}};
  EXPECT_EQ(plan(storages)[0], s * 64 + t * 64);
}

TEST_F(MemoryPlanTest, TwoShareWhatOneLeft) {
  std::vector<Storage> storages = {
      {s * 128, 1, 2, 0}, {s * 64, 3, 4, 1}, {s * 64, 3, 4, 2}};
  EXPECT_EQ(plan(storages)[0], s * 128);
  EXPECT_EQ(storages[1].offset + storages[2].offset, s * 64);
}

/// Between two that live longer, and above them.
TEST_F(MemoryPlanTest, GapsAreFilled) {
  std::vector<Storage> storages = {{s * 256, 1, 4, 0}, {s * 192, 1, 2, 1},
                                   {s * 64, 1, 9, 2},  {s * 128, 3, 6, 3},
                                   {s * 64, 3, 6, 4},  {s * 256, 5, 6, 5}};
  EXPECT_EQ(plan(storages)[0], s * 512);
}

TEST_F(MemoryPlanTest, SharesAmongSizesThatCompare) {
  std::vector<Storage> storages = {{s * 128, 1, 2, 0},
                                   {t * 128, 1, 9, 1},
                                   {s * 64, 3, 4, 2},
                                   {s * 64, 3, 4, 3}};
  EXPECT_EQ(plan(storages)[0], s * 128 + t * 128);
}

TEST_F(MemoryPlanTest, SegmentsAreSeparate) {
  std::vector<Storage> storages = {{s * 64, 1, 9, 0, 0}, {t * 64, 1, 9, 1, 1}};
  SmallVector<Expr> sizes = plan(storages, 3);
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_EQ(sizes[0], s * 64);
  EXPECT_EQ(sizes[1], t * 64);
  EXPECT_EQ(sizes[2], number(0));
  EXPECT_EQ(storages[1].offset, number(0));
}

TEST_F(MemoryPlanTest, OverflowGivesNull) {
  std::vector<Storage> storages = {{number(INT64_MAX - 100), 1, 9, 0},
                                   {number(INT64_MAX - 100), 1, 9, 1}};
  EXPECT_FALSE(plan(storages)[0]);
}

struct Random : MemoryPlanTest {
  std::mt19937 engine{42};
  int64_t pick(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(engine);
  }

  Expr randomBytes() {
    switch (pick(0, 6)) {
    case 0:
      return number(pick(0, 4000));
    case 1:
      return s * pick(0, 40) + pick(0, 100);
    case 2:
      return s * t * pick(1, 8);
    case 3:
      return s.max(t) * 4;
    case 4:
      return (s + pick(0, 7)).floorDiv(number(pick(1, 4))) * pick(1, 64);
    case 5:
      return s.broadcast(t) * 8;
    default:
      return t * t * 4 + s;
    }
  }

  /// No two storages of a segment that live at once have a byte in common, and
  /// none leaves its segment.
  void check(const std::vector<Storage> &storages, ArrayRef<Expr> sizes,
             int64_t sValue, int64_t tValue) {
    for (size_t i = 0; i < storages.size(); ++i) {
      const Storage &a = storages[i];
      int64_t aBegin = at(a.offset, sValue, tValue);
      int64_t aEnd = aBegin + at(a.bytes, sValue, tValue);
      ASSERT_GE(aBegin, 0);
      ASSERT_EQ(aBegin % TENON_BUFFER_ALIGN, 0);
      ASSERT_LE(aEnd, at(sizes[a.segment], sValue, tValue));
      for (size_t j = 0; j < i; ++j) {
        const Storage &b = storages[j];
        bool together =
            a.segment == b.segment && a.begin <= b.end && b.begin <= a.end;
        if (!together)
          continue;
        int64_t bBegin = at(b.offset, sValue, tValue);
        int64_t bEnd = bBegin + at(b.bytes, sValue, tValue);
        ASSERT_TRUE(aEnd <= bBegin || bEnd <= aBegin)
            << a.bytes.str() << " at " << a.offset.str() << " and "
            << b.bytes.str() << " at " << b.offset.str()
            << " for s = " << sValue << ", t = " << tValue;
      }
    }
  }
};

TEST_F(Random, NothingThatLivesTogetherOverlaps) {
  for (int round = 0; round < 200; ++round) {
    std::vector<Storage> storages;
    for (unsigned n = 0, count = pick(1, 30); n < count; ++n) {
      unsigned begin = pick(0, 40);
      unsigned end = begin + pick(0, 8);
      storages.push_back({randomBytes(),
                          begin,
                          end,
                          n,
                          static_cast<unsigned>(pick(0, 2)),
                          {}});
    }
    SmallVector<Expr> sizes = plan(storages, 3);
    for (Expr size : sizes)
      ASSERT_TRUE(size);
    for (auto [sValue, tValue] : {std::pair<int64_t, int64_t>{0, 0},
                                  {1, 1},
                                  {1, 7},
                                  {128, 1},
                                  {33, 33},
                                  {1000, 0}}) {
      check(storages, sizes, sValue, tValue);
      if (HasFatalFailure())
        return;
    }
  }
}

} // namespace
