//===- Launches.cpp - Modules, functions and kernels ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/unit/Fixture.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace tenon::cuda;

namespace {
class Launches : public DriverTest,
                 public testing::WithParamInterface<const char *> {};

TEST_P(Launches, AKernelRuns) {
  open({{"QUEUE", GetParam()}, {"SEED", "11"}});
  Module module = load(kAddOne);
  Function addOne = function(module, "add_one");
  constexpr unsigned kCount = 1000;
  DevicePointer in = allocate(kCount * 4), out = allocate(kCount * 4);
  std::vector<float> values(kCount), results(kCount);
  for (unsigned i = 0; i < kCount; ++i)
    values[i] = float(i);
  EXPECT_EQ(cu.copyHostToDevice(in, values.data(), kCount * 4, stream),
            success);
  EXPECT_EQ(launch(addOne, {in, out, kCount}, 8, 128), success);
  EXPECT_EQ(cu.copyDeviceToHost(results.data(), out, kCount * 4, stream),
            success);
  EXPECT_EQ(cu.streamSynchronize(stream), success);
  for (unsigned i = 0; i < kCount; ++i)
    EXPECT_EQ(results[i], float(i + 1));
  EXPECT_EQ(cu.memFree(in), success);
  EXPECT_EQ(cu.memFree(out), success);
  EXPECT_EQ(cu.moduleUnload(module), success);
  close();
}

TEST_P(Launches, AGraphOfKernelsRuns) {
  open({{"QUEUE", GetParam()}, {"SEED", "5"}});
  Module module = load(kAddOne);
  Function addOne = function(module, "add_one");
  DevicePointer memory = allocate(64);
  EXPECT_EQ(cu.memsetBytes(memory, 0, 64, stream), success);
  Graph graph = nullptr;
  EXPECT_EQ(cu.streamBeginCapture(stream, captureThreadLocal), success);
  EXPECT_EQ(launch(addOne, {memory, memory, 16}), success);
  EXPECT_EQ(launch(addOne, {memory, memory, 8}), success);
  EXPECT_EQ(cu.streamEndCapture(stream, &graph), success);
  GraphExec made = nullptr;
  EXPECT_EQ(cu.graphInstantiate(&made, graph, 0), success);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(cu.graphLaunch(made, stream), success);
  float results[16];
  EXPECT_EQ(cu.copyDeviceToHost(results, memory, 64, stream), success);
  EXPECT_EQ(cu.streamSynchronize(stream), success);
  EXPECT_EQ(results[0], 6);
  EXPECT_EQ(results[15], 3);
  EXPECT_EQ(cu.graphDestroy(graph), success);
  EXPECT_EQ(cu.graphExecDestroy(made), success);
  EXPECT_EQ(cu.memFree(memory), success);
  EXPECT_EQ(cu.moduleUnload(module), success);
  close();
}

INSTANTIATE_TEST_SUITE_P(Queues, Launches,
                         testing::Values("eager", "lazy", "random"));

class Refusals : public DriverTest {
protected:
  void openWithKernel(const Environment &environment = {},
                      const char *ptx = kAddOne, const char *name = "add_one") {
    open(environment);
    module = load(ptx);
    kernel = function(module, name);
    memory = allocate(64);
    EXPECT_EQ(cu.memsetBytes(memory, 0, 64, stream), success);
  }

  void closeAll() {
    EXPECT_EQ(cu.memFree(memory), success);
    EXPECT_EQ(cu.moduleUnload(module), success);
    close();
  }

  /// After a kernel failed every call says so, yet frees.
  void closeBroken(Result error) {
    EXPECT_EQ(cu.memFree(memory), error);
    EXPECT_EQ(cu.moduleUnload(module), error);
    EXPECT_EQ(cu.streamDestroy(stream), error);
    EXPECT_EQ(cu.contextPop(&context), success);
    EXPECT_EQ(cu.primaryContextRelease(0), success);
  }

  Module module = nullptr;
  Function kernel = nullptr;
  DevicePointer memory = 0;
};

TEST_F(Refusals, TooManyThreads) {
  openWithKernel();
  EXPECT_EQ(launch(kernel, {memory, memory, 1}, 1, 1025), errorInvalidValue);
  EXPECT_COMPLAINT("add_one: 1025 threads in a block are over the limit");
  closeAll();
}

TEST_F(Refusals, NoBlocks) {
  openWithKernel();
  EXPECT_EQ(launch(kernel, {memory, memory, 1}, 0), errorInvalidValue);
  EXPECT_COMPLAINT("add_one: a size is 0");
  closeAll();
}

TEST_F(Refusals, MoreThreadsThanItSays) {
  std::string ptx = kAddOne;
  ptx.replace(ptx.find("\n{"), 1, "\n.maxntid 64\n");
  openWithKernel({}, ptx.c_str());
  EXPECT_EQ(launch(kernel, {memory, memory, 1}, 1, 64), success);
  EXPECT_EQ(launch(kernel, {memory, memory, 1}, 1, 96), errorInvalidValue);
  EXPECT_COMPLAINT("96 threads in a block are over its .maxntid of 64");
  closeAll();
}

TEST_F(Refusals, SharedMemoryWithoutAsking) {
  openWithKernel({{"SM", "90"}});
  EXPECT_EQ(launch(kernel, {memory, memory, 1}, 1, 32, 49152), success);
  EXPECT_EQ(launch(kernel, {memory, memory, 1}, 1, 32, 49153),
            errorInvalidValue);
  EXPECT_COMPLAINT("49153 bytes of dynamic shared memory are over the 49152");
  auto dynamic = attributeMaxDynamicSharedSizeBytes;
  EXPECT_EQ(cu.functionSetAttribute(kernel, dynamic, 100000), success);
  EXPECT_EQ(launch(kernel, {memory, memory, 1}, 1, 32, 100000), success);
  EXPECT_EQ(cu.functionSetAttribute(kernel, dynamic, 232449),
            errorInvalidValue);
  EXPECT_COMPLAINT("232449 bytes of dynamic and 0 of static shared memory; "
                   "the device has 232448");
  closeAll();
}

TEST_F(Refusals, TooFewParameters) {
  openWithKernel();
  EXPECT_EQ(launch(kernel, {memory, memory}), errorInvalidValue);
  EXPECT_COMPLAINT("add_one takes 3 parameters and parameter 2 is not there");
  uint64_t buffer[2] = {memory, memory};
  size_t bytes = sizeof buffer;
  void *extra[] = {reinterpret_cast<void *>(1), buffer,
                   reinterpret_cast<void *>(2), &bytes, nullptr};
  EXPECT_EQ(
      cu.launchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, extra),
      errorInvalidValue);
  EXPECT_COMPLAINT("a buffer of 16 bytes of parameters; it takes 24");
  closeAll();
}

TEST_F(Refusals, AKernelWritesPastTheEnd) {
  openWithKernel({{"QUEUE", "lazy"}}, kPastTheEnd, "past_the_end");
  EXPECT_EQ(launch(kernel, {memory, 15}), success);
  EXPECT_EQ(cu.streamSynchronize(stream), success);
  EXPECT_EQ(launch(kernel, {memory, 16}), success);
  EXPECT_EQ(cu.streamSynchronize(stream), errorIllegalAddress);
  EXPECT_COMPLAINT(
      "cuLaunchKernel of past_the_end: kernel past_the_end, line ");
  DevicePointer other = 0;
  EXPECT_EQ(cu.memAlloc(&other, 4), errorIllegalAddress);
  closeBroken(errorIllegalAddress);
}

TEST_F(Refusals, AKernelReadsFreedMemory) {
  openWithKernel();
  DevicePointer gone = allocate(64);
  EXPECT_EQ(cu.memFree(gone), success);
  EXPECT_EQ(launch(kernel, {gone, memory, 1}), success);
  EXPECT_EQ(cu.streamSynchronize(stream), errorIllegalAddress);
  EXPECT_COMPLAINT("that were freed");
  closeBroken(errorIllegalAddress);
}

TEST_F(Refusals, AKernelReadsWhatNobodyWrote) {
  openWithKernel();
  DevicePointer fresh = allocate(64);
  EXPECT_EQ(launch(kernel, {fresh, memory, 1}), success);
  EXPECT_EQ(cu.streamSynchronize(stream), errorLaunchFailed);
  EXPECT_COMPLAINT("that were never written");
  EXPECT_EQ(cu.memFree(fresh), errorLaunchFailed);
  closeBroken(errorLaunchFailed);
}

// Half of a copied range was written, and only that half may be read.
TEST_F(Refusals, ACopyCopiesWhatIsWritten) {
  openWithKernel();
  DevicePointer fresh = allocate(64), copy = allocate(64);
  EXPECT_EQ(cu.memsetBytes(fresh, 0, 30, stream), success);
  EXPECT_EQ(cu.copyDeviceToDevice(copy, fresh, 64, stream), success);
  EXPECT_EQ(launch(kernel, {copy, memory, 7}), success);
  EXPECT_EQ(cu.streamSynchronize(stream), success);
  EXPECT_EQ(launch(kernel, {copy, memory, 8}), success);
  EXPECT_EQ(cu.streamSynchronize(stream), errorLaunchFailed);
  EXPECT_COMPLAINT("that were never written");
  EXPECT_EQ(cu.memFree(fresh), errorLaunchFailed);
  EXPECT_EQ(cu.memFree(copy), errorLaunchFailed);
  closeBroken(errorLaunchFailed);
}

TEST_F(Refusals, AKernelThatDoesNotEnd) {
  openWithKernel({{"INSTRUCTIONS", "1000"}}, R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry forever()
{
again:
  bra again;
}
)",
                 "forever");
  EXPECT_EQ(launch(kernel, {}), success);
  EXPECT_EQ(cu.streamSynchronize(stream), 702);
  EXPECT_COMPLAINT("still runs after 1000 instructions");
  closeBroken(702);
}

TEST_F(Refusals, AModuleIsUnloadedUnderWork) {
  openWithKernel({{"QUEUE", "lazy"}});
  EXPECT_EQ(launch(kernel, {memory, memory, 1}), success);
  EXPECT_EQ(cu.moduleUnload(module), success);
  EXPECT_COMPLAINT("cuModuleUnload: cuLaunchKernel of add_one of its kernel "
                   "is not finished");
  EXPECT_EQ(launch(kernel, {memory, memory, 1}), errorInvalidHandle);
  EXPECT_COMPLAINT("the handle is a function that was destroyed");
  EXPECT_EQ(cu.memFree(memory), success);
  close();
}

TEST_F(Refusals, MemoryIsFreedUnderAKernel) {
  openWithKernel({{"QUEUE", "lazy"}});
  DevicePointer other = allocate(64);
  EXPECT_EQ(launch(kernel, {memory, other, 1}), success);
  EXPECT_EQ(cu.memFree(other), success);
  EXPECT_COMPLAINT("cuMemFree_v2: cuLaunchKernel of add_one uses the memory");
  closeAll();
}

TEST_F(Refusals, AGraphOutlivesWhatItsKernelUses) {
  openWithKernel();
  DevicePointer other = allocate(64);
  Graph graph = nullptr;
  GraphExec made = nullptr;
  EXPECT_EQ(cu.streamBeginCapture(stream, captureThreadLocal), success);
  EXPECT_EQ(launch(kernel, {memory, other, 1}), success);
  EXPECT_EQ(cu.streamEndCapture(stream, &graph), success);
  EXPECT_EQ(cu.graphInstantiate(&made, graph, 0), success);
  EXPECT_EQ(cu.memFree(other), success);
  EXPECT_EQ(cu.graphLaunch(made, stream), errorIllegalAddress);
  EXPECT_COMPLAINT("cuLaunchKernel of add_one was captured with memory that "
                   "was freed since");
  EXPECT_EQ(cu.graphDestroy(graph), success);
  EXPECT_EQ(cu.graphExecDestroy(made), success);
  closeAll();
}

class Images : public DriverTest {
protected:
  /// Loads what will not load; the error log comes back.
  std::string refusal(const char *image, Result expected) {
    char log[1000] = "";
    JitOption options[] = {jitErrorLogBuffer, jitErrorLogBufferSizeBytes};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    Module module = nullptr;
    EXPECT_EQ(cu.moduleLoad(&module, image, 2, options, values), expected);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(values[1]), strlen(log));
    return log;
  }

  static constexpr char kElf[] = "\x7f"
                                 "ELF\2\1\1";
};

TEST_F(Images, MistakesInThePtxAreInTheLog) {
  open();
  std::string ptx = kAddOne;
  ptx.replace(ptx.find("add.f32"), 7, "abb.f32");
  EXPECT_NE(refusal(ptx.c_str(), errorInvalidPtx), "");
  EXPECT_NE(refusal("hello", errorInvalidPtx), "");
  close();
}

TEST_F(Images, PtxForAnotherDevice) {
  open({{"SM", "80"}});
  std::string ptx = kAddOne;
  ptx.replace(ptx.find("sm_80"), 5, "sm_90");
  EXPECT_EQ(refusal(ptx.c_str(), errorNoBinaryForDevice),
            "the PTX is for sm_90 and the device is sm_80");
  close();
}

TEST_F(Images, PtxForOneFamilyAlone) {
  open({{"SM", "100"}});
  std::string ptx = kAddOne;
  ptx.replace(ptx.find("sm_80"), 5, "sm_90a");
  EXPECT_EQ(refusal(ptx.c_str(), errorNoBinaryForDevice),
            "the PTX is for sm_90a and the device is sm_100");
  close();
}

TEST_F(Images, PtxNewerThanTheDriver) {
  open({{"VERSION", "11080"}});
  EXPECT_EQ(refusal(kAddOne, errorUnsupportedPtxVersion),
            "PTX 8.0 is newer than the driver");
  close();
}

TEST_F(Images, ACubinIsRefused) {
  open();
  EXPECT_NE(refusal(kElf, errorNoBinaryForDevice).find("runs no cubins"),
            std::string::npos);
  close();
}

TEST_F(Images, ACubinWithItsPtxRuns) {
  auto path = std::filesystem::temp_directory_path() /
              ("fake_cuda_ptx_" + std::to_string(getpid()));
  std::ofstream(path) << kAddOne;
  open({{"COMPANION", path.string()}});
  Module module = load(kElf);
  EXPECT_NE(function(module, "add_one"), nullptr);
  EXPECT_EQ(cu.moduleUnload(module), success);
  close();
  std::filesystem::remove(path);
}

TEST_F(Images, NoSuchFunction) {
  open();
  Module module = load(kAddOne);
  Function found = nullptr;
  EXPECT_EQ(cu.moduleGetFunction(&found, module, "add_two"), errorNotFound);
  EXPECT_EQ(cu.moduleUnload(module), success);
  close();
}

TEST_F(Images, AModuleIsLeaked) {
  open();
  load(kAddOne);
  close();
  EXPECT_COMPLAINT("never freed: 1 module(s)");
}
} // namespace
