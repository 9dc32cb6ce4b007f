//===- Async.cpp - cp.async and its groups --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Async.h"
#include "test/gpu/sim/Access.h"
#include "test/gpu/sim/Block.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Text.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tenon::sim {

namespace {

constexpr Type kPredicate{Type::Predicate, 1};
constexpr Type kU32{Type::Unsigned, 32};

enum SourceSize : uint8_t { Whole, Given, Ignored };

/// Operands: shared address, global address, [source's size or predicate].
Step copyAsync(Warp &warp, const Instruction &line) {
  const Operand *operands = line.operands;
  uint32_t bytes = line.counts[0];
  uint64_t sources[kLanes], targets[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    AsyncCopy copy;
    copy.bytes = copy.sourceBytes = bytes;
    if (line.option == Given) {
      uint64_t size = warp.value(operands[2], lane);
      if (size > bytes)
        return warp.fail(line, lane,
                         "the source's size is larger than the copy's");
      copy.sourceBytes = size;
    } else if (line.option == Ignored && warp.value(operands[2], lane)) {
      copy.sourceBytes = 0;
    }
    uint64_t target = warp.value(operands[0], lane) + line.immediate;
    if (target >> window::kShift == window::kShared >> window::kShift)
      target &= window::kMask;
    copy.target = targets[lane] = uint32_t(target);
    copy.source = sources[lane] =
        warp.value(operands[1], lane) + line.immediate2;
    copy.group = warp.copies[lane].committed;
    copy.number = warp.copies[lane].issued++;
    copy.instruction = &line - warp.program.code.data();
    if (!warp.beginCopy(line, lane, copy))
      return Step::Failed;
  }
  countTraffic(warp, Space::Global, sources, bytes, false);
  countTraffic(warp, Space::Shared, targets, bytes, true);
  return Step::Next;
}

Step commit(Warp &warp, const Instruction &) {
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      ++warp.copies[lane].committed;
  return Step::Next;
}

/// Leaves the latest groups under way; with .wait_all, none at all.
Step wait(Warp &warp, const Instruction &line) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    const CopyQueue &queue = warp.copies[lane];
    uint32_t kept = uint32_t(line.immediate);
    uint32_t end = line.option              ? ~0u
                   : queue.committed > kept ? queue.committed - kept
                                            : 0;
    warp.finishCopies(lane, end, 0);
  }
  return Step::Next;
}

bool decodeCopy(Line &line) {
  Instruction &out = line.out;
  bool all = line.take("ca");
  if (!all && !line.take("cg"))
    return line.fail("one of .ca .cg is missing");
  if (!line.take("shared") && !line.take("shared::cta"))
    return line.fail("the target must be .shared");
  if (!line.take("global"))
    return line.fail("the source must be .global");
  line.takeOneOf({"L2::64B", "L2::128B", "L2::256B"});
  bool hint = line.take("L2::cache_hint");
  uint64_t bytes = 0;
  size_t most = hint ? 5 : 4;
  if (!line.expect(3, most) || !line.address(0, Space::Shared, out.immediate) ||
      !line.address(1, Space::Global, out.immediate2) ||
      !line.integer(2, bytes))
    return false;
  if (bytes != 16 && (!all || (bytes != 4 && bytes != 8)))
    return line.fail("no such size");
  out.counts[0] = bytes;
  if (line.size() > (hint ? 4u : 3u)) {
    const Node &node = line.node(3);
    const Operand *found = node.kind == Node::Name
                               ? line.decoder.findRegister(node.name)
                               : nullptr;
    out.option = found && found->bytes == 0 ? Ignored : Given;
    if (!line.source(3, out.option == Ignored ? kPredicate : kU32))
      return false;
  }
  line.decoder.noteStore(Space::Shared, 4);
  return line.finish(copyAsync);
}

bool decodeCpAsync(Line &line) {
  if (!line.take("async"))
    return line.fail("unknown copy");
  if (line.take("bulk"))
    return decodeBulkCopy(line);
  if (line.take("commit_group"))
    return line.expect(0) && line.finish(commit);
  if (line.take("wait_group"))
    return line.expect(1) && line.integer(0, line.out.immediate) &&
           line.finish(wait);
  if (line.take("wait_all")) {
    line.out.option = 1;
    return line.expect(0) && line.finish(wait);
  }
  if (line.take("mbarrier"))
    return decodeCopyArrival(line);
  return decodeCopy(line);
}

} // namespace

bool Warp::beginCopy(const Instruction &line, int lane, AsyncCopy copy) {
  if (copy.target % copy.bytes || copy.source % copy.bytes) {
    fail(line, lane,
         format("copies %u bytes from 0x%llx to 0x%x: one is no multiple of %u",
                copy.bytes, (unsigned long long)copy.source, copy.target,
                copy.bytes));
    return false;
  }
  if (copy.sourceBytes &&
      !accessGlobal(line, copy.source, copy.sourceBytes, lane, Use::Read))
    return false;
  size_t size = block.shared.size();
  if (copy.target > size || copy.bytes > size - copy.target) {
    fail(line, lane,
         format("copies %u bytes to 0x%x of shared memory, where the block has "
                "%llu bytes",
                copy.bytes, copy.target, (unsigned long long)size));
    return false;
  }
  Conflict conflict;
  if (block.state.launch.checks.sharedRaces &&
      !block.shadow().launch(copy.target, copy.bytes, agent(line, lane),
                             conflict)) {
    failRace(line, lane, "copies to", "shared", copy.target, conflict);
    return false;
  }
  Order order = block.state.launch.order;
  if (order == Order::Eager ||
      (order == Order::Random && block.state.random() & 1))
    performCopy(copy);
  copies[lane].copies.push_back(copy);
  return true;
}

void Warp::performCopy(AsyncCopy &copy) {
  char *target = block.shared.data() + copy.target;
  // Its bounds were checked; what was freed since reads as zeros.
  const char *source =
      copy.sourceBytes ? block.state.memory.find(copy.source, copy.sourceBytes)
                       : nullptr;
  memset(target, 0, copy.bytes);
  if (source)
    memcpy(target, source, copy.sourceBytes);
  copy.copied = true;
}

void Warp::finishCopies(int lane, uint32_t endGroup, uint32_t endNumber) {
  std::vector<AsyncCopy> &queue = copies[lane].copies;
  size_t kept = 0;
  for (AsyncCopy &copy : queue) {
    if (copy.group >= endGroup && copy.number >= endNumber) {
      queue[kept++] = copy;
      continue;
    }
    if (!copy.copied)
      performCopy(copy);
    memset(block.sharedWritten.data() + copy.target, 1, copy.bytes);
    if (block.state.launch.checks.sharedRaces)
      block.shadow().land(copy.target, copy.bytes,
                          agent(program.code[copy.instruction], lane));
  }
  queue.resize(kept);
}

void addAsyncInstructions(DecodeTable &table) { table["cp"] = decodeCpAsync; }

} // namespace tenon::sim
