//===- PrintableTest.cpp - Names from files, made safe to show ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Weights/Printable.h"
#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(PrintableTest, PlainNamesStay) {
  EXPECT_EQ(printable("/encoder/layer.0/MatMul"), "/encoder/layer.0/MatMul");
  EXPECT_EQ(printable(""), "");
}

TEST(PrintableTest, OtherBytesAreEscaped) {
  EXPECT_EQ(printable("a\x1b[2J\n"), "a\\x1B[2J\\x0A");
  EXPECT_EQ(printable(llvm::StringRef("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc3\xa9"), "\\xC3\\xA9");
}

TEST(PrintableTest, LongNamesAreCut) {
  EXPECT_EQ(printable(std::string(1000000, 'A'), 5), "AAAAA...");
}

} // namespace
} // namespace tenon
