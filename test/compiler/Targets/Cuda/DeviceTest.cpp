//===- DeviceTest.cpp - Resources, occupancy and predictions --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/Assemble.h"
#include "compiler/Targets/Cuda/Prediction.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Kernel/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::cuda;

namespace {

TEST(Device, HoldsAsManyBlocksAsItsScarcestResource) {
  const Device *device = findDevice(90);
  ASSERT_TRUE(device);
  EXPECT_EQ(blocksPerMultiprocessor(*device, 256, 0, 32), 8);    // Threads.
  EXPECT_EQ(blocksPerMultiprocessor(*device, 32, 0, 32), 32);    // Blocks.
  EXPECT_EQ(blocksPerMultiprocessor(*device, 256, 0, 128), 2);   // Registers.
  EXPECT_EQ(blocksPerMultiprocessor(*device, 256, 0, 129), 1);   // In lots.
  EXPECT_EQ(blocksPerMultiprocessor(*device, 64, 49152, 32), 4); // Shared.
  EXPECT_EQ(blocksPerMultiprocessor(*device, 64, 300000, 32), 0);
  EXPECT_FALSE(findDevice(81));
}

TEST(Assemble, ReadsWhatPtxasSays) {
  auto found = parseResources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
      "ptxas info    : Function properties for first\n"
      "    8 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 64 bytes smem\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90'\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 18 registers, used 0 barriers\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found["first"].registers, 255u);
  EXPECT_EQ(found["first"].sharedBytes, 64u);
  EXPECT_EQ(found["first"].spillBytes, 12u);
  EXPECT_EQ(found["second"].registers, 18u);
  EXPECT_EQ(found["second"].spillBytes, 0u);
}

TEST(Assemble, SaysWhatPtxasRefuses) {
  StringRef text = "this is no PTX\n";
  auto cubins = assembleCubins({AssemblySource{80, text}, {90, text}});
  ASSERT_FALSE(bool(cubins));
  std::string reason = llvm::toString(cubins.takeError());
  if (findPtxas().empty())
    EXPECT_NE(reason.find("ptxas is neither on PATH"), std::string::npos);
  else
    EXPECT_NE(reason.find("ptxas cannot assemble the kernels for sm_80"),
              std::string::npos)
        << reason;
}

TEST(Assemble, TellsRegistersOfRealCode) {
  if (findPtxas().empty())
    GTEST_SKIP() << "ptxas is not installed";
  auto found = resourcesOf(".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry k(.param .u64 p) {\n"
                           ".reg .b64 %rd<2>;\n.shared .align 8 .b8 s[64];\n"
                           "ld.param.u64 %rd1, [p];\n"
                           "st.global.u64 [%rd1], %rd1;\nret;\n}\n",
                           90);
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_GT((*found)["k"].registers, 0u);
}

/// Two launches of 1 GB each, one product, and one that has nothing to do.
constexpr char programText[] = R"mlir(
module {
  exec.program attributes {
      hi = array<i64: 4096>, lo = array<i64: 0>, inputs = [], input_types = [],
      outputs = [], output_types = [], segments = #graph.dims<0>,
      symbols = ["n"]} {
    exec.launch @copy [] params <> geometry <1000000, 128, 0>
      {cost = #graph.dims<0, 0, 1000000000>, nodes = []}
    exec.launch @copy [] params <> geometry <1000000, 128, 0>
      {cost = #graph.dims<0, 500000000, 500000000>, nodes = []}
    exec.launch @product [] params <n> geometry <512 * n, 1, 0>
      {cost = #graph.dims<1000000000 * n, 0, 1000>, nodes = []}
    exec.launch @nothing [] params <> geometry <1, 1, 0>
      {cost = #graph.dims<0, 0, 8>, nodes = []}
  }
  kernel.func @copy symbols [] layouts [""] schedule "Generic"
      geometry <1, 1, 0> {
  ^bb0(%0: tensor<1xf32>):
    kernel.yield %0 : tensor<1xf32>
  }
  kernel.func @product symbols ["n"] layouts [""] schedule "MatmulMma"
      geometry <1, 1, 0> {
  ^bb0(%0: tensor<1xf32>):
    kernel.yield %0 : tensor<1xf32>
  }
  kernel.func @nothing symbols [] layouts [""] schedule "Generic"
      geometry <1, 1, 0> {
  ^bb0(%0: tensor<1xf32>):
    kernel.yield %0 : tensor<1xf32>
  }
}
)mlir";

TEST(Prediction, NamesTheLimitThatBinds) {
  MLIRContext context;
  context.loadDialect<exec::ExecDialect, graph::GraphDialect,
                      kernel::KernelDialect>();
  auto module = parseSourceString<ModuleOp>(programText, &context);
  ASSERT_TRUE(module);
  CudaCode code;
  code.kernels = {
      {"copy", 128, 0}, {"product", 256, 65536}, {"nothing", 32, 0}};
  llvm::StringMap<KernelResources> resources;
  resources["product"] = {255, 0, 0};
  const Device &device = *findDevice(90);
  auto kernels = predict(*module->getOps<exec::ProgramOp>().begin(), code,
                         resources, device);
  ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
  ASSERT_EQ(kernels->size(), 3u);

  const PredictedKernel &copy = (*kernels)[0];
  EXPECT_EQ(copy.name, "copy");
  EXPECT_EQ(copy.launches, 2);
  EXPECT_EQ(copy.limit, Limit::Memory);
  EXPECT_NEAR(copy.seconds, 2e9 / device.bytes, 1e-9);
  EXPECT_EQ(copy.occupancy, 1);

  // 128 for the symbol; on tensor cores, a block on each multiprocessor.
  const PredictedKernel &product = (*kernels)[1];
  EXPECT_EQ(product.name, "product");
  EXPECT_EQ(product.limit, Limit::Compute);
  EXPECT_EQ(product.flops, 128e9);
  EXPECT_EQ(product.blocks, 512 * 128);
  EXPECT_NEAR(product.waves, 512 * 128 / 132.0, 1e-9);
  EXPECT_EQ(product.occupancy, 256 / 2048.0);
  EXPECT_GT(product.seconds, 128e9 / device.halfFlops);

  EXPECT_EQ((*kernels)[2].limit, Limit::Launch);
}

} // namespace
