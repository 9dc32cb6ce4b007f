//===- Moves.cpp - mov, cvta, isspacep ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Lanes.h"
#include "test/gpu/sim/Text.h"

#include <bit>
#include <chrono>

namespace tenon::sim {

namespace {

constexpr Type kPredicate{Type::Predicate, 1};

struct Copy {
  template <typename T> static T apply(T a, const Instruction &) { return a; }
};

Step movePredicate(Warp &warp, const Instruction &line) {
  warp.setPredicate(line.operands[0], warp.predicate(line.operands[1]));
  return Step::Next;
}

/// mov.b64 {lo, hi}, whole.
Step unpack(Warp &warp, const Instruction &line) {
  const Operand &whole = line.operands[line.targets];
  int part = line.type.bits / line.targets;
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) {
      uint64_t value = warp.value(whole, lane);
      for (int i = 0; i < line.targets; ++i)
        warp.setValue(line.operands[i], lane, value >> i * part);
    }
  return Step::Next;
}

/// mov.b64 whole, {lo, hi}.
Step pack(Warp &warp, const Instruction &line) {
  int count = line.operandCount - 1, part = line.type.bits / count;
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) {
      uint64_t value = 0;
      for (int i = 0; i < count; ++i)
        value |= warp.value(line.operands[i + 1], lane) << i * part;
      warp.setValue(line.operands[0], lane, value);
    }
  return Step::Next;
}

Step readClock(Warp &warp, const Instruction &line) {
  uint64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.setValue(line.operands[0], lane, now);
  return Step::Next;
}

bool isClock(std::string_view name) {
  for (std::string_view known :
       {"%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo",
        "%globaltimer_hi"})
    if (name == known)
      return true;
  return false;
}

bool decodeMove(Line &line) {
  Type &type = line.out.type;
  if (!line.takeType(type) || !line.expect(2))
    return false;
  if (type.kind == Type::Predicate)
    return line.target(0, type) && line.source(1, type) &&
           line.finish(movePredicate);
  const Node &to = line.node(0), &from = line.node(1);
  uint8_t count = 0;
  if (to.kind == Node::List) {
    if (to.items.size() < 2 || type.bits % to.items.size())
      return line.fail("the parts do not make up the whole");
    Type part{Type::Bits, uint8_t(type.bits / to.items.size())};
    return line.targetList(0, part, count) && line.source(1, type) &&
           line.finish(unpack);
  }
  if (!line.target(0, type))
    return false;
  if (from.kind == Node::List) {
    if (from.items.size() < 2 || type.bits % from.items.size())
      return line.fail("the parts do not make up the whole");
    Type part{Type::Bits, uint8_t(type.bits / from.items.size())};
    return line.sourceList(1, part, count) && line.finish(pack);
  }
  if (from.kind == Node::Name && isClock(from.name))
    return line.finish(readClock);
  Type bits{Type::Bits, uint8_t(type.bits * type.values)};
  // mov of a special register may be wider than it.
  if (!line.source(1, type))
    return false;
  return line.finish(bits.bits == 8 ? unary<Copy, uint8_t, uint8_t>
                                    : integerUnary<Copy>(bits));
}

uint64_t windowOf(Space space) {
  switch (space) {
  case Space::Shared:
    return window::kShared;
  case Space::Local:
    return window::kLocal;
  case Space::Constant:
    return window::kConstant;
  case Space::Parameter:
    return window::kParameter;
  default:
    return 0;
  }
}

Step toGeneric(Warp &warp, const Instruction &line) {
  uint64_t window = windowOf(line.space);
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.setValue(line.operands[0], lane,
                    warp.value(line.operands[1], lane) | window);
  return Step::Next;
}

Step fromGeneric(Warp &warp, const Instruction &line) {
  uint64_t window = windowOf(line.space);
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1) {
      uint64_t address = warp.value(line.operands[1], lane);
      // A null pointer or one that is never used may be of any space.
      bool known = (address & ~window::kMask) == window;
      warp.setValue(line.operands[0], lane,
                    known ? address & window::kMask : ~uint64_t(0) >> 8);
    }
  return Step::Next;
}

bool takeSpace(Line &line, Space &space) {
  switch (line.takeOneOf({"global", "shared", "shared::cta", "local", "const",
                          "param", "param::entry", "shared::cluster"})) {
  case 0:
    space = Space::Global;
    return true;
  case 1:
  case 2:
  case 7:
    space = Space::Shared;
    return true;
  case 3:
    space = Space::Local;
    return true;
  case 4:
    space = Space::Constant;
    return true;
  case 5:
  case 6:
    space = Space::Parameter;
    return true;
  default:
    return line.fail("an address space is expected");
  }
}

bool decodeConvertAddress(Line &line) {
  Type &type = line.out.type;
  bool to = line.take("to");
  return line.takeType(type) && takeSpace(line, line.out.space) &&
         line.expect(2) && line.target(0, type) && line.source(1, type) &&
         line.finish(to ? fromGeneric : toGeneric);
}

Step isInSpace(Warp &warp, const Instruction &line) {
  uint64_t window = windowOf(line.space);
  const uint64_t *address = warp.lanes<uint64_t>(line.operands[1]);
  uint32_t bits = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    bits |= uint32_t((address[lane] & ~window::kMask) == window) << lane;
  warp.setPredicate(line.operands[0], bits);
  return Step::Next;
}

bool decodeIsInSpace(Line &line) {
  return takeSpace(line, line.out.space) && line.expect(2) &&
         line.target(0, kPredicate) && line.source(1, {Type::Bits, 64}) &&
         line.finish(isInSpace);
}

} // namespace

void addMoveInstructions(DecodeTable &table) {
  table["cvta"] = decodeConvertAddress;
  table["isspacep"] = decodeIsInSpace;
  table["mov"] = decodeMove;
}

} // namespace tenon::sim
