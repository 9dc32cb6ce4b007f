//===- Recordings.h - Runs as graphs, to be launched at once --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run of the same sizes on the same memory launches the same kernels with
// the same arguments, so it may be recorded once. A run of sizes that none of
// the last few had is launched step by step; one of sizes that one of them had
// is recorded; and those that are like that one launch what was recorded. Where
// sizes stay and memory changes, a recording is changed and not made anew.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_CUDA_RECORDINGS_H
#define TENON_RUNTIME_CUDA_RECORDINGS_H

#include "runtime/Cuda/Device.h"
#include "runtime/Memory.h"

namespace tenon::cuda {

/// One run's kernels, and what it came to.
struct Recording {
  runtime::Array<uint64_t> key;
  runtime::Array<int64_t> symbols;
  runtime::Array<bool> symbolSet, outputMade;
  GraphExec graph = nullptr; // Null: it is empty.
  uint64_t lastUse = 0;
};

/// The last few recordings of a session.
class Recordings {
public:
  Recordings() = default;
  Recordings(const Recordings &) = delete;
  Recordings &operator=(const Recordings &) = delete;
  ~Recordings();

  /// Keys have `keySize` numbers, the last one less than UINT64_MAX and the
  /// first `symbols` the sizes. What is recorded is launched on `runs`. Without
  /// `enabled` nothing is recorded.
  [[nodiscard]] tenon_status_t create(tenon_device_t &ofDevice, Stream runs,
                                      bool enabled, uint32_t keySize,
                                      uint32_t symbols, uint32_t outputs);

  bool enabled() const { return stream; }

  /// What is alike in runs that launch the same; to be filled in before `find`.
  runtime::Array<uint64_t> key;

  /// The recording for the key, or null.
  Recording *find();

  /// Whether one of the last runs that asked had the key's sizes: then it is
  /// worth recording. Chooses the recording that `end` is to replace.
  bool isWorthRecording();

  /// What is launched on `captureStream` from now on is recorded, not run.
  [[nodiscard]] tenon_status_t begin();
  Stream captureStream() const { return stream; }

  /// Ends what `begin` began, in place of the chosen recording; `symbols`,
  /// `symbolSet` and `outputMade` of the result are the caller's to fill.
  [[nodiscard]] tenon_status_t end(Recording *&recording);

  /// Ends it and forgets what was recorded.
  void giveUp();

private:
  tenon_status_t put(Recording &recording, Graph graph);
  bool hasSizes(const runtime::Array<uint64_t> &other) const;
  Recording &leastUsed(bool ofTheseSizes);

  static constexpr uint32_t maxRecordings = 4, maxSeen = 4;

  tenon_device_t *device = nullptr;
  Stream runs = nullptr, stream = nullptr;
  Recording recordings[maxRecordings];
  Recording *chosen = nullptr;
  uint32_t sizes = 0, nextSeen = 0;
  uint64_t uses = 0;
  runtime::Array<uint64_t> seen[maxSeen]; // Keys of the last runs that asked.
};

} // namespace tenon::cuda

#endif // TENON_RUNTIME_CUDA_RECORDINGS_H
