//===- Fixture.cpp - The fake driver, opened as the runtime opens it ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/unit/Fixture.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

using namespace tenon::cuda;

const char *const tenon::cuda::kAddOne = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry add_one(.param .u64 in, .param .u64 out, .param .u64 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<3>;
  .reg .b64 %d<10>;
  ld.param.u64 %d1, [in];
  ld.param.u64 %d2, [out];
  ld.param.u64 %d3, [n];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.s32 %r4, %r2, %r3, %r1;
  cvt.u64.u32 %d4, %r4;
  setp.ge.u64 %p1, %d4, %d3;
  @%p1 bra done;
  shl.b64 %d5, %d4, 2;
  add.s64 %d6, %d1, %d5;
  add.s64 %d7, %d2, %d5;
  ld.global.f32 %f1, [%d6];
  add.f32 %f2, %f1, 0f3F800000;
  st.global.f32 [%d7], %f2;
done:
  ret;
}
)";

const char *const tenon::cuda::kPastTheEnd = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry past_the_end(.param .u64 out, .param .u64 n)
{
  .reg .b64 %d<5>;
  .reg .f32 %f<2>;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [n];
  shl.b64 %d3, %d2, 2;
  add.s64 %d4, %d1, %d3;
  mov.f32 %f1, 0f3F800000;
  st.global.f32 [%d4], %f1;
  ret;
}
)";

void *DriverTest::symbol(const char *name) {
  static void *library = dlopen(TENON_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  void *found = library ? dlsym(library, name) : nullptr;
  if (found)
    return found;
  fprintf(stderr, "%s\n", dlerror()); // No test makes sense without it.
  exit(1);
}

DriverTest::DriverTest() {
#define MEMBER(name, text, parameters)                                         \
  cu.name = reinterpret_cast<decltype(cu.name)>(symbol(text));
  TENON_CUDA_FUNCTIONS(MEMBER)
#undef MEMBER
  cu.launchKernel =
      reinterpret_cast<decltype(cu.launchKernel)>(symbol("cuLaunchKernel"));
  violations =
      reinterpret_cast<decltype(violations)>(symbol("fakeCudaViolations"));
  restartDriver =
      reinterpret_cast<decltype(restartDriver)>(symbol("fakeCudaRestart"));
  restart();
}

DriverTest::~DriverTest() {
  EXPECT_EQ(complaints(), "");
  restart();
}

void DriverTest::restart(const Environment &environment) {
  std::vector<std::string> old;
  for (char **entry = environ; *entry; ++entry)
    if (std::string(*entry).starts_with("FAKE_CUDA_"))
      old.push_back(
          std::string(*entry).substr(0, strchr(*entry, '=') - *entry));
  for (const std::string &name : old)
    unsetenv(name.c_str());
  for (auto &[name, value] : environment)
    setenv(("FAKE_CUDA_" + name).c_str(), value.c_str(), 1);
  restartDriver();
  told = 0;
}

void DriverTest::open(const Environment &environment) {
  restart(environment);
  ASSERT_EQ(cu.init(0), success);
  ASSERT_EQ(cu.primaryContextRetain(&context, 0), success);
  ASSERT_EQ(cu.contextPush(context), success);
  ASSERT_EQ(cu.streamCreate(&stream, streamNonBlocking), success);
}

void DriverTest::close() {
  EXPECT_EQ(cu.streamDestroy(stream), success);
  EXPECT_EQ(cu.contextPop(&context), success);
  EXPECT_EQ(cu.primaryContextRelease(0), success);
}

std::string DriverTest::complaints() {
  std::string all = violations();
  std::string fresh = all.substr(told);
  told = all.size();
  return fresh;
}

Module DriverTest::load(const char *ptx) {
  Module module = nullptr;
  char log[500] = "";
  JitOption options[] = {jitErrorLogBuffer, jitErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  EXPECT_EQ(cu.moduleLoad(&module, ptx, 2, options, values), success) << log;
  return module;
}

Function DriverTest::function(Module module, const char *name) {
  Function function = nullptr;
  EXPECT_EQ(cu.moduleGetFunction(&function, module, name), success);
  return function;
}

DevicePointer DriverTest::allocate(size_t bytes) {
  DevicePointer pointer = 0;
  EXPECT_EQ(cu.memAlloc(&pointer, bytes), success);
  return pointer;
}

Result DriverTest::launch(Function function, std::vector<uint64_t> parameters,
                          unsigned grid, unsigned block, unsigned shared) {
  std::vector<void *> addresses;
  for (uint64_t &parameter : parameters)
    addresses.push_back(&parameter);
  addresses.push_back(nullptr);
  return cu.launchKernel(function, grid, 1, 1, block, 1, 1, shared, stream,
                         addresses.data(), nullptr);
}
