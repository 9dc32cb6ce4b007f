//===- Vendor.cpp - The same product by cuBLAS ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library is opened where it is found, and the few of its functions that
// are used are declared here.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/run/Vendor.h"
#include "runtime/Cuda/Device.h"

#include <dlfcn.h>

using namespace tenon::trial;
using tenon::cuda::Current;
using tenon::cuda::Driver;

namespace {

using Handle = struct VendorHandle *;
enum { single = 0, half = 2, brain = 14, sumsInF32 = 68, anyAlgorithm = -1 };

struct Functions {
  int (*create)(Handle *handle);
  int (*destroy)(Handle handle);
  int (*setStream)(Handle handle, tenon::cuda::Stream stream);
  int (*multiply)(Handle handle, int transposeA, int transposeB, int m, int n,
                  int k, const void *alpha, const void *a, int typeOfA,
                  int strideOfA, const void *b, int typeOfB, int strideOfB,
                  const void *beta, void *c, int typeOfC, int strideOfC,
                  int sums, int algorithm);
};

Problem load(const char *path, Functions &functions) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return std::string("cuBLAS cannot be opened: ") + dlerror();
  auto find = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(library, name));
    return function != nullptr;
  };
  if (find("cublasCreate_v2", functions.create) &&
      find("cublasDestroy_v2", functions.destroy) &&
      find("cublasSetStream_v2", functions.setStream) &&
      find("cublasGemmEx", functions.multiply))
    return std::nullopt;
  return std::string(path) + " lacks a function of cuBLAS";
}

/// Everything that one measurement holds.
class Measurement {
public:
  Measurement(tenon_device_t *device, const Functions &functions)
      : driver(device->driver), functions(functions) {}
  ~Measurement() {
    if (handle)
      functions.destroy(handle);
    for (tenon::cuda::Event event : {before, after})
      if (event)
        driver.eventDestroy(event);
    if (stream)
      driver.streamDestroy(stream);
  }

  bool create() {
    return driver.streamCreate(&stream, tenon::cuda::streamNonBlocking) == 0 &&
           driver.eventCreate(&before, tenon::cuda::eventDefault) == 0 &&
           driver.eventCreate(&after, tenon::cuda::eventDefault) == 0 &&
           functions.create(&handle) == 0 &&
           functions.setStream(handle, stream) == 0;
  }

  /// The mean of `count` products, in milliseconds; negative on failure.
  double time(const Sweep &sweep, void *const *places, int count) {
    float one = 1, zero = 0, sum = 0;
    int type = sweep.dtype == TENON_F32   ? single
               : sweep.dtype == TENON_F16 ? half
                                          : brain;
    int rows = int(sweep.dims[0]), columns = int(sweep.dims[1]);
    int depth = int(sweep.dims[2]);
    bool fine = driver.eventRecord(before, stream) == 0;
    // Its matrices have columns that lie together: ours are the transposes.
    for (int i = 0; i < count && fine; ++i)
      fine = functions.multiply(handle, 0, 0, columns, rows, depth, &one,
                                places[1], type, columns, places[0], type,
                                depth, &zero, places[2], type, columns,
                                sumsInF32, anyAlgorithm) == 0;
    fine = fine && driver.eventRecord(after, stream) == 0 &&
           driver.eventSynchronize(after) == 0 &&
           driver.eventElapsedTime(&sum, before, after) == 0;
    return fine ? double(sum) / count : -1;
  }

private:
  const Driver &driver;
  const Functions &functions;
  tenon::cuda::Stream stream = nullptr;
  tenon::cuda::Event before = nullptr, after = nullptr;
  Handle handle = nullptr;
};

} // namespace

const char *tenon::trial::findVendor(const char *path) {
  static const char *const names[] = {"libcublas.so.13", "libcublas.so.12",
                                      "libcublas.so.11"};
  if (path)
    return path;
  for (const char *name : names)
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      dlclose(library);
      return name;
    }
  return nullptr;
}

Problem tenon::trial::timeVendor(tenon_device_t *device, const Sweep &sweep,
                                 const std::vector<Tensor> &inputs,
                                 const char *path, double seconds,
                                 double &milliseconds) {
  Functions functions;
  if (Problem problem = load(path, functions))
    return problem;
  DeviceMemory memory[3];
  void *places[3];
  auto results = size_t(sweep.dims[0] * sweep.dims[1]);
  size_t sizes[] = {inputs[0].bytes.size(), inputs[1].bytes.size(),
                    results * tenon_dtype_bytes(sweep.dtype)};
  for (size_t i = 0; i < 3; ++i) {
    if (Problem problem = allocate(device, sizes[i], memory[i]))
      return problem;
    places[i] = memory[i].get();
    if (i < 2 &&
        tenon_device_copy(device, places[i], inputs[i].bytes.data(), sizes[i]))
      return tenon_last_error();
  }
  Current current(*device);
  Measurement measurement(device, functions);
  if (!current || !measurement.create())
    return "cuBLAS does not start";
  milliseconds = measurement.time(sweep, places, 3); // It warms up.
  if (milliseconds >= 0 && seconds > 0)
    milliseconds = measurement.time(sweep, places, 20);
  if (milliseconds < 0)
    return "cuBLAS fails";
  return std::nullopt;
}
