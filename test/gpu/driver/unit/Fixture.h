//===- Fixture.h - The fake driver, opened as the runtime opens it --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TENON_TEST_GPU_DRIVER_UNIT_FIXTURE_H
#define TENON_TEST_GPU_DRIVER_UNIT_FIXTURE_H

#include "runtime/Cuda/DriverApi.h"

#include <gtest/gtest.h>
#include <map>
#include <string>

namespace tenon::cuda {

/// Every function that the runtime uses, by its declaration.
struct Functions {
#define MEMBER(name, symbol, parameters) Result(*name) parameters = nullptr;
  TENON_CUDA_FUNCTIONS(MEMBER)
#undef MEMBER

  /// And one that others use.
  Result (*launchKernel)(Function, unsigned gridX, unsigned gridY,
                         unsigned gridZ, unsigned blockX, unsigned blockY,
                         unsigned blockZ, unsigned sharedBytes, Stream stream,
                         void **parameters, void **extra) = nullptr;
};

class DriverTest : public testing::Test {
protected:
  using Environment = std::map<std::string, std::string>;

  DriverTest();
  ~DriverTest() override;

  /// A driver that knows nothing, under this environment.
  void restart(const Environment &environment = {});
  /// And initialised, with a context and a stream.
  void open(const Environment &environment = {});
  /// Gives back what open made.
  void close();

  /// What the driver complained about since the last time, and forgets it.
  std::string complaints();

  Module load(const char *ptx);
  Function function(Module module, const char *name);
  DevicePointer allocate(size_t bytes);
  /// Launches with 64-bit parameters.
  Result launch(Function function, std::vector<uint64_t> parameters,
                unsigned grid = 1, unsigned block = 32, unsigned shared = 0);

  void *symbol(const char *name);

  Functions cu;
  Context context = nullptr;
  Stream stream = nullptr;

private:
  const char *(*violations)();
  void (*restartDriver)();
  size_t told = 0;
};

/// out[i] = in[i] + 1 for i < n, four bytes each: parameters in, out, n.
extern const char *const kAddOne;
/// Writes one float past the end of n: parameters out, n.
extern const char *const kPastTheEnd;

} // namespace tenon::cuda

#define EXPECT_COMPLAINT(words)                                                \
  do {                                                                         \
    std::string said = complaints();                                           \
    EXPECT_NE(said.find(words), std::string::npos)                             \
        << "the driver said: " << said;                                        \
  } while (false)

#endif // TENON_TEST_GPU_DRIVER_UNIT_FIXTURE_H
