//===- BadModelsTest.cpp - Each bad model gets its own sentence -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Import.h"
#include "compiler/Weights/WeightStore.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace tenon {
namespace {

/// Models that are strange but not wrong: names are only names, an entry of
/// external data that nobody knows is ignored, and so is the declared shape of
/// an output. What fails when it runs is no matter of import.
const std::set<std::string> harmless = {
    "000_control_good",
    "036_if_nest_20",
    "038_chain_100k",
    "070_ext_ok",
    "090_ext_dunder_key",
    "118_slice_int64min",
    "126_int_div_zero",
    "127_dql_scale_nan",
    "130_name_script_tag",
    "131_name_ansi_escape",
    "132_name_format_string",
    "133_name_path",
    "134_name_newline_json",
    "135_name_very_long",
    "136_name_empty_graph_name",
    "137_name_c_keyword",
    "138_name_nul",
    "143_declared_shape_lies",
};

/// Cases that are the same mistake for us.
const std::map<std::string, std::string> sameReason = {
    {"041_fn_mutual", "040_fn_self"},
    {"042_fn_cycle_in_if", "040_fn_self"},
    {"052_dims_wrap_to_4", "051_dims_product_overflow"},
    {"101_transpose_perm_oob", "100_transpose_dup_perm"},
};

TEST(BadModelsTest, AreRefusedWithTheirOwnSentence) {
  std::map<std::string, std::string> caseOf;
  int cases = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(TENON_BAD_MODELS)) {
    if (entry.path().extension() != ".onnx")
      continue;
    ++cases;
    std::string name = entry.path().stem();
    SCOPED_TRACE(name);
    auto start = std::chrono::steady_clock::now();
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    WeightStore weights;
    ImportReport report;
    auto module =
        importModel(&context, entry.path().string(), weights, {}, report);
    std::chrono::duration<double> taken =
        std::chrono::steady_clock::now() - start;
    EXPECT_LT(taken.count(), name == "038_chain_100k" ? 10.0 : 1.0);
    EXPECT_EQ(bool(module), harmless.count(name)) << report.str();
    if (module)
      continue;
    std::string reason = report.str();
    EXPECT_FALSE(reason.empty());
    EXPECT_LT(reason.size(), 1000u);
    EXPECT_TRUE(llvm::all_of(reason, [](char byte) {
      return llvm::isPrint(byte) || byte == '\n';
    })) << reason;
    // Files are named by their path; what follows must differ.
    std::string sentence =
        llvm::StringRef(reason).split(".onnx: ").second.str();
    if (sentence.empty())
      sentence = reason;
    if (sameReason.count(name))
      continue;
    auto [found, isNew] = caseOf.try_emplace(sentence, name);
    EXPECT_TRUE(isNew) << "says what " << found->second << " says: " << reason;
  }
  EXPECT_EQ(cases, 113);
}

} // namespace
} // namespace tenon
