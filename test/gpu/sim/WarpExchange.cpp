//===- WarpExchange.cpp - shfl, vote, match, redux, elect -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Text.h"
#include "test/gpu/sim/Warp.h"

#include <bit>

namespace tenon::sim {

namespace {

constexpr Type kPredicate{Type::Predicate, 1};
constexpr Type kB32{Type::Bits, 32};

/// The lanes that take part: all of them must be here.
Step gather(Warp &warp, const Instruction &line) {
  const Operand &mask = line.operands[line.operandCount - 1];
  int first = std::countr_zero(warp.active);
  return warp.meet(line, uint32_t(warp.value(mask, first)) & warp.present);
}

enum Shuffle : uint8_t { Up, Down, Butterfly, Index };

/// Operands: result, [in range], value, b, c, mask.
Step shuffle(Warp &warp, const Instruction &line) {
  Step step = gather(warp, line);
  if (step != Step::Next)
    return step;
  const Operand *sources = line.operands + line.targets;
  uint32_t values[kLanes], inRange = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    int b = warp.value(sources[1], lane) & 31;
    uint32_t c = uint32_t(warp.value(sources[2], lane));
    int segment = c >> 8 & 31, clamp = c & 31;
    int most = (lane & segment) | (clamp & ~segment);
    int from;
    bool good;
    switch (line.option) {
    case Up:
      from = lane - b;
      good = from >= most;
      break;
    case Down:
      from = lane + b;
      good = from <= most;
      break;
    case Butterfly:
      from = lane ^ b;
      good = from <= most;
      break;
    default:
      from = (lane & segment) | (b & ~segment);
      good = from <= most;
    }
    if (!good)
      from = lane;
    if (!(warp.active >> from & 1))
      return warp.fail(line, lane,
                       format("takes the value of lane %d, which does not take "
                              "part",
                              from));
    inRange |= uint32_t(good) << lane;
    values[lane] = uint32_t(warp.value(sources[0], from));
  }
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.setValue(line.operands[0], lane, values[lane]);
  if (line.targets == 2)
    warp.setPredicate(line.operands[1], inRange);
  return Step::Next;
}

bool targetPair(Line &line, Type first) {
  if (line.size() == 0)
    return line.fail("operands are missing");
  const Node &node = line.node(0);
  if (node.kind != Node::Pair)
    return line.targetNode(node, first);
  return line.targetNode(node.items[0], first) &&
         line.targetNode(node.items[1], kPredicate);
}

bool decodeShuffle(Line &line) {
  if (!line.take("sync") || !line.take("b32"))
    return line.fail("it must be .sync and .b32");
  int how = line.takeOneOf({"up", "down", "bfly", "idx"});
  if (how < 0)
    return line.fail("unknown mode");
  line.out.option = how;
  return line.expect(5) && targetPair(line, kB32) && line.source(1, kB32) &&
         line.source(2, kB32) && line.source(3, kB32) && line.source(4, kB32) &&
         line.finish(shuffle);
}

enum Vote : uint8_t { All, Any, Uniform, Ballot };

Step vote(Warp &warp, const Instruction &line) {
  Step step = gather(warp, line);
  if (step != Step::Next)
    return step;
  uint32_t bits = warp.predicate(line.operands[1]) & warp.active;
  if (line.option == Ballot) {
    for (int lane = 0; lane < kLanes; ++lane)
      if (warp.active >> lane & 1)
        warp.setValue(line.operands[0], lane, bits);
    return Step::Next;
  }
  bool answer = line.option == All   ? bits == warp.active
                : line.option == Any ? bits != 0
                                     : bits == 0 || bits == warp.active;
  warp.setPredicate(line.operands[0], answer ? ~0u : 0);
  return Step::Next;
}

bool decodeVote(Line &line) {
  if (!line.take("sync"))
    return line.fail("it must be .sync");
  int how = line.takeOneOf({"all", "any", "uni", "ballot"});
  Type type;
  if (how < 0 || !line.takeType(type))
    return line.fail("unknown vote");
  line.out.option = how;
  return line.expect(3) && line.target(0, type) && line.source(1, kPredicate) &&
         line.source(2, kB32) && line.finish(vote);
}

/// match: the lanes that hold the same value; .all: all of them or none.
Step match(Warp &warp, const Instruction &line) {
  Step step = gather(warp, line);
  if (step != Step::Next)
    return step;
  const Operand &source = line.operands[line.targets];
  uint32_t masks[kLanes];
  bool all = true;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    masks[lane] = 0;
    for (int other = 0; other < kLanes; ++other)
      if ((warp.active >> other & 1) &&
          warp.value(source, other) == warp.value(source, lane))
        masks[lane] |= 1u << other;
    all &= masks[lane] == warp.active;
  }
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.setValue(line.operands[0], lane,
                    line.option && !all ? 0 : masks[lane]);
  if (line.targets == 2)
    warp.setPredicate(line.operands[1], all ? ~0u : 0);
  return Step::Next;
}

bool decodeMatch(Line &line) {
  Type type;
  line.out.option = line.take("all");
  if ((!line.out.option && !line.take("any")) || !line.take("sync") ||
      !line.takeType(type))
    return line.fail("unknown match");
  return line.expect(3) && targetPair(line, kB32) && line.source(1, type) &&
         line.source(2, kB32) && line.finish(match);
}

enum Reduction : uint8_t { Add, Least, Greatest, And, Or, Xor };

Step reduce(Warp &warp, const Instruction &line) {
  Step step = gather(warp, line);
  if (step != Step::Next)
    return step;
  const uint32_t *values = warp.lanes<uint32_t>(line.operands[1]);
  bool isSigned = line.type.kind == Type::Signed;
  int first = std::countr_zero(warp.active);
  uint32_t result = values[first];
  for (int lane = first + 1; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    uint32_t value = values[lane];
    bool less = isSigned ? int32_t(value) < int32_t(result) : value < result;
    switch (line.option) {
    case Add:
      result += value;
      break;
    case Least:
      result = less ? value : result;
      break;
    case Greatest:
      result = less ? result : value;
      break;
    case And:
      result &= value;
      break;
    case Or:
      result |= value;
      break;
    default:
      result ^= value;
    }
  }
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.setValue(line.operands[0], lane, result);
  return Step::Next;
}

bool decodeReduce(Line &line) {
  Type &type = line.out.type;
  if (!line.take("sync") || !line.takeType(type) || type.bits != 32 ||
      type.isFloat())
    return line.fail("it must be .sync and on integers of 32 bits");
  int how = line.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  if (how < 0)
    return line.fail("unknown reduction");
  line.out.option = how;
  return line.expect(3) && line.target(0, type) && line.source(1, type) &&
         line.source(2, kB32) && line.finish(reduce);
}

Step activeMask(Warp &warp, const Instruction &line) {
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.setValue(line.operands[0], lane, warp.active);
  return Step::Next;
}

bool decodeActiveMask(Line &line) {
  return line.take("b32") && line.expect(1) && line.target(0, kB32) &&
         line.finish(activeMask);
}

Step elect(Warp &warp, const Instruction &line) {
  Step step = gather(warp, line);
  if (step != Step::Next)
    return step;
  int leader = std::countr_zero(warp.active);
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.setValue(line.operands[0], lane, leader);
  if (line.targets == 2)
    warp.setPredicate(line.operands[1], 1u << leader);
  return Step::Next;
}

bool decodeElect(Line &line) {
  return line.take("sync") && line.expect(2) && targetPair(line, kB32) &&
         line.source(1, kB32) && line.finish(elect);
}

} // namespace

void addWarpInstructions(DecodeTable &table) {
  table["activemask"] = decodeActiveMask;
  table["elect"] = decodeElect;
  table["match"] = decodeMatch;
  table["redux"] = decodeReduce;
  table["shfl"] = decodeShuffle;
  table["vote"] = decodeVote;
}

} // namespace tenon::sim
