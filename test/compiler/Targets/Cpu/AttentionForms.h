//===- AttentionForms.h - Cases of attention -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_TARGETS_CPU_ATTENTIONFORMS_H
#define TENON_TEST_COMPILER_TARGETS_CPU_ATTENTIONFORMS_H

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <array>

namespace tenon::test {

using Dims = std::vector<std::string>;

/// An attention as it is asked for: sizes are symbols b, s, t or numbers.
struct Form {
  std::string schedule = "Attention", element = "f32";
  std::string batch = "b", queries = "s", keys = "t";
  int64_t heads = 2, keyHeads = 2, depth = 16, width = 16;
  bool keyMask = false, offsets = false, causal = false;
  std::vector<Dims> biases;
  std::string offset = "0", dead = "zero";
  double scale = 0.25, softcap = 0;
  int64_t window = 0;
  bool isWidened = false;      // Query, key and value, to f32.
  std::string narrow = "bf16"; // From that.
  bool isCache = false;   // Key and value are f32 that the kernel rounds to it.
  bool isRounded = false; // All three are.
  bool givesBf16 = false; // Turned to [b, s, heads, width].
  std::string stored;     // What key and value are in memory, if not f32; i8
                          // with scales of rows.
};

KernelCase attention(const Form &form, std::vector<Symbols> sizes);

/// Sizes for b, s and t.
std::vector<Symbols> sizesOf(std::vector<std::array<int64_t, 3>> all);

/// Every way to mask, alone and together.
std::vector<Form> masks();

} // namespace tenon::test

#endif // TENON_TEST_COMPILER_TARGETS_CPU_ATTENTIONFORMS_H
