//===- InPlaceRun.h - Runs whose caches stay where they are ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_INPLACERUN_H
#define TENON_TOOLS_TENON_INPLACERUN_H

#include "tools/tenon/Session.h"

namespace tenon {

/// Bytes of all dims from `axis` on.
size_t bytesFrom(const tenon_tensor_t &tensor, size_t axis);

/// The same run again and again, as an app would make it: a cache that comes in
/// and goes out with rows behind it has one buffer for both, with room for
/// those rows. A run leaves what the next one reads as it was.
class InPlaceRun {
public:
  /// Runs once to learn the sizes. `inputs` must outlive the result.
  static llvm::Expected<InPlaceRun> prepare(Session &session,
                                            const std::vector<Tensor> &inputs);

  /// Outputs that extend no input are in the session's memory.
  llvm::Error run();
  const std::vector<tenon_tensor_t> &outputs() const { return results; }

private:
  struct Free {
    tenon_device_t *device = nullptr; // Null: it is the host's memory.
    void operator()(char *memory) const {
      if (device)
        tenon_device_free(device, memory);
      else
        ::free(memory);
    }
  };
  using Buffer = std::unique_ptr<char, Free>;

  explicit InPlaceRun(Session &session) : session(&session) {}
  llvm::Error moveToDevice(Buffer &buffer, size_t bytes);
  llvm::Error share(uint32_t input, uint32_t axis, tenon_tensor_t &output);

  Session *session;
  std::vector<tenon_tensor_t> arguments, results;
  std::vector<Buffer> buffers;
};

} // namespace tenon

#endif // TENON_TOOLS_TENON_INPLACERUN_H
