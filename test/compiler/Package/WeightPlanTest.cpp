//===- WeightPlanTest.cpp - Places and layouts of weights -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/WeightPlan.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace tenon;

namespace {

std::vector<char> floats(size_t count, float first) {
  std::vector<char> bytes(count * 4);
  for (size_t i = 0; i < count; ++i) {
    float value = first + float(i);
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  return bytes;
}

struct WeightPlanTest : testing::Test {
  mlir::MLIRContext context;
  WeightStore store;

  void add(llvm::StringRef name, llvm::ArrayRef<int64_t> shape, float first) {
    auto added = store.addOwned(name, mlir::Float32Type::get(&context), shape,
                                floats(size_t(*elementCount(shape)), first));
    ASSERT_TRUE(bool(added)) << llvm::toString(added.takeError());
  }

  static std::vector<char> laidOut(const PlacedWeight &placed) {
    std::vector<char> bytes;
    layOut(placed, [&](llvm::ArrayRef<char> part) {
      bytes.insert(bytes.end(), part.begin(), part.end());
    });
    return bytes;
  }
};

TEST_F(WeightPlanTest, AlignsAndStoresEqualBytesOnce) {
  add("a", {3}, 0);
  add("b", {3}, 5);
  add("c", {3}, 0);
  WeightPlan plan(store);
  EXPECT_EQ(llvm::cantFail(plan.place("a", "")).offset, 0u);
  EXPECT_EQ(llvm::cantFail(plan.place("b", "")).offset, 64u);
  EXPECT_EQ(llvm::cantFail(plan.place("c", "row-major")).offset, 0u);
  EXPECT_EQ(llvm::cantFail(plan.place("b", "")).offset, 64u);
  EXPECT_EQ(plan.placed().size(), 2u);
  EXPECT_EQ(plan.totalBytes(), 76u);
}

TEST_F(WeightPlanTest, RefusesALayoutEachTime) {
  auto bits = mlir::IntegerType::get(&context, 4);
  llvm::cantFail(store.addOwned("q", bits, {8, 48}, std::vector<char>(192)));
  WeightPlan plan(store);
  for (int i = 0; i < 2; ++i) {
    auto placed = plan.place("q", "packed48_quads");
    ASSERT_FALSE(placed);
    EXPECT_NE(llvm::toString(placed.takeError()).find("cannot have the layout"),
              std::string::npos);
  }
}

TEST_F(WeightPlanTest, PacksColumnsIntoPaddedPanels) {
  constexpr int64_t rows = 300, columns = 50;
  add("w", {rows, columns}, 0);
  WeightPlan plan(store);
  PlacedWeight placed = llvm::cantFail(plan.place("w", "packed48"));
  EXPECT_EQ(placed.bytes, 2u * rows * 48 * 4);
  std::vector<char> bytes = laidOut(placed);
  ASSERT_EQ(bytes.size(), placed.bytes);
  for (int64_t column = 0; column < 96; ++column)
    for (int64_t row = 0; row < rows; ++row) {
      float value;
      int64_t at = (column / 48 * rows + row) * 48 + column % 48;
      std::memcpy(&value, bytes.data() + at * 4, 4);
      EXPECT_EQ(value, column < columns ? float(row * columns + column) : 0);
    }
}

/// A table that is also, transposed, the right side of a product.
TEST_F(WeightPlanTest, StoresRowsAndTheirTransposeOnce) {
  constexpr int64_t rows = 50, columns = 300;
  add("table", {rows, columns}, 0);
  const Weight *head = store.addTransposed("head", *store.lookup("table"));
  WeightPlan plan(store);
  PlacedWeight packed = llvm::cantFail(plan.place(head->name, "packed48"));
  PlacedWeight placed = llvm::cantFail(plan.place("table", "rows48"));
  EXPECT_EQ(packed.offset, placed.offset);
  EXPECT_EQ(plan.placed().size(), 1u);
  ASSERT_EQ(placed.bytes, 2u * columns * 48 * 4);
  std::vector<char> bytes = laidOut(placed);
  ASSERT_EQ(bytes.size(), placed.bytes);
  for (int64_t row = 0; row < 96; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      float value;
      int64_t at = (row / 48 * columns + column) * 48 + row % 48;
      std::memcpy(&value, bytes.data() + at * 4, 4);
      EXPECT_EQ(value, row < rows ? float(row * columns + column) : 0);
    }
}

TEST_F(WeightPlanTest, StoresBytesOnceForRowsAndForLines) {
  constexpr int64_t rows = 50, columns = 300; // Chunks, and half a panel.
  std::vector<char> numbers(rows * columns);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = char(i % 251);
  const Weight *table = llvm::cantFail(
      store.addOwned("table", mlir::IntegerType::get(&context, 8),
                     {rows, columns}, std::vector<char>(numbers)));
  const Weight *head = store.addTransposed("head", *table);
  WeightPlan plan(store);
  PlacedWeight lines = llvm::cantFail(plan.place(head->name, "lines48"));
  PlacedWeight placed = llvm::cantFail(plan.place("table", "rows48"));
  EXPECT_EQ(lines.offset, placed.offset);
  EXPECT_EQ(plan.placed().size(), 1u);
  ASSERT_EQ(placed.bytes, 2u * columns * 48);
  std::vector<char> bytes = laidOut(placed);
  ASSERT_EQ(bytes.size(), placed.bytes);
  for (int64_t row = 0; row < 96; ++row)
    for (int64_t column = 0; column < columns; ++column)
      EXPECT_EQ(bytes[size_t((row / 48 * columns + column) * 48 + row % 48)],
                row < rows ? numbers[size_t(row * columns + column)] : 0);
}

TEST_F(WeightPlanTest, PacksNibblesInWordsOfEightRows) {
  constexpr int64_t rows = 300, columns = 50;
  // Of the transpose, as files have it.
  std::vector<char> bytes(rows * columns / 2);
  auto number = [](int64_t row, int64_t column) {
    return (row * 7 + column * 3) % 16;
  };
  for (int64_t at = 0; at < rows * columns; ++at)
    bytes[size_t(at / 2)] |=
        char(number(at % rows, at / rows) << (at % 2 == 0 ? 0 : 4));
  const Weight *turned =
      llvm::cantFail(store.addOwned("q", mlir::IntegerType::get(&context, 4),
                                    {columns, rows}, std::move(bytes)));
  const Weight *weight = store.addTransposed("w", *turned);
  WeightPlan plan(store);
  PlacedWeight placed = llvm::cantFail(plan.place(weight->name, "nibbles48"));
  EXPECT_EQ(placed.bytes, 2u * 38 * 48 * 4);
  std::vector<uint32_t> words;
  auto into = [&](llvm::ArrayRef<char> part) {
    size_t before = words.size();
    words.resize(before + part.size() / 4);
    std::memcpy(&words[before], part.data(), part.size());
  };
  layOut(placed, into);
  ASSERT_EQ(words.size(), placed.bytes / 4);
  for (int64_t column = 0; column < 96; ++column)
    for (int64_t row = 0; row < 304; ++row) {
      uint32_t word =
          words[size_t((column / 48 * 38 + row / 8) * 48 + column % 48)];
      uint32_t wanted =
          row < rows && column < columns ? uint32_t(number(row, column)) : 0;
      EXPECT_EQ(word >> (row % 8 * 4) & 15, wanted);
    }
  // As bytes, signed.
  placed = llvm::cantFail(plan.place(weight->name, "lines48_halves"));
  EXPECT_EQ(placed.bytes, 2u * 300 * 48);
  std::vector<char> lines;
  layOut(placed, [&](llvm::ArrayRef<char> part) {
    lines.insert(lines.end(), part.begin(), part.end());
  });
  ASSERT_EQ(lines.size(), placed.bytes);
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows; ++row) {
      int64_t wanted = number(row, column);
      EXPECT_EQ(lines[size_t((column / 25 * 300 + row) * 48 + column % 25)],
                wanted > 7 ? wanted - 16 : wanted);
    }
  EXPECT_EQ(plan.placed().size(), 2u);
}

/// Lane 4 * g + t of a warp has steps 8 * t and on of column g + 8 * j, in word
/// j of its 16 bytes.
TEST_F(WeightPlanTest, PacksFewBitsAsWarpsReadThem) {
  constexpr int64_t rows = 70, columns = 66, panels = 4, blocks = 3;
  auto number = [](int64_t row, int64_t column) {
    return row < rows && column < columns ? (row * 7 + column * 3) % 251 - 125
                                          : 0;
  };
  std::vector<char> bytes;
  for (int64_t at = 0; at < rows * columns; ++at)
    bytes.push_back(char(number(at / columns, at % columns)));
  const Weight *weight =
      llvm::cantFail(store.addOwned("q", mlir::IntegerType::get(&context, 8),
                                    {rows, columns}, std::move(bytes)));
  WeightPlan plan(store);
  auto packed = [&](llvm::StringRef layout) {
    PlacedWeight placed = llvm::cantFail(plan.place(weight->name, layout));
    std::vector<char> all;
    layOut(placed, [&](llvm::ArrayRef<char> part) {
      all.insert(all.end(), part.begin(), part.end());
    });
    EXPECT_EQ(all.size(), placed.bytes);
    return all;
  };
  std::vector<char> wide = packed("bytes32_halves");
  std::vector<char> narrow = packed("nibbles32_halves");
  std::vector<char> sides = packed("sides32");
  std::vector<char> quads = packed("quads32");
  ASSERT_EQ(quads.size(), size_t(3 * 2 * 2048));
  ASSERT_EQ(wide.size(), size_t(panels * blocks * 1024));
  ASSERT_EQ(narrow.size(), size_t(panels * blocks * 512));
  ASSERT_EQ(sides.size(), size_t(3 * rows * 32));
  for (int64_t panel = 0; panel < panels; ++panel)
    for (int64_t k = 0; k < blocks * 32; ++k)
      for (int64_t n = 0; n < 32; ++n) {
        // Panels of both halves are in turn.
        int64_t inHalf = panel / 2 * 32 + n;
        int64_t wanted = inHalf < columns / 2
                             ? number(k, panel % 2 * (columns / 2) + inHalf)
                             : 0;
        int64_t lane = n % 8 * 4 + k % 32 / 8, word = lane * 4 + n / 8;
        int64_t block = panel * blocks + k / 32, upper = k % 2;
        char byte = wide[size_t(block * 1024 + k % 8 / 4 * 512 + word * 4 +
                                upper * 2 + k % 4 / 2)];
        EXPECT_EQ(byte, wanted);
        bool isThere = k < rows && inHalf < columns / 2;
        char pair =
            narrow[size_t(block * 512 + word * 4 + upper * 2 + k % 8 / 4)];
        // Eight more, of the lower bits.
        EXPECT_EQ(pair >> (k % 4 / 2 * 4) & 15,
                  isThere ? (wanted + 8) & 15 : 0);
      }
  for (int64_t n = 0; n < 96; ++n)
    for (int64_t k = 0; k < 128; ++k) {
      int64_t lane = n % 8 * 4 + k % 64 / 16, block = n / 32 * 2 + k / 64;
      EXPECT_EQ(quads[size_t(block * 2048 + k % 16 / 4 * 512 + lane * 16 +
                             n % 32 / 8 * 4 + k % 4)],
                number(k, n));
    }
  for (int64_t n = 0; n < 96; ++n)
    for (int64_t row = 0; row < rows; ++row)
      EXPECT_EQ(
          sides[size_t((n / 32 * rows + row) * 32 + n % 8 * 4 + n % 32 / 8)],
          number(row, n));
}

/// A filter is the matrix whose rows are the channels of one tap after another;
/// behind it are the sums of its columns.
TEST_F(WeightPlanTest, PacksFiltersOfBytesAsWarpsReadThem) {
  constexpr int64_t maps = 40, channels = 12, taps = 9;
  auto number = [](int64_t map, int64_t channel, int64_t tap) {
    return (map * 31 + channel * 7 + tap * 3) % 251 - 125;
  };
  std::vector<char> bytes;
  for (int64_t at = 0; at < maps * channels * taps; ++at)
    bytes.push_back(
        char(number(at / taps / channels, at / taps % channels, at % taps)));
  const Weight *weight = llvm::cantFail(
      store.addOwned("filter", mlir::IntegerType::get(&context, 8),
                     {maps, channels, 3, 3}, std::move(bytes)));
  WeightPlan plan(store);
  PlacedWeight placed = llvm::cantFail(plan.place(weight->name, "quads32"));
  std::vector<char> all;
  layOut(placed, [&](llvm::ArrayRef<char> part) {
    all.insert(all.end(), part.begin(), part.end());
  });
  ASSERT_EQ(all.size(), size_t(2 * 2 * 2048 + 64 * 4));
  ASSERT_EQ(all.size(), placed.bytes);
  for (int64_t n = 0; n < 64; ++n) {
    int32_t wanted = 0, sum;
    for (int64_t k = 0; k < 128; ++k) {
      bool isThere = n < maps && k < channels * taps;
      int64_t lane = n % 8 * 4 + k % 64 / 16, block = n / 32 * 2 + k / 64;
      EXPECT_EQ(all[size_t(block * 2048 + k % 16 / 4 * 512 + lane * 16 +
                           n % 32 / 8 * 4 + k % 4)],
                isThere ? number(n, k % channels, k / channels) : 0);
      wanted += isThere ? number(n, k % channels, k / channels) : 0;
    }
    std::memcpy(&sum, &all[size_t(2 * 2 * 2048 + n * 4)], sizeof sum);
    EXPECT_EQ(sum, wanted);
  }
}

TEST_F(WeightPlanTest, PacksRoundedWeightsInPairsOfRows) {
  constexpr int64_t rows = 301, columns = 50; // Chunks, and half a pair.
  add("w", {rows, columns}, 0);
  mlir::Type bf16 = mlir::BFloat16Type::get(&context);
  const Weight *rounded = store.addRounded(*store.lookup("w"), bf16);
  const Weight *turned = store.addRounded(
      *store.addTransposed("turned", *store.lookup("w")), bf16);
  WeightPlan plan(store);
  PlacedWeight placed = llvm::cantFail(plan.place(rounded->name, "packed48"));
  EXPECT_EQ(placed.bytes, 2u * 151 * 48 * 4);
  std::vector<char> bytes;
  auto into = [&](llvm::ArrayRef<char> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  };
  layOut(placed, into);
  ASSERT_EQ(bytes.size(), placed.bytes);
  auto at = [&](int64_t index) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + index * 2, 2);
    return widenBf16(bits);
  };
  for (int64_t column = 0; column < 96; ++column)
    for (int64_t row = 0; row < 302; ++row) {
      int64_t line = column / 48 * 151 + row / 2;
      float wanted = row < rows && column < columns
                         ? widenBf16(roundToBf16(float(row * columns + column)))
                         : 0;
      EXPECT_EQ(at((line * 48 + column % 48) * 2 + row % 2), wanted);
    }
  // A transpose is packed from the rows of what it is the transpose of.
  placed = llvm::cantFail(plan.place(turned->name, "packed48"));
  EXPECT_EQ(placed.bytes, 7u * 25 * 48 * 4);
  bytes.clear();
  layOut(placed, into);
  for (int64_t column = 0; column < rows; ++column)
    for (int64_t row = 0; row < columns; ++row) {
      int64_t line = column / 48 * 25 + row / 2;
      EXPECT_EQ(at((line * 48 + column % 48) * 2 + row % 2),
                widenBf16(roundToBf16(float(column * columns + row))));
    }
}

/// Rounded, a table and its transpose share bytes; and one that comes as f16.
TEST_F(WeightPlanTest, PacksF16AsF32) {
  constexpr int64_t rows = 300, columns = 50;
  add("w", {rows, columns}, 0.1f);
  mlir::Type f16 = mlir::Float16Type::get(&context);
  const Weight *rounded = store.addRounded(*store.lookup("w"), f16);
  const Weight *turned =
      store.addRounded(*store.addTransposed("t", *store.lookup("w")), f16);
  const Weight *own = llvm::cantFail(
      store.addOwned("own", f16, {rows, columns}, rounded->bytes().vec()));
  WeightPlan plan(store);
  auto check = [&](const Weight &weight, llvm::StringRef layout,
                   bool isTurned) {
    PlacedWeight placed = llvm::cantFail(plan.place(weight.name, layout));
    int64_t depth = isTurned ? columns : rows,
            width = isTurned ? rows : columns;
    int64_t padded = (width + 47) / 48 * 48;
    ASSERT_EQ(placed.bytes, uint64_t(padded * depth * 2));
    std::vector<char> bytes;
    layOut(placed, [&](llvm::ArrayRef<char> part) {
      bytes.insert(bytes.end(), part.begin(), part.end());
    });
    ASSERT_EQ(bytes.size(), placed.bytes);
    for (int64_t n = 0; n < padded; ++n)
      for (int64_t k = 0; k < depth; ++k) {
        uint16_t bits;
        int64_t at = (n / 48 * depth + k) * 48 + n % 48;
        std::memcpy(&bits, bytes.data() + at * 2, 2);
        int64_t index = isTurned ? n * columns + k : k * columns + n;
        EXPECT_EQ(bits, n < width ? roundToF16(0.1f + float(index)) : 0);
      }
  };
  check(*rounded, "packed48", false);
  check(*own, "packed48", false);
  check(*rounded, "rows48", true);
  check(*turned, "packed48", true);
  EXPECT_EQ(plan.placed().size(), 3u);
  // The same numbers in pairs of bf16 take as many bytes.
  const Weight *pairs =
      store.addRounded(*store.lookup("w"), mlir::BFloat16Type::get(&context));
  llvm::cantFail(plan.place(pairs->name, "packed48"));
  EXPECT_EQ(plan.placed().size(), 4u);
}

TEST_F(WeightPlanTest, PacksHalvesOfColumnsInTurn) {
  constexpr int64_t rows = 3, half = 50, columns = 2 * half;
  add("w", {rows, columns}, 0);
  add("odd", {rows, 3}, 0);
  WeightPlan plan(store);
  PlacedWeight placed = llvm::cantFail(plan.place("w", "packed48_halves"));
  EXPECT_EQ(placed.bytes, 4u * rows * 48 * 4);
  std::vector<char> bytes = laidOut(placed);
  ASSERT_EQ(bytes.size(), placed.bytes);
  for (int64_t panel = 0; panel < 4; ++panel)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t lane = 0; lane < 48; ++lane) {
        float value;
        std::memcpy(&value,
                    bytes.data() + ((panel * rows + row) * 48 + lane) * 4, 4);
        int64_t column = panel / 2 * 48 + lane;
        EXPECT_EQ(value, column < half
                             ? float(row * columns + panel % 2 * half + column)
                             : 0);
      }
  // The same from two weights, one of which lies transposed.
  add("left", {rows, half}, 0);
  add("right", {half, rows}, 0);
  const Weight *joined = store.addJoined(
      "joined", {store.lookup("left"),
                 store.addTransposed("turned", *store.lookup("right"))});
  std::vector<char> parts;
  layOut(llvm::cantFail(plan.place(joined->name, "packed48_halves")),
         [&](llvm::ArrayRef<char> part) {
           parts.insert(parts.end(), part.begin(), part.end());
         });
  ASSERT_EQ(parts.size(), bytes.size());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < half; ++column)
      for (int64_t part = 0; part < 2; ++part) {
        float value;
        int64_t panel = column / 48 * 2 + part, lane = column % 48;
        std::memcpy(&value,
                    parts.data() + ((panel * rows + row) * 48 + lane) * 4, 4);
        EXPECT_EQ(value,
                  float(part == 0 ? row * half + column : column * rows + row));
      }
  EXPECT_NE(llvm::toString(plan.place("odd", "packed48_halves").takeError())
                .find("cannot have the layout"),
            std::string::npos);
}

TEST_F(WeightPlanTest, PacksFilters) {
  constexpr int64_t maps = 50, channels = 3, taps = 6;
  add("w", {maps, channels, 2, 3}, 0);
  WeightPlan plan(store);
  for (auto [layout, width] : {std::pair("conv48", 48), {"taps_first", 50}}) {
    PlacedWeight placed = llvm::cantFail(plan.place("w", layout));
    int64_t padded = (maps + width - 1) / width * width;
    EXPECT_EQ(placed.bytes, uint64_t(padded * channels * taps * 4));
    std::vector<char> bytes;
    layOut(placed, [&](llvm::ArrayRef<char> part) {
      bytes.insert(bytes.end(), part.begin(), part.end());
    });
    ASSERT_EQ(bytes.size(), placed.bytes);
    for (int64_t m = 0; m < padded; ++m)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t tap = 0; tap < taps; ++tap) {
          float value;
          int64_t row = (m / width * taps + tap) * channels + c;
          std::memcpy(&value, bytes.data() + (row * width + m % width) * 4, 4);
          EXPECT_EQ(value,
                    m < maps ? float((m * channels + c) * taps + tap) : 0);
        }
  }
}

/// A filter of 50 maps, [M, C, taps], by pairs of channels in two panels of
/// 48, the second one from map `second` on.
void expectPairs(const PlacedWeight &placed, llvm::ArrayRef<char> bytes,
                 int64_t channels, int64_t taps, int64_t second) {
  constexpr int64_t maps = 50;
  EXPECT_EQ(placed.bytes, uint64_t(96 * channels * taps * 4));
  ASSERT_EQ(bytes.size(), placed.bytes);
  for (int64_t m = 0; m < maps; ++m)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        float value;
        int64_t panel = m >= second, lane = m - second * panel;
        int64_t row = (panel * taps + tap) * channels / 2 + c / 2;
        int64_t place = (row * 48 + lane) * 2 + c % 2;
        std::memcpy(&value, bytes.data() + place * 4, 4);
        EXPECT_EQ(value, float((m * channels + c) * taps + tap)) << m;
      }
}

TEST_F(WeightPlanTest, PacksPairsOfChannels) {
  add("w", {50, 4, 2, 3}, 0);
  add("odd", {50, 3, 2}, 0);
  WeightPlan plan(store);
  PlacedWeight placed = llvm::cantFail(plan.place("w", "conv48_pairs"));
  expectPairs(placed, laidOut(placed), 4, 6, /*second=*/48);
  EXPECT_NE(llvm::toString(plan.place("odd", "conv48_pairs").takeError())
                .find("cannot have the layout"),
            std::string::npos);
}

/// Of 6 groups, each of 3 maps and 2 channels, 3 are one: of 9 maps and 6
/// channels, with zeros where a map's group has none.
TEST_F(WeightPlanTest, PacksMergedGroups) {
  constexpr int64_t taps = 3, own = 2, channels = 6, maps = 9;
  add("w", {18, own, taps}, 1);
  WeightPlan plan(store);
  PlacedWeight placed = llvm::cantFail(plan.place("w", "conv48/6x3_pairs"));
  std::vector<char> bytes = laidOut(placed);
  ASSERT_EQ(bytes.size(), size_t(2 * 48 * channels * taps * 4));
  for (int64_t m = 0; m < 18; ++m)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        float value;
        int64_t row = (m / maps * taps + tap) * channels / 2 + c / 2;
        int64_t place = (row * 48 + m % maps) * 2 + c % 2;
        std::memcpy(&value, bytes.data() + place * 4, 4);
        bool isOwn = c / own == m % maps / 3;
        int64_t at = (m * own + c % own) * taps + tap;
        EXPECT_EQ(value, isOwn ? float(at + 1) : 0) << m << " " << c;
      }
  for (const char *layout :
       {"conv48/6x4", "conv48/6x1", "conv48/5", "conv48/6y2"})
    EXPECT_NE(llvm::toString(plan.place("w", layout).takeError())
                  .find("cannot have the layout"),
              std::string::npos)
        << layout;
}

/// The last panel has two of its own and 16 of the one before it.
TEST_F(WeightPlanTest, PacksEvenPanels) {
  add("w", {50, 2, 1, 3}, 0);
  WeightPlan plan(store);
  PlacedWeight placed = llvm::cantFail(plan.place("w", "conv48_pairs_even"));
  expectPairs(placed, laidOut(placed), 2, 3, /*second=*/32);
  EXPECT_NE(llvm::toString(plan.place("w", "conv32_pairs_even").takeError())
                .find("cannot have the layout"),
            std::string::npos);
}

/// Their own bytes are never made while they are written.
TEST_F(WeightPlanTest, LaysRowsOfWhatIsMadeOfOthersInPieces) {
  constexpr int64_t rows = 700, columns = 1031;
  add("w", {rows, columns}, 0);
  add("v", {rows, 999}, 7);
  add("filter", {17, 31, 50, 45}, 3);
  const Weight &w = *store.lookup("w");
  const Weight *joined = store.addJoined("joined", {&w, store.lookup("v")});
  mlir::Type bf16 = mlir::BFloat16Type::get(&context);
  mlir::Type f16 = mlir::Float16Type::get(&context);
  const Weight *turned = store.addTransposed("turned", *joined);
  for (const Weight *weight :
       {joined, turned, store.addRounded(*turned, bf16),
        store.addRounded(*store.lookup("filter"), f16)}) {
    WeightPlan plan(store);
    PlacedWeight placed = llvm::cantFail(plan.place(weight->name, ""));
    std::vector<char> bytes;
    size_t largest = 0;
    layOut(placed, [&](llvm::ArrayRef<char> part) {
      bytes.insert(bytes.end(), part.begin(), part.end());
      largest = std::max(largest, part.size());
    });
    EXPECT_LT(largest, bytes.size()) << weight->name;
    EXPECT_EQ(placed.bytes, bytes.size()) << weight->name;
    EXPECT_TRUE(llvm::ArrayRef(bytes) == weight->bytes()) << weight->name;
  }
}

/// Nine numbers of a line are three quads; the sums of maps lie behind them.
TEST_F(WeightPlanTest, PacksQuadsOfLines) {
  constexpr int64_t maps = 50, channels = 3, taps = 6, quads = 2 * 3;
  auto type = mlir::IntegerType::get(&context, 8, mlir::IntegerType::Unsigned);
  std::vector<char> numbers(maps * channels * taps);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = char(i * 7);
  llvm::cantFail(
      store.addOwned("bytes", type, {maps, channels, 2, 3}, numbers));
  WeightPlan plan(store);
  PlacedWeight placed = llvm::cantFail(plan.place("bytes", "conv48_quads"));
  EXPECT_EQ(placed.bytes, uint64_t(2 * (quads + 1) * 48 * 4));
  std::vector<char> bytes = laidOut(placed);
  ASSERT_EQ(bytes.size(), placed.bytes);
  for (int64_t m = 0; m < maps; ++m) {
    int64_t panel = m / 48 * (quads + 1);
    int32_t sum = 0, stored;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t k = tap % 3 * channels + c, quad = panel + tap / 3 * 3 + k / 4;
        int number =
            int(uint8_t(numbers[(m * channels + c) * taps + tap])) - 128;
        EXPECT_EQ(bytes[(quad * 48 + m % 48) * 4 + k % 4], char(number));
        sum += number;
      }
    std::memcpy(&stored, &bytes[((panel + quads) * 48 + m % 48) * 4], 4);
    EXPECT_EQ(stored, sum);
  }
}

/// Of each direction the sums of its units lie behind their numbers.
TEST_F(WeightPlanTest, PacksCellsOfBytes) {
  constexpr int64_t directions = 2, gates = 3, hidden = 32;
  constexpr int64_t units = gates * hidden, each = units * (hidden + 4);
  std::vector<char> numbers(directions * units * hidden);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = char(i * 7 + i / 256);
  for (bool isUnsigned : {false, true}) {
    auto type = mlir::IntegerType::get(
        &context, 8,
        isUnsigned ? mlir::IntegerType::Unsigned : mlir::IntegerType::Signless);
    std::string name = isUnsigned ? "unsigned" : "signed";
    llvm::cantFail(
        store.addOwned(name, type, {directions, units, hidden}, numbers));
    WeightPlan plan(store);
    PlacedWeight placed = llvm::cantFail(plan.place(name, "cells16_quads"));
    EXPECT_EQ(placed.bytes, uint64_t(directions * each));
    std::vector<char> bytes = laidOut(placed);
    ASSERT_EQ(bytes.size(), placed.bytes);
    for (int64_t row = 0; row < directions * units; ++row) {
      int64_t unit = row % units, gate = unit / hidden, of = unit % hidden;
      const char *own = &bytes[row / units * each];
      int32_t sum = 0, stored;
      for (int64_t k = 0; k < hidden; ++k) {
        char byte = numbers[row * hidden + k];
        int number = isUnsigned ? int(uint8_t(byte)) - 128 : int(byte);
        int64_t line = (of / 16 * (hidden / 4) + k / 4) * gates + gate;
        EXPECT_EQ(own[(line * 16 + of % 16) * 4 + k % 4], char(number));
        sum += number;
      }
      int64_t place = (of / 16 * gates + gate) * 16 + of % 16;
      std::memcpy(&stored, &own[units * hidden + place * 4], 4);
      EXPECT_EQ(stored, sum);
    }
  }
}

TEST_F(WeightPlanTest, RefusesWhatItDoesNotHave) {
  add("v", {3}, 0);
  WeightPlan plan(store);
  EXPECT_NE(llvm::toString(plan.place("w", "").takeError()).find("'w'"),
            std::string::npos);
  EXPECT_NE(llvm::toString(plan.place("v", "packed48").takeError())
                .find("cannot have the layout"),
            std::string::npos);
}

} // namespace
