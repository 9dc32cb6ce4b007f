//===- Phases.cpp - mbarrier ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Phases.h"
#include "test/gpu/sim/Block.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Text.h"

#include <bit>

namespace tenon::sim {

namespace {

constexpr Type kPredicate{Type::Predicate, 1};
constexpr Type kU32{Type::Unsigned, 32};
constexpr Type kB64{Type::Bits, 64};

constexpr uint32_t kMostArrivals = (1 << 20) - 1;

enum Action : uint8_t { Initialize, Invalidate, Arrive, Drop, Expect };

uint32_t offsetOf(Warp &warp, const Instruction &line, const Operand &operand,
                  int lane) {
  return uint32_t(warp.value(operand, lane) + line.immediate);
}

/// The object at a lane's address; null after a report.
PhaseBarrier *find(Warp &warp, const Instruction &line, const Operand &operand,
                   int lane) {
  uint32_t at = offsetOf(warp, line, operand, lane);
  auto found = warp.block.phases.find(at);
  if (found != warp.block.phases.end())
    return &found->second;
  warp.fail(
      line, lane,
      format("there is no initialised mbarrier at 0x%x of shared memory", at));
  return nullptr;
}

bool initialize(Warp &warp, const Instruction &line, int lane) {
  uint32_t at = offsetOf(warp, line, line.operands[0], lane);
  uint64_t count = warp.value(line.operands[1], lane);
  if (at % 8 || uint64_t(at) + 8 > warp.block.shared.size()) {
    warp.fail(line, lane,
              format("0x%x is no place for an mbarrier in %llu bytes of shared "
                     "memory",
                     at, (unsigned long long)warp.block.shared.size()));
    return false;
  }
  if (count == 0 || count > kMostArrivals) {
    warp.fail(line, lane, "the number of arrivals is out of range");
    return false;
  }
  PhaseBarrier &barrier = warp.block.phases[at];
  barrier = PhaseBarrier();
  barrier.count = barrier.pending = uint32_t(count);
  return true;
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
      warp.block.phases.erase(offsetOf(warp, line, operands[0], lane));
      continue;
    }
    uint32_t amount =
        line.counts[0] ? uint32_t(warp.value(operands[1], lane)) : 1;
    if (line.second || line.option == Expect)
      barrier->bytes += amount;
    if (line.targets) // The state: the phase that is under way.
      warp.setValue(line.operands[0], lane, barrier->phase);
    if (line.option == Expect)
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
  if (line.second && done != warp.active)
    return Step::Retry;
  if (done != warp.active)
    warp.block.deliver();
  warp.setPredicate(line.operands[0], done);
  return Step::Next;
}

bool decodeWait(Line &line, bool suspends) {
  Instruction &out = line.out;
  out.second = suspends;
  out.option = line.take("parity");
  return line.take("b64") && line.expect(3, suspends ? 4 : 3) &&
         line.target(0, kPredicate) &&
         line.address(1, Space::Shared, out.immediate) &&
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
                      "try_wait", "test_wait", "pending_count"});
  line.takeOneOf({"release", "acquire", "relaxed"});
  line.takeOneOf({"cta", "cluster"});
  line.takeOneOf({"shared", "shared::cta"});
  if (action == 5 || action == 6)
    return decodeWait(line, action == 5);
  if (action == 7)
    return line.finish(countPending);
  if (action < 0)
    return line.fail("unknown action on an mbarrier");
  out.option = action;
  bool arrives = action == Arrive || action == Drop;
  out.second = arrives && line.take("expect_tx");
  line.take("noComplete");
  if (!line.take("b64"))
    return line.fail("the type must be .b64");
  size_t at = 0;
  if (arrives && !line.target(at++, kB64))
    return false;
  bool amount = line.size() > at + 1;
  if (!line.address(at, Space::Shared, out.immediate) ||
      (amount && !line.source(at + 1, kU32)))
    return false;
  out.counts[0] = amount;
  if ((action == Initialize || action == Expect || out.second) && !amount)
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
    warp.block.pending.push_back({&warp, lane, end,
                                  offsetOf(warp, line, line.operands[0], lane),
                                  &line});
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
