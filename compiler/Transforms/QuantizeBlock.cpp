//===- QuantizeBlock.cpp - A few numbers in few bits ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/QuantizeBlock.h"
#include "compiler/Weights/WeightStore.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <iterator>

namespace tenon {
namespace {

/// To an integer, ties to even; exact for magnitudes below 2^22.
float nearest(float value) { return (value + roundingStep) - roundingStep; }

/// What numbers by a scale come to: the scale that suits them best, and their
/// error by it.
struct Trial {
  float scale = 0;
  double error = 0;
};

/// Sums are of every so many values each, as vectors add them up.
constexpr size_t lanes = 8;

float sumOf(const float (&sums)[lanes]) {
  float halves[lanes / 2];
  for (size_t i = 0; i < lanes / 2; ++i)
    halves[i] = sums[i] + sums[i + lanes / 2];
  return (halves[0] + halves[2]) + (halves[1] + halves[3]);
}

/// `values` are whole lanes, `all` the sum of their squares.
Trial tryGrid(llvm::ArrayRef<float> values, double all,
              const NumberGrid &grid) {
  float inverse = 1 / grid.scale, low = grid.low, high = grid.high;
  float products[lanes] = {}, squares[lanes] = {};
  for (size_t i = 0; i < values.size(); i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane) {
      float value = values[i + lane];
      float q = nearest(std::clamp(value * inverse, low, high));
      products[lane] += value * q;
      squares[lane] += q * q;
    }
  double product = sumOf(products), square = sumOf(squares);
  if (square == 0)
    return {0, all};
  float best = widenBf16(roundToBf16(float(product / square)));
  // Of x - q * s, squared and summed.
  double s = best;
  return {best, all - 2 * s * product + s * s * square};
}

float finite(float value) { return std::isfinite(value) ? value : 0; }

/// The grid of the least error.
class Search {
public:
  explicit Search(llvm::ArrayRef<float> values) : values(values) {
    for (float value : values)
      all += double(value) * value;
  }

  void consider(const NumberGrid &grid) {
    if (!(std::fabs(grid.scale) >= FLT_MIN) || !std::isfinite(1 / grid.scale))
      return;
    Trial trial = tryGrid(values, all, grid);
    if (found && trial.error >= best.error)
      return;
    found = true;
    best = {roundToBf16(trial.scale), grid.zero, trial.error};
    by = grid;
  }

  QuantizedBlock write(llvm::MutableArrayRef<int8_t> numbers) const {
    if (!found) {
      std::fill(numbers.begin(), numbers.end(), int8_t(0));
      return {};
    }
    float inverse = 1 / by.scale;
    for (auto [value, number] : llvm::zip(values, numbers))
      number = int8_t(nearest(std::clamp(value * inverse, by.low, by.high)) +
                      float(best.zero));
    return best;
  }

private:
  llvm::ArrayRef<float> values;
  double all = 0; // Of their squares.
  bool found = false;
  QuantizedBlock best;
  NumberGrid by; // Numbers are rounded by this; their scale suits them best.
};

} // namespace

llvm::SmallVector<NumberGrid, 8> gridsFor(float low, float high,
                                          BlockForm form) {
  llvm::SmallVector<NumberGrid, 8> grids;
  float extreme = high > -low ? high : low;
  switch (form) {
  case BlockForm::Bytes:
    for (float most : {127.0f, 125.0f, 122.0f})
      grids.push_back({extreme / most, -128, 127, 0});
    break;
  case BlockForm::Nibbles:
    // The larger end of the range is for the larger end of the values: scales
    // may be negative.
    for (float most : {6.25f, 6.75f, 7.25f, 7.5f, 7.75f, 8.0f, 8.25f, 8.75f})
      grids.push_back({-extreme / most, -8, 7, 0});
    break;
  case BlockForm::NibblesFromZero:
    for (float part : {1.0f, 0.95f, 0.9f, 0.85f, 0.8f, 0.72f}) {
      float scale = (high - low) * part / 15;
      float zero = scale == 0
                       ? 0
                       : std::clamp(nearest(-low * part / scale), 0.0f, 15.0f);
      grids.push_back({scale, -zero, 15 - zero, int8_t(zero)});
    }
    break;
  }
  return grids;
}

QuantizedBlock quantizeBlock(llvm::ArrayRef<float> given, BlockForm form,
                             llvm::MutableArrayRef<int8_t> numbers) {
  llvm::SmallVector<float, 256> values(given);
  values.resize(llvm::alignTo(values.size(), lanes), 0.0f);
  float lows[lanes] = {}, highs[lanes] = {};
  for (size_t i = 0; i < values.size(); i += lanes)
    for (size_t lane = 0; lane < lanes; ++lane) {
      float value = values[i + lane] = finite(values[i + lane]);
      lows[lane] = std::min(lows[lane], value);
      highs[lane] = std::max(highs[lane], value);
    }
  float low = *std::min_element(std::begin(lows), std::end(lows));
  float high = *std::max_element(std::begin(highs), std::end(highs));
  Search search(values);
  for (const NumberGrid &grid : gridsFor(low, high, form))
    search.consider(grid);
  return search.write(numbers);
}

} // namespace tenon
