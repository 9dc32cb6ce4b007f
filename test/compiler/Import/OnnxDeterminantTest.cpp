//===- OnnxDeterminantTest.cpp - Determinants, by elimination -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Import/OperatorTest.h"

namespace tenon {
namespace {

using OnnxDeterminantTest = OperatorTest;

TEST_F(OnnxDeterminantTest, OneForEachMatrix) {
  node("Det", {floats({3, 2, 2}, {1, 2, 3, 4, 0, 2, 3, 4, 0, 0, 0, 5})});
  expect({-2, -6, 0});
}

TEST_F(OnnxDeterminantTest, RowsAreExchangedForThePivot) {
  node("Det",
       {floats({4, 4}, {0, 0, 0, 1, 0, 2, 0, 9, 3, 0, 1, 0, 5, 0, 7, 0})});
  // Expanded by the only 1 of the first row: -det of the rest.
  expect({-2 * (5 * 1 - 3 * 7)});
}

TEST_F(OnnxDeterminantTest, OfNothingItIsOne) {
  node("Det", {floats({2, 0, 0}, {})});
  expect({1, 1});
}

TEST_F(OnnxDeterminantTest, OnlySquareMatricesHaveOne) {
  node("Det", {floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  expectReason("only square matrices have a determinant (2 and 3)");
}

TEST_F(OnnxDeterminantTest, LargeAndOpenMatricesAreRefused) {
  graph.input("x", {4, "n", "n"});
  graph.node("Det", {"x"}, {"y"});
  graph.output("y");
  expectReason("its matrices have n rows, where numbers up to 32 are "
               "supported; fix that size with --dim NAME=N");
  options.dims["n"] = 33;
  report = {};
  expectReason("its matrices have 33 rows");
  options.dims["n"] = 3;
  report = {};
  EXPECT_TRUE(run()) << report.str();
}

TEST_F(OnnxDeterminantTest, AnInverseOfEachMatrix) {
  node("Inverse", {floats({2, 2, 2}, {1, 2, 3, 4, 0, 2, -4, 0})}, 1,
       "com.microsoft");
  expect({-2, 1, 1.5, -0.5, 0, -0.25, 0.5, 0});
}

TEST_F(OnnxDeterminantTest, AnInverseOfRowsThatAreExchanged) {
  node("Inverse", {floats({3, 3}, {0, 0, 2, 4, 0, 0, 0, 5, 0})}, 1,
       "com.microsoft");
  expect({0, 0.25, 0, 0, 0, 0.2, 0.5, 0, 0});
}

TEST_F(OnnxDeterminantTest, OnlySquareMatricesHaveAnInverse) {
  node("Inverse", {floats({2, 3}, {1, 2, 3, 4, 5, 6})}, 1, "com.microsoft");
  expectReason("only square matrices have an inverse (2 and 3)");
}

} // namespace
} // namespace tenon
