//===- TensorMap.h - What a tensor and its boxes look like ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only a driver knows what is in the 128 bytes of a CUtensorMap. Here they hold
// this description, so that a test, or the fake driver, makes maps by encode.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_SIM_TENSORMAP_H
#define TENON_TEST_GPU_SIM_TENSORMAP_H

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::sim {

/// Numbered as the driver does.
enum class Swizzle : uint32_t { None, B32, B64, B128 };

/// Where a byte lies that would be at `address` without swizzling: pieces of 16
/// bytes change places within a span, by which row of spans they are in.
inline uint32_t swizzled(Swizzle swizzle, uint32_t address) {
  uint32_t mask = (1u << static_cast<uint32_t>(swizzle)) - 1;
  return address ^ (address >> 7 & mask) << 4;
}

struct TensorMap {
  static constexpr uint32_t kMostAxes = 5, kBytes = 128;

  uint64_t address = 0;
  uint32_t rank = 0;
  uint32_t elementBytes = 1;
  uint64_t sizes[kMostAxes] = {};   // Innermost axis first.
  uint64_t strides[kMostAxes] = {}; // In bytes; the first is elementBytes.
  uint32_t box[kMostAxes] = {};
  Swizzle swizzle = Swizzle::None;

  /// What the driver would not take; empty: fine.
  std::string check() const;
  /// `bytes`: kBytes of them, which check found nothing against.
  void encode(void *bytes) const;
  bool decode(const void *bytes); // False: no map is there.

  uint32_t rowBytes() const { return box[0] * elementBytes; }
  uint32_t boxBytes() const;

  /// A row of a box: where it begins in the box and in memory, and which of its
  /// bytes are inside the tensor.
  struct Row {
    uint32_t offset = 0;
    uint64_t address = 0; // Of the first byte that is inside.
    uint32_t first = 0, bytes = 0;
  };
  std::vector<Row> rows(const int32_t (&at)[kMostAxes]) const;

  /// Bytes that lie side by side in both memories.
  static TensorMap plain(uint64_t address, uint32_t bytes);
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_TENSORMAP_H
