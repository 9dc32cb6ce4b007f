//===- Access.cpp - ld, st, prefetch --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Access.h"
#include "test/gpu/sim/Block.h"
#include "test/gpu/sim/Decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tenon::sim {

namespace {

/// One element, extended to a register of any size.
uint64_t extend(Type type, const char *source) {
  switch (type.bytes()) {
  case 1: {
    uint8_t value = *source;
    return type.kind == Type::Signed ? uint64_t(int64_t(int8_t(value))) : value;
  }
  case 2: {
    uint16_t value;
    memcpy(&value, source, 2);
    return type.kind == Type::Signed ? uint64_t(int64_t(int16_t(value)))
                                     : value;
  }
  case 4: {
    uint32_t value;
    memcpy(&value, source, 4);
    return type.kind == Type::Signed ? uint64_t(int64_t(int32_t(value)))
                                     : value;
  }
  default: {
    uint64_t value;
    memcpy(&value, source, 8);
    return value;
  }
  }
}

uint64_t addressOf(Warp &warp, const Instruction &line, const Operand &base,
                   int lane) {
  uint64_t address = warp.value(base, lane) + line.immediate;
  return base.bytes == 4 ? uint32_t(address) : address;
}

Step load(Warp &warp, const Instruction &line) {
  const Operand &base = line.operands[line.targets];
  uint32_t size = line.type.bytes(), bytes = size * line.targets;
  uint64_t addresses[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    addresses[lane] = addressOf(warp, line, base, lane);
    const char *source = warp.access(line, line.space, addresses[lane], bytes,
                                     lane, Warp::Use::Read);
    if (!source)
      return Step::Failed;
    for (int i = 0; i < line.targets; ++i)
      warp.setValue(line.operands[i], lane,
                    extend(line.type, source + i * size));
  }
  countTraffic(warp, line.space, addresses, bytes, false);
  return Step::Next;
}

Step store(Warp &warp, const Instruction &line) {
  const Operand &base = line.operands[0];
  int count = line.operandCount - 1;
  uint32_t size = line.type.bytes(), bytes = size * count;
  uint64_t addresses[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    addresses[lane] = addressOf(warp, line, base, lane);
    alignas(16) char data[32];
    for (int i = 0; i < count; ++i) {
      uint64_t value = warp.value(line.operands[i + 1], lane);
      memcpy(data + i * size, &value, size);
    }
    warp.stored = data;
    char *target = warp.access(line, line.space, addresses[lane], bytes, lane,
                               Warp::Use::Write);
    if (!target)
      return Step::Failed;
    memcpy(target, data, bytes);
  }
  countTraffic(warp, line.space, addresses, bytes, true);
  return Step::Next;
}

/// Cache hints and memory orders say nothing about values.
void takeHints(Line &line) {
  while (line.takeOneOf({"weak",
                         "relaxed",
                         "acquire",
                         "release",
                         "volatile",
                         "cta",
                         "cluster",
                         "gpu",
                         "sys",
                         "ca",
                         "cg",
                         "cs",
                         "lu",
                         "cv",
                         "wb",
                         "wt",
                         "nc",
                         "L1::evict_normal",
                         "L1::evict_unchanged",
                         "L1::evict_first",
                         "L1::evict_last",
                         "L1::no_allocate",
                         "L2::64B",
                         "L2::128B",
                         "L2::256B",
                         "L2::evict_first",
                         "L2::evict_last",
                         "L2::evict_normal",
                         "unified"}) >= 0)
    continue;
}

bool takeShape(Line &line, int &count) {
  Instruction &out = line.out;
  if (!line.takeType(out.type))
    return false;
  count = line.take("v2") ? 2 : line.take("v4") ? 4 : line.take("v8") ? 8 : 1;
  if (out.type.bits > 64 || out.type.bytes() * count > 32)
    return line.fail("the access is too wide");
  switch (line.takeOneOf({"global", "shared", "shared::cta", "shared::cluster",
                          "local", "const", "param", "param::entry",
                          "param::func"})) {
  case 0:
    out.space = Space::Global;
    break;
  case 1:
  case 2:
    out.space = Space::Shared;
    break;
  case 3:
    out.space = Space::Cluster;
    break;
  case 4:
    out.space = Space::Local;
    break;
  case 5:
    out.space = Space::Constant;
    break;
  case 6:
  case 7:
  case 8:
    out.space = Space::Parameter;
    break;
  default:
    out.space = Space::Generic;
  }
  takeHints(line);
  return true;
}

/// .param is the launch's for the kernel's own, else the thread's.
void placeParameters(Line &line, const Node &node) {
  if (line.out.space != Space::Parameter || node.kind != Node::Address)
    return;
  Symbol symbol = line.decoder.findSymbol(node.name);
  if (symbol.kind == Symbol::Local ||
      (symbol.kind == Symbol::None && !line.decoder.inEntry()))
    line.out.space = Space::Local;
}

bool decodeLoad(Line &line) {
  int count;
  uint8_t given;
  if (!takeShape(line, count) ||
      !line.targetList(0, line.out.type, given, true))
    return false;
  if (given != count)
    return line.fail("the list has not the vector's length");
  placeParameters(line, line.node(1));
  return line.expect(2) &&
         line.address(1, line.out.space, line.out.immediate) &&
         line.finish(load);
}

/// What ptxas does with these is not what PTX says.
bool storesPartOfFloat(Line &line) {
  auto isFloat = [&](const Node &source) {
    const Operand *made = source.kind == Node::Name
                              ? line.decoder.findRegister(source.name)
                              : nullptr;
    return made && made->bytes > line.out.type.bytes() &&
           line.decoder.isOfFloats(source.name);
  };
  const Node &source = line.node(1);
  return isFloat(source) ||
         std::any_of(source.items.begin(), source.items.end(), isFloat);
}

bool decodeStore(Line &line) {
  int count;
  uint8_t given;
  if (!takeShape(line, count) || !line.expect(2))
    return false;
  placeParameters(line, line.node(0));
  Space space = line.out.space;
  if (space == Space::Constant || space == Space::Parameter)
    return line.fail("stores into memory that is constant");
  if (!line.address(0, space, line.out.immediate) ||
      !line.sourceList(1, line.out.type, given, true))
    return false;
  if (given != count)
    return line.fail("the list has not the vector's length");
  if (storesPartOfFloat(line))
    return line.fail("stores a part of a register that an instruction of "
                     "floats made, which ptxas converts to an integer first");
  line.decoder.noteStore(space, line.out.type.bytes() * count);
  return line.finish(store);
}

Step nothing(Warp &, const Instruction &) { return Step::Next; }

bool decodePrefetch(Line &line) {
  takeHints(line);
  line.takeOneOf({"global", "local", "const", "param"});
  line.takeOneOf({"L1", "L2"});
  line.take("tensormap");
  return line.expect(1) && line.address(0, Space::Global, line.out.immediate) &&
         line.finish(nothing);
}

} // namespace

void countTraffic(Warp &warp, Space space, const uint64_t *addresses,
                  uint32_t bytes, bool store) {
  Counts &counts = warp.block.state.counts;
  uint64_t total = uint64_t(bytes) * std::popcount(warp.active);
  int first = std::countr_zero(warp.active);
  if (space == Space::Generic)
    space = spaceOf(addresses[first]);
  if (space == Space::Global) {
    (store ? counts.globalStoreBytes : counts.globalLoadBytes) += total;
    counts.globalSectors += countSectors(warp.active, addresses, bytes);
  } else if (space == Space::Shared || space == Space::Cluster) {
    (store ? counts.sharedStoreBytes : counts.sharedLoadBytes) += total;
    counts.bankConflicts += countConflicts(warp.active, addresses, bytes);
  }
}

void addAccessInstructions(DecodeTable &table) {
  table["ld"] = table["ldu"] = decodeLoad;
  table["prefetch"] = table["prefetchu"] = decodePrefetch;
  table["st"] = decodeStore;
}

} // namespace tenon::sim
