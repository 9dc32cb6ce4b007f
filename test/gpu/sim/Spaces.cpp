//===- Spaces.cpp - Checked access to every address space -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Access.h"
#include "test/gpu/sim/Allocation.h"
#include "test/gpu/sim/Cluster.h"
#include "test/gpu/sim/Text.h"

#include <cstring>

namespace tenon::sim {

namespace {

const char *verb(Warp::Use use) {
  return use == Warp::Use::Read    ? "reads"
         : use == Warp::Use::Write ? "writes"
                                   : "changes";
}

using LongLong = unsigned long long;

} // namespace

Agent Warp::agent(const Instruction &line, int lane) const {
  return {clock, uint16_t(block.warpInCluster(*this)), uint8_t(lane),
          block.state.cluster, uint32_t(&line - program.code.data())};
}

char *Warp::failRace(const Instruction &line, int lane, const char *verb,
                     const char *space, uint64_t address,
                     const Conflict &conflict) {
  const Instruction &other = program.code[conflict.earlier.instruction];
  std::string where =
      format("line %u `", other.line) + program.texts[other.textIndex] + "`";
  if (conflict.unfenced) {
    fail(line, lane,
         format("%s %s memory at 0x%llx through the async proxy, which thread "
                "%u wrote in ",
                verb, space, LongLong(address),
                conflict.earlier.warp * kLanes + conflict.earlier.lane) +
             where + " with no fence.proxy.async between");
    return nullptr;
  }
  if (conflict.earlier.warp >= block.cluster.warps && conflict.read) {
    fail(line, lane,
         format("%s %s memory at 0x%llx, which the product of ", verb, space,
                LongLong(address)) +
             where + " may still read: nobody has waited for it");
    return nullptr;
  }
  if (conflict.inFlight || conflict.earlier.warp >= block.cluster.warps) {
    fail(line, lane,
         format("%s %s memory at 0x%llx, where the copy of ", verb, space,
                LongLong(address)) +
             where + " may still be under way: nobody has waited for it");
    return nullptr;
  }
  const Access &earlier = conflict.earlier;
  std::string who;
  if (earlier.cluster != block.state.cluster)
    who = format("cluster %u", earlier.cluster);
  else if (earlier.lane >= kLanes)
    who = format("warp %u", earlier.warp);
  else
    who = format("thread %u", earlier.warp * kLanes + earlier.lane);
  fail(line, lane,
       format("data race: %s %s memory at 0x%llx, which %s %s in ", verb, space,
              LongLong(address), who.c_str(),
              conflict.read ? "read" : "wrote") +
           where +
           (earlier.cluster != block.state.cluster
                ? " with no fence, atomics on one word and fence between"
                : " with nothing between that orders the two"));
  return nullptr;
}

char *Warp::access(const Instruction &line, Space space, uint64_t address,
                   uint32_t bytes, int lane, Use use) {
  if (space == Space::Generic) {
    space = spaceOf(address);
    address &= space == Space::Global ? ~uint64_t(0) : window::kMask;
    if (space == Space::Shared && address >> kRankShift)
      space = Space::Cluster;
  }
  if (address % bytes) {
    fail(line, lane,
         format("%s %u bytes at 0x%llx, which is no multiple of %u", verb(use),
                bytes, LongLong(address), bytes));
    return nullptr;
  }
  switch (space) {
  case Space::Global:
    return accessGlobal(line, address, bytes, lane, use);
  case Space::Shared:
    return accessShared(line, block, address, bytes, lane, use);
  case Space::Cluster: {
    uint32_t offset;
    Block *home = peer(line, lane, address, offset);
    if (!home || !checkPeer(line, lane, *home))
      return nullptr;
    return accessShared(line, *home, offset, bytes, lane, use);
  }
  case Space::Local:
    return accessLocal(line, address, bytes, lane, use);
  default:
    break;
  }
  bool constant = space == Space::Constant;
  const std::vector<char> &bank =
      constant ? program.module->constants : block.state.launch.parameters;
  const char *name = constant ? "constant memory" : "the parameters";
  if (use != Use::Read) {
    fail(line, lane, format("%s %s", verb(use), name));
    return nullptr;
  }
  if (address > bank.size() || bytes > bank.size() - address) {
    fail(line, lane,
         format("reads %u bytes at 0x%llx of %s, which has %llu bytes", bytes,
                LongLong(address), name, LongLong(bank.size())));
    return nullptr;
  }
  return const_cast<char *>(bank.data()) + address;
}

char *Warp::accessGlobal(const Instruction &line, uint64_t address,
                         uint32_t bytes, int lane, Use use) {
  Memory &memory = block.state.memory;
  Allocation *home = memory.allocation(address);
  uint64_t offset = home ? address - home->base : 0;
  if (!home || bytes > home->size - offset) {
    fail(line, lane,
         format("%s %u bytes of global memory at 0x%llx, ", verb(use), bytes,
                LongLong(address)) +
             memory.explain(address, bytes));
    return nullptr;
  }
  if (use != Use::Write && block.state.launch.checks.uninitialized &&
      !home->isWritten(offset, bytes)) {
    fail(line, lane,
         format("%s %u bytes of global memory at 0x%llx that were never "
                "written: byte %llu of the %llu bytes at 0x%llx",
                verb(use), bytes, LongLong(address), LongLong(offset),
                LongLong(home->size), LongLong(home->base)));
    return nullptr;
  }
  if (!(waited >> lane & 1) && (use != Use::Read || home->isOfKernels)) {
    fail(line, lane,
         format("%s %u bytes of global memory at 0x%llx, which the launch "
                "before may still %s: it has not been waited for "
                "(griddepcontrol.wait)",
                verb(use), bytes, LongLong(address),
                use == Use::Read ? "write" : "use"));
    return nullptr;
  }
  if (use != Use::Read) {
    home->markWritten(offset, bytes);
    home->isOfKernels = true;
  }
  char *data = home->data.get() + offset;
  if (!block.state.launch.checks.globalRaces)
    return data;
  GlobalShadow &shadow = block.state.globalShadow;
  Conflict conflict;
  bool good = use == Use::Read
                  ? shadow.read(address, bytes, agent(line, lane), conflict)
              : use == Use::Write
                  ? shadow.write(address, bytes, agent(line, lane),
                                 !memcmp(stored, data, bytes), conflict)
                  : shadow.change(address, bytes, agent(line, lane),
                                  line.second, conflict);
  if (!good)
    return failRace(line, lane, verb(use), "global", address, conflict);
  if (use == Use::Atomic && line.second)
    handover.change(clock, agent(line, lane),
                    {.release = line.counts[1] != 0,
                     .acquire = line.counts[0] != 0,
                     .finds = line.targets != 0},
                    shadow.handedTo(address));
  return data;
}

char *Warp::accessShared(const Instruction &line, Block &home, uint64_t address,
                         uint32_t bytes, int lane, Use use) {
  std::vector<char> &shared = home.shared;
  if (address > shared.size() || bytes > shared.size() - address) {
    fail(line, lane,
         format("%s %u bytes of shared memory at 0x%llx, where the block has "
                "%llu bytes",
                verb(use), bytes, LongLong(address), LongLong(shared.size())));
    return nullptr;
  }
  char *data = shared.data() + address;
  char *written = home.sharedWritten.data() + address;
  if (!home.phases.empty() || !home.busy.empty()) {
    bool reads = use == Use::Read;
    if (reads ? !!memchr(written, Block::kBarrier, bytes)
              : !checkUnused(line, lane, home, address, bytes)) {
      if (reads)
        fail(line, lane, "reads an mbarrier");
      return nullptr;
    }
  }
  Conflict conflict;
  if (block.state.launch.checks.sharedRaces) {
    SharedShadow &shadow = home.shadow();
    bool good =
        use == Use::Read
            ? shadow.read(address, bytes, agent(line, lane), conflict)
            : shadow.write(
                  address, bytes, agent(line, lane), use == Use::Atomic,
                  use == Use::Write && !memcmp(stored, data, bytes), conflict);
    if (!good)
      return failRace(line, lane, verb(use), "shared", address, conflict);
  }
  if (use != Use::Write && block.state.launch.checks.uninitialized &&
      memchr(written, 0, bytes)) {
    fail(line, lane,
         format("%s %u bytes of shared memory at 0x%llx that were never "
                "written",
                verb(use), bytes, LongLong(address)));
    return nullptr;
  }
  if (use != Use::Read)
    memset(written, 1, bytes);
  return data;
}

char *Warp::accessLocal(const Instruction &line, uint64_t address,
                        uint32_t bytes, int lane, Use use) {
  uint64_t size = block.state.kernel.local;
  if (address > size || bytes > size - address) {
    fail(line, lane,
         format("%s %u bytes of local memory at 0x%llx, where the thread has "
                "%llu bytes",
                verb(use), bytes, LongLong(address), LongLong(size)));
    return nullptr;
  }
  char *written = localWritten.data() + lane * size + address;
  if (use != Use::Write && block.state.launch.checks.uninitialized &&
      memchr(written, 0, bytes)) {
    fail(line, lane,
         format("%s %u bytes of local memory at 0x%llx that were never written",
                verb(use), bytes, LongLong(address)));
    return nullptr;
  }
  if (use != Use::Read)
    memset(written, 1, bytes);
  return local.data() + lane * size + address;
}

void Warp::copyLocal(int lane, uint64_t target, uint64_t source,
                     uint64_t bytes) {
  uint64_t base = lane * uint64_t(block.state.kernel.local);
  memmove(&local[base + target], &local[base + source], bytes);
  memmove(&localWritten[base + target], &localWritten[base + source], bytes);
}

} // namespace tenon::sim
