//===- AttentionPanels.h - Keys and values as the products read them ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_ATTENTIONPANELS_H
#define TENON_COMPILER_TARGETS_CPU_ATTENTIONPANELS_H

#include "compiler/Targets/Cpu/AttentionTiles.h"
#include "compiler/Targets/Cpu/AttentionUnit.h"

namespace tenon::cpu {

/// A list's keys and values in a thread's scratch memory, as AttentionTiles.h
/// wants them. They are copied block by block when a unit first asks for them
/// and stay for the units that the thread works on next.
class AttentionPanels : AttentionUnit {
public:
  explicit AttentionPanels(const AttentionUnit &unit);

  /// At the start of a call of the kernel: what earlier calls of the same
  /// launch left in this scratch memory is there, and nothing else.
  void begin();
  /// For the current unit's list, of which nothing may be there yet.
  void start();
  /// Those of the block that starts with a key.
  void provide(Value block);

  /// A block's first panel of keys, and the distance to the next.
  Value keysAt(Value block);
  Value keyStep() { return e.number(depthSteps() * height); }
  /// The same of its values.
  Value valuesAt(Value block);
  Value valueStep() { return e.number(steps(keyBlock) * height); }

  /// What sums of products by a block's keys are multiplied by, and by its
  /// values, where those are of f16.
  enum Factor { OfKeys, OfValues };
  Value factorOf(Factor which, Value block) {
    return e.loadRaw(factorsAt(block), f32, e.number(which));
  }

  /// The steps that so many of a depth are, pairs where those are multiplied;
  /// and those of the keys' own, padded.
  int64_t steps(int64_t depth) { return usesPairs() ? depth / 2 : depth; }
  int64_t depthSteps() { return llvm::alignTo(steps(view.depth), depthStep); }

private:
  void copyKeys(Value from, Value to);
  void copyValues(Value from, Value to);
  void pairValues(Value from, Value to);
  // The same as matrices of bf16: keys that are not there have zeros as values.
  void roundKeys(Value from, Value to);
  void roundValues(Value from, Value to);
  /// Elements of two values side by side: words of two.
  Value pairsOf(Value first, Value second);
  /// Where the block's factors lie: behind its values.
  Value factorsAt(Value block) {
    return element(valuesAt(block), e.number(keyBlock * valueWords()));
  }
  void findFactors(Value from, Value to);
  /// Of a key or its value, that of its block included.
  Value scaleWith(const Scales &scales, Value key, Value up);
  /// What a key and its value take here, in words. Pairs leave room for
  /// factors.
  int64_t wordsOfBoth() {
    return keyWords() + valueWords() + (usesF16() ? 1 : 0);
  }
  int64_t keyWords() { return usesPairs() ? depthSteps() : view.keyWords(); }
  int64_t valueWords() { return steps(view.valueWords()); }

  /// What is there: the list, its first key and the one behind the last.
  enum Fact { List, From, To };
  Value fact(Fact which) {
    return e.loadRaw(area(areas.panels), e.b.getI64Type(), e.number(which));
  }
  void setFact(Fact which, Value value) {
    e.storeRaw(value, area(areas.panels), e.number(which));
  }

  int64_t height;
  Value keysUp, valuesUp; // Of the current block, of f16.
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_ATTENTIONPANELS_H
