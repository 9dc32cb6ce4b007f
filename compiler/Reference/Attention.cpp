//===- Attention.cpp - Scaled dot-product attention -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Call.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace tenon::reference {
namespace {

/// One attention, its operands by name.
struct Attention {
  graph::AttentionOp op;
  const Tensor *query, *key, *value;
  const Tensor *keyMask = nullptr, *offsets = nullptr;
  SmallVector<const Tensor *> biases;
  int64_t offset = 0;

  int64_t batch() { return query->shape[0]; }
  int64_t heads() { return query->shape[1]; }
  int64_t queries() { return query->shape[2]; }
  int64_t keys() { return key->shape[2]; }
  int64_t width() { return value->shape[3]; }

  llvm::Error checkShapes();
  bool takesPart(int64_t b, int64_t i, int64_t j);
  double score(int64_t b, int64_t h, int64_t i, int64_t j);
  void row(int64_t b, int64_t h, int64_t i, double *to);

private:
  /// The position of row `i` in a tensor of rank 4.
  static int64_t rowAt(const Tensor &tensor, int64_t b, int64_t h, int64_t i) {
    ArrayRef<int64_t> shape = tensor.shape;
    return ((b * shape[1] + h) * shape[2] + i) * shape[3];
  }
  int64_t keyHead(int64_t h) { return h / (heads() / key->shape[1]); }
};

llvm::Error Attention::checkShapes() {
  auto sizes = [](const Tensor *tensor) { return str(tensor->shape); };
  Shape wantKey = {batch(), key->shape[1], keys(), query->shape[3]};
  Shape wantValue = {batch(), key->shape[1], keys(), width()};
  if (key->shape != wantKey || value->shape != wantValue ||
      heads() % std::max<int64_t>(key->shape[1], 1) != 0)
    return fault("query " + sizes(query) + ", key " + sizes(key) +
                 " and value " + sizes(value) + " do not match");
  if (keyMask && keyMask->shape != Shape{batch(), keys()})
    return fault("key_mask has shape " + sizes(keyMask));
  if (offsets && offsets->shape != Shape{batch()})
    return fault("offsets has shape " + sizes(offsets));
  Shape whole = {batch(), heads(), queries(), keys()};
  for (const Tensor *bias : biases) {
    for (size_t axis = 1; axis < 4; ++axis)
      if (bias->shape[axis] != 1 && bias->shape[axis] != whole[axis])
        return fault("a bias has shape " + sizes(bias));
    if (bias->shape[0] == 0 ? batch() != 0 : batch() % bias->shape[0] != 0)
      return fault("a bias has a batch of " + std::to_string(bias->shape[0]) +
                   ", which does not divide " + std::to_string(batch()));
  }
  return llvm::Error::success();
}

bool Attention::takesPart(int64_t b, int64_t i, int64_t j) {
  if (keyMask && !keyMask->ints()[b * keys() + j])
    return false;
  if (!op.getCausal())
    return true;
  // Offsets may be any numbers: their sum needs more than 64 bits.
  using Wide = __int128;
  Wide last = Wide(i) + offset + (offsets ? offsets->ints()[b] : 0);
  Wide window = Wide(op.getWindow());
  return Wide(j) <= last && (window == 0 || Wide(j) > last - window);
}

double Attention::score(int64_t b, int64_t h, int64_t i, int64_t j) {
  const double *q = query->floats().data() + rowAt(*query, b, h, i);
  const double *k = key->floats().data() + rowAt(*key, b, keyHead(h), j);
  double sum = 0;
  for (int64_t d = 0; d < query->shape[3]; ++d)
    sum += q[d] * k[d];
  sum *= op.getScale().convertToDouble();
  double softcap = op.getSoftcap().convertToDouble();
  if (softcap > 0)
    sum = softcap * std::tanh(sum / softcap);
  for (const Tensor *bias : biases) {
    ArrayRef<int64_t> shape = bias->shape;
    int64_t row = rowAt(*bias, b % shape[0], std::min(h, shape[1] - 1),
                        std::min(i, shape[2] - 1));
    sum += bias->floats()[row + std::min(j, shape[3] - 1)];
  }
  return sum;
}

void Attention::row(int64_t b, int64_t h, int64_t i, double *to) {
  SmallVector<std::pair<int64_t, double>> scores;
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t j = 0; j < keys(); ++j)
    if (takesPart(b, i, j)) {
      scores.push_back({j, score(b, h, i, j)});
      largest = std::max(largest, scores.back().second);
    }
  if (scores.empty() && op.getDeadRows() == graph::DeadRows::Uniform)
    for (int64_t j = 0; j < keys(); ++j)
      scores.push_back({j, 0}), largest = 0;
  // The mean of nothing is NaN, too.
  bool isZero = !scores.empty() || op.getDeadRows() == graph::DeadRows::Zero;
  std::fill_n(to, width(), isZero ? 0 : std::nan(""));
  for (auto &[j, weight] : scores)
    sum += weight = std::exp(weight - largest);
  for (auto [j, weight] : scores) {
    const double *v = value->floats().data() + rowAt(*value, b, keyHead(h), j);
    for (int64_t n = 0; n < width(); ++n)
      to[n] += weight / sum * v[n];
  }
}

} // namespace

llvm::Error evaluateAttention(Call &call) {
  auto op = cast<graph::AttentionOp>(call.op);
  Attention attention{op, &call.operands[0], &call.operands[1],
                      &call.operands[2]};
  const Tensor *next = call.operands.data() + 3;
  if (op.getKeyMask())
    attention.keyMask = next++;
  if (op.getOffsets())
    attention.offsets = next++;
  for (size_t i = 0; i < op.getBiases().size(); ++i)
    attention.biases.push_back(next++);
  auto offset = call.sizes(op.getOffset());
  if (!offset)
    return offset.takeError();
  attention.offset = (*offset)[0];
  if (auto error = attention.checkShapes())
    return error;
  Shape shape = call.operands[0].shape;
  shape[3] = attention.width();
  if (call.results[0].shape != shape)
    return fault("the result has shape " + str(call.results[0].shape));
  double *to = call.make().writeFloats().data();
  if (call.results[0].count() == 0)
    return llvm::Error::success();
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t h = 0; h < shape[1]; ++h)
      for (int64_t i = 0; i < shape[2]; ++i, to += shape[3])
        attention.row(b, h, i, to);
  call.round();
  return llvm::Error::success();
}

} // namespace tenon::reference
