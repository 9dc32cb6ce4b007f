//===- Driver.cpp - The CUDA driver, opened at run time -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Cuda/Driver.h"
#include "runtime/Error.h"

#include <dlfcn.h>

using namespace tenon;
using namespace tenon::cuda;
using tenon::runtime::fail;

namespace {
/// What PTX 8.0 needs.
constexpr int neededVersion = 12000;
} // namespace

Driver::~Driver() {
  if (library)
    dlclose(library);
}

tenon_status_t Driver::open(const char *path) {
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return fail(TENON_NOT_FOUND,
                "cannot load the CUDA driver: %.500s; install NVIDIA's driver, "
                "525 or newer, or run on the CPU",
                reason ? reason : path);
  }
  const char *missing = nullptr;
  auto find = [&](const char *symbol) {
    void *function = dlsym(library, symbol);
    if (!function && !missing)
      missing = symbol;
    return function;
  };
#define TENON_FIND(member, symbol, parameters)                                 \
  member = reinterpret_cast<Result(*) parameters>(find(symbol));
  TENON_CUDA_FUNCTIONS(TENON_FIND)
#undef TENON_FIND
  if (init && driverGetVersion)
    if (tenon_status_t status = checkVersion(path))
      return status;
  if (missing)
    return fail(TENON_UNSUPPORTED,
                "%.200s is no CUDA driver of version 12.0 or newer: it lacks "
                "%s; install NVIDIA's driver, 525 or newer",
                path, missing);
  return TENON_OK;
}

tenon_status_t Driver::checkVersion(const char *path) {
  // It may be asked before the driver is initialised.
  if (driverGetVersion(&version) != success)
    version = 0;
  if (version >= neededVersion)
    return TENON_OK;
  return fail(TENON_UNSUPPORTED,
              "the CUDA driver %.200s supports CUDA %d.%d, but 12.0 is needed; "
              "install NVIDIA's driver, 525 or newer",
              path, version / 1000, version % 1000 / 10);
}

tenon_status_t tenon::cuda::statusOf(Result result) {
  switch (result) {
  case success:
    return TENON_OK;
  case errorOutOfMemory:
    return TENON_OUT_OF_MEMORY;
  case errorInvalidImage:
  case errorNoBinaryForDevice:
  case errorInvalidPtx:
  case errorUnsupportedPtxVersion:
  case errorSystemDriverMismatch:
  case errorStubLibrary:
    return TENON_UNSUPPORTED;
  case errorNoDevice:
  case errorInvalidDevice:
    return TENON_NOT_FOUND;
  case errorIllegalAddress:
  case errorLaunchFailed:
  case errorLaunchOutOfResources:
    return TENON_FAILED;
  }
  return TENON_IO_ERROR;
}

Driver::Words Driver::words(Result result) const {
  Words words = {nullptr, nullptr};
  if (getErrorName(result, &words.name) != success || !words.name)
    words.name = "an error that it has no name for";
  if (getErrorString(result, &words.sentence) != success || !words.sentence)
    words.sentence = "unknown";
  return words;
}

tenon_status_t Driver::refused(Result result, const char *what) const {
  Words words = this->words(result);
  bool broken = result == errorIllegalAddress || result == errorLaunchFailed;
  return fail(statusOf(result), "%s: the CUDA driver says %s: %s (%d)%s", what,
              words.name, words.sentence, result,
              broken ? "; a kernel went wrong, please report this: until it "
                       "ends this process can use the device no more"
                     : "");
}
