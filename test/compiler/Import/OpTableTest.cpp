//===- OpTableTest.cpp - The importer's table against ONNX's own ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/CheckModel.h"
#include "compiler/Import/NodeConverter.h"
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace tenon {
namespace {

using Versions = std::set<int>;

/// Of each operator of ai.onnx: the versions in force at some opset from the
/// oldest that is supported on. Versions that only withdraw it do not count.
std::map<std::string, Versions> onnxVersions() {
  std::map<std::string, Versions> versions;
  std::ifstream file(TENON_OPERATORS);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    llvm::SmallVector<llvm::StringRef> cells;
    llvm::StringRef(line).split(cells, ',');
    int since = 0;
    EXPECT_FALSE(cells[2].getAsInteger(10, since)) << line;
    if (cells[3] == "1" && cells[4] == "none")
      continue;
    Versions &known = versions[(cells[0] + ":" + cells[1]).str()];
    if (since <= kMinOpset)
      known.clear();
    known.insert(since);
  }
  return versions;
}

TEST(OpTableTest, RowsListTheVersionsOfOnnx) {
  auto onnx = onnxVersions();
  ASSERT_GT(onnx.size(), 150u);
  for (llvm::ArrayRef<OpRow> family : allRows())
    for (const OpRow &row : family) {
      auto found = onnx.find((row.domain + ":" + row.op).str());
      // Exporters use operators that ONNX does not define; those have one
      // version.
      Versions expected = found == onnx.end() ? Versions{1} : found->second;
      Versions listed;
      for (int version : row.versions)
        if (version)
          EXPECT_TRUE(listed.insert(version).second) << row.op.str();
      // Some exporters use it in models that are older than the operator.
      if (row.op == "LayerNormalization")
        expected.insert(1);
      // The newest opset is served operator by operator.
      if (!listed.count(kMaxOpset))
        expected.erase(kMaxOpset);
      EXPECT_EQ(listed, expected) << row.op.str();
    }
}

TEST(OpTableTest, EachOperatorHasOneRow) {
  std::set<std::pair<std::string, std::string>> seen;
  for (llvm::ArrayRef<OpRow> family : allRows())
    for (const OpRow &row : family)
      EXPECT_TRUE(seen.insert({row.domain.str(), row.op.str()}).second)
          << row.op.str();
}

TEST(OpTableTest, RowsAreFoundFromTheirFirstVersionOn) {
  EXPECT_EQ(findRow("", "Gelu", 19), nullptr);
  EXPECT_NE(findRow("", "Gelu", 20), nullptr);
  EXPECT_NE(findRow("", "Add", 7), nullptr);
  EXPECT_EQ(findRow("com.microsoft", "Add", 1), nullptr);
  EXPECT_EQ(findRow("", "NoSuchOp", 17), nullptr);
  EXPECT_EQ(findRow("", "Add", 0), nullptr);
}

TEST(OpTableTest, AnOperatorThatChangedInTheNewestOpsetNeedsToSaySo) {
  EXPECT_NE(findRow("", "Cast", kMaxOpset), nullptr);
  for (llvm::ArrayRef<OpRow> family : allRows())
    for (const OpRow &row : family) {
      auto onnx = onnxVersions();
      if (!row.domain.empty() ||
          !onnx[(row.domain + ":" + row.op).str()].count(kMaxOpset))
        continue;
      EXPECT_EQ(findRow("", row.op, kMaxOpset) != nullptr,
                llvm::is_contained(row.versions, int(kMaxOpset)))
          << row.op.str();
    }
}

} // namespace
} // namespace tenon
