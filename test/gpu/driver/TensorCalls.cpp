//===- TensorCalls.cpp - Tensor maps --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/driver/Call.h"
#include "test/gpu/driver/Queue.h"
#include "test/gpu/sim/TensorMap.h"

using namespace fake;

namespace {
/// Bytes of an element by the interface's number of its type.
constexpr uint32_t kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
constexpr int kTypes = sizeof kElementBytes / sizeof *kElementBytes;

/// What the driver takes and this one does not simulate.
const char *notSimulated(uint32_t rank, const uint32_t *elementStrides,
                         int interleave, int fill) {
  if (interleave)
    return "interleaved layouts are not simulated";
  if (fill)
    return "fills with NaN are not simulated";
  for (uint32_t i = 0; i < rank; ++i)
    if (elementStrides[i] != 1)
      return "strides of elements are not simulated";
  return nullptr;
}

/// The last byte of the tensor is in the allocation that the first is in.
bool liesInMemory(const sim::Memory &memory, const sim::TensorMap &map) {
  uint64_t bytes = map.elementBytes;
  for (uint32_t axis = 0; axis < map.rank; ++axis)
    bytes += (map.sizes[axis] - 1) * map.strides[axis];
  return memory.find(map.address, bytes);
}
} // namespace

FAKE_CUDA cuTensorMapEncodeTiled(void *out, int type, uint32_t rank,
                                 void *address, const uint64_t *sizes,
                                 const uint64_t *strides, const uint32_t *box,
                                 const uint32_t *elementStrides, int interleave,
                                 int swizzle, int promotion, int fill) {
  Call call("cuTensorMapEncodeTiled", NeedsContext, InvalidValue);
  if (!call)
    return call.status();
  if (call.driver.settings.sm < 90)
    return call.violate(NotSupported, "the device has no tensor maps");
  if (reinterpret_cast<uintptr_t>(out) % 64 ||
      !isWritable(out, sim::TensorMap::kBytes))
    return call.violate(InvalidValue, "the map is no 128 bytes at a multiple "
                                      "of 64");
  if (type < 0 || type >= kTypes || rank < 1 || rank > 5 || swizzle < 0 ||
      swizzle > 3 || promotion < 0 || promotion > 3)
    return call.violate(InvalidValue,
                        "type %d, rank %u, swizzle %d or promotion %d is out "
                        "of range",
                        type, rank, swizzle, promotion);
  if (!isReadable(sizes, rank * 8) || !isReadable(box, rank * 4) ||
      !isReadable(elementStrides, rank * 4) ||
      (rank > 1 && !isReadable(strides, (rank - 1) * 8)))
    return call.violate(InvalidValue, "a list is not there");
  if (const char *why = notSimulated(rank, elementStrides, interleave, fill))
    return call.violate(NotSupported, "%s", why);
  sim::TensorMap map;
  map.address = reinterpret_cast<uintptr_t>(address);
  map.rank = rank;
  map.elementBytes = kElementBytes[type];
  map.swizzle = sim::Swizzle(swizzle);
  for (uint32_t axis = 0; axis < rank; ++axis) {
    map.sizes[axis] = sizes[axis];
    map.strides[axis] = axis ? strides[axis - 1] : map.elementBytes;
    map.box[axis] = box[axis];
  }
  if (std::string wrong = map.check(); !wrong.empty())
    return call.violate(InvalidValue, "%s", wrong.c_str());
  if (!liesInMemory(call.driver.memoryOf(call.current->handle), map))
    return call.violate(InvalidValue,
                        "the tensor is not inside one allocation");
  map.encode(out);
  return call.done();
}
