//===- HandoverBugs.cpp - Bugs planted where blocks hand over their sums --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each fence around the count of blocks is left out in turn, in every schedule
// whose blocks share sums; blocks run from the first, from the last and mixed.
//
//===----------------------------------------------------------------------===//

#include "compiler/Reference/Evaluate.h"
#include "compiler/Targets/Cpu/Compile.h"
#include "compiler/Targets/Cuda/Compile.h"
#include "mlir/Parser/Parser.h"
#include "runtime/model_format.h"
#include "test/compiler/Targets/Cpu/AttentionForms.h"
#include "test/compiler/Targets/Cpu/KernelData.h"
#include "test/compiler/Targets/Cuda/ProductCases.h"
#include "test/gpu/sim/Simulator.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace tenon;

namespace {
test::KernelCase sharedKeys(const char *schedule, bool isWidened) {
  test::Form form;
  form.schedule = schedule, form.isWidened = isWidened;
  form.batch = "1", form.queries = "1", form.keys = "300";
  form.heads = form.keyHeads = 1;
  return attention(form, {{}});
}

test::KernelCase sharedSteps(const char *schedule, const char *element,
                             const char *rows) {
  return test::product(schedule, element,
                       {.a = {{rows, "1536"}},
                        .b = {{"1536", "24"}},
                        .result = {rows, "24"},
                        .isWidened = false});
}

/// One sum of a row.
test::KernelCase sharedRow() {
  test::KernelCase row = test::one(
      "reduce", "{axes = array<i64: 1>, kind = #graph<reduce_kind sum>}",
      {test::tensor({"1", "70000"}, "f32")}, {test::tensor({"1", "1"}, "f32")});
  row.schedule = "BlockRows";
  return row;
}

const test::KernelCase kCases[] = {sharedRow(),
                                   sharedKeys("AttentionRows", false),
                                   sharedKeys("AttentionMma", true),
                                   sharedSteps("MatmulRows", "f32", "2"),
                                   sharedSteps("MatmulSimtSmall", "f32", "5"),
                                   sharedSteps("MatmulMmaSmall", "bf16", "5")};

class HandoverBugs : public testing::TestWithParam<test::KernelCase> {
protected:
  void SetUp() override {
    registry.insert<graph::GraphDialect, kernel::KernelDialect>();
    cpu::registerCpuDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module =
        parseSourceString<ModuleOp>(test::kernelText(GetParam(), 0), &context);
    ASSERT_TRUE(module);
    kernel = *module->getOps<kernel::FuncOp>().begin();
    test::applySchedule(kernel, Target::Cuda);
    for (int i = 0; i < 4; ++i)
      geometry[i] = evaluate(i ? kernel.getGeometry()[i] : kernel.getRows());
    for (Value value : kernel.getBlock().getArguments())
      buffers.push_back(bytesOf(value));
    for (Value value : kernel.getYielded())
      buffers.push_back(bytesOf(value));
    CodeCache cache;
    auto code = cuda::compilePtx(*module, cache);
    ASSERT_TRUE(succeeded(code));
    ptx = code->waitingPtx;
    plainPtx = code->ptx;
    block = code->kernels[0];
  }

  static uint64_t evaluate(graph::Expr expr) {
    return reference::evaluateSize(expr, {}).value_or(0);
  }
  static uint64_t bytesOf(Value value) {
    uint64_t bytes = graph::byteWidth(graph::getElementType(value));
    for (graph::Expr dim : graph::getDims(value))
      bytes *= evaluate(dim);
    return bytes;
  }

  std::string runIn(const std::string &text, sim::Order order) {
    std::string error;
    auto code = sim::Module::parse(text, error);
    if (!code)
      return error;
    sim::Memory memory;
    EXPECT_TRUE(code->load(memory, error)) << error;
    std::vector<uint64_t> words;
    for (uint64_t bytes : buffers) {
      words.push_back(memory.allocate(bytes));
      // 0.5 and some as f32, and as bf16.
      memory.fill(words.back(), 0x3f, bytes);
    }
    uint64_t shared = memory.allocate(geometry[3]);
    memory.fill(shared, 0, std::min<uint64_t>(geometry[3], TENON_SHARED_ZEROS));
    uint64_t fault = memory.allocate(8);
    memory.fill(fault, -1, 8);
    words.insert(words.end(),
                 {geometry[0], geometry[1],
                  memory.allocate(geometry[2] * block.threads * geometry[0]),
                  geometry[2], shared, fault});
    sim::Launch launch;
    launch.grid[0] = (geometry[0] + geometry[1] - 1) / geometry[1];
    EXPECT_GT(launch.grid[0], 1u);
    launch.block[0] = block.threads;
    launch.dynamicShared = block.sharedBytes;
    launch.order = order;
    launch.overlaps = true;
    launch.parameters.resize(words.size() * 8);
    memcpy(launch.parameters.data(), words.data(), words.size() * 8);
    std::string report = sim::run(*code->kernels().front(), memory, launch);
    code->unload(memory);
    return report;
  }

  /// The first report of the simulator.
  std::string run(const std::string &text) {
    for (sim::Order order :
         {sim::Order::Eager, sim::Order::Lazy, sim::Order::Random})
      if (std::string report = runIn(text, order); !report.empty())
        return report;
    return "";
  }

  /// What is said when `good` has become `bad`, at each place in turn.
  std::vector<std::string> plant(const std::string &good, const char *bad) {
    std::vector<std::string> said;
    for (size_t at = ptx.find(good); at != std::string::npos;
         at = ptx.find(good, at + 1))
      said.push_back(run(std::string(ptx).replace(at, good.size(), bad)));
    return said;
  }

  DialectRegistry registry;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  kernel::FuncOp kernel;
  uint64_t geometry[4] = {}; // Rows, grain, scratch, what blocks share.
  std::vector<uint64_t> buffers;
  std::string ptx, plainPtx;
  cuda::CudaKernel block;
};

TEST_P(HandoverBugs, IsRight) { EXPECT_EQ(run(ptx), ""); }

TEST_P(HandoverBugs, OlderDevicesHaveNothingToWaitFor) {
  EXPECT_NE(ptx.find(".target sm_90"), std::string::npos);
  EXPECT_NE(plainPtx.find(".target sm_80"), std::string::npos);
  EXPECT_EQ(plainPtx.find("griddepcontrol"), std::string::npos);
  std::string said = run(plainPtx);
  EXPECT_NE(said.find("the launch before"), std::string::npos) << said;
}

TEST_P(HandoverBugs, AMissingFenceIsReported) {
  auto said = plant("fence.acq_rel.gpu;", "");
  EXPECT_GE(said.size(), 2u);
  for (const std::string &report : said)
    EXPECT_NE(report.find("no fence, atomics on one word and fence between"),
              std::string::npos)
        << report;
}

TEST_P(HandoverBugs, AFenceOfTheBlockIsReported) {
  for (const std::string &report :
       plant("fence.acq_rel.gpu;", "fence.acq_rel.cta;"))
    EXPECT_NE(report.find("data race"), std::string::npos) << report;
}

TEST_P(HandoverBugs, ACountOfTheBlocksScopeIsReported) {
  auto said = plant("atom.global.inc", "atom.cta.global.inc");
  EXPECT_GE(said.size(), 1u);
  for (const std::string &report : said)
    EXPECT_NE(report.find("data race: changes"), std::string::npos) << report;
}

TEST_P(HandoverBugs, ALaunchThatDoesNotWaitIsReported) {
  auto said = plant("griddepcontrol.wait;", "");
  EXPECT_EQ(said.size(), 1u);
  for (const std::string &report : said)
    EXPECT_NE(report.find("the launch before"), std::string::npos) << report;
}

INSTANTIATE_TEST_SUITE_P(Schedules, HandoverBugs, testing::ValuesIn(kCases),
                         [](const auto &test) { return test.param.schedule; });
} // namespace
