//===- Driver.h - The CUDA driver, opened at run time ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_CUDA_DRIVER_H
#define TENON_RUNTIME_CUDA_DRIVER_H

#include "runtime/Cuda/DriverApi.h"
#include "runtime/tenon.h"

namespace tenon::cuda {

/// The functions of a driver's library, which stays loaded as long as this.
class Driver {
public:
  Driver() = default;
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;
  ~Driver();

  /// Opens the library `path` and checks that it is new enough.
  [[nodiscard]] tenon_status_t open(const char *path);

  /// 1000 * major + 10 * minor of the CUDA that it supports.
  int getVersion() const { return version; }

  /// TENON_OK for success; else an error that says `what` could not be done
  /// and why.
  [[nodiscard]] tenon_status_t check(Result result, const char *what) const {
    return __builtin_expect(result == success, true) ? TENON_OK
                                                     : refused(result, what);
  }

  /// The driver's words for an error.
  struct Words {
    const char *name, *sentence;
  };
  Words words(Result result) const;

#define TENON_MEMBER(member, symbol, parameters)                               \
  Result(*member) parameters = nullptr;
  TENON_CUDA_FUNCTIONS(TENON_MEMBER)
#undef TENON_MEMBER

private:
  __attribute__((cold)) tenon_status_t refused(Result result,
                                               const char *what) const;
  tenon_status_t checkVersion(const char *path);

  void *library = nullptr;
  int version = 0;
};

/// The status of an error of the driver.
tenon_status_t statusOf(Result result);

} // namespace tenon::cuda

#endif // TENON_RUNTIME_CUDA_DRIVER_H
