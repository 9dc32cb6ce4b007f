//===- Roofline.h - How fast work could be on this machine ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_ROOFLINE_H
#define TENON_TOOLS_TENON_ROOFLINE_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>

namespace tenon {

/// What launches have to do. See tenon_launch_t.
struct Work {
  double flops = 0, bf16Flops = 0, f16Flops = 0, int8Ops = 0;
  double weightBytes = 0, bytes = 0;
  bool known = true; // All of it.

  double allFlops() const { return flops + bf16Flops + f16Flops + int8Ops; }
  double allBytes() const { return weightBytes + bytes; }
  Work &operator+=(const Work &other);
};

/// What the threads of a session can do together: operations and bytes per
/// second, each the best of bare loops (tools/limits). Weights come from as far
/// away as their size says, and so does what a run writes and reads again.
struct MachineLimits {
  // Of those without instructions of their own, that of f32. bf16 may be
  // multiplied as f16, where that is faster.
  double f32 = 0, bf16 = 0, f16 = 0, int8 = 0;
  double weights = 0, data = 0;
  uint64_t weightBytes = 0, dataBytes = 0; // That were read.
  int threads = 0;                         // 0: the limits are not known.

  bool known() const { return threads > 0; }

  /// Takes a fifth of a second for large models.
  static MachineLimits measure(int threads, uint64_t weightBytes,
                               uint64_t dataBytes);
  /// Keeps the better of two measurements.
  void improve(const MachineLimits &other);

  llvm::json::Object json() const;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const MachineLimits &limits);

/// The time that work needs at least: of its operations, or of its bytes.
struct Roofline {
  double seconds = 0;
  const char *limit = ""; // "flops", "weights" or "data"; "": nothing to do.

  Roofline() = default;
  Roofline(const Work &work, const MachineLimits &limits);
};

} // namespace tenon

#endif // TENON_TOOLS_TENON_ROOFLINE_H
