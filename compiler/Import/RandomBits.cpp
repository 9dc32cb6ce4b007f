//===- RandomBits.cpp - Bits that look random, by place -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/RandomBits.h"

using namespace mlir;

namespace tenon {
namespace {

Type ui64(Emitter &emitter) { return emitter.unsignedInteger(64); }

/// What a number becomes so that those of neighbours have nothing in common
/// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
/// 2014).
uint64_t scattered(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

/// i64 as ui64.
Value unsignedBits(Emitter &emitter, Value bits) {
  Emitter::Exprs dims = emitter.dimsOf(bits);
  if (emitter.failed())
    return {};
  return emitter.emit<graph::BitcastOp>(bits, {},
                                        graph::tensorOf(dims, ui64(emitter)));
}

/// The number of the step, in the second half; of loops inside of loops one
/// made of all of theirs. Null outside of loops.
Value stepBits(Emitter &emitter) {
  Value bits;
  for (graph::Expr step : emitter.state.countedSteps) {
    Value number = emitter.sizesVector({step}, emitter.integer(64));
    number = unsignedBits(emitter, emitter.reshape(number, {}));
    if (bits)
      number = emitter.add(emitter.mul(bits, 0x9e3779b1), number);
    bits = number;
  }
  return bits ? emitter.mul(bits, 0x1p32) : bits;
}

} // namespace

Value constantKey(Emitter &emitter, uint64_t key) {
  // A scalar is made of a double, which half of the bits fit.
  Value high = emitter.scalar(ui64(emitter), double(key >> 32));
  return emitter.add(emitter.mul(high, 0x1p32), double(key & 0xffffffff));
}

Value nextKey(Emitter &emitter) {
  ImportState &state = emitter.state;
  uint64_t number = scattered(state.draws++);
  if (!state.seedInput)
    return constantKey(emitter, number ^ state.seed);
  return emitter.emit<graph::BitXorOp>(
      {unsignedBits(emitter, state.seedInput), constantKey(emitter, number)});
}

Value randomBits(Emitter &emitter, Value key, graph::Expr count) {
  Value counter =
      unsignedBits(emitter, emitter.iota(count, emitter.integer(64)));
  if (Value step = stepBits(emitter))
    counter = emitter.add(counter, step);
  return emitter.emit<graph::RandomBitsOp>({counter, key});
}

} // namespace tenon
