//===- DeviceAllocation.cpp - Later runs on a device take no memory -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/runtime/DevicePrograms.h"

#include <cerrno>
#include <fstream>

using namespace tenon;
using namespace tenon::test;

namespace {
long allocations = 0;
} // namespace

extern "C" {
// Where this program, with the runtime in it, begins and ends: what a driver
// does by itself is its own affair.
extern char __executable_start, etext;

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static void count(const void *caller) {
  allocations += caller >= &__executable_start && caller < &etext;
}

void *malloc(size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_malloc(bytes);
}
void *calloc(size_t count_, size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_calloc(count_, bytes);
}
void *realloc(void *old, size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_realloc(old, bytes);
}
int posix_memalign(void **out, size_t alignment, size_t bytes) {
  count(__builtin_return_address(0));
  *out = __libc_memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, bytes);
}
}

namespace {
class DeviceAllocation : public DeviceTest {
protected:
  DeviceAllocation() : log("") { restart({{"LOG", log.path()}}); }

  /// Calls of the driver by these names so far.
  size_t calls(std::initializer_list<const char *> names) const {
    std::ifstream lines(log.path());
    size_t found = 0;
    for (std::string line; std::getline(lines, line);)
      for (const char *name : names)
        found += line.find(name) != std::string::npos;
    return found;
  }
  size_t callsThatTakeMemory() const {
    return calls({"cuMemAlloc", "cuMemHostAlloc", "cuStreamCreate",
                  "cuEventCreate", "cuModuleLoad", "cuGraphInstantiate"});
  }

  TemporaryFile log;
};

struct Way {
  bool enqueue, onDevice;
};

TEST_F(DeviceAllocation, RunsOfSizesThatWereThereTakeNone) {
  OnDevice model(*this, deviceScale());
  EXPECT_GT(allocations, 0);
  DeviceMemory x, y;
  ASSERT_EQ(DeviceMemory::allocate(model.device, 16000, x), TENON_OK);
  ASSERT_EQ(DeviceMemory::allocate(model.device, 16000, y), TENON_OK);
  static float host[4000];
  ASSERT_EQ(model.device.copy(x.get(), host, 16000), TENON_OK);
  auto run = [&](int64_t rows, Way how) {
    tenon_tensor_t input =
        tensor(TENON_F32, {rows, 4}, how.onDevice ? x.get() : host);
    tenon_tensor_t output = result(how.onDevice ? y.get() : nullptr, 16000);
    if (!how.onDevice)
      output.bytes = 0;
    tenon_status_t status =
        how.enqueue ? model.session.enqueue({&input, 1}, {&output, 1})
                    : model.session.run({&input, 1}, {&output, 1});
    return status ? status : model.session.wait();
  };
  constexpr Way ways[] = {{false, false}, {false, true}, {true, true}};
  for (int time = 0; time < 2; ++time) // Then there are recordings, too.
    for (Way way : ways)
      ASSERT_EQ(run(1000, way), TENON_OK) << lastError();
  size_t taken = callsThatTakeMemory();
  long before = allocations;
  for (int time = 0; time < 3; ++time)
    for (Way way : ways)
      EXPECT_EQ(run(1000, way), TENON_OK);
  EXPECT_EQ(run(7, ways[0]), TENON_OK); // Smaller is as good.
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(callsThatTakeMemory(), taken);
}

TEST_F(DeviceAllocation, OtherMemoryChangesARecordingAndMakesNone) {
  OnDevice model(*this, deviceScale());
  DeviceMemory x, y;
  ASSERT_EQ(DeviceMemory::allocate(model.device, 64 * 256, x), TENON_OK);
  ASSERT_EQ(DeviceMemory::allocate(model.device, 64 * 256, y), TENON_OK);
  std::vector<float> zeros(64 * 256 / 4);
  ASSERT_EQ(model.device.copy(x.get(), zeros.data(), 64 * 256), TENON_OK);
  constexpr int runs = 20;
  for (int i = 0; i < runs; ++i) {
    tenon_tensor_t input =
        tensor(TENON_F32, {3, 4}, static_cast<char *>(x.get()) + 64 * i);
    tenon_tensor_t output =
        result(static_cast<char *>(y.get()) + 64 * (runs - i), 48);
    ASSERT_EQ(model.session.run({&input, 1}, {&output, 1}), TENON_OK)
        << lastError();
  }
  EXPECT_EQ(calls({"cuGraphInstantiate"}), 1u);
  EXPECT_EQ(calls({"cuGraphExecUpdate"}), size_t(runs) - 2);
  EXPECT_EQ(model.session.info().graph_runs, uint64_t(runs) - 1);
}
} // namespace
