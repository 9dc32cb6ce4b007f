//===- SweepValues.cpp - What a sweep's kernels read and should give ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/run/SweepValues.h"
#include "runtime/tenon.h"
#include "test/gpu/run/Agreement.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

using namespace tenon::trial;

namespace {

constexpr int64_t steps = 64, samples = 96;

/// A few numbers that look like none in particular.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 2 + 1) {}
  uint64_t next() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state * 0x2545f4914f6cdd1dull >> 32;
  }

private:
  uint64_t state;
};

/// The bits of k / 64 in a type of floats.
uint32_t bitsOf(uint32_t dtype, int64_t k) {
  auto single = std::bit_cast<uint32_t>(float(k) / float(steps));
  if (dtype == TENON_BF16)
    return single >> 16;
  if (dtype != TENON_F16 || k == 0)
    return single;
  // Exact, and none of them is subnormal.
  uint32_t exponent = (single >> 23 & 255) - 112;
  return (single >> 16 & 0x8000) | exponent << 10 | (single >> 13 & 1023);
}

Tensor makeInput(uint32_t dtype, std::vector<int64_t> dims, uint64_t seed) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  tensor.bytes.resize(tensor.size());
  uint32_t known[2 * steps + 1];
  for (int64_t k = -steps; k <= steps; ++k)
    known[k + steps] = bitsOf(dtype, k);
  size_t width = tenon_dtype_bytes(dtype);
  Random random(seed);
  for (size_t at = 0; at < tensor.bytes.size(); at += width)
    std::memcpy(&tensor.bytes[at], &known[random.next() % std::size(known)],
                width);
  return tensor;
}

double product(const Sweep &sweep, const std::vector<Tensor> &inputs,
               int64_t at) {
  int64_t columns = sweep.dims[1], depth = sweep.dims[2];
  int64_t row = at / columns, column = at % columns;
  double sum = 0;
  for (int64_t k = 0; k < depth; ++k)
    sum += numberAt(inputs[0], size_t(row * depth + k)) *
           numberAt(inputs[1], size_t(k * columns + column));
  return sum;
}

/// Of batch x heads x rows x width.
double attention(const Sweep &sweep, const std::vector<Tensor> &inputs,
                 int64_t at) {
  int64_t rows = sweep.dims[2], width = sweep.dims[3];
  int64_t column = at % width, row = at / width % rows;
  int64_t head = at / width / rows * rows * width; // Where it begins.
  int64_t seen = sweep.kind == "causal" ? row + 1 : rows;
  std::vector<double> scores(size_t(seen), 0.0);
  for (int64_t key = 0; key < seen; ++key) {
    double sum = 0;
    for (int64_t i = 0; i < width; ++i)
      sum += numberAt(inputs[0], size_t(head + row * width + i)) *
             numberAt(inputs[1], size_t(head + key * width + i));
    scores[size_t(key)] = sum / std::sqrt(double(width));
  }
  double most = *std::max_element(scores.begin(), scores.end());
  double weights = 0, sum = 0;
  for (int64_t key = 0; key < seen; ++key) {
    double weight = std::exp(scores[size_t(key)] - most);
    weights += weight;
    sum += weight * numberAt(inputs[2], size_t(head + key * width + column));
  }
  return sum / weights;
}

/// Of rows x columns.
double ofRow(const Sweep &sweep, const std::vector<Tensor> &inputs,
             int64_t at) {
  int64_t rows = sweep.dims[0], columns = sweep.dims[1];
  if (sweep.kind == "add")
    return numberAt(inputs[0], size_t(at)) + numberAt(inputs[1], size_t(at));
  if (sweep.kind == "transpose")
    return numberAt(inputs[0], size_t(at % rows * columns + at / rows));
  int64_t begin = at / columns * columns;
  double value = numberAt(inputs[0], size_t(at)), sum = 0, squares = 0;
  for (int64_t i = begin; i < begin + columns; ++i) {
    double each = numberAt(inputs[0], size_t(i));
    sum += sweep.kind == "softmax" ? std::exp(each) : each;
    squares += each * each;
  }
  if (sweep.kind == "softmax")
    return std::exp(value) / sum;
  double mean = sum / double(columns);
  return (value - mean) /
         std::sqrt(squares / double(columns) - mean * mean + 1e-5);
}

} // namespace

std::vector<Tensor> tenon::trial::makeInputs(const Sweep &sweep) {
  std::vector<std::vector<int64_t>> shapes;
  const std::vector<int64_t> &dims = sweep.dims;
  if (sweep.kind == "gemm")
    shapes = {{dims[0], dims[2]}, {dims[2], dims[1]}};
  else
    shapes.assign(dims.size() == 4 ? 3 : sweep.kind == "add" ? 2 : 1, dims);
  std::vector<Tensor> inputs;
  for (std::vector<int64_t> &shape : shapes)
    inputs.push_back(
        makeInput(sweep.dtype, std::move(shape), inputs.size() + 1));
  return inputs;
}

Problem tenon::trial::checkSamples(const Sweep &sweep,
                                   const std::vector<Tensor> &inputs,
                                   const Tensor &output, double tolerance,
                                   double &error) {
  auto value = sweep.kind == "gemm"     ? product
               : sweep.dims.size() == 4 ? attention
                                        : ofRow;
  int64_t count = 1;
  for (int64_t dim : output.dims)
    count *= dim;
  Tensor actual, expected;
  actual.dtype = expected.dtype = TENON_F64;
  actual.dims = expected.dims = {samples};
  Random random(7);
  for (int64_t i = 0; i < samples; ++i) {
    int64_t at = i == 0   ? 0
                 : i == 1 ? count - 1
                          : int64_t(random.next() % uint64_t(count));
    for (auto [tensor, number] :
         {std::pair(&actual, numberAt(output, size_t(at))),
          std::pair(&expected, value(sweep, inputs, at))}) {
      auto *bytes = reinterpret_cast<const char *>(&number);
      tensor->bytes.insert(tensor->bytes.end(), bytes, bytes + sizeof number);
    }
  }
  if (Problem problem = compare(actual, expected, tolerance, error))
    return "of samples of the output, " + *problem;
  return std::nullopt;
}
