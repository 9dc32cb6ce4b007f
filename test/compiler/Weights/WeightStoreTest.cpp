//===- WeightStoreTest.cpp - The weights of a model, outside its IR -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Weights/WeightStore.h"
#include "compiler/Weights/WeightBlock.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/APFloat.h"
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon {
namespace {

class WeightStoreTest : public testing::Test {
protected:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::Type f32 = mlir::Float32Type::get(&context);
  mlir::Type bf16 = mlir::BFloat16Type::get(&context);
  mlir::Type f16 = mlir::Float16Type::get(&context);
  mlir::Type boolean = mlir::IntegerType::get(&context, 1);
  WeightStore store;

  std::string failure(mlir::Type type, llvm::ArrayRef<int64_t> shape,
                      size_t bytes) {
    auto added = store.addOwned("w", type, shape, std::vector<char>(bytes));
    return added ? "" : llvm::toString(added.takeError());
  }
};

TEST_F(WeightStoreTest, EntriesAreFoundByName) {
  auto added = store.addOwned("w", f32, {2, 3}, std::vector<char>(24, 7));
  ASSERT_TRUE(bool(added));
  EXPECT_EQ(store.lookup("w"), *added);
  EXPECT_EQ(store.bytes("w").size(), 24u);
  EXPECT_EQ(store.bytes("w")[23], 7);
  EXPECT_EQ(store.lookup("v"), nullptr);
  EXPECT_TRUE(store.bytes("v").empty());
  EXPECT_EQ(store.totalBytes(), 24u);
}

TEST_F(WeightStoreTest, NamesAreMadeUniqueAndPrintable) {
  std::vector<std::string> names;
  for (const char *hint : {"w", "w", "w_1", "", "a\n"}) {
    auto added = store.addOwned(hint, f32, {0}, {});
    ASSERT_TRUE(bool(added));
    names.push_back((*added)->name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"w", "w_1", "w_1_1", "weight",
                                             "a\\x0A"}));
  std::vector<std::string> inOrder;
  for (const Weight &weight : store)
    inOrder.push_back(weight.name);
  EXPECT_EQ(inOrder, names);
}

TEST_F(WeightStoreTest, RoundsToTheNearestBf16) {
  struct Case {
    uint32_t from;
    uint16_t to;
  };
  // Ties to even, up and down; what overflows; NaN with low bits alone.
  for (Case each : {Case{0x3f808000, 0x3f80}, Case{0x3f818000, 0x3f82},
                    Case{0x3f808001, 0x3f81}, Case{0x3f807fff, 0x3f80},
                    Case{0x7f7fffff, 0x7f80}, Case{0xff800000, 0xff80},
                    Case{0x80000000, 0x8000}, Case{0x00000001, 0x0000},
                    Case{0x7f800001, 0x7fc0}, Case{0xffffffff, 0xffff}}) {
    float value;
    std::memcpy(&value, &each.from, 4);
    EXPECT_EQ(roundToBf16(value), each.to) << std::hex << each.from;
  }
  EXPECT_EQ(widenBf16(0xc040), -3.0f);
}

TEST_F(WeightStoreTest, RoundsToTheNearestF16) {
  // All of one sign, in steps that meet ties of each binade.
  for (uint64_t bits = 0; bits < 0x80000000; bits += 0x400) {
    for (uint32_t near : {0u, 1u, 0x3ffu}) {
      float value = llvm::bit_cast<float>(uint32_t(bits + near));
      if (std::isnan(value))
        continue;
      llvm::APFloat exact(value);
      bool lost;
      exact.convert(llvm::APFloat::IEEEhalf(),
                    llvm::APFloat::rmNearestTiesToEven, &lost);
      uint64_t expected = exact.bitcastToAPInt().getZExtValue();
      ASSERT_EQ(roundToF16(value), expected) << value;
      ASSERT_EQ(roundToF16(-value), expected | 0x8000) << value;
    }
  }
  EXPECT_EQ(roundToF16(largestF16), 0x7bff);
  EXPECT_EQ(roundToF16(65520), 0x7c00);
  EXPECT_EQ(roundToF16(NAN) & 0x7e00, 0x7e00);
}

TEST_F(WeightStoreTest, WidensAllOfF16) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    llvm::APFloat exact(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits));
    float wide = widenF16(uint16_t(bits));
    if (exact.isNaN()) {
      ASSERT_TRUE(std::isnan(wide)) << bits;
      continue;
    }
    bool lost;
    exact.convert(llvm::APFloat::IEEEsingle(),
                  llvm::APFloat::rmNearestTiesToEven, &lost);
    ASSERT_EQ(llvm::bit_cast<uint32_t>(wide),
              llvm::bit_cast<uint32_t>(exact.convertToFloat()))
        << bits;
    ASSERT_EQ(roundToF16(wide), bits);
  }
}

TEST_F(WeightStoreTest, RoundedEntriesAreMadeOnce) {
  std::vector<float> numbers = {1, -2, 1.00390625f, 3, 4, 5};
  std::vector<char> bytes(24);
  std::memcpy(bytes.data(), numbers.data(), 24);
  const Weight *w = llvm::cantFail(store.addOwned("w", f32, {2, 3}, bytes));
  const Weight *turned = store.addTransposed("turned", *w);
  const Weight *rounded = store.addRounded(*w, bf16);
  EXPECT_EQ(store.addRounded(*w, bf16), rounded);
  EXPECT_TRUE(rounded->elementType.isBF16());
  auto at = [](const Weight &weight, size_t i) {
    uint16_t bits;
    std::memcpy(&bits, weight.bytes().data() + i * 2, 2);
    return widenBf16(bits);
  };
  ASSERT_EQ(rounded->bytes().size(), 12u);
  EXPECT_EQ(at(*rounded, 1), -2);
  EXPECT_EQ(at(*rounded, 2), 1); // A tie.
  // Of a transpose: what is packed for both is one.
  const Weight *both = store.addRounded(*turned, bf16);
  EXPECT_EQ(both->transposed, rounded);
  EXPECT_EQ(at(*both, 2), -2);
  const Weight *other = store.addRounded(*w, f16);
  EXPECT_NE(other, rounded);
  EXPECT_EQ(store.addRounded(*w, f16), other);
  EXPECT_TRUE(other->elementType.isF16());
  uint16_t bits;
  std::memcpy(&bits, other->bytes().data() + 4, 2);
  EXPECT_EQ(bits, 0x3c04); // Exact.
}

TEST_F(WeightStoreTest, WidensAndKnowsWhatItWas) {
  mlir::Type f16 = mlir::Float16Type::get(&context);
  // 1, -2, the largest number, a subnormal one, infinity and 0.
  std::vector<uint16_t> halves = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00, 0};
  std::vector<char> bytes(12);
  std::memcpy(bytes.data(), halves.data(), 12);
  const Weight *w = llvm::cantFail(store.addOwned("w", f16, {2, 3}, bytes));
  const Weight *turned = store.addTransposed("turned", *w);
  const Weight *wide = store.addWidened(*w);
  EXPECT_EQ(store.addWidened(*w), wide);
  EXPECT_TRUE(wide->elementType.isF32());
  std::vector<float> values(6);
  ASSERT_EQ(wide->bytes().size(), 24u);
  std::memcpy(values.data(), wide->bytes().data(), 24);
  EXPECT_EQ(values, std::vector<float>({1, -2, 65504, 0x1p-24f, INFINITY, 0}));
  EXPECT_EQ(wide->largestFinite(), 65504);
  EXPECT_EQ(wide->widenedFrom(), f16);
  EXPECT_FALSE(w->widenedFrom());
  EXPECT_EQ(store.addRounded(*wide, f16), w);
  const Weight *both = store.addWidened(*turned);
  EXPECT_EQ(both->transposed, wide);
  EXPECT_EQ(both->widenedFrom(), f16);
  EXPECT_EQ(store.addRounded(*both, f16)->transposed, w);
}

TEST_F(WeightStoreTest, KnowsTheLargestFiniteElement) {
  float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> numbers = {1, -70000, infinity, -infinity, NAN, 5};
  std::vector<char> bytes(24);
  std::memcpy(bytes.data(), numbers.data(), 24);
  const Weight *w = llvm::cantFail(store.addOwned("w", f32, {2, 3}, bytes));
  EXPECT_EQ(w->largestFinite(), 70000);
  const Weight *v = llvm::cantFail(store.addOwned("v", f32, {2, 0}, {}));
  EXPECT_EQ(v->largestFinite(), 0);
  const Weight *turned = store.addTransposed("turned", *w);
  EXPECT_EQ(turned->largestFinite(), 70000);
  EXPECT_EQ(store.addJoined("joined", {v, w})->largestFinite(), 70000);
}

TEST_F(WeightStoreTest, BytesMustBeExactlyThoseOfTypeAndShape) {
  EXPECT_EQ(failure(f32, {2, 3}, 23), "weight 'w' has 23 bytes but needs 24");
  EXPECT_EQ(failure(f32, {2, 3}, 24), "");
  EXPECT_EQ(failure(boolean, {5}, 5), "");
  EXPECT_EQ(failure(f32, {}, 4), "");
  // Two numbers of 4 bits in a byte.
  mlir::Type nibble = mlir::IntegerType::get(&context, 4);
  EXPECT_EQ(failure(nibble, {3, 3}, 5), "");
  EXPECT_EQ(failure(nibble, {3, 3}, 4), "weight 'w' has 4 bytes but needs 5");
  std::string cannot = "weight 'w' has a type or shape that cannot be stored";
  EXPECT_EQ(failure(f32, {-1}, 4), cannot);
  EXPECT_EQ(failure(mlir::IntegerType::get(&context, 3), {2}, 1), cannot);
  EXPECT_EQ(failure(f32, {int64_t(1) << 32, int64_t(1) << 32}, 0), cannot);
}

TEST_F(WeightStoreTest, NibblesAreTurnedAndJoined) {
  WeightStore store;
  mlir::Type nibble = mlir::IntegerType::get(&context, 4);
  // 1 2 3 / 4 5 6, low bits first.
  const Weight *w =
      llvm::cantFail(store.addOwned("w", nibble, {2, 3}, {0x21, 0x43, 0x65}));
  const Weight *turned = store.addTransposed("turned", *w);
  EXPECT_EQ(std::vector<char>(turned->bytes().begin(), turned->bytes().end()),
            (std::vector<char>{0x41, 0x52, 0x63}));
  const Weight *joined = store.addJoined("joined", {w, w});
  EXPECT_EQ(std::vector<char>(joined->bytes().begin(), joined->bytes().end()),
            (std::vector<char>{0x21, 0x13, 0x32, 0x54, 0x46, 0x65}));
}

TEST_F(WeightStoreTest, BlocksAreReadFromWhatAMatrixIsMadeOf) {
  WeightStore store;
  mlir::Type byte = mlir::IntegerType::get(&context, 8);
  const Weight *w =
      llvm::cantFail(store.addOwned("w", byte, {2, 3}, {1, 2, 3, -4, -5, -6}));
  const Weight *turned = store.addTransposed("turned", *w);
  const Weight *joined = store.addJoined("joined", {w, w});
  auto read = [](const Weight &weight, MatrixBlock block) {
    std::vector<float> out(size_t(block.rows * block.columns));
    readBlock(weight, block, out.data(), block.columns);
    return out;
  };
  EXPECT_EQ(read(*w, {0, 2, 1, 2, false}), (std::vector<float>{2, 3, -5, -6}));
  EXPECT_EQ(read(*turned, {1, 2, 0, 2, false}),
            (std::vector<float>{2, -5, 3, -6}));
  EXPECT_EQ(read(*turned, {1, 1, 0, 3, true}),
            (std::vector<float>{-4, -5, -6}));
  EXPECT_EQ(read(*joined, {1, 1, 2, 2, false}), (std::vector<float>{-6, -4}));
}

TEST_F(WeightStoreTest, ProductsAreChecked) {
  EXPECT_EQ(elementCount({}), 1);
  EXPECT_EQ(elementCount({4194305, 4194305, 211106198978564}), std::nullopt);
  EXPECT_EQ(elementCount({0, 5}), 0);
  // Strides of an empty tensor would overflow.
  EXPECT_EQ(elementCount({0, INT64_MAX, 2}), std::nullopt);
  EXPECT_EQ(tensorBytes(f32, {INT64_MAX / 2}), std::nullopt);
}

TEST_F(WeightStoreTest, TheOwnerLivesAsLongAsTheEntry) {
  auto bytes = std::make_shared<std::vector<char>>(4);
  std::weak_ptr<std::vector<char>> watch = bytes;
  {
    WeightStore local;
    ASSERT_TRUE(bool(local.add("w", f32, {}, *bytes, bytes)));
    bytes.reset();
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

} // namespace
TEST_F(WeightStoreTest, TransposesAndJoinsWhenAsked) {
  std::vector<char> bytes = {0, 1, 2, 3, 4, 5};
  auto i8 = mlir::IntegerType::get(&context, 8);
  const Weight *matrix = llvm::cantFail(store.addOwned("w", i8, {2, 3}, bytes));
  const Weight *other = store.addTransposed("t", *matrix);
  EXPECT_EQ(llvm::ArrayRef(other->shape), llvm::ArrayRef<int64_t>({3, 2}));
  EXPECT_EQ(other->bytes(), llvm::ArrayRef<char>({0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(store.addTransposed("back", *other), matrix);
  const Weight *both = store.addJoined("j", {matrix, matrix});
  EXPECT_EQ(llvm::ArrayRef(both->shape), llvm::ArrayRef<int64_t>({2, 6}));
  EXPECT_EQ(both->bytes(),
            llvm::ArrayRef<char>({0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
}

} // namespace tenon
