//===- HopperKernels.cpp - Kernels of sm_90a to plant bugs in -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/bugs/Run.h"
#include "test/gpu/sim/TensorMap.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace tenon::sim;

namespace {
uint16_t toBrain(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float fromBrain(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float out;
  memcpy(&out, &bits, 4);
  return out;
}

std::vector<uint16_t> randomBrains(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> values;
  std::vector<uint16_t> out(count);
  for (uint16_t &each : out)
    each = toBrain(values(random));
  return out;
}

/// Parameters as they lie in memory.
class Parameters {
public:
  template <typename T> void add(const T &value) {
    place(&value, sizeof value, sizeof value);
  }
  /// A tensor of bf16, in boxes whose rows are 64 elements.
  void addMap(uint64_t address, std::vector<uint64_t> sizes, uint32_t rows) {
    TensorMap map;
    map.address = address;
    map.rank = uint32_t(sizes.size());
    map.elementBytes = 2;
    uint64_t stride = 2;
    for (uint32_t axis = 0; axis < map.rank; ++axis) {
      map.sizes[axis] = sizes[axis];
      map.strides[axis] = stride;
      map.box[axis] = axis == 0 ? 64 : axis == 1 ? rows : 1;
      stride *= sizes[axis];
    }
    map.swizzle = Swizzle::B128;
    char encoded[TensorMap::kBytes];
    map.encode(encoded);
    place(encoded, sizeof encoded, 64);
  }
  std::vector<char> bytes;

private:
  void place(const void *data, size_t size, size_t alignment) {
    size_t at = (bytes.size() + alignment - 1) / alignment * alignment;
    bytes.resize(at + size);
    memcpy(bytes.data() + at, data, size);
  }
};

/// The root of the sum of squared errors, relative to that of the results.
class Error {
public:
  void add(double value, double wanted) {
    errors += (value - wanted) * (value - wanted);
    squares += wanted * wanted;
  }
  bool isBelow(double bound) const {
    return std::sqrt(errors / squares) < bound; // False for NaNs.
  }

private:
  double errors = 0, squares = 0;
};

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
}
} // namespace

/// Ragged tiles in all directions; each of two clusters has two tiles, so that
/// the stages come round.
Outcome tenon::sim::runGemm(const std::string &text, Order order,
                            uint32_t seed) {
  constexpr uint32_t kM = 300, kN = 264, kK = 200;
  std::vector<uint16_t> a = randomBrains(kM * kK, 1),
                        b = randomBrains(kN * kK, 2),
                        bias = randomBrains(kN, 3);
  Run run(text);
  uint64_t aAt = run.give(a), bAt = run.give(b), biasAt = run.give(bias),
           cAt = run.allocate(kM * kN * 2);
  Parameters parameters;
  parameters.addMap(aAt, {kK, kM}, 128);
  parameters.addMap(bAt, {kK, kN}, 128);
  parameters.addMap(cAt, {kN, kM}, 64);
  parameters.add(biasAt);
  parameters.add(kM);
  parameters.add(kN);
  parameters.add(kK);
  Launch launch;
  launch.grid[0] = 4;
  launch.block[0] = 384;
  launch.dynamicShared = 231000;
  launch.order = order;
  launch.seed = seed;
  launch.parameters = parameters.bytes;
  run.perform(launch);
  if (!run.outcome.report.empty())
    return run.outcome;
  std::vector<uint16_t> c = run.take<uint16_t>(cAt, kM * kN);
  Error error;
  for (uint32_t m = 0; m < kM; ++m)
    for (uint32_t n = 0; n < kN; ++n) {
      double sum = fromBrain(bias[n]);
      for (uint32_t k = 0; k < kK; ++k)
        sum += double(fromBrain(a[m * kK + k])) * fromBrain(b[n * kK + k]);
      error.add(fromBrain(c[m * kN + n]), gelu(sum));
    }
  run.outcome.right = error.isBelow(5e-3);
  return run.outcome;
}

/// Two heads of queries share one of keys; the last blocks are not full.
Outcome tenon::sim::runAttention(const std::string &text, Order order,
                                 uint32_t seed) {
  constexpr uint32_t kRows = 200, kHeads = 2, kDepth = 128;
  std::vector<uint16_t> q = randomBrains(kHeads * kRows * kDepth, 1),
                        k = randomBrains(kRows * kDepth, 2),
                        v = randomBrains(kRows * kDepth, 3);
  Run run(text);
  uint64_t qAt = run.give(q), kAt = run.give(k), vAt = run.give(v),
           oAt = run.allocate(q.size() * 2);
  Parameters parameters;
  parameters.addMap(qAt, {kDepth, kRows, kHeads}, 128);
  parameters.addMap(kAt, {kDepth, kRows, 1}, 128);
  parameters.addMap(vAt, {kDepth, kRows, 1}, 128);
  parameters.addMap(oAt, {kDepth, kRows, kHeads}, 64);
  parameters.add(kRows);
  parameters.add(float(1.4426950408889634 / std::sqrt(double(kDepth))));
  parameters.add(kHeads);
  Launch launch;
  launch.grid[0] = (kRows + 127) / 128;
  launch.grid[1] = kHeads;
  launch.block[0] = 384;
  launch.dynamicShared = 166000;
  launch.order = order;
  launch.seed = seed;
  launch.parameters = parameters.bytes;
  run.perform(launch);
  if (!run.outcome.report.empty())
    return run.outcome;
  std::vector<uint16_t> o = run.take<uint16_t>(oAt, q.size());
  Error error;
  std::vector<double> weights(kRows), wanted(kDepth);
  for (uint32_t row = 0; row < kHeads * kRows; ++row) {
    double sum = 0;
    for (uint32_t j = 0; j < kRows; ++j) {
      double score = 0;
      for (uint32_t d = 0; d < kDepth; ++d)
        score += double(fromBrain(q[row * kDepth + d])) *
                 fromBrain(k[j * kDepth + d]);
      weights[j] = std::exp(score / std::sqrt(double(kDepth)));
      sum += weights[j];
    }
    std::fill(wanted.begin(), wanted.end(), 0);
    for (uint32_t j = 0; j < kRows; ++j)
      for (uint32_t d = 0; d < kDepth; ++d)
        wanted[d] += weights[j] / sum * fromBrain(v[j * kDepth + d]);
    for (uint32_t d = 0; d < kDepth; ++d)
      error.add(fromBrain(o[row * kDepth + d]), wanted[d]);
  }
  run.outcome.right = error.isBelow(1e-2);
  return run.outcome;
}
