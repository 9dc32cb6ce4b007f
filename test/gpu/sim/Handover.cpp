//===- Handover.cpp - What a cluster may know of the stores of others -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Handover.h"

#include <algorithm>

namespace tenon::sim {

namespace {

using Entry = std::shared_ptr<const Release>;

bool isEarlier(const Entry &a, const Entry &b) {
  return a->cluster != b->cluster ? a->cluster < b->cluster : a < b;
}

Entry release(Clock &clock, const Agent &agent, uint32_t lanes) {
  auto made = std::make_shared<const Release>(
      Release{agent.cluster, agent.warp, lanes, clock});
  ++clock.seen[agent.warp]; // For what follows.
  return made;
}

/// Adds what is not there yet.
void addReleases(Releases &to, const Releases &from) {
  Releases both;
  std::set_union(to.begin(), to.end(), from.begin(), from.end(),
                 std::back_inserter(both), isEarlier);
  to = std::move(both);
}

} // namespace

bool Release::covers(const Access &access) const {
  if (access.cluster != cluster)
    return false;
  if (access.warp != warp)
    return access.epoch <= clock[access.warp];
  return access.epoch < clock.synced ||
         (access.lane < 32 && (lanes >> access.lane & 1) &&
          access.epoch <= clock[warp]);
}

bool isOrdered(const Releases &known, const Access &access) {
  auto at =
      std::partition_point(known.begin(), known.end(), [&](const Entry &entry) {
        return entry->cluster < access.cluster;
      });
  for (; at != known.end() && (*at)->cluster == access.cluster; ++at)
    if ((*at)->covers(access))
      return true;
  return false;
}

std::shared_ptr<const Releases>
joinReleases(const std::shared_ptr<const Releases> &a,
             const std::shared_ptr<const Releases> &b) {
  if (!a || !b || a == b)
    return a ? a : b;
  Releases both = *a;
  addReleases(both, *b);
  return std::make_shared<const Releases>(std::move(both));
}

void Handover::acquire(Clock &clock, uint32_t lanes) {
  if (!(finders & lanes))
    return;
  Releases known = clock.known ? *clock.known : Releases();
  addReleases(known, found);
  for (const Entry &entry : found)
    if (entry->clock.known)
      addReleases(known, *entry->clock.known);
  clock.known = std::make_shared<const Releases>(std::move(known));
  found.clear();
  finders = 0;
}

void Handover::fence(Clock &clock, const Agent &agent, uint32_t lanes) {
  acquire(clock, lanes);
  Entry made = release(clock, agent, lanes);
  for (int lane = 0; lane < 32; ++lane)
    if (lanes >> lane & 1)
      released[lane] = made;
}

void Handover::change(Clock &clock, const Agent &agent, AtomicOrder order,
                      Releases &word) {
  uint32_t lane = uint32_t(1) << agent.lane;
  if (order.finds && !word.empty()) {
    addReleases(found, word);
    finders |= lane;
    if (order.acquire)
      acquire(clock, lane);
  }
  if (order.release)
    addReleases(word, {release(clock, agent, lane)});
  if (released[agent.lane])
    addReleases(word, {released[agent.lane]});
}

} // namespace tenon::sim
