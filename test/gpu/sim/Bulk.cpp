//===- Bulk.cpp - cp.async.bulk -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Access.h"
#include "test/gpu/sim/BulkCopy.h"
#include "test/gpu/sim/Cluster.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Text.h"

#include <bit>
#include <cstring>

namespace tenon::sim {

namespace {

constexpr Type kU16{Type::Unsigned, 16};
constexpr Type kS32{Type::Signed, 32};
constexpr Type kU32{Type::Unsigned, 32};

/// Instruction::option says whether a tensor map describes it; then counts[0]
/// is the number of coordinates. Instruction::second: several blocks get it.

/// The 128 bytes that a tensor map's address names.
const char *mapBytes(Warp &warp, uint64_t address) {
  LaunchState &state = warp.block.state;
  uint64_t offset = address & window::kMask;
  const std::vector<char> &parameters = state.launch.parameters;
  switch (spaceOf(address)) {
  case Space::Global:
    return state.memory.find(address, TensorMap::kBytes);
  case Space::Parameter:
    return offset <= parameters.size() &&
                   TensorMap::kBytes <= parameters.size() - offset
               ? parameters.data() + offset
               : nullptr;
  default:
    return nullptr;
  }
}

/// Operands from `at`: the map's address, coordinates.
bool readMap(Warp &warp, const Instruction &line, int lane, int at,
             BulkCopy &copy) {
  const Operand *operands = line.operands + at;
  uint64_t address = warp.value(operands[0], lane) + line.immediate2;
  const char *bytes = address % 64 ? nullptr : mapBytes(warp, address);
  if (!bytes || !copy.map.decode(bytes)) {
    warp.fail(line, lane,
              format("there is no tensor map at 0x%llx, a multiple of 64, of "
                     "global memory or the parameters",
                     (unsigned long long)address));
    return false;
  }
  if (copy.map.rank != line.counts[0]) {
    warp.fail(line, lane,
              format("%u coordinates, but the tensor map has %u axes",
                     line.counts[0], copy.map.rank));
    return false;
  }
  for (int i = 0; i < line.counts[0]; ++i)
    copy.at[i] = int32_t(warp.value(operands[1 + i], lane));
  return true;
}

/// Operands: the address, the number of bytes.
bool readBytes(Warp &warp, const Instruction &line, int lane, int address,
               int size, BulkCopy &copy) {
  uint64_t from = warp.value(line.operands[address], lane) + line.immediate2;
  uint32_t bytes = uint32_t(warp.value(line.operands[size], lane));
  if (from % 16 || bytes % 16 || bytes == 0) {
    warp.fail(line, lane,
              format("copies %u bytes of 0x%llx: one is no multiple of 16",
                     bytes, (unsigned long long)from));
    return false;
  }
  copy.map = TensorMap::plain(from, bytes);
  return true;
}

BulkCopy copyOf(Warp &warp, const Instruction &line, int lane) {
  BulkCopy copy;
  copy.line = &line;
  copy.warp = &warp;
  copy.lane = lane;
  return copy;
}

/// Operands: shared address, map and coordinates or global address, mbarrier,
/// [bytes], [blocks].
Step load(Warp &warp, const Instruction &line) {
  int barrier = line.option ? 2 + line.counts[0] : 2;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    BulkCopy copy = copyOf(warp, line, lane);
    if (line.option ? !readMap(warp, line, lane, 1, copy)
                    : !readBytes(warp, line, lane, 1, 3, copy))
      return Step::Failed;
    uint32_t offset, at;
    Block *target =
        warp.peer(line, lane,
                  warp.value(line.operands[0], lane) + line.immediate, offset);
    Block *counts = warp.peer(
        line, lane, warp.value(line.operands[barrier], lane) + line.immediate3,
        at);
    if (!target || !counts)
      return Step::Failed;
    if (target != counts)
      return warp.fail(line, lane,
                       "the mbarrier is in another block than the target");
    copy.shared = offset;
    copy.barrier = at;
    copy.blocks = 1u << target->rank;
    if (line.second) {
      const Operand &mask = line.operands[line.operandCount - 1];
      copy.blocks = uint32_t(warp.value(mask, lane));
      if (!copy.blocks || copy.blocks >> warp.block.cluster.blocks.size())
        return warp.fail(line, lane,
                         format("the mask 0x%x names no block, or one outside "
                                "the cluster of %u",
                                copy.blocks,
                                uint32_t(warp.block.cluster.blocks.size())));
    }
    if (!beginLoad(copy))
      return Step::Failed;
  }
  return Step::Next;
}

/// Operands: map and coordinates or global address, shared address, [bytes].
Step store(Warp &warp, const Instruction &line) {
  int shared = line.option ? 1 + line.counts[0] : 1;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    BulkCopy copy = copyOf(warp, line, lane);
    if (line.option ? !readMap(warp, line, lane, 0, copy)
                    : !readBytes(warp, line, lane, 0, 2, copy))
      return Step::Failed;
    copy.shared =
        uint32_t(warp.value(line.operands[shared], lane) + line.immediate);
    if (!beginStore(copy))
      return Step::Failed;
  }
  return Step::Next;
}

Step commit(Warp &warp, const Instruction &) {
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      ++warp.stores[lane].committed;
  return Step::Next;
}

/// With or without .read: a store writes global memory as it reads.
Step wait(Warp &warp, const Instruction &line) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    uint32_t committed = warp.stores[lane].committed;
    uint32_t kept = uint32_t(line.immediate);
    finishStores(warp, lane, committed > kept ? committed - kept : 0);
  }
  return Step::Next;
}

/// A map where it is used: it has to be there.
Step prefetch(Warp &warp, const Instruction &line) {
  int lane = std::countr_zero(warp.active);
  BulkCopy copy;
  if (line.option && !readMap(warp, line, lane, 0, copy))
    return Step::Failed;
  return Step::Next;
}

/// Adds "[map, {x, y}]".
bool mapAndPlace(Line &line, size_t index) {
  if (index >= line.size() || line.node(index).items.size() != 1)
    return line.fail("a tensor map and coordinates in brackets are expected");
  const Node &node = line.node(index), &list = node.items.front();
  if (!line.addressNode(node, Space::Global, line.out.immediate2))
    return false;
  const Node *first = list.kind == Node::List ? list.items.data() : &list;
  size_t count = list.kind == Node::List ? list.items.size() : 1;
  if (count != line.out.counts[0])
    return line.fail("not so many coordinates as the instruction has axes");
  for (size_t i = 0; i < count; ++i)
    if (!line.sourceNode(first[i], kS32))
      return false;
  return true;
}

bool globalPlace(Line &line, size_t index) {
  return line.out.option
             ? mapAndPlace(line, index)
             : line.address(index, Space::Global, line.out.immediate2);
}

bool decodeLoad(Line &line) {
  Instruction &out = line.out;
  if (!line.take("mbarrier::complete_tx::bytes"))
    return line.fail("the way to wait for it is missing");
  out.second = line.take("multicast::cluster");
  bool hint = line.take("L2::cache_hint");
  size_t at = out.option ? 2 : 3; // The mbarrier.
  if (!line.expect(at + 1 + out.second + hint) ||
      !line.address(0, Space::Cluster, out.immediate) ||
      !globalPlace(line, 1) ||
      !line.address(at, Space::Cluster, out.immediate3) ||
      (!out.option && !line.source(2, kU32)) ||
      (out.second && !line.source(at + 1, kU16)))
    return false;
  line.decoder.noteStore(Space::Shared, 4);
  return line.finish(load);
}

bool decodeStore(Line &line) {
  Instruction &out = line.out;
  if (!line.take("bulk_group"))
    return line.fail("the way to wait for it is missing");
  bool hint = line.take("L2::cache_hint");
  if (!line.expect((out.option ? 2 : 3) + hint) || !globalPlace(line, 0) ||
      !line.address(1, Space::Shared, out.immediate) ||
      (!out.option && !line.source(2, kU32)))
    return false;
  line.decoder.noteStore(Space::Global, 4);
  return line.finish(store);
}

bool decodePrefetch(Line &line) {
  line.take("L2");
  line.take("global");
  bool hint = line.take("L2::cache_hint");
  if (!line.expect((line.out.option ? 1 : 2) + hint) || !globalPlace(line, 0))
    return false;
  return line.finish(prefetch);
}

bool takeTensor(Line &line) {
  Instruction &out = line.out;
  out.option = line.take("tensor");
  if (!out.option)
    return true;
  line.take("tile");
  int axes = line.takeOneOf({"1d", "2d", "3d", "4d", "5d"});
  if (axes < 0)
    return line.fail("the number of axes is missing");
  out.counts[0] = uint8_t(axes + 1);
  return true;
}

} // namespace

bool decodeBulkCopy(Line &line) {
  if (line.take("commit_group"))
    return line.expect(0) && line.finish(commit);
  if (line.take("wait_group")) {
    line.take("read");
    return line.expect(1) && line.integer(0, line.out.immediate) &&
           line.finish(wait);
  }
  bool prefetches = line.take("prefetch");
  if (!takeTensor(line))
    return false;
  if (prefetches)
    return decodePrefetch(line);
  bool loads = line.take("shared::cluster") && line.take("global");
  if (loads)
    return decodeLoad(line);
  if (line.take("global") && line.take("shared::cta"))
    return decodeStore(line);
  return line.fail("bulk copies within a cluster are not simulated");
}

} // namespace tenon::sim
