//===- Races.cpp - Who touched memory last, and was there a barrier -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Races.h"

#include <algorithm>

namespace tenon::sim {

void join(Clock &clock, const Clock &with) {
  if (clock.size() < with.size())
    clock.resize(with.size());
  for (size_t i = 0; i < with.size(); ++i)
    clock[i] = std::max(clock[i], with[i]);
}

void SharedShadow::resize(uint32_t bytes, uint32_t newGranule,
                          uint32_t newWarps) {
  granule = newGranule;
  warps = newWarps;
  size_t count = (bytes + granule - 1) / granule;
  writes.resize(count);
  flights.resize(count);
  reads.resize(count * warps);
}

bool SharedShadow::read(uint32_t offset, uint32_t bytes, const Agent &agent,
                        Conflict &conflict) {
  uint32_t end = (offset + bytes - 1) / granule;
  for (uint32_t at = offset / granule; at <= end; ++at) {
    if (inFlight && flights[at].epoch) {
      conflict = {flights[at], false, true};
      return false;
    }
    const Access &last = writes[at];
    if (last.epoch && !last.isBefore(agent)) {
      conflict = {last, false, false};
      return false;
    }
    Read &mine = reads[at * warps + agent.warp];
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
  for (uint32_t warp = 0; warp < warps; ++warp) {
    const Read &each = reads[at * warps + warp];
    bool before = warp == agent.warp ? each.lane == agent.lane ||
                                           each.epoch < agent.clock[warp]
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

bool GlobalShadow::isBefore(const Access &access, const Agent &agent) const {
  if (access.cluster == agent.cluster)
    return access.isBefore(agent);
  if (acquirer != agent.cluster)
    return false;
  for (auto [first, last] : acquired)
    if (access.cluster >= first && access.cluster <= last)
      return true;
  return false;
}

bool GlobalShadow::visit(uint64_t address, uint32_t bytes, const Agent &agent,
                         bool write, bool atomic, bool same,
                         Conflict &conflict) {
  uint64_t end = (address + bytes - 1) / granule;
  for (uint64_t index = address / granule; index <= end; ++index) {
    Cell &at = *cell(index);
    bool both = atomic && at.write.atomic;
    if (at.write.epoch && !same && !both && !isBefore(at.write, agent)) {
      conflict = {at.write, false, false};
      return false;
    }
    if (!write) {
      Access &last = at.read;
      if (last.epoch && (last.warp != agent.warp || last.lane != agent.lane ||
                         last.cluster != agent.cluster))
        at.otherRead = last;
      last.set(agent);
      continue;
    }
    for (const Access *read : {&at.read, &at.otherRead})
      if (read->epoch && !same && !isBefore(*read, agent)) {
        conflict = {*read, true, false};
        return false;
      }
    at.write.set(agent, atomic);
  }
  return true;
}

bool GlobalShadow::read(uint64_t address, uint32_t bytes, const Agent &agent,
                        Conflict &conflict) {
  return visit(address, bytes, agent, false, false, false, conflict);
}

bool GlobalShadow::write(uint64_t address, uint32_t bytes, const Agent &agent,
                         bool same, Conflict &conflict) {
  return visit(address, bytes, agent, true, false, same, conflict);
}

bool GlobalShadow::change(uint64_t address, uint32_t bytes, const Agent &agent,
                          Conflict &conflict) {
  if (acquirer != agent.cluster) {
    acquirer = agent.cluster;
    acquired.clear();
  }
  Ranges &ranges = releases[address];
  for (auto range : ranges)
    if (std::find(acquired.begin(), acquired.end(), range) == acquired.end())
      acquired.push_back(range);
  if (!ranges.empty() && ranges.back().second + 1 >= agent.cluster)
    ranges.back().second = agent.cluster;
  else
    ranges.push_back({agent.cluster, agent.cluster});
  return visit(address, bytes, agent, true, true, false, conflict);
}

} // namespace tenon::sim
