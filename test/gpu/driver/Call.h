//===- Call.h - What every driver call does first and last ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   FAKE_CUDA cuStreamDestroy_v2(Handle handle) {
//     Call call("cuStreamDestroy_v2", NeedsContext | Destroys, LaunchFailed);
//     if (!call)
//       return call.status();
//     Stream *stream = call.object<Stream>(handle);
//     if (!stream)
//       return call.status();
//     ...
//     return call.done();
//   }
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_DRIVER_CALL_H
#define TENON_TEST_GPU_DRIVER_CALL_H

#include "test/gpu/driver/Driver.h"

namespace fake {

enum Needs : unsigned {
  NeedsNothing = 0,
  NeedsInit = 1,
  NeedsContext = 2, // And what NeedsInit says.
  Destroys = 4,     // It acts even where it returns an error.
  Unsafe = 8,       // Not allowed while any stream is captured.
};

class Call {
public:
  /// `plausible` is what the call returns when it is the one to fail.
  Call(const char *name, unsigned needs, Status plausible);
  ~Call();
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  /// False: return status() and do nothing.
  explicit operator bool() const { return goes; }
  Status status() const { return result; }
  Status done() { return result; }

  /// The call's own errors: with a sentence if no right program meets them.
  Status refuse(Status status);
  Status violate(Status status, const char *text, ...)
      __attribute__((format(printf, 3, 4)));

  /// The live object of the current context behind a handle, or null and a
  /// violation.
  template <typename T> T *object(Handle handle) {
    std::string why;
    T *found = driver.find<T>(handle, why);
    if (!found)
      violate(InvalidHandle, "the handle is %s", why.c_str());
    else if (current && found->context != current->handle)
      violate(InvalidHandle, "the handle is %s of another context",
              nameOf(T::kKind));
    else
      return found;
    return nullptr;
  }
  /// Likewise; null stands for the default stream.
  Stream *stream(Handle handle);

  Driver &driver;
  Context *current = nullptr; // Where NeedsContext.
  const char *const name;

private:
  std::unique_lock<std::recursive_mutex> lock;
  bool goes = false;
  Status result = Success;
  unsigned needs;

  Status checkState(Status plausible);
  Status checkCaptures();
};

/// The contexts that are current in this thread; the last one is in use.
std::vector<Handle> &currentContexts();

} // namespace fake

#endif // TENON_TEST_GPU_DRIVER_CALL_H
