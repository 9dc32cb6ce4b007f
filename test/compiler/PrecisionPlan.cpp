//===- PrecisionPlan.cpp - Plans as files ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/PrecisionPlan.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>
#include <limits>

using namespace tenon;

namespace {

class PrecisionPlanTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> name;
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("plan", "json", name));
    path = name.str().str();
  }
  void TearDown() override { llvm::sys::fs::remove(path); }

  /// What reading this text says; empty when it is a plan.
  std::string problemOf(llvm::StringRef text) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << text;
    auto plan = readPrecisionPlan(path);
    return plan ? "" : llvm::toString(plan.takeError());
  }

  std::string path;
};

TEST_F(PrecisionPlanTest, IsReadAsWritten) {
  PrecisionPlan plan;
  plan.ops = {
      {"/layer.0/MatMul", "matmul", Precision::Bf16, 0.25},
      {"a \"name\"", "conv", Precision::Int4Weights, std::nullopt},
      {"bad \xff", "gather", Precision::Fp32,
       std::numeric_limits<double>::infinity()},
      {"c", "matmul", Precision::Int8, std::nullopt,
       StaticLhs{0.1f, 137, {1, 0, -3}}},
      {"d", "matmul", Precision::Int8, std::nullopt, StaticLhs{2e-9f, 0, {}}},
      {"e", "matmul", Precision::Int8Weights, std::nullopt, std::nullopt, 128},
      {"f", "matmul", Precision::Int4Weights, std::nullopt, std::nullopt, 32,
       true}};
  ASSERT_FALSE(writePrecisionPlan(plan, path));
  auto text = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(text));
  EXPECT_EQ((*text)->getBuffer().count('\n'), 9u);
  auto read = readPrecisionPlan(path);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  ASSERT_EQ(read->ops.size(), 7u);
  EXPECT_EQ(read->ops[0].op, "/layer.0/MatMul");
  EXPECT_EQ(read->ops[0].kind, "matmul");
  EXPECT_EQ(read->ops[0].precision, Precision::Bf16);
  EXPECT_EQ(read->ops[0].error, 0.25);
  EXPECT_EQ(read->ops[1].op, "a \"name\"");
  EXPECT_EQ(read->ops[1].error, std::nullopt);
  EXPECT_EQ(read->ops[2].error, std::nullopt);
  EXPECT_EQ(read->ops[2].lhs, std::nullopt);
  EXPECT_EQ(read->ops[3].lhs, plan.ops[3].lhs);
  EXPECT_EQ(read->ops[4].lhs, plan.ops[4].lhs);
  EXPECT_EQ(read->ops[1].block, defaultBlock);
  EXPECT_EQ(read->ops[5].block, 128);
  EXPECT_FALSE(read->ops[5].compensated);
  EXPECT_TRUE(read->ops[6].compensated);
  EXPECT_EQ(read->countCompensated(), 1u);
  EXPECT_TRUE(read->uses(Precision::Int4Weights));
  EXPECT_FALSE(read->uses(Precision::Fp16));
}

TEST_F(PrecisionPlanTest, SaysWhatIsWrongWithAFile) {
  auto has = [&](llvm::StringRef text, llvm::StringRef problem) {
    std::string found = problemOf(text);
    EXPECT_NE(found.find(problem.str()), std::string::npos) << found;
    EXPECT_NE(found.find(path), std::string::npos) << found;
  };
  has("", "");
  has("[]", "no precision plan of format 1");
  has(R"({"format": 2, "ops": []})", "no precision plan of format 1");
  has(R"({"format": 1, "ops": 5})", "no array \"ops\"");
  has(R"({"format": 1, "ops": [5]})", "is no object");
  has(R"({"format": 1, "ops": [{"precision": "bf16"}]})", "no string \"op\"");
  has(R"({"format": 1, "ops": [{"op": "a"}]})",
      "op 'a' has no string \"precision\"");
  has(R"({"format": 1, "ops": [{"op": "a", "precision": "fp7"}]})",
      "op 'a': there is no precision 'fp7'; say one of fp32, bf16");
  has(R"({"format": 1, "ops": [{"op": "a", "precision": "fp32"},
                               {"op": "a", "precision": "bf16"}]})",
      "op 'a' is there twice");
  auto rowHas = [&](const llvm::Twine &members, llvm::StringRef problem) {
    has((R"({"format": 1, "ops": [{"op": "a", "precision": )" + members + "}]}")
            .str(),
        problem);
  };
  rowHas(R"("bf16", "scale": 1, "zero": 1)", "has a scale, but is not int8");
  rowHas(R"("int8", "zero": 1)", "needs a positive number \"scale\"");
  rowHas(R"("int8", "scale": 0, "zero": 1)", "a positive number \"scale\"");
  rowHas(R"("int8", "scale": 1e-60, "zero": 1)", "positive number \"scale\"");
  rowHas(R"("int8", "scale": 1)", "an integer \"zero\" from 0 to 255");
  rowHas(R"("int8", "scale": 1, "zero": 256)", "\"zero\" from 0 to 255");
  rowHas(R"("int8", "scale": 1, "zero": 1, "shifts": 3)", "is no array");
  rowHas(R"("int8", "scale": 1, "zero": 1, "shifts": [32])", "from -31 to 31");
  rowHas(R"("int8", "block": 64)", "has a block, but is neither int8-weights");
  for (const char *block : {"0", "24", "272", "\"64\""})
    rowHas(R"("int4-weights", "block": )" + std::string(block),
           "\"block\" is a multiple of 16, 256 at most");
  rowHas(R"("bf16", "compensated": true)", "but is neither int8-weights nor");
  rowHas(R"("int4-weights", "compensated": 1)", "is true or false");
  EXPECT_EQ(problemOf(R"({"format": 1, "ops": []})"), "");
  EXPECT_EQ(problemOf(R"({"format": 1, "ops": [
      {"op": "a", "kind": "conv", "precision": "fp32"},
      {"op": "a", "kind": "matmul", "precision": "bf16"}]})"),
            "");
  llvm::sys::fs::remove(path);
  auto missing = readPrecisionPlan(path);
  ASSERT_FALSE(bool(missing));
  EXPECT_NE(llvm::toString(missing.takeError()).find(path), std::string::npos);
}

} // namespace
