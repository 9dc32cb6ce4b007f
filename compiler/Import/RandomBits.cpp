//===- RandomBits.cpp - Bits that look random, by place -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/RandomBits.h"

using namespace mlir;

namespace tenon {
namespace {

/// Arithmetic of words.
class Words {
public:
  explicit Words(Emitter &emitter)
      : emitter(emitter), type(emitter.unsignedInteger(32)) {}

  Value constant(uint32_t value) { return emitter.scalar(type, value); }
  Value exclusiveOr(Value lhs, Value rhs) {
    return emitter.emit<graph::BitXorOp>({lhs, rhs});
  }
  Value rotated(Value word, unsigned bits) {
    Value up = emitter.emit<graph::ShiftLeftOp>({word, constant(bits)});
    Value down = emitter.emit<graph::ShiftRightOp>({word, constant(32 - bits)});
    return emitter.emit<graph::BitOrOp>({up, down});
  }
  /// The low bits of integers.
  Value of(Value integers) { return emitter.cast(integers, type); }

private:
  Emitter &emitter;
  Type type;
};

/// What a number becomes so that those of neighbours have nothing in common
/// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
/// 2014).
uint64_t scattered(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

/// The number of the step, of loops inside of loops one made of all of theirs.
Value stepWord(Emitter &emitter) {
  Words words(emitter);
  Value word;
  for (graph::Expr step : emitter.state.countedSteps) {
    Value number = emitter.sizesVector({step}, emitter.integer(64));
    number = words.of(emitter.reshape(number, {}));
    if (word)
      number = emitter.add(emitter.mul(word, 0x9e3779b1), number);
    word = number;
  }
  return word ? word : words.constant(0);
}

} // namespace

RandomBits constantKey(Emitter &emitter, uint32_t low, uint32_t high) {
  Words words(emitter);
  return {words.constant(low), words.constant(high)};
}

RandomBits nextKey(Emitter &emitter) {
  ImportState &state = emitter.state;
  uint64_t number = scattered(state.draws++);
  uint32_t low = uint32_t(number), high = uint32_t(number >> 32);
  if (!state.seedInput)
    return constantKey(emitter, low ^ uint32_t(state.seed),
                       high ^ uint32_t(state.seed >> 32));
  Words words(emitter);
  Type ui64 = emitter.unsignedInteger(64);
  Value seed = emitter.emit<graph::BitcastOp>(state.seedInput, {},
                                              graph::tensorOf({}, ui64));
  Value upper =
      emitter.emit<graph::ShiftRightOp>({seed, emitter.scalar(ui64, 32)});
  return {words.exclusiveOr(words.of(seed), words.constant(low)),
          words.exclusiveOr(words.of(upper), words.constant(high))};
}

RandomBits randomBits(Emitter &emitter, RandomBits key, graph::Expr count) {
  constexpr unsigned rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  Words words(emitter);
  Value third =
      words.exclusiveOr(words.exclusiveOr(key.first, key.second),
                        words.constant(0x1bd11bda));
  Value keys[3] = {key.first, key.second, third};
  Value x = words.of(emitter.iota(count, emitter.integer(64)));
  Value y = stepWord(emitter);
  x = emitter.add(x, keys[0]);
  y = emitter.add(y, keys[1]);
  for (unsigned group = 0; group < 5; ++group) {
    for (unsigned bits : rotations[group % 2]) {
      x = emitter.add(x, y);
      y = words.exclusiveOr(words.rotated(y, bits), x);
    }
    x = emitter.add(x, keys[(group + 1) % 3]);
    y = emitter.add(emitter.add(y, keys[(group + 2) % 3]), group + 1);
  }
  return {x, y};
}

} // namespace tenon
