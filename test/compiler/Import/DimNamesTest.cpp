//===- DimNamesTest.cpp - Symbols for the named dims of a model -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/DimNames.h"
#include <gtest/gtest.h>

namespace tenon {
namespace {

class DimNamesTest : public testing::Test {
protected:
  DimNamesTest() { context.loadDialect<graph::GraphDialect>(); }

  /// The sizes of dim_params, all announced before.
  std::vector<std::string> sizes(std::vector<const char *> texts) {
    DimNames names(state, fixed, same);
    for (const char *text : texts)
      names.announce(text);
    std::vector<std::string> result;
    for (const char *text : texts)
      result.push_back(names.get(text, "x_dim0").str());
    return result;
  }

  using Texts = std::vector<std::string>;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  WeightStore weights;
  ImportState state{&context, weights, nullptr};
  llvm::StringMap<int64_t> fixed;
  llvm::StringMap<std::string> same;
};

TEST_F(DimNamesTest, OneNameMayBeAnother) {
  same["mask_batch"] = "batch", same["batch"] = "b", same["t"] = "s";
  fixed["s"] = 7;
  EXPECT_EQ(sizes({"mask_batch", "b", "t", "batch + 1"}),
            Texts({"b", "b", "7", "b + 1"}));
}

TEST_F(DimNamesTest, EqualNamesAreOneSymbol) {
  EXPECT_EQ(sizes({"batch", "seq", "batch"}), Texts({"batch", "seq", "batch"}));
}

TEST_F(DimNamesTest, NamelessDimsAreSymbolsOfTheirOwn) {
  EXPECT_EQ(sizes({"", "?", ""}), Texts({"x_dim0", "x_dim0_2", "x_dim0_3"}));
}

TEST_F(DimNamesTest, NamesBecomeIdentifiersAndStayApart) {
  EXPECT_EQ(sizes({"a b", "a.b", "7"}), Texts({"a_b", "a_b_2", "d7"}));
}

TEST_F(DimNamesTest, FormulasOfKnownNamesAreComputed) {
  EXPECT_EQ(sizes({"past + seq", "past", "seq"})[0], "past + seq");
  EXPECT_EQ(sizes({"2*s0", "s0", "s0*2 - s0"})[2], "s0");
  EXPECT_EQ(sizes({"(n // 2)", "n"})[0], "floordiv(n, 2)");
  EXPECT_EQ(sizes({"Max(1, k)", "k"})[0], "max(1, k)");
}

TEST_F(DimNamesTest, OtherFormulasAreNames) {
  // `past` is the size of nothing, so the sum cannot be taken apart.
  EXPECT_EQ(sizes({"past + length", "length"})[0], "past___length");
  EXPECT_EQ(sizes({"n +", "n"})[0], "n__");
  EXPECT_EQ(sizes({"((((((((((((((((((n))))))))))))))))))", "n"}).size(), 2u);
}

TEST_F(DimNamesTest, ChosenSizesReplaceNames) {
  fixed["batch"] = 4;
  EXPECT_EQ(sizes({"batch", "batch + seq", "seq"}),
            Texts({"4", "seq + 4", "seq"}));
}

} // namespace
} // namespace tenon
