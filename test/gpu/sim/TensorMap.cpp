//===- TensorMap.cpp - What a tensor and its boxes look like --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/TensorMap.h"
#include "test/gpu/sim/Text.h"

#include <algorithm>
#include <cstring>

namespace tenon::sim {

namespace {

/// How a map lies in its 128 bytes.
struct Encoded {
  uint64_t mark;
  uint64_t address;
  uint64_t sizes[5];
  uint64_t strides[4];
  uint16_t box[5]; // Less one.
  uint8_t rank, elementBytes, swizzle, unused[3];
};
static_assert(sizeof(Encoded) <= TensorMap::kBytes);

constexpr uint64_t kMark = 0x70614d726f736e65; // Bytes that nobody passes.

bool multiple(uint64_t value, uint64_t of) { return value % of == 0; }

} // namespace

std::string TensorMap::check() const {
  if (rank < 1 || rank > kMostAxes)
    return format("rank %u is not among 1 to 5", rank);
  if (elementBytes == 0 || elementBytes > 8 ||
      (elementBytes & (elementBytes - 1)))
    return format("elements have no %u bytes", elementBytes);
  if (!address || !multiple(address, 16))
    return "the tensor's address is no multiple of 16";
  for (uint32_t axis = 0; axis < rank; ++axis) {
    if (sizes[axis] < 1 || sizes[axis] > uint64_t(1) << 32)
      return format("the size of axis %u is out of range", axis);
    if (box[axis] < 1 || box[axis] > 256)
      return format("the box has %u elements along axis %u, not 1 to 256",
                    box[axis], axis);
    if (axis && (!multiple(strides[axis], 16) || !strides[axis] ||
                 strides[axis] >= uint64_t(1) << 40))
      return format("the stride of axis %u is no multiple of 16 below 2^40",
                    axis);
  }
  if (!multiple(rowBytes(), 16))
    return format("a row of the box has %u bytes, no multiple of 16",
                  rowBytes());
  uint32_t span = 16u << static_cast<uint32_t>(swizzle);
  // The driver takes shorter rows as well, whose places are not simulated.
  if (swizzle != Swizzle::None && rowBytes() != span)
    return format("a row of the box has %u bytes, and %u are swizzled",
                  rowBytes(), span);
  return {};
}

void TensorMap::encode(void *bytes) const {
  Encoded out = {};
  out.mark = kMark;
  out.address = address;
  for (uint32_t axis = 0; axis < rank; ++axis) {
    out.sizes[axis] = sizes[axis];
    out.box[axis] = uint16_t(box[axis] - 1);
    if (axis)
      out.strides[axis - 1] = strides[axis];
  }
  out.rank = uint8_t(rank);
  out.elementBytes = uint8_t(elementBytes);
  out.swizzle = static_cast<uint8_t>(swizzle);
  memset(bytes, 0, kBytes);
  memcpy(bytes, &out, sizeof out);
}

bool TensorMap::decode(const void *bytes) {
  Encoded in;
  memcpy(&in, bytes, sizeof in);
  if (in.mark != kMark || in.swizzle > 3)
    return false;
  address = in.address;
  rank = in.rank;
  elementBytes = in.elementBytes;
  swizzle = Swizzle(in.swizzle);
  for (uint32_t axis = 0; axis < std::min(rank, kMostAxes); ++axis) {
    sizes[axis] = in.sizes[axis];
    box[axis] = in.box[axis] + 1u;
    strides[axis] = axis ? in.strides[axis - 1] : elementBytes;
  }
  return check().empty();
}

uint32_t TensorMap::boxBytes() const {
  uint32_t bytes = elementBytes;
  for (uint32_t axis = 0; axis < rank; ++axis)
    bytes *= box[axis];
  return bytes;
}

std::vector<TensorMap::Row>
TensorMap::rows(const int32_t (&at)[kMostAxes]) const {
  uint32_t count = 1;
  for (uint32_t axis = 1; axis < rank; ++axis)
    count *= box[axis];
  int64_t begin = std::max<int64_t>(-int64_t(at[0]), 0);
  int64_t end = std::min<int64_t>(box[0], int64_t(sizes[0]) - at[0]);
  std::vector<Row> out(count);
  for (uint32_t i = 0; i < count; ++i) {
    Row &row = out[i];
    row.offset = i * rowBytes();
    row.address = address + (at[0] + begin) * int64_t(elementBytes);
    bool inside = begin < end;
    uint32_t rest = i;
    for (uint32_t axis = 1; axis < rank; ++axis) {
      int64_t place = int64_t(at[axis]) + rest % box[axis];
      rest /= box[axis];
      inside &= place >= 0 && place < int64_t(sizes[axis]);
      row.address += uint64_t(place) * strides[axis];
    }
    if (!inside)
      continue;
    row.first = uint32_t(begin) * elementBytes;
    row.bytes = uint32_t(end - begin) * elementBytes;
  }
  return out;
}

TensorMap TensorMap::plain(uint64_t address, uint32_t bytes) {
  TensorMap map;
  map.address = address;
  map.rank = 1;
  map.sizes[0] = map.box[0] = bytes;
  map.strides[0] = 1;
  return map;
}

} // namespace tenon::sim
