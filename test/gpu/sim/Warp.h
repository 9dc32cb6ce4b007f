//===- Warp.h - Thirty-two threads in step --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp holds its registers lane by lane in one array per register. Lanes
// that stand at the same instruction form a group; the group that stands first
// in the program runs, so that lanes meet again behind a branch.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_SIM_WARP_H
#define TENON_TEST_GPU_SIM_WARP_H

#include "test/gpu/sim/Async.h"
#include "test/gpu/sim/BulkCopy.h"
#include "test/gpu/sim/Handover.h"
#include "test/gpu/sim/Program.h"
#include "test/gpu/sim/Races.h"
#include "test/gpu/sim/WarpProducts.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::sim {

class Block;
struct PhaseBarrier;

bool isSpecialRegister(std::string_view name);

struct Group {
  enum State : uint8_t {
    Ready,
    Meeting, // Waits for other lanes of its warp to come to the instruction.
    Polling, // Waits for a condition; tries again each round.
    Parked   // Waits until a barrier releases it.
  };
  uint32_t pc = 0;
  uint32_t mask = 0;
  State state = Ready;
};

class Warp {
public:
  Warp(Block &block, uint32_t index, uint32_t lanes);

  // What instructions use.
  Block &block;
  const Program &program;
  const uint32_t index;   // In its block.
  const uint32_t present; // Lanes that the launch gave it.
  uint32_t active = 0;    // Lanes that perform this instruction.
  uint32_t running = 0;   // Lanes of the group that runs; guards not applied.
  uint32_t exited = 0;
  uint32_t waited = 0; // For the launches before this one.
  uint32_t pc = 0;
  Clock clock; // What it has seen of each warp of the cluster.
  Handover handover;
  CopyQueue copies[kLanes];
  BulkStores stores[kLanes];
  WarpProducts products;
  uint32_t clusterPhase[kLanes] = {}; // Of barrier.cluster.arrive.
  bool metCluster = false;            // All blocks of the cluster have begun.

  template <typename T> T *lanes(const Operand &operand) {
    return reinterpret_cast<T *>(bases[operand.base] + operand.slot * kSlot);
  }
  uint32_t predicate(const Operand &operand) {
    uint32_t bits = *lanes<uint32_t>(operand);
    return operand.negated ? ~bits : bits;
  }
  void setPredicate(const Operand &operand, uint32_t bits) {
    if (operand.sink)
      return;
    uint32_t &old = *lanes<uint32_t>(operand);
    old = (old & ~active) | (bits & active);
  }
  /// A lane's value, zero-extended, of a register of any size but 128 bits.
  uint64_t value(const Operand &operand, int lane);
  void setValue(const Operand &operand, int lane, uint64_t value);

  // Memory, by lane. Null after failing with a report.
  enum class Use : uint8_t { Read, Write, Atomic };
  const char *stored = nullptr; // What a write is about to put there.
  char *access(const Instruction &instruction, Space space, uint64_t address,
               uint32_t bytes, int lane, Use use);
  Agent agent(const Instruction &instruction, int lane) const;
  /// The block of the cluster that an address of shared::cluster lies in, and
  /// the offset there; null after a report.
  Block *peer(const Instruction &instruction, int lane, uint64_t address,
              uint32_t &offset);
  /// Whether a block has begun and not ended, as far as the warp can know.
  /// `stays`: that it does not end before is to be looked at later.
  bool checkPeer(const Instruction &instruction, int lane, Block &home,
                 bool stays = true);
  /// Whether no bulk copy reads these bytes, and no mbarrier lies in them.
  bool checkUnused(const Instruction &instruction, int lane, const Block &home,
                   uint64_t offset, uint32_t bytes);
  /// The mbarrier there; `outside`: the async proxy or another block asks.
  PhaseBarrier *findPhases(const Instruction &instruction, int lane,
                           Block &home, uint32_t offset, bool outside);
  /// More bytes to wait for, or, below zero, bytes that have come.
  bool countBytes(const Instruction &instruction, int lane,
                  PhaseBarrier &barrier, int64_t bytes);
  /// Reports a race; null.
  char *failRace(const Instruction &instruction, int lane, const char *verb,
                 const char *space, uint64_t address, const Conflict &conflict);
  bool beginCopy(const Instruction &instruction, int lane, AsyncCopy copy);
  /// Ends a lane's copies of the groups before `endGroup`, and those before
  /// the one `endNumber`.
  void finishCopies(int lane, uint32_t endGroup, uint32_t endNumber);
  bool arrive(const Instruction &instruction, int lane, PhaseBarrier &barrier,
              uint32_t count);
  void copyLocal(int lane, uint64_t target, uint64_t source, uint64_t bytes);

  /// Ends the launch with a report about this instruction. Returns Failed.
  Step fail(const Instruction &instruction, int lane, const std::string &why);
  uint32_t thread(int lane) const { return index * kLanes + lane; }

  // Control.
  /// Moves the lanes `taken` to `target`, the others behind this instruction.
  Step jump(uint32_t taken, uint32_t target);
  /// Moves some of the active lanes; the rest perform this again.
  Step split(uint32_t taken, uint32_t target);
  Step exitLanes();
  /// Next if exactly the lanes `mask` perform this together; else the group
  /// waits for the others, or fails for good.
  Step meet(const Instruction &instruction, uint32_t mask);
  void release(uint32_t mask); // Parked lanes are ready again.
  void wake();                 // Polling groups may try again.

  /// Runs every group until it blocks or has used `budget` instructions.
  /// False: failed.
  bool run(uint64_t budget);
  bool finished() const { return exited == present; }

  bool progressed = false; // Set when an instruction got through.
  std::vector<Group> groups;

private:
  bool pick(uint32_t &limit);
  uint32_t nextGroup() const;
  bool runGroup(uint32_t limit, uint64_t budget);
  void leave(Group::State state, uint32_t at);
  Step regroup(uint32_t at);
  void setSpecials();
  bool uniformSpecial(const std::string &name, uint32_t &out) const;
  void performCopy(AsyncCopy &copy);
  bool checkRegisters(const Instruction &instruction);
  void noteTargets(const Instruction &instruction);
  char *accessLocal(const Instruction &instruction, uint64_t address,
                    uint32_t bytes, int lane, Use use);
  char *accessShared(const Instruction &instruction, Block &home,
                     uint64_t address, uint32_t bytes, int lane, Use use);
  char *accessGlobal(const Instruction &instruction, uint64_t address,
                     uint32_t bytes, int lane, Use use);

  size_t current = 0;     // The running group.
  bool regrouped = false; // The groups are up to date; choose anew.
  uint64_t executed = 0;
  std::vector<char> registers;
  std::vector<uint32_t> set; // Per register, the lanes that were written.
  std::vector<char> local, localWritten;
  char *bases[2];
};

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_WARP_H
