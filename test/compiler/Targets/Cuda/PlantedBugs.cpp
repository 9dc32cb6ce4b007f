//===- PlantedBugs.cpp - Bugs planted in a kernel of the compiler ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of what the compiler makes changes with the compiler, so these bugs
// are planted by rule: every store, every bound and every buffer in turn.
//
//===----------------------------------------------------------------------===//

#include "compiler/Reference/Evaluate.h"
#include "compiler/Targets/Cpu/Compile.h"
#include "compiler/Targets/Cuda/Compile.h"
#include "mlir/Parser/Parser.h"
#include "test/compiler/Targets/Cpu/KernelData.h"
#include "test/gpu/sim/Simulator.h"
#include <cstring>
#include <gtest/gtest.h>
#include <regex>

using namespace mlir;
using namespace tenon;

namespace {
constexpr uint64_t kRows = 20, kColumns = 37, kGrain = 8;
constexpr uint64_t kBlocks = (kRows + kGrain - 1) / kGrain;

/// Softmax of rows: each element is written to scratch, read again and written
/// to the result.
class PlantedBugs : public testing::Test {
protected:
  static void SetUpTestSuite() {
    DialectRegistry registry;
    registry.insert<graph::GraphDialect, kernel::KernelDialect>();
    cpu::registerCpuDialects(registry);
    MLIRContext context(registry);
    context.loadAllAvailableDialects();
    std::string type = "tensor<20x37xf32>";
    auto softmax = test::one("softmax", "{axis = 1}", {type}, {type});
    auto module =
        parseSourceString<ModuleOp>(test::kernelText(softmax, 0), &context);
    ASSERT_TRUE(module);
    auto function = *module->getOps<kernel::FuncOp>().begin();
    test::applySchedule(function, Target::Cuda);
    scratch =
        reference::evaluateSize(function.getGeometry()[2], {}).value_or(0);
    CodeCache cache;
    auto code = cuda::compilePtx(*module, cache);
    ASSERT_TRUE(succeeded(code));
    ptx = code->ptx;
    threads = code->kernels[0].threads;
  }

  /// Empty where the results are right; else the simulator's report, or what
  /// it takes a look at the results to see.
  static std::string run(const std::string &text, bool swapped = false,
                         uint64_t scratchBytes = scratch) {
    std::string error;
    auto module = sim::Module::parse(text, error);
    if (!module)
      return error;
    sim::Memory memory;
    constexpr uint64_t kBytes = kRows * kColumns * 4;
    std::vector<float> values(kRows * kColumns);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(i * 7 % 11) / 4;
    uint64_t in = memory.allocate(kBytes), out = memory.allocate(kBytes);
    memory.write(in, values.data(), kBytes);
    uint64_t fault = memory.allocate(8);
    memory.fill(fault, -1, 8);
    std::vector<uint64_t> words = {
        swapped ? out : in,
        swapped ? in : out,
        kRows,
        kGrain,
        memory.allocate(scratchBytes * threads * kBlocks),
        scratch,
        0,
        fault};
    sim::Launch launch;
    launch.grid[0] = kBlocks;
    launch.block[0] = threads;
    launch.instructionLimit = 1000000;
    launch.parameters.resize(words.size() * 8);
    memcpy(launch.parameters.data(), words.data(), words.size() * 8);
    std::string report = sim::run(*module->kernels().front(), memory, launch);
    if (!report.empty())
      return report;
    if (!memory.isWritten(out, kBytes))
      return "part of the result was not written";
    std::vector<float> got(values.size());
    memory.read(out, got.data(), kBytes);
    return differs(values, got) ? "wrong results" : "";
  }

  static bool differs(const std::vector<float> &values,
                      const std::vector<float> &got) {
    for (size_t row = 0; row < kRows; ++row) {
      double sum = 0;
      for (size_t i = 0; i < kColumns; ++i)
        sum += std::exp(double(values[row * kColumns + i]));
      for (size_t i = row * kColumns; i < (row + 1) * kColumns; ++i)
        if (!(std::fabs(got[i] - std::exp(double(values[i])) / sum) < 1e-5))
          return true;
    }
    return false;
  }

  /// What is said of each text that has one match of `pattern` replaced.
  static std::vector<std::string> plant(const char *pattern, const char *bad) {
    std::regex good(pattern);
    std::vector<std::string> said;
    for (std::sregex_iterator match(ptx.begin(), ptx.end(), good), end;
         match != end; ++match) {
      std::string text = ptx;
      text.replace(match->position(), match->length(), match->format(bad));
      said.push_back(run(text));
    }
    return said;
  }

  static inline std::string ptx;
  static inline uint64_t scratch = 0, threads = 0;
};

bool contains(const std::string &text, const char *words) {
  return text.find(words) != std::string::npos;
}

TEST_F(PlantedBugs, IsRight) { EXPECT_EQ(run(ptx), ""); }

// A report is best, but where a thread only hurts itself the results tell.
TEST_F(PlantedBugs, AStoreThatMovesIsNoticed) {
  auto said = plant(R"((st\.global\.b32\s+\[%\w+)\])", "$1+4]");
  EXPECT_GE(said.size(), 1u);
  EXPECT_EQ(llvm::count(said, ""), 0);
  EXPECT_TRUE(llvm::any_of(said, [](const std::string &report) {
    return contains(report, "past the end") || contains(report, "data race");
  }));
}

TEST_F(PlantedBugs, AStoreThatIsMissingIsNoticed) {
  auto said = plant(R"(st\.global\.b32\s[^;]*;)", "");
  EXPECT_GE(said.size(), 1u);
  EXPECT_EQ(llvm::count(said, ""), 0);
  EXPECT_TRUE(llvm::any_of(said, [](const std::string &report) {
    return contains(report, "not written");
  }));
}

// Some bounds are checked twice, so one that is wrong may do no harm.
TEST_F(PlantedBugs, ABoundOffByOneIsReported) {
  size_t reported = 0;
  for (const char *pattern : {R"(setp\.lt\.s64)", R"(setp\.ge\.s64)"})
    for (const std::string &report : plant(
             pattern, contains(pattern, "lt") ? "setp.le.s64" : "setp.gt.s64"))
      reported +=
          contains(report, "past the end") || contains(report, "data race");
  EXPECT_GE(reported, 1u);
}

TEST_F(PlantedBugs, BuffersThatAreSwappedAreReported) {
  EXPECT_TRUE(contains(run(ptx, true), "never written")) << run(ptx, true);
}

TEST_F(PlantedBugs, ScratchThatIsTooSmallIsReported) {
  if (!scratch)
    GTEST_SKIP() << "the kernel needs none";
  std::string report = run(ptx, false, 4);
  EXPECT_TRUE(contains(report, "which ends") ||
              contains(report, "nothing was allocated"))
      << report;
}
} // namespace
