//===- Phases.cpp - mbarrier ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Phases.h"
#include "test/gpu/sim/Cluster.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Text.h"

#include <bit>
#include <cstring>

namespace tenon::sim {

namespace {

constexpr Type kPredicate{Type::Predicate, 1};
constexpr Type kU32{Type::Unsigned, 32};
constexpr Type kB64{Type::Bits, 64};

enum Action : uint8_t {
  Initialize,
  Invalidate,
  Arrive,
  Drop,
  Expect,
  Complete
};

uint64_t addressOf(Warp &warp, const Instruction &line, const Operand &operand,
                   int lane) {
  return uint32_t(warp.value(operand, lane) + line.immediate);
}

/// The object at a lane's address; null after a report.
PhaseBarrier *find(Warp &warp, const Instruction &line, const Operand &operand,
                   int lane) {
  uint64_t address = addressOf(warp, line, operand, lane);
  uint32_t offset = uint32_t(address);
  Block *home = &warp.block;
  if (line.space == Space::Cluster)
    home = warp.peer(line, lane, address, offset);
  if (!home || !warp.checkPeer(line, lane, *home))
    return nullptr;
  return warp.findPhases(line, lane, *home, offset, home != &warp.block);
}

bool initialize(Warp &warp, const Instruction &line, int lane) {
  uint32_t at = uint32_t(addressOf(warp, line, line.operands[0], lane));
  uint64_t count = warp.value(line.operands[1], lane);
  Block &block = warp.block;
  if (at % 8 || uint64_t(at) + 8 > block.shared.size()) {
    warp.fail(line, lane,
              format("0x%x is no place for an mbarrier in %llu bytes of shared "
                     "memory",
                     at, (unsigned long long)block.shared.size()));
    return false;
  }
  if (count == 0 || count > PhaseBarrier::kMostArrivals) {
    warp.fail(line, lane, "the number of arrivals is out of range");
    return false;
  }
  if (block.phases.count(at)) {
    warp.fail(line, lane,
              format("there is an mbarrier at 0x%x already: mbarrier.inval "
                     "comes first",
                     at));
    return false;
  }
  static constexpr char kZeros[8] = {};
  warp.stored = kZeros;
  if (!warp.access(line, Space::Shared, at, 8, lane, Warp::Use::Write))
    return false;
  memset(&block.sharedWritten[at], Block::kBarrier, 8);
  PhaseBarrier &barrier = block.phases[at];
  barrier.count = barrier.pending = uint32_t(count);
  barrier.engine = block.cluster.engines++;
  barrier.arrived.start = block.cluster.start;
  barrier.completed.start = block.cluster.start;
  barrier.initialized.set(warp.agent(line, lane));
  return true;
}

void invalidate(Warp &warp, const Instruction &line, int lane) {
  uint32_t at = uint32_t(addressOf(warp, line, line.operands[0], lane));
  warp.block.phases.erase(at);
  memset(&warp.block.sharedWritten[at], 0, 8);
}

/// Operands: [state], address, [count or bytes].
Step change(Warp &warp, const Instruction &line) {
  const Operand *operands = line.operands + line.targets;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    if (line.option == Initialize) {
      if (!initialize(warp, line, lane))
        return Step::Failed;
      continue;
    }
    PhaseBarrier *barrier = find(warp, line, operands[0], lane);
    if (!barrier)
      return Step::Failed;
    if (line.option == Invalidate) {
      invalidate(warp, line, lane);
      continue;
    }
    uint32_t amount =
        line.counts[0] ? uint32_t(warp.value(operands[1], lane)) : 1;
    if (line.targets) // The state: the phase that is under way.
      warp.setValue(line.operands[0], lane, barrier->phase);
    if (line.second || line.option == Expect) {
      if (!warp.countBytes(line, lane, *barrier, amount))
        return Step::Failed;
    } else if (line.option == Complete) {
      if (!warp.countBytes(line, lane, *barrier, -int64_t(amount)))
        return Step::Failed;
    }
    if (line.option >= Expect)
      continue;
    if (line.option == Drop)
      barrier->count -= std::min(barrier->count, 1u);
    if (!warp.arrive(line, lane, *barrier, line.second ? 1 : amount))
      return Step::Failed;
  }
  return Step::Next;
}

/// Operands: done, address, state or parity.
Step wait(Warp &warp, const Instruction &line) {
  uint32_t done = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    PhaseBarrier *barrier = find(warp, line, line.operands[1], lane);
    if (!barrier)
      return Step::Failed;
    uint64_t state = warp.value(line.operands[2], lane);
    bool over = line.option ? (barrier->phase & 1) != (state & 1)
                            : barrier->phase != state;
    if (over)
      warp.block.depart(warp, barrier->completed);
    done |= uint32_t(over) << lane;
  }
  // try_wait may suspend; all lanes go on together.
  Cluster &cluster = warp.block.cluster;
  if (done != warp.active)
    line.second ? cluster.deliverSometimes() : void(cluster.deliver());
  if (!cluster.state.error.empty())
    return Step::Failed;
  if (line.second && done != warp.active)
    return Step::Retry;
  warp.setPredicate(line.operands[0], done);
  return Step::Next;
}

bool decodeWait(Line &line, bool suspends) {
  Instruction &out = line.out;
  out.second = suspends;
  out.option = line.take("parity");
  return line.take("b64") && line.expect(3, suspends ? 4 : 3) &&
         line.target(0, kPredicate) &&
         line.address(1, out.space, out.immediate) &&
         line.source(2, out.option ? kU32 : kB64) && line.finish(wait);
}

Step countPending(Warp &warp, const Instruction &line) {
  return warp.fail(line, std::countr_zero(warp.active),
                   "pending counts are not simulated");
}

bool decodePhase(Line &line) {
  Instruction &out = line.out;
  int action =
      line.takeOneOf({"init", "inval", "arrive", "arrive_drop", "expect_tx",
                      "complete_tx", "try_wait", "test_wait", "pending_count"});
  // .arrive.expect_tx is one action.
  bool arrives = action == Arrive || action == Drop;
  line.takeOneOf({"release", "acquire", "relaxed"});
  line.takeOneOf({"cta", "cluster"});
  int space = line.takeOneOf({"shared", "shared::cta", "shared::cluster"});
  out.space = space == 2 ? Space::Cluster : Space::Shared;
  if (space == 2 &&
      (action == Initialize || action == Invalidate || action > 5))
    return line.fail("not of another block's mbarrier");
  if (action == 6 || action == 7)
    return decodeWait(line, action == 6);
  if (action == 8)
    return line.finish(countPending);
  if (action < 0)
    return line.fail("unknown action on an mbarrier");
  out.option = action;
  out.second = arrives && line.take("expect_tx");
  line.take("noComplete");
  if (!line.take("b64"))
    return line.fail("the type must be .b64");
  size_t at = 0;
  if (arrives && !line.target(at++, kB64))
    return false;
  bool amount = line.size() > at + 1;
  if (!line.address(at, out.space, out.immediate) ||
      (amount && !line.source(at + 1, kU32)))
    return false;
  out.counts[0] = amount;
  bool counts = action == Expect || action == Complete || out.second;
  if ((action == Initialize || counts) && !amount)
    return line.fail("the count is missing");
  return line.expect(at + 1, at + 2) && line.finish(change);
}

/// Arrives once the thread's copies so far have landed.
Step arriveAfterCopies(Warp &warp, const Instruction &line) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    PhaseBarrier *barrier = find(warp, line, line.operands[0], lane);
    if (!barrier)
      return Step::Failed;
    if (!line.option)
      ++barrier->pending;
    CopyQueue &queue = warp.copies[lane];
    // These copies form a group of their own, apart from later ones.
    uint32_t end = ++queue.committed;
    warp.block.pending.push_back(
        {&warp, lane, end,
         uint32_t(addressOf(warp, line, line.operands[0], lane)), &line});
  }
  Order order = warp.block.state.launch.order;
  while (!warp.block.pending.empty() &&
         (order == Order::Eager ||
          (order == Order::Random && warp.block.state.random() & 1)))
    if (!warp.block.deliver())
      break;
  return warp.block.state.error.empty() ? Step::Next : Step::Failed;
}

} // namespace

bool Warp::arrive(const Instruction &line, int lane, PhaseBarrier &barrier,
                  uint32_t count) {
  if (count > barrier.pending) {
    fail(line, lane,
         format("%u arrivals, but the phase waits for %u of %u", count,
                barrier.pending, barrier.count));
    return false;
  }
  barrier.pending -= count;
  block.arrive(*this, barrier.arrived);
  barrier.advance();
  return true;
}

bool Warp::countBytes(const Instruction &line, int lane, PhaseBarrier &barrier,
                      int64_t bytes) {
  barrier.bytes += bytes;
  constexpr int64_t kMost = PhaseBarrier::kMostArrivals;
  if (barrier.bytes > kMost || barrier.bytes < -kMost) {
    fail(line, lane,
         format("the mbarrier waits for %lld bytes: too many to count",
                (long long)barrier.bytes));
    return false;
  }
  if (bytes < 0)
    barrier.advance();
  return true;
}

PhaseBarrier *Warp::findPhases(const Instruction &line, int lane, Block &home,
                               uint32_t offset, bool outside) {
  auto found = home.phases.find(offset);
  if (found == home.phases.end()) {
    fail(line, lane,
         format("there is no initialised mbarrier at 0x%x of shared memory",
                offset));
    return nullptr;
  }
  PhaseBarrier &barrier = found->second;
  bool known = barrier.initialized.isBefore(agent(line, lane)) ||
               (barrier.fenced && metCluster);
  if (known && (barrier.fenced || !outside))
    return &barrier;
  const Instruction &other = program.code[barrier.initialized.instruction];
  fail(line, lane,
       format("the mbarrier at 0x%x was initialised in line %u, with no %s "
              "between",
              offset, other.line,
              known ? "fence.mbarrier_init or fence.proxy.async" : "barrier"));
  return nullptr;
}

bool Block::deliver() {
  if (pending.empty())
    return false;
  size_t chosen =
      state.launch.order == Order::Random ? state.random() % pending.size() : 0;
  PendingArrival arrival = pending[chosen];
  pending.erase(pending.begin() + chosen);
  Warp &warp = *arrival.warp;
  warp.finishCopies(arrival.lane, 0, arrival.end);
  auto found = phases.find(arrival.barrier);
  if (found == phases.end()) {
    warp.fail(*arrival.instruction, arrival.lane,
              "the mbarrier was invalidated before its copies landed");
    return false;
  }
  return warp.arrive(*arrival.instruction, arrival.lane, found->second, 1);
}

bool decodeCopyArrival(Line &line) {
  if (!line.take("arrive"))
    return line.fail(".arrive is missing");
  line.out.option = line.take("noinc");
  line.takeOneOf({"shared", "shared::cta"});
  return line.take("b64") && line.expect(1) &&
         line.address(0, Space::Shared, line.out.immediate) &&
         line.finish(arriveAfterCopies);
}

void addPhaseInstructions(DecodeTable &table) {
  table["mbarrier"] = decodePhase;
}

} // namespace tenon::sim
