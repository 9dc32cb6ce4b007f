//===- Races.h - Who touched memory last, and was there a barrier ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each warp counts epochs: a barrier, a phase or a bar.warp.sync begins a new
// one and hands on what the warp has seen of others' epochs. An access races
// with an earlier one of another thread whose epoch its warp has not seen.
// Counts only grow during a launch, so that nothing is cleared between blocks.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_SIM_RACES_H
#define TENON_TEST_GPU_SIM_RACES_H

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace tenon::sim {

struct Release;                                               // Handover.h
using Releases = std::vector<std::shared_ptr<const Release>>; // By cluster.

/// How far somebody has seen the others: by slot, first the warps of the
/// cluster, then what works beside them (Cluster::engines): the products of a
/// warpgroup, the copies that an mbarrier counts.
struct Clock {
  std::vector<uint32_t> seen;
  std::vector<uint32_t> fenced; // Of it, what the async proxy sees as well.
  uint32_t start = 0;           // What was before the cluster is over.
  uint32_t synced = 0; // A warp's own epoch before which its lanes met.
  std::shared_ptr<const Releases> known; // Of other clusters; null: nothing.

  uint32_t operator[](uint32_t slot) const {
    return slot < seen.size() ? seen[slot] : start;
  }
  uint32_t fencedAt(uint32_t slot) const {
    return slot < fenced.size() ? fenced[slot] : start;
  }
  void see(uint32_t slot, uint32_t epoch);
  void fence(); // fence.proxy.async
};

void join(Clock &clock, const Clock &with);
/// What both have seen.
void meet(Clock &clock, const Clock &with);

struct Agent {
  const Clock &clock;
  uint16_t warp; // In its cluster.
  uint8_t lane;
  uint32_t cluster;     // In its launch.
  uint32_t instruction; // In Program::code.
};

/// An access of the past.
struct Access {
  uint32_t epoch = 0; // 0: none.
  uint32_t instruction = 0;
  uint32_t cluster = 0;
  uint16_t warp = 0;
  uint8_t lane = 0;
  bool atomic = false;
  bool isWide = false; // An atomic's scope is the device.

  void set(const Agent &agent, bool isAtomic = false, bool isWide = false) {
    *this = {agent.clock[agent.warp],
             agent.instruction,
             agent.cluster,
             agent.warp,
             agent.lane,
             isAtomic,
             isWide};
  }
  /// Whether the agent knows that this is over.
  bool isBefore(const Agent &agent) const {
    if (warp != agent.warp)
      return epoch <= agent.clock[warp];
    return lane == agent.lane || epoch < agent.clock.synced;
  }
};

struct Conflict {
  Access earlier;
  bool read = false;
  bool inFlight = false; // A copy that nobody has waited for.
  bool unfenced = false; // No proxy fence between.
};

/// The shared memory of a block, in granules as wide as the narrowest store.
class SharedShadow {
public:
  /// Readers are slots of clocks: `warps`, and engines behind them.
  void resize(uint32_t bytes, uint32_t granule, uint32_t warps,
              uint32_t readers);

  // Each false: `conflict` says with what.
  bool read(uint32_t offset, uint32_t bytes, const Agent &agent,
            Conflict &conflict);
  /// `same`: the bytes there are those that are written.
  bool write(uint32_t offset, uint32_t bytes, const Agent &agent, bool atomic,
             bool same, Conflict &conflict);
  /// A copy into it begins; until land, nobody may touch it.
  bool launch(uint32_t offset, uint32_t bytes, const Agent &agent,
              Conflict &conflict);
  void land(uint32_t offset, uint32_t bytes, const Agent &agent);

  /// The async proxy reads; it notes that only for readers that are engines.
  bool readAsync(uint32_t offset, uint32_t bytes, const Agent &agent,
                 uint32_t epoch, Conflict &conflict);
  /// A bulk copy into it begins, and lands as a write of an engine.
  bool launchAsync(uint32_t offset, uint32_t bytes, const Agent &agent,
                   Conflict &conflict);
  void landAsync(uint32_t offset, uint32_t bytes, const Access &access);

private:
  struct Read {
    uint32_t epoch = 0;
    uint32_t instruction : 24 = 0;
    uint32_t lane : 8 = 0;
  };
  static constexpr uint32_t kSeveral = 255; // Lanes.

  uint32_t granule = 4, warps = 0, readers = 0, inFlight = 0;
  std::vector<Access> writes;
  std::vector<Access> flights; // Of copies under way.
  std::vector<Read> reads;     // By granule, then reader.

  bool checkRead(uint32_t at, const Agent &agent, Conflict &conflict) const;
  bool checkWrite(uint32_t at, const Agent &agent, bool atomic, bool same,
                  Conflict &conflict);
  bool isUnfenced(const Access &last, const Agent &agent,
                  Conflict &conflict) const;
};

/// Global memory during a launch, page by page as it is touched.
class GlobalShadow {
public:
  explicit GlobalShadow(uint32_t granule) : granule(granule) {}

  bool read(uint64_t address, uint32_t bytes, const Agent &agent,
            Conflict &conflict);
  bool write(uint64_t address, uint32_t bytes, const Agent &agent, bool same,
             Conflict &conflict);
  /// The async proxy reads what this launch may have written.
  bool readAsync(uint64_t address, uint32_t bytes, const Agent &agent,
                 Conflict &conflict);
  bool change(uint64_t address, uint32_t bytes, const Agent &agent, bool isWide,
              Conflict &conflict);
  /// What atomics have handed to a word.
  Releases &handedTo(uint64_t address) { return words[address]; }

private:
  struct Cell {
    Access write, read, otherRead;
  };
  static constexpr uint64_t kPage = 1024; // Granules.

  enum class Use { Read, Write, Same, Atomic, WideAtomic };
  Cell *cell(uint64_t index);
  bool visit(uint64_t address, uint32_t bytes, const Agent &agent, Use use,
             Conflict &conflict);

  uint32_t granule;
  std::unordered_map<uint64_t, std::unique_ptr<Cell[]>> pages;
  uint64_t latestPage = ~uint64_t(0);
  Cell *latest = nullptr;
  std::unordered_map<uint64_t, Releases> words;
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_RACES_H
