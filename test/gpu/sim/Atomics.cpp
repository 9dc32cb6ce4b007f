//===- Atomics.cpp - atom, red --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Access.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/FloatFormats.h"

#include <cmath>
#include <cstring>

namespace tenon::sim {

namespace {

enum Operation : uint8_t {
  And,
  Or,
  Xor,
  Exchange,
  Add,
  Increment,
  Decrement,
  Least,
  Greatest,
  CompareAndSwap
};

template <typename T> T integerResult(Operation how, T old, T value) {
  switch (how) {
  case And:
    return old & value;
  case Or:
    return old | value;
  case Xor:
    return old ^ value;
  case Exchange:
    return value;
  case Add:
    return static_cast<T>(uint64_t(old) + uint64_t(value));
  case Increment:
    return old >= value ? 0 : old + 1;
  case Decrement:
    return old == 0 || old > value ? value : old - 1;
  case Least:
    return old < value ? old : value;
  case Greatest:
    return old > value ? old : value;
  default:
    return old;
  }
}

uint64_t narrowResult(Type type, uint64_t old, uint64_t value) {
  uint64_t result = 0;
  Type one = type;
  one.values = 1;
  for (int i = 0; i < type.values; ++i) {
    uint64_t mask = (uint64_t(1) << type.bits) - 1;
    double sum = oddSum(decodeFloat(one, old >> i * type.bits & mask),
                        decodeFloat(one, value >> i * type.bits & mask));
    result |= encodeFloat(one, sum, Rounding::Even, false) << i * type.bits;
  }
  return result;
}

uint64_t combine(Type type, Operation how, uint64_t old, uint64_t value) {
  if (how == Exchange)
    return value;
  if (type.isFloat()) { // Sums alone.
    if (type.bits == 64)
      return std::bit_cast<uint64_t>(std::bit_cast<double>(old) +
                                     std::bit_cast<double>(value));
    if (type.bits == 32)
      return floatToBits(
          canonical(bitsToFloat(uint32_t(old)) + bitsToFloat(uint32_t(value))));
    return narrowResult(type, old, value);
  }
  bool isSigned = type.kind == Type::Signed;
  if (type.bits == 32)
    return isSigned ? uint32_t(integerResult<int32_t>(how, old, value))
                    : integerResult<uint32_t>(how, old, value);
  return isSigned ? uint64_t(integerResult<int64_t>(how, old, value))
                  : integerResult<uint64_t>(how, old, value);
}

/// Operands: [result], address, value, [value to swap in]. Lanes go in order.
Step change(Warp &warp, const Instruction &line) {
  const Operand *operands = line.operands + line.targets;
  Operation how = Operation(line.option);
  uint32_t bytes = line.type.bytes();
  uint64_t addresses[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    uint64_t address = warp.value(operands[0], lane) + line.immediate;
    if (operands[0].bytes == 4)
      address = uint32_t(address);
    addresses[lane] = address;
    char *place =
        warp.access(line, line.space, address, bytes, lane, Warp::Use::Atomic);
    if (!place)
      return Step::Failed;
    uint64_t old = 0, value = warp.value(operands[1], lane), fresh;
    memcpy(&old, place, bytes);
    if (how == CompareAndSwap)
      fresh = old == value ? warp.value(operands[2], lane) : old;
    else
      fresh = combine(line.type, how, old, value);
    memcpy(place, &fresh, bytes);
    if (line.targets)
      warp.setValue(line.operands[0], lane, old);
  }
  countTraffic(warp, line.space, addresses, bytes, true);
  return Step::Next;
}

bool decodeAtomic(Line &line) {
  Instruction &out = line.out;
  if (!line.takeType(out.type))
    return false;
  int order = line.takeOneOf({"relaxed", "acquire", "release", "acq_rel"});
  out.counts[0] = order == 1 || order == 3;
  out.counts[1] = order == 2 || order == 3;
  int scope = line.takeOneOf({"cta", "cluster", "gpu", "sys"});
  out.second = scope != 0 && scope != 1; // The device's.
  line.take("noftz");
  int space =
      line.takeOneOf({"global", "shared", "shared::cta", "shared::cluster"});
  out.space = space < 0    ? Space::Generic
              : space == 0 ? Space::Global
              : space == 3 ? Space::Cluster
                           : Space::Shared;
  int how = line.takeOneOf(
      {"and", "or", "xor", "exch", "add", "inc", "dec", "min", "max", "cas"});
  if (how < 0)
    return line.fail("unknown operation");
  out.option = how;
  bool swaps = how == CompareAndSwap;
  if (out.type.isFloat() ? how != Add
                         : out.type.bytes() < 4 && !swaps && how != Exchange)
    return line.fail("no such operation on this type");
  size_t at = 0;
  if (line.opcode() == "atom" && !line.target(at++, out.type))
    return false;
  if (!line.expect(at + (swaps ? 3 : 2)) ||
      !line.address(at, out.space, out.immediate) ||
      !line.source(at + 1, out.type) ||
      (swaps && !line.source(at + 2, out.type)))
    return false;
  line.decoder.noteStore(out.space, out.type.bytes());
  return line.finish(change);
}

} // namespace

void addAtomicInstructions(DecodeTable &table) {
  table["atom"] = table["red"] = decodeAtomic;
}

} // namespace tenon::sim
