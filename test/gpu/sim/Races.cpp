//===- Races.cpp - Who touched memory last, and was there a barrier -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Handover.h"

#include <algorithm>

namespace tenon::sim {

namespace {

void raise(std::vector<uint32_t> &epochs, const std::vector<uint32_t> &with,
           uint32_t start) {
  if (epochs.size() < with.size())
    epochs.resize(with.size(), start);
  for (size_t i = 0; i < with.size(); ++i)
    epochs[i] = std::max(epochs[i], with[i]);
}

} // namespace

void Clock::see(uint32_t slot, uint32_t epoch) {
  if (seen.size() <= slot)
    seen.resize(slot + 1, start);
  seen[slot] = std::max(seen[slot], epoch);
}

void Clock::fence() { raise(fenced, seen, start); }

void join(Clock &clock, const Clock &with) {
  raise(clock.seen, with.seen, clock.start);
  raise(clock.fenced, with.fenced, clock.start);
  clock.known = joinReleases(clock.known, with.known);
}

void meet(Clock &clock, const Clock &with) {
  for (uint32_t i = 0; i < clock.seen.size(); ++i)
    clock.seen[i] = std::min(clock.seen[i], with[i]);
  for (uint32_t i = 0; i < clock.fenced.size(); ++i)
    clock.fenced[i] = std::min(clock.fenced[i], with.fencedAt(i));
}

void SharedShadow::resize(uint32_t bytes, uint32_t newGranule,
                          uint32_t newWarps, uint32_t newReaders) {
  granule = newGranule;
  warps = newWarps;
  readers = newReaders;
  size_t count = (bytes + granule - 1) / granule;
  writes.resize(count);
  flights.resize(count);
  reads.resize(count * readers);
}

inline bool SharedShadow::checkRead(uint32_t at, const Agent &agent,
                                    Conflict &conflict) const {
  if (inFlight && flights[at].epoch) {
    conflict = {flights[at], false, true};
    return false;
  }
  const Access &last = writes[at];
  if (last.epoch && !last.isBefore(agent)) {
    conflict = {last, false, false};
    return false;
  }
  return true;
}

bool SharedShadow::read(uint32_t offset, uint32_t bytes, const Agent &agent,
                        Conflict &conflict) {
  uint32_t end = (offset + bytes - 1) / granule;
  for (uint32_t at = offset / granule; at <= end; ++at) {
    if (!checkRead(at, agent, conflict))
      return false;
    Read &mine = reads[at * readers + agent.warp];
    uint32_t epoch = agent.clock[agent.warp];
    mine.lane =
        mine.epoch == epoch && mine.lane != agent.lane ? kSeveral : agent.lane;
    mine.epoch = epoch;
    mine.instruction = agent.instruction;
  }
  return true;
}

bool SharedShadow::checkWrite(uint32_t at, const Agent &agent, bool atomic,
                              bool same, Conflict &conflict) {
  if (inFlight && flights[at].epoch) {
    conflict = {flights[at], false, true};
    return false;
  }
  const Access &last = writes[at];
  if (last.epoch && !same && !(atomic && last.atomic) &&
      !last.isBefore(agent)) {
    conflict = {last, false, false};
    return false;
  }
  for (uint32_t warp = 0; warp < readers; ++warp) {
    const Read &each = reads[at * readers + warp];
    bool before = warp == agent.warp ? each.lane == agent.lane ||
                                           each.epoch < agent.clock.synced
                                     : each.epoch <= agent.clock[warp];
    if (each.epoch && !before && !same) {
      conflict.earlier = {each.epoch,     each.instruction,   agent.cluster,
                          uint16_t(warp), uint8_t(each.lane), false};
      conflict.read = true;
      conflict.inFlight = false;
      return false;
    }
  }
  return true;
}

bool SharedShadow::write(uint32_t offset, uint32_t bytes, const Agent &agent,
                         bool atomic, bool same, Conflict &conflict) {
  uint32_t end = (offset + bytes - 1) / granule;
  for (uint32_t at = offset / granule; at <= end; ++at) {
    if (!checkWrite(at, agent, atomic, same, conflict))
      return false;
    writes[at].set(agent, atomic);
  }
  return true;
}

bool SharedShadow::launch(uint32_t offset, uint32_t bytes, const Agent &agent,
                          Conflict &conflict) {
  uint32_t end = (offset + bytes - 1) / granule;
  for (uint32_t at = offset / granule; at <= end; ++at) {
    if (!checkWrite(at, agent, false, false, conflict))
      return false;
    flights[at].set(agent);
    ++inFlight;
  }
  return true;
}

void SharedShadow::land(uint32_t offset, uint32_t bytes, const Agent &agent) {
  uint32_t end = (offset + bytes - 1) / granule;
  for (uint32_t at = offset / granule; at <= end; ++at) {
    if (!flights[at].epoch)
      continue;
    flights[at].epoch = 0;
    --inFlight;
    writes[at].set(agent);
  }
}

bool SharedShadow::isUnfenced(const Access &last, const Agent &agent,
                              Conflict &conflict) const {
  if (!last.epoch || last.warp >= warps ||
      last.epoch <= agent.clock.fencedAt(last.warp))
    return false;
  conflict = {last, false, false, true};
  return true;
}

bool SharedShadow::readAsync(uint32_t offset, uint32_t bytes,
                             const Agent &agent, uint32_t epoch,
                             Conflict &conflict) {
  uint32_t end = (offset + bytes - 1) / granule;
  for (uint32_t at = offset / granule; at <= end; ++at) {
    if (!checkRead(at, agent, conflict))
      return false;
    if (isUnfenced(writes[at], agent, conflict))
      return false;
    if (agent.warp < warps)
      continue;
    Read &mine = reads[at * readers + agent.warp];
    mine.epoch = epoch;
    mine.lane = kSeveral;
    mine.instruction = agent.instruction;
  }
  return true;
}

bool SharedShadow::launchAsync(uint32_t offset, uint32_t bytes,
                               const Agent &agent, Conflict &conflict) {
  uint32_t end = (offset + bytes - 1) / granule;
  for (uint32_t at = offset / granule; at <= end; ++at)
    if (isUnfenced(writes[at], agent, conflict))
      return false;
  return launch(offset, bytes, agent, conflict);
}

void SharedShadow::landAsync(uint32_t offset, uint32_t bytes,
                             const Access &access) {
  uint32_t end = (offset + bytes - 1) / granule;
  for (uint32_t at = offset / granule; at <= end; ++at) {
    if (flights[at].epoch)
      --inFlight;
    flights[at].epoch = 0;
    writes[at] = access;
  }
}

GlobalShadow::Cell *GlobalShadow::cell(uint64_t index) {
  uint64_t page = index / kPage;
  if (page != latestPage) {
    std::unique_ptr<Cell[]> &cells = pages[page];
    if (!cells)
      cells = std::make_unique<Cell[]>(kPage);
    latest = cells.get();
    latestPage = page;
  }
  return latest + index % kPage;
}

bool GlobalShadow::visit(uint64_t address, uint32_t bytes, const Agent &agent,
                         Use use, Conflict &conflict) {
  bool isAtomic = use == Use::Atomic || use == Use::WideAtomic;
  auto isBefore = [&](const Access &access) {
    if (access.cluster == agent.cluster)
      return access.isBefore(agent);
    return agent.clock.known && isOrdered(*agent.clock.known, access);
  };
  auto areAtomic = [&](const Access &access) {
    return isAtomic && access.atomic &&
           (access.cluster == agent.cluster ||
            (use == Use::WideAtomic && access.isWide));
  };
  uint64_t end = (address + bytes - 1) / granule;
  for (uint64_t index = address / granule; index <= end; ++index) {
    Cell &at = *cell(index);
    if (at.write.epoch && use != Use::Same && !areAtomic(at.write) &&
        !isBefore(at.write)) {
      conflict = {at.write, false, false};
      return false;
    }
    if (use == Use::Read) {
      Access &last = at.read;
      if (last.epoch && (last.warp != agent.warp || last.lane != agent.lane ||
                         last.cluster != agent.cluster))
        at.otherRead = last;
      last.set(agent);
      continue;
    }
    for (const Access *read : {&at.read, &at.otherRead})
      if (read->epoch && use != Use::Same && !isBefore(*read)) {
        conflict = {*read, true, false};
        return false;
      }
    at.write.set(agent, isAtomic, use == Use::WideAtomic);
  }
  return true;
}

bool GlobalShadow::read(uint64_t address, uint32_t bytes, const Agent &agent,
                        Conflict &conflict) {
  return visit(address, bytes, agent, Use::Read, conflict);
}

bool GlobalShadow::write(uint64_t address, uint32_t bytes, const Agent &agent,
                         bool same, Conflict &conflict) {
  return visit(address, bytes, agent, same ? Use::Same : Use::Write, conflict);
}

bool GlobalShadow::readAsync(uint64_t address, uint32_t bytes,
                             const Agent &agent, Conflict &conflict) {
  uint64_t end = (address + bytes - 1) / granule;
  for (uint64_t index = address / granule; index <= end; ++index) {
    const Access &last = cell(index)->write;
    if (!last.epoch || last.cluster != agent.cluster ||
        last.epoch <= agent.clock.fencedAt(last.warp))
      continue;
    conflict = {last, false, false, true};
    return false;
  }
  return read(address, bytes, agent, conflict);
}

bool GlobalShadow::change(uint64_t address, uint32_t bytes, const Agent &agent,
                          bool isWide, Conflict &conflict) {
  return visit(address, bytes, agent, isWide ? Use::WideAtomic : Use::Atomic,
               conflict);
}

} // namespace tenon::sim
