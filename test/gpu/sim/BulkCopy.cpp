//===- BulkCopy.cpp - cp.async.bulk under way -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/BulkCopy.h"
#include "test/gpu/sim/Allocation.h"
#include "test/gpu/sim/Cluster.h"
#include "test/gpu/sim/Text.h"

#include <algorithm>
#include <cstring>

namespace tenon::sim {

namespace {

constexpr uint32_t kPiece = 16; // Bytes that no swizzle tears apart.
using LongLong = unsigned long long;

bool inOrder(const BulkCopy &copy, Order order) {
  return copy.warp->block.state.launch.order == order;
}

bool maybe(const BulkCopy &copy) {
  return inOrder(copy, Order::Random) && (copy.warp->block.state.random() & 1);
}

/// The part of the tensor that the box covers is memory, and no race.
bool checkGlobal(const BulkCopy &copy, bool store) {
  Warp &warp = *copy.warp;
  LaunchState &state = warp.block.state;
  for (const TensorMap::Row &row : copy.map.rows(copy.at)) {
    if (!row.bytes)
      continue;
    Allocation *home = state.memory.allocation(row.address);
    if (!home || row.bytes > home->size - (row.address - home->base)) {
      warp.fail(*copy.line, copy.lane,
                format("%s %u bytes of global memory at 0x%llx, ",
                       store ? "writes" : "reads", row.bytes,
                       LongLong(row.address)) +
                    state.memory.explain(row.address, row.bytes));
      return false;
    }
    if (!state.launch.checks.globalRaces)
      continue;
    Conflict conflict;
    Agent agent = warp.agent(*copy.line, copy.lane);
    GlobalShadow &shadow = state.globalShadow;
    if (store ? shadow.write(row.address, row.bytes, agent, false, conflict)
              : shadow.readAsync(row.address, row.bytes, agent, conflict))
      continue;
    warp.failRace(*copy.line, copy.lane, store ? "writes" : "reads", "global",
                  row.address, conflict);
    return false;
  }
  return true;
}

bool checkPlace(const BulkCopy &copy, const Block &block, uint32_t alignment) {
  if (copy.shared % alignment == 0 && copy.shared <= block.shared.size() &&
      copy.bytes() <= block.shared.size() - copy.shared)
    return true;
  copy.warp->fail(*copy.line, copy.lane,
                  format("%u bytes at 0x%x are no place for it: a multiple of "
                         "%u in the block's %llu bytes of shared memory",
                         copy.bytes(), copy.shared, alignment,
                         LongLong(block.shared.size())));
  return false;
}

uint32_t alignmentOf(const BulkCopy &copy) {
  return copy.line->option ? 128 : 16; // Tensors, bytes.
}

/// One of the blocks that a load goes to is ready for it.
bool checkTarget(const BulkCopy &copy, Block &target) {
  Warp &warp = *copy.warp;
  // Its barrier has to be waited for before the block ends.
  if (!warp.checkPeer(*copy.line, copy.lane, target, false) ||
      !checkPlace(copy, target, alignmentOf(copy)) ||
      !warp.findPhases(*copy.line, copy.lane, target, copy.barrier, true) ||
      !warp.checkUnused(*copy.line, copy.lane, target, copy.shared,
                        copy.bytes()))
    return false;
  Conflict conflict;
  if (!warp.block.state.launch.checks.sharedRaces ||
      target.shadow().launchAsync(copy.shared, copy.bytes(),
                                  warp.agent(*copy.line, copy.lane), conflict))
    return true;
  warp.failRace(*copy.line, copy.lane, "copies to", "shared", copy.shared,
                conflict);
  return false;
}

/// Those of a copy's bytes that are inside its tensor have been written.
bool checkSource(const BulkCopy &copy) {
  Warp &warp = *copy.warp;
  Block &block = warp.block;
  for (const TensorMap::Row &row : copy.map.rows(copy.at))
    for (uint32_t i = row.first; i < row.first + row.bytes; ++i) {
      uint32_t at = swizzled(copy.map.swizzle, copy.shared + row.offset + i);
      if (block.sharedWritten[at])
        continue;
      warp.fail(
          *copy.line, copy.lane,
          format("reads shared memory at 0x%x that was never written", at));
      return false;
    }
  return true;
}

} // namespace

void performLoad(const BulkCopy &copy, Block &target) {
  Memory &memory = copy.warp->block.state.memory;
  uint32_t rowBytes = copy.map.rowBytes();
  std::vector<char> data(rowBytes), written(rowBytes);
  for (const TensorMap::Row &row : copy.map.rows(copy.at)) {
    std::fill(data.begin(), data.end(), 0);
    std::fill(written.begin(), written.end(), 1);
    const char *source =
        row.bytes ? memory.find(row.address, row.bytes) : nullptr;
    if (source)
      memcpy(data.data() + row.first, source, row.bytes);
    if (source && !memory.isWritten(row.address, row.bytes))
      for (uint32_t i = 0; i < row.bytes; ++i)
        written[row.first + i] = memory.isWritten(row.address + i, 1);
    for (uint32_t i = 0; i < rowBytes; i += kPiece) {
      uint32_t at = swizzled(copy.map.swizzle, copy.shared + row.offset + i);
      uint32_t bytes = std::min(kPiece, rowBytes - i);
      memcpy(target.shared.data() + at, data.data() + i, bytes);
      memcpy(target.sharedWritten.data() + at, written.data() + i, bytes);
    }
  }
}

void performStore(const BulkCopy &copy) {
  const Block &block = copy.warp->block;
  Memory &memory = block.state.memory;
  for (const TensorMap::Row &row : copy.map.rows(copy.at)) {
    char *target = row.bytes ? memory.find(row.address, row.bytes) : nullptr;
    if (!target)
      continue;
    for (uint32_t i = 0; i < row.bytes; ++i) {
      uint32_t at = copy.shared + row.offset + row.first + i;
      target[i] = block.shared[swizzled(copy.map.swizzle, at)];
    }
    memory.markWritten(row.address, row.bytes);
  }
}

bool beginLoad(BulkCopy copy) {
  Cluster &cluster = copy.warp->block.cluster;
  if (!checkGlobal(copy, false))
    return false;
  for (Block &target : cluster.blocks)
    if ((copy.blocks >> target.rank & 1) && !checkTarget(copy, target))
      return false;
  copy.warp->block.state.counts.globalLoadBytes += copy.bytes();
  if (inOrder(copy, Order::Eager) || maybe(copy)) {
    for (Block &target : cluster.blocks)
      if (copy.blocks >> target.rank & 1)
        performLoad(copy, target);
    copy.copied = true;
  }
  if (inOrder(copy, Order::Eager) || (copy.copied && maybe(copy)))
    return finishLoad(copy);
  cluster.loads.push_back(copy);
  return true;
}

bool finishLoad(BulkCopy &copy) {
  for (Block &target : copy.warp->block.cluster.blocks) {
    if (!(copy.blocks >> target.rank & 1))
      continue;
    if (!copy.copied)
      performLoad(copy, target);
    auto found = target.phases.find(copy.barrier);
    if (found == target.phases.end()) {
      copy.warp->fail(*copy.line, copy.lane,
                      "the mbarrier was invalidated before its copies landed");
      return false;
    }
    PhaseBarrier &barrier = found->second;
    Agent agent = copy.warp->agent(*copy.line, copy.lane);
    Access access;
    access.set(agent);
    access.warp = uint16_t(barrier.engine);
    access.epoch = barrier.copied = barrier.epochAfter();
    if (target.state.launch.checks.sharedRaces)
      target.shadow().landAsync(copy.shared, copy.bytes(), access);
    if (!copy.warp->countBytes(*copy.line, copy.lane, barrier,
                               -int64_t(copy.bytes())))
      return false;
  }
  return true;
}

bool beginStore(BulkCopy copy) {
  Warp &warp = *copy.warp;
  Block &block = warp.block;
  if (!checkGlobal(copy, true) || !checkPlace(copy, block, alignmentOf(copy)))
    return false;
  Conflict conflict;
  if (block.state.launch.checks.sharedRaces &&
      !block.shadow().readAsync(copy.shared, copy.bytes(),
                                warp.agent(*copy.line, copy.lane), 0,
                                conflict)) {
    warp.failRace(*copy.line, copy.lane, "copies from", "shared", copy.shared,
                  conflict);
    return false;
  }
  if (block.state.launch.checks.uninitialized && !checkSource(copy))
    return false;
  block.state.counts.globalStoreBytes += copy.bytes();
  if (inOrder(copy, Order::Eager) || maybe(copy)) {
    performStore(copy);
    copy.copied = true;
  }
  block.busy.push_back({copy.shared, copy.shared + copy.bytes(), copy.line});
  BulkStores &stores = warp.stores[copy.lane];
  copy.group = stores.committed;
  stores.copies.push_back(copy);
  return true;
}

void finishStores(Warp &warp, int lane, uint32_t end) {
  std::vector<BulkCopy> &copies = warp.stores[lane].copies;
  size_t kept = 0;
  for (BulkCopy &copy : copies) {
    if (copy.group >= end) {
      copies[kept++] = copy;
      continue;
    }
    if (!copy.copied)
      performStore(copy);
    std::vector<Block::Busy> &busy = warp.block.busy;
    auto it = std::find_if(busy.begin(), busy.end(), [&](auto &each) {
      return each.first == copy.shared && each.line == copy.line;
    });
    busy.erase(it);
    // From here on the read is one of this thread's.
    Conflict ignored;
    if (warp.block.state.launch.checks.sharedRaces)
      warp.block.shadow().read(copy.shared, copy.bytes(),
                               warp.agent(*copy.line, lane), ignored);
  }
  copies.resize(kept);
}

} // namespace tenon::sim
