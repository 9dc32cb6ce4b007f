//===- Control.cpp - bra, call, ret, exit, trap ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Text.h"
#include "test/gpu/sim/Warp.h"

#include <bit>

namespace tenon::sim {

namespace {

Step branch(Warp &warp, const Instruction &line) {
  return warp.jump(warp.active, uint32_t(line.immediate));
}

Step exitThreads(Warp &warp, const Instruction &line) {
  uint32_t early = warp.active & ~warp.waited;
  if (early)
    return warp.fail(line, std::countr_zero(early),
                     "ends before it has waited for the launch before, so that "
                     "the end of this one says nothing of that");
  return warp.exitLanes();
}

Step waitForLaunch(Warp &warp, const Instruction &) {
  warp.waited |= warp.active;
  return Step::Next;
}

Step trap(Warp &warp, const Instruction &line) {
  return warp.fail(line, std::countr_zero(warp.active), "the kernel trapped");
}

Step nothing(Warp &, const Instruction &) { return Step::Next; }

/// All lanes that go to the first one's target go; the others come again.
Step branchIndexed(Warp &warp, const Instruction &line) {
  const uint32_t *index = warp.lanes<uint32_t>(line.operands[0]);
  uint32_t first = std::countr_zero(warp.active);
  if (index[first] >= line.tableSize)
    return warp.fail(line, first,
                     format("index %u, but there are %u targets", index[first],
                            line.tableSize));
  uint32_t target = line.table[index[first]], taken = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    if ((warp.active >> lane & 1) && index[lane] < line.tableSize &&
        line.table[index[lane]] == target)
      taken |= 1u << lane;
  if (taken == warp.active)
    return warp.jump(taken, target);
  return warp.split(taken, target);
}

bool decodeBranch(Line &line) {
  line.take("uni");
  return line.expect(1) &&
         line.finishJump(branch, Flow::Branches, line.node(0).name);
}

bool decodeBranchIndexed(Line &line) {
  line.take("uni");
  if (!line.take("idx"))
    return line.fail(".idx is missing");
  return line.expect(2) && line.source(0, {Type::Bits, 32}) &&
         line.finishJump(branchIndexed, Flow::Indexed, line.node(1).name);
}

bool decodeExit(Line &line) {
  line.out.flow = Flow::Stops;
  return line.expect(0) && line.finish(exitThreads);
}

bool decodeReturn(Line &line) {
  line.take("uni");
  std::string_view end = line.decoder.returnLabel();
  if (end.empty())
    return decodeExit(line);
  return line.expect(0) && line.finishJump(branch, Flow::Branches, end);
}

bool decodeTrap(Line &line) {
  line.out.flow = Flow::Stops;
  return line.expect(0) && line.finish(trap);
}

bool decodeNothing(Line &line) {
  uint8_t count;
  for (size_t i = 0; i < line.size(); ++i)
    if (!line.sourceList(i, {Type::Unsigned, 32}, count))
      return false;
  if (line.opcode() == "nanosleep" && !line.take("u32"))
    return line.fail("the type must be .u32");
  return line.finish(nothing);
}

/// Launches follow each other here: the one before is over, and the next has
/// not begun.
bool decodeDependence(Line &line) {
  int which = line.takeOneOf({"launch_dependents", "wait"});
  if (which < 0)
    return line.fail("one of .launch_dependents .wait is missing");
  return line.expect(0) && line.finish(which ? waitForLaunch : nothing);
}

/// call (results), callee, (arguments): all but the callee may be absent.
bool decodeCall(Line &line) {
  line.take("uni");
  const Node *results = nullptr, *arguments = nullptr;
  size_t at = 0;
  if (line.size() && line.node(0).kind == Node::List)
    results = &line.node(at++);
  if (at >= line.size() || line.node(at).kind != Node::Name)
    return line.fail("the name of a function is expected");
  std::string_view callee = line.node(at++).name;
  if (at < line.size() && line.node(at).kind == Node::List)
    arguments = &line.node(at++);
  if (at != line.size())
    return line.fail("an indirect call");
  return line.decoder.call(line, callee, results, arguments);
}

} // namespace

void addControlInstructions(DecodeTable &table) {
  table["bra"] = decodeBranch;
  table["brkpt"] = table["nanosleep"] = table["pmevent"] = decodeNothing;
  table["brx"] = decodeBranchIndexed;
  table["call"] = decodeCall;
  table["exit"] = decodeExit;
  table["griddepcontrol"] = decodeDependence;
  table["ret"] = decodeReturn;
  table["trap"] = decodeTrap;
}

} // namespace tenon::sim
