//===- Execution.h - What a session has on a CUDA device ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_CUDA_EXECUTION_H
#define TENON_RUNTIME_CUDA_EXECUTION_H

#include "runtime/Cuda/Program.h"
#include "runtime/Cuda/Recordings.h"
#include "runtime/Cuda/Staging.h"

namespace tenon::cuda {

/// A launch: the arguments of a kernel, and how it is run.
struct Launch {
  uint32_t step, kernel;
  const tenon_operand_t *operands;
  uint32_t operandCount, parameterCount;
  const int64_t *parameters;
  int64_t rows, grain;
  uint32_t blocks;
  DevicePointer scratch, shared;
  uint64_t scratchStride;
};

/// A stream, the way to and from the host, and faults. Everything is called
/// with the device's context current.
class Execution {
public:
  Execution() = default;
  Execution(const Execution &) = delete;
  Execution &operator=(const Execution &) = delete;
  ~Execution();

  [[nodiscard]] tenon_status_t create(const Program &ofProgram,
                                      const runtime::Metadata &metadata,
                                      const tenon_session_options_t &options);

  tenon_device_t &getDevice() const { return *device; }
  /// An address of the device where no bytes are.
  char *emptyPlace() const;

  /// Where work goes: the stream, or a recording while there is one.
  Stream stream() const { return target; }

  [[nodiscard]] tenon_status_t upload(void *to, const void *from,
                                      uint64_t bytes);
  /// From memory that the driver knows.
  [[nodiscard]] tenon_status_t uploadPinned(void *to, const void *from,
                                            uint64_t bytes);
  [[nodiscard]] tenon_status_t copy(void *to, const void *from, uint64_t bytes);
  [[nodiscard]] tenon_status_t zero(void *to, uint64_t bytes);
  /// `to` is complete after `finish`.
  [[nodiscard]] tenon_status_t download(void *to, const void *from,
                                        uint64_t bytes);
  [[nodiscard]] tenon_status_t downloadPinned(void *to, const void *from,
                                              uint64_t bytes);
  /// Waits for all work.
  [[nodiscard]] tenon_status_t finish();
  void abandon();

  /// A run has been left to the device; `finish` is still to come.
  void leave() { isLeft = true; }
  bool hasLeft() const { return isLeft; }

  /// Forgets the faults of runs before, unless they were left and nobody has
  /// asked for them yet.
  [[nodiscard]] tenon_status_t clearFaults();
  [[nodiscard]] tenon_status_t downloadFaults();
  /// After downloading and finishing: the first step with a fault, if any.
  bool findFault(uint32_t &step, uint32_t &code);

  /// Makes the first TENON_SHARED_ZEROS of so many bytes 0, unless that was
  /// done since there were as many: kernels leave them so.
  [[nodiscard]] tenon_status_t clearCounters(void *memory, uint64_t bytes);

  /// Launches a kernel, if `timed` between two events.
  [[nodiscard]] Result launch(const Launch &launch, bool timed);
  /// What the last timed launch took; it has ended then.
  [[nodiscard]] tenon_status_t readTime(uint64_t &nanoseconds);

  /// Recorded runs.
  [[nodiscard]] tenon_status_t beginRecording();
  [[nodiscard]] tenon_status_t endRecording(Recording *&recording);
  void giveUpRecording();
  [[nodiscard]] tenon_status_t launchRecording(const Recording &recording);

  Recordings recordings;
  bool resultsStay = false;           // On the device.
  runtime::Array<char> readBackSpace; // For what steps read.

private:
  Stream own() const { return mine ? mine : callers; }
  tenon_status_t createFaults(const runtime::Metadata &metadata);
  tenon_status_t createEvents();

  const Program *program = nullptr;
  tenon_device_t *device = nullptr;
  const tenon_block_t *blocks = nullptr;
  Stream mine = nullptr, callers = nullptr, target = nullptr;
  Staging staging;
  Event before = nullptr, after = nullptr;
  void *faults = nullptr; // A slot of each step.
  bool mayHoldFaults = true, isLeft = false;
  uint64_t clearedBytes = 0; // Of the memory whose counters are 0.
  runtime::Array<uint64_t> faultCopies;
  runtime::Array<void *> arguments; // Where a launch finds each.
};

} // namespace tenon::cuda

#endif // TENON_RUNTIME_CUDA_EXECUTION_H
