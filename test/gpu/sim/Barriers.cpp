//===- Barriers.cpp - bar, barrier, fence ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Block.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Text.h"

#include <bit>

namespace tenon::sim {

namespace {

constexpr Type kPredicate{Type::Predicate, 1};
constexpr Type kU32{Type::Unsigned, 32};

enum Action : uint8_t { Sync, Arrive, Popc, And, Or };

/// The same value in all active lanes; false after a report.
bool uniform(Warp &warp, const Instruction &line, const Operand &operand,
             const char *what, uint32_t &value) {
  int first = std::countr_zero(warp.active);
  value = uint32_t(warp.value(operand, first));
  for (int lane = 0; lane < kLanes; ++lane)
    if ((warp.active >> lane & 1) && warp.value(operand, lane) != value) {
      warp.fail(line, lane, format("%s differs within the warp", what));
      return false;
    }
  return true;
}

void deliver(Warp &warp, const Instruction &line, uint32_t mask,
             const NamedBarrier &barrier) {
  uint32_t votes = barrier.votes;
  uint32_t result = line.option == Popc  ? votes
                    : line.option == And ? votes == barrier.voters
                                         : votes > 0;
  for (int lane = 0; lane < kLanes; ++lane)
    if (mask >> lane & 1)
      warp.setValue(line.operands[0], lane, result);
}

/// A bar of an aligned form needs the whole warp, together.
Step wholeWarp(Warp &warp, const Instruction &line) {
  if (uint32_t gone = warp.exited)
    return warp.fail(line, std::countr_zero(warp.active),
                     format("divergent barrier: lane %d of the warp has exited",
                            std::countr_zero(gone)));
  return warp.meet(line, warp.present);
}

void complete(Block &block, NamedBarrier &barrier) {
  for (const NamedBarrier::Waiting &waiting : barrier.waiting) {
    if (waiting.instruction->option >= Popc)
      deliver(*waiting.warp, *waiting.instruction, waiting.mask, barrier);
    waiting.warp->release(waiting.mask);
  }
  barrier = NamedBarrier();
  block.progressed = true;
}

/// Operands: [result], number, [threads], [predicate].
Step barrierStep(Warp &warp, const Instruction &line) {
  if (line.second) { // .aligned
    Step step = wholeWarp(warp, line);
    if (step != Step::Next)
      return step;
  }
  Block &block = warp.block;
  int first = std::countr_zero(warp.active);
  const Operand *operands = line.operands + line.targets;
  uint32_t number, expected = (block.threads + 31) / 32 * 32;
  if (!uniform(warp, line, operands[0], "the barrier's number", number))
    return Step::Failed;
  if (number >= 16)
    return warp.fail(line, first, format("there is no barrier %u", number));
  if (line.counts[0]) {
    if (!uniform(warp, line, operands[1], "the number of threads", expected))
      return Step::Failed;
    if (expected == 0 || expected % kLanes)
      return warp.fail(line, first,
                       format("%u threads are no number of warps", expected));
  }
  NamedBarrier &barrier = block.barriers[number];
  if (barrier.arrived && barrier.expected != expected)
    return warp.fail(line, first,
                     format("barrier %u is used with %u and with %u threads",
                            number, barrier.expected, expected));
  barrier.expected = expected;
  // A last warp with fewer threads counts as a whole one.
  uint32_t arriving = line.second ? kLanes : std::popcount(warp.active);
  if (!line.second && warp.present != ~0u &&
      warp.active == (warp.present & ~warp.exited))
    arriving = kLanes;
  if (barrier.arrived + arriving > expected)
    return warp.fail(
        line, first,
        format("more than %u threads come to barrier %u", expected, number));
  barrier.arrived += arriving;
  if (line.option >= Popc) {
    barrier.voters += std::popcount(warp.active);
    barrier.votes += std::popcount(
        warp.predicate(operands[1 + line.counts[0]]) & warp.active);
  }
  block.arrive(warp, barrier.clock);
  if (line.option != Arrive)
    barrier.waiting.push_back({&warp, warp.active, &line});
  if (barrier.arrived < expected)
    return line.option == Arrive ? Step::Next : Step::Blocked;
  // The running group is not parked yet.
  if (line.option != Arrive) {
    if (line.option >= Popc)
      deliver(warp, line, warp.active, barrier);
    barrier.waiting.pop_back();
  }
  const Clock clock = barrier.clock;
  for (const NamedBarrier::Waiting &waiting : barrier.waiting)
    block.depart(*waiting.warp, clock);
  if (line.option != Arrive)
    block.depart(warp, clock);
  complete(block, barrier);
  return Step::Next;
}

Step syncWarp(Warp &warp, const Instruction &line) {
  int first = std::countr_zero(warp.active);
  uint32_t mask = uint32_t(warp.value(line.operands[0], first)) & warp.present;
  Step step = warp.meet(line, mask);
  if (step == Step::Next)
    warp.block.tick(warp);
  return step;
}

bool decodeBarrier(Line &line) {
  Instruction &out = line.out;
  if (line.take("cluster"))
    return decodeClusterBarrier(line);
  line.take("cta");
  if (line.take("warp")) {
    if (!line.take("sync") || !line.expect(1) || !line.source(0, kU32))
      return line.fail("malformed bar.warp.sync");
    return line.finish(syncWarp);
  }
  int action = line.takeOneOf({"sync", "arrive", "red"});
  if (action < 0)
    return line.fail("one of .sync .arrive .red is missing");
  out.option = action;
  bool aligned = line.take("aligned") || line.opcode() == "bar";
  out.second = aligned;
  size_t at = 0, rest = line.size();
  if (action == 2) {
    int kind = line.takeOneOf({"popc", "and", "or"});
    Type type;
    if (kind < 0 || !line.takeType(type))
      return line.fail("unknown reduction");
    out.option = Popc + kind;
    if (!line.target(0, type))
      return false;
    at = 1;
    rest -= 2;
  }
  if (rest < 1 || rest > 2 || !line.source(at, kU32))
    return line.fail("wrong number of operands");
  out.counts[0] = rest == 2;
  if (rest == 2 && !line.source(at + 1, kU32))
    return false;
  if (action == 2 && !line.source(line.size() - 1, kPredicate))
    return false;
  return line.finish(barrierStep);
}

/// Within a cluster every store is seen at once, by threads.
Step fence(Warp &, const Instruction &) { return Step::Next; }

Step fenceDevice(Warp &warp, const Instruction &line) {
  Agent agent = warp.agent(line, std::countr_zero(warp.active));
  warp.handover.fence(warp.clock, agent, warp.active);
  return Step::Next;
}

/// The async proxy sees what the threads have seen so far.
Step fenceProxy(Warp &warp, const Instruction &) {
  warp.clock.fence();
  ++warp.clock.seen[warp.block.warpInCluster(warp)]; // For what follows.
  warp.block.publishBarriers(warp, true);
  return Step::Next;
}

Step fenceInit(Warp &warp, const Instruction &) {
  warp.block.publishBarriers(warp, false);
  return Step::Next;
}

bool decodeFence(Line &line) {
  Execute execute = fence;
  line.takeOneOf({"sc", "acq_rel", "acquire", "release"});
  if (line.take("mbarrier_init"))
    execute = fenceInit;
  if (line.take("proxy")) {
    line.take("alias");
    if (line.takeOneOf({"async", "async::generic", "async.global"}) >= 0)
      execute = fenceProxy;
    line.takeOneOf({"global", "shared::cta", "shared::cluster"});
  }
  if (line.takeOneOf({"cta", "cluster", "gpu", "sys", "gl"}) >= 2 &&
      execute == fence)
    execute = fenceDevice;
  return line.expect(0) && line.finish(execute);
}

} // namespace

void addBarrierInstructions(DecodeTable &table) {
  table["bar"] = table["barrier"] = decodeBarrier;
  table["fence"] = table["membar"] = decodeFence;
}

} // namespace tenon::sim
