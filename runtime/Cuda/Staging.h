//===- Staging.h - Pinned memory between the host and a device ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_CUDA_STAGING_H
#define TENON_RUNTIME_CUDA_STAGING_H

#include "runtime/Cuda/Device.h"

namespace tenon::cuda {

/// Two chunks of pinned memory, through which data comes and goes: while the
/// device copies one, the host fills or empties the other. One stream does it
/// all, in the order of the calls.
class Staging {
public:
  Staging() = default;
  Staging(const Staging &) = delete;
  Staging &operator=(const Staging &) = delete;
  ~Staging();

  /// Takes two chunks of `bytes`.
  [[nodiscard]] tenon_status_t create(tenon_device_t &ofDevice, size_t bytes);

  /// Copies to the device. `from` may change when it returns.
  [[nodiscard]] tenon_status_t upload(DevicePointer to, const void *from,
                                      uint64_t bytes, Stream stream);

  /// Where the next bytes for the device may be put; `bytes` becomes how many
  /// there is room for, if that is less. `send` copies them to the device.
  char *room(uint64_t &bytes) const;
  [[nodiscard]] tenon_status_t send(DevicePointer to, uint64_t bytes,
                                    Stream stream);

  /// Copies from the device. `to` is complete after `finish`, which waits for
  /// all work of the stream.
  [[nodiscard]] tenon_status_t download(void *to, DevicePointer from,
                                        uint64_t bytes, Stream stream);
  [[nodiscard]] tenon_status_t finish(Stream stream);

  /// Waits for the stream, come what may, and gives up what was to come.
  void abandon(Stream stream);

private:
  /// Of a download, in a chunk.
  struct Piece {
    void *to;
    const char *from;
    size_t bytes;
  };
  static constexpr uint32_t maxPieces = 64;
  struct Chunk {
    char *memory = nullptr;
    Event done = nullptr;
    size_t filled = 0;
    bool pending = false; // Until `done`.
    uint32_t pieceCount = 0;
    Piece pieces[maxPieces];
  };

  tenon_status_t turn(Stream stream);
  void settle(Chunk &chunk);

  tenon_device_t *device = nullptr;
  size_t chunkBytes = 0;
  Chunk chunks[2];
  uint32_t current = 0;
};

} // namespace tenon::cuda

#endif // TENON_RUNTIME_CUDA_STAGING_H
