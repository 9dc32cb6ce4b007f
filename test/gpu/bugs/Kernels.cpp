//===- Kernels.cpp - Real kernels to plant bugs in ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/bugs/Kernels.h"
#include "test/gpu/bugs/Run.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace tenon::sim;

namespace {
/// Small whole numbers, so that sums in any order are exact.
std::vector<float> wholeNumbers(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = float((i * 7 + 3) % 11) - 5;
  return values;
}

Outcome runBlockSum(const std::string &text, Order order, uint32_t seed) {
  constexpr size_t kCount = 300; // The third block is not full.
  std::vector<float> values = wholeNumbers(kCount);
  float sum = 0;
  for (float value : values)
    sum += value;
  Run run(text);
  uint64_t in = run.give(values), out = run.give(std::vector<float>{0});
  run.launch({in, out, kCount}, 3, 128, order, seed);
  run.outcome.right = run.take<float>(out, 1)[0] == sum;
  return run.outcome;
}

Outcome runReverseTiles(const std::string &text, Order order, uint32_t seed) {
  constexpr size_t kTiles = 5, kPieces = 128;
  std::vector<uint32_t> values(kTiles * kPieces * 4), wanted(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = uint32_t(i * 2654435761u);
  for (size_t i = 0; i < values.size(); ++i) {
    size_t tile = i / (kPieces * 4), piece = i / 4 % kPieces;
    wanted[i] = values[(tile * kPieces + kPieces - 1 - piece) * 4 + i % 4];
  }
  Run run(text);
  uint64_t in = run.give(values), out = run.allocate(values.size() * 4);
  run.launch({in, out, kTiles}, 1, kPieces, order, seed);
  run.outcome.right = run.take<uint32_t>(out, values.size()) == wanted;
  return run.outcome;
}

uint16_t halfOf(float value) { // Of small whole numbers.
  auto number = _Float16(value);
  uint16_t bits;
  memcpy(&bits, &number, 2);
  return bits;
}

Outcome runProduct(const std::string &text, Order order, uint32_t seed) {
  constexpr size_t kRows = 16, kColumns = 64, kDepth = 48;
  std::vector<float> left = wholeNumbers(kRows * kDepth),
                     right = wholeNumbers(kColumns * kDepth),
                     wanted(kRows * kColumns);
  for (size_t m = 0; m < kRows; ++m)
    for (size_t n = 0; n < kColumns; ++n)
      for (size_t k = 0; k < kDepth; ++k)
        wanted[m * kColumns + n] +=
            left[m * kDepth + k] * right[n * kDepth + k];
  std::vector<uint16_t> a, b;
  for (float value : left)
    a.push_back(halfOf(value));
  for (float value : right)
    b.push_back(halfOf(value));
  Run run(text);
  uint64_t aAt = run.give(a), bAt = run.give(b),
           out = run.allocate(wanted.size() * 4);
  run.launch({aAt, bAt, out, kDepth}, 1, 32, order, seed);
  run.outcome.right = run.take<float>(out, wanted.size()) == wanted;
  return run.outcome;
}
} // namespace

const std::vector<TestKernel> &tenon::sim::testKernels() {
  static const std::vector<TestKernel> kernels = {
      {"block_sum", runBlockSum}, {"reverse_tiles", runReverseTiles},
      {"product", runProduct},    {"gemm_bf16_bias_gelu", runGemm},
      {"fa_fwd", runAttention},
  };
  return kernels;
}

const TestKernel &tenon::sim::testKernel(const std::string &name) {
  for (const TestKernel &kernel : testKernels())
    if (kernel.name == name)
      return kernel;
  ADD_FAILURE() << "there is no kernel " << name;
  return testKernels().front();
}

std::string tenon::sim::textOf(const TestKernel &kernel) {
  std::ifstream file(std::string(TENON_TEST_BUGS) + "/" + kernel.name + ".ptx");
  return std::string(std::istreambuf_iterator<char>(file), {});
}
