//===- AttentionBugs.cpp - Bugs planted in tiles of attention -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each wait for copies and each barrier is left out in turn. One block computes
// two tiles, one after the other, so that all of them are needed.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Compile.h"
#include "compiler/Targets/Cuda/Compile.h"
#include "mlir/Parser/Parser.h"
#include "test/compiler/Targets/Cpu/AttentionForms.h"
#include "test/compiler/Targets/Cpu/KernelData.h"
#include "test/gpu/sim/Simulator.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;

namespace {
constexpr uint64_t kQueries = 70, kKeys = 80, kHead = 16, kTiles = 2;

class AttentionBugs : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    DialectRegistry registry;
    registry.insert<graph::GraphDialect, kernel::KernelDialect>();
    cpu::registerCpuDialects(registry);
    MLIRContext context(registry);
    context.loadAllAvailableDialects();
    test::Form form;
    form.schedule = GetParam();
    form.isWidened = form.schedule == "AttentionMma";
    form.batch = "1", form.heads = form.keyHeads = 1;
    form.queries = std::to_string(kQueries), form.keys = std::to_string(kKeys);
    width = form.isWidened ? 2 : 4;
    auto module = parseSourceString<ModuleOp>(
        test::kernelText(test::attention(form, {{}}), 0), &context);
    ASSERT_TRUE(module);
    test::applySchedule(*module->getOps<kernel::FuncOp>().begin(),
                        Target::Cuda);
    CodeCache cache;
    auto code = cuda::compilePtx(*module, cache);
    ASSERT_TRUE(succeeded(code));
    ptx = code->ptx;
    block = code->kernels[0];
  }

  /// What the simulator says; operands are all zeros.
  std::string run(const std::string &text) {
    std::string error;
    auto module = sim::Module::parse(text, error);
    if (!module)
      return error;
    sim::Memory memory;
    EXPECT_TRUE(module->load(memory, error)) << error;
    std::vector<uint64_t> words;
    for (uint64_t rows : {kQueries, kKeys, kKeys}) {
      words.push_back(memory.allocate(rows * kHead * width));
      memory.fill(words.back(), 0, rows * kHead * width);
    }
    words.push_back(memory.allocate(kQueries * kHead * 4));
    uint64_t fault = memory.allocate(8);
    memory.fill(fault, -1, 8);
    words.insert(words.end(), {kTiles, 1, 0, 0, 0, fault});
    sim::Launch launch;
    launch.block[0] = block.threads;
    launch.dynamicShared = block.sharedBytes;
    launch.order = sim::Order::Lazy;
    launch.instructionLimit = 4000000;
    launch.parameters.resize(words.size() * 8);
    memcpy(launch.parameters.data(), words.data(), words.size() * 8);
    std::string report = sim::run(*module->kernels().front(), memory, launch);
    module->unload(memory);
    return report;
  }

  /// What is said when an instruction is left out, at each place in turn.
  std::vector<std::string> without(const std::string &instruction) {
    std::vector<std::string> said;
    for (size_t at = ptx.find(instruction); at != std::string::npos;
         at = ptx.find(instruction, at + 1)) {
      std::string text = ptx;
      text.erase(at, text.find(';', at) + 1 - at);
      said.push_back(run(text));
    }
    return said;
  }

  std::string ptx;
  cuda::CudaKernel block;
  uint64_t width = 0;
};

TEST_P(AttentionBugs, IsRight) { EXPECT_EQ(run(ptx), ""); }

TEST_P(AttentionBugs, AMissingWaitIsReported) {
  auto said = without("cp.async.wait_group");
  EXPECT_GE(said.size(), 6u);
  // Behind the loops over keys, only tiles that see none have to wait.
  EXPECT_EQ(llvm::count(said, ""), 2);
}

TEST_P(AttentionBugs, AMissingBarrierIsReported) {
  for (std::string barrier : {"bar.sync", "bar.warp.sync"}) {
    auto said = without(barrier);
    EXPECT_GE(said.size(), 1u);
    EXPECT_EQ(llvm::count(said, ""), 0) << barrier;
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, AttentionBugs,
                         testing::Values("AttentionMma", "AttentionSimt"),
                         [](const auto &test) {
                           return std::string(test.param);
                         });
} // namespace
