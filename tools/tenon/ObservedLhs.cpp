//===- ObservedLhs.cpp - What 8 bits make of a product's left operand ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/ObservedLhs.h"
#include "tools/tenon/Smoothing.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>

using namespace tenon;

namespace {

using Row = ObservedLhs::Row;

/// Errors of static scales over those of dynamic ones, beyond which a product
/// stays dynamic: of any one set, for the many rows of a decoder's prompt would
/// outvote the one of its step.
constexpr double mostTimesWorse = 1.25;
/// Errors of a convolution's results over these, beyond which it stays f32:
/// there are no dynamic ones.
constexpr double mostOfConv = 0.05;
/// What a weight is quantized to on either side of 0.
constexpr float largest = 127;

double square(double x) { return x * x; }

/// x as numbers from 0 to 255, and back.
float throughBytes(float x, float scale, float zero) {
  float number = std::nearbyint(x * (1 / scale)) + zero;
  return (std::clamp(number, 0.0f, 255.0f) - zero) * scale;
}

/// Channels of what a weight multiplies: rows of a matrix, but of a filter
/// [M, C, taps..].
int64_t channelsOf(const Weight &weight) {
  return weight.shape[weight.shape.size() > 2 ? 1 : 0];
}
int64_t columnsOf(const Weight &weight) {
  return weight.shape[weight.shape.size() > 2 ? 0 : 1];
}

/// What a filter's channel and tap are for all maps.
template <typename Body> void forEachTap(const Weight &filter, Body body) {
  size_t maps = size_t(filter.shape[0]), channels = size_t(filter.shape[1]);
  std::vector<float> all(filter.bytes().size() / sizeof(float)), row(maps);
  std::memcpy(all.data(), filter.bytes().data(), filter.bytes().size());
  size_t depth = all.size() / maps, taps = depth / channels;
  for (size_t k = 0; k < depth; ++k) {
    for (size_t map = 0; map < maps; ++map)
      row[map] = all[map * depth + k];
    body(k / taps, Row(row));
  }
}

/// Calls body(k, row) for a stored matrix of f32, and for a filter as that of
/// its taps and channels, with k the channel.
template <typename Body> void forEachRow(const Weight &weight, Body body) {
  if (weight.shape.size() > 2)
    return forEachTap(weight, body);
  std::vector<float> row(size_t(weight.shape[1]));
  const char *source = weight.bytes().data();
  for (int64_t k = 0; k < weight.shape[0]; ++k) {
    std::memcpy(row.data(), source, row.size() * sizeof(float));
    source += row.size() * sizeof(float);
    body(size_t(k), Row(row));
  }
}

} // namespace

ObservedLhs::ObservedLhs(std::vector<const Weight *> ofProducts, bool areShared,
                         size_t sets)
    : weights(std::move(ofProducts)), mayShift(!areShared && !isImage()),
      most(size_t(channelsOf(*weights.front())), 0), references(sets, 0) {}

void ObservedLhs::seeMagnitudes(Row row) {
  for (auto [most, x] : llvm::zip_equal(most, row))
    if (std::isfinite(x))
      most = std::max(most, std::fabs(x));
}

void ObservedLhs::chooseShifts() {
  addCandidate({});
  if (std::vector<int8_t> shifts = smoothing(); mayShift && !shifts.empty())
    addCandidate(std::move(shifts));
}

void ObservedLhs::addCandidate(std::vector<int8_t> shifts) {
  Candidate &candidate = candidates.emplace_back();
  candidate.weights = weightErrors(shifts);
  candidate.factors.assign(channels(), 1);
  candidate.errors.assign(references.size(), 0);
  for (auto [factor, shift] : llvm::zip(candidate.factors, shifts))
    factor = std::ldexp(1.0f, -shift);
  candidate.lhs.shifts = std::move(shifts);
}

void ObservedLhs::count(Row row) {
  for (Candidate &candidate : candidates)
    for (auto [x, factor] : llvm::zip_equal(row, candidate.factors))
      candidate.histogram.add(x * factor);
}

void ObservedLhs::chooseRanges(RangeChoice choice) {
  for (Candidate &candidate : candidates) {
    StaticLhs chosen = candidate.histogram.choose(choice);
    candidate.lhs.scale = chosen.scale;
    candidate.lhs.zero = chosen.zero;
  }
}

void ObservedLhs::measure(Row row, size_t set) {
  ++rows;
  isImage() ? measureWhole(row, set) : measureDynamic(row, set);
  for (Candidate &candidate : candidates)
    candidate.measure(row, set);
}

bool ObservedLhs::isKnown() const { return isImage() || rows >= fewestRows; }

bool ObservedLhs::isStatic() const {
  return isKnown() && timesWorse() <= (isImage() ? mostOfConv : mostTimesWorse);
}

const ObservedLhs::Candidate &ObservedLhs::bestCandidate() const {
  return *llvm::min_element(candidates, [&](auto &one, auto &other) {
    return timesWorse(one) < timesWorse(other);
  });
}

void ObservedLhs::Candidate::measure(Row row, size_t set) {
  double ofLhs = 0, squares = 0;
  for (size_t k = 0; k < row.size(); ++k) {
    float x = row[k] * factors[k];
    if (!std::isfinite(x))
      continue;
    ofLhs += square(x - throughBytes(x, lhs.scale, float(lhs.zero))) *
             weights.rows[k];
    squares += square(x);
  }
  errors[set] += ofLhs + squares * weights.steps;
}

ObservedLhs::WeightErrors
ObservedLhs::weightErrors(llvm::ArrayRef<int8_t> shifts) const {
  WeightErrors errors;
  errors.rows.assign(most.size(), 0);
  for (const Weight *weight : weights) {
    std::vector<float> columns(size_t(columnsOf(*weight)), 0);
    size_t rows = 0;
    forEachRow(*weight, [&](size_t k, Row row) {
      float factor = shifts.empty() ? 1 : std::ldexp(1.0f, shifts[k]);
      ++rows;
      for (auto [column, each] : llvm::zip_equal(columns, row)) {
        errors.rows[k] += square(each * factor);
        column = std::max(column, std::fabs(each * factor));
      }
    });
    // Each tap meets each number once.
    double taps = double(rows) / double(channelsOf(*weight));
    for (float column : columns)
      errors.steps += taps * square(column / largest) / 12;
  }
  return errors;
}

std::vector<int8_t> ObservedLhs::smoothing() const {
  std::vector<float> rows(most.size(), 0);
  for (const Weight *weight : weights)
    forEachRow(*weight, [&](size_t k, Row row) {
      for (float each : row)
        rows[k] = std::max(rows[k], std::fabs(each));
    });
  return smoothingShifts(most, rows);
}

double ObservedLhs::timesWorse(const Candidate &candidate) const {
  double most = 0;
  for (auto [error, reference] : llvm::zip_equal(candidate.errors, references))
    if (error > 0)
      most = std::max(most, error / reference);
  return std::sqrt(most);
}

void ObservedLhs::measureWhole(Row row, size_t set) {
  const WeightErrors &plain = candidates.front().weights;
  for (size_t k = 0; k < row.size(); ++k)
    if (std::isfinite(row[k]))
      references[set] += square(row[k]) * plain.rows[k];
}

void ObservedLhs::measureDynamic(Row row, size_t set) {
  const WeightErrors &plain = candidates.front().weights;
  // The steps of graph.quantize_rows.
  float low = 0, high = 0;
  for (float x : row)
    if (std::isfinite(x)) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
  if (low == high)
    return;
  float scale = (high - low) / 255;
  float zero = std::nearbyint(-low / scale);
  double ofLhs = 0, squares = 0;
  for (size_t k = 0; k < row.size(); ++k) {
    if (!std::isfinite(row[k]))
      continue;
    ofLhs += square(row[k] - throughBytes(row[k], scale, zero)) * plain.rows[k];
    squares += square(row[k]);
  }
  references[set] += ofLhs + squares * plain.steps;
}
