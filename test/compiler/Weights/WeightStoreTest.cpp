//===- WeightStoreTest.cpp - The weights of a model, outside its IR -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Weights/WeightStore.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

namespace tenon {
namespace {

class WeightStoreTest : public testing::Test {
protected:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::Type f32 = mlir::Float32Type::get(&context);
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

TEST_F(WeightStoreTest, BytesMustBeExactlyThoseOfTypeAndShape) {
  EXPECT_EQ(failure(f32, {2, 3}, 23), "weight 'w' has 23 bytes but needs 24");
  EXPECT_EQ(failure(f32, {2, 3}, 24), "");
  EXPECT_EQ(failure(boolean, {5}, 5), "");
  EXPECT_EQ(failure(f32, {}, 4), "");
  std::string cannot = "weight 'w' has a type or shape that cannot be stored";
  EXPECT_EQ(failure(f32, {-1}, 4), cannot);
  EXPECT_EQ(failure(mlir::IntegerType::get(&context, 4), {2}, 1), cannot);
  EXPECT_EQ(failure(f32, {int64_t(1) << 32, int64_t(1) << 32}, 0), cannot);
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
