//===- Suppress.cpp - Boxes that overlap a better one ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Call.h"
#include <algorithm>

using namespace mlir;

namespace tenon::reference {
namespace {

/// Two opposite corners; the operator is defined in f32.
struct Box {
  float low[2], high[2];

  explicit Box(const double *corners) {
    for (int axis : {0, 1}) {
      auto a = static_cast<float>(corners[axis]);
      auto b = static_cast<float>(corners[axis + 2]);
      low[axis] = std::min(a, b);
      high[axis] = std::max(a, b);
    }
  }
  float area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

bool overlaps(const Box &a, const Box &b, float threshold) {
  float sides[2];
  for (int axis : {0, 1})
    sides[axis] = std::min(a.high[axis], b.high[axis]) -
                  std::max(a.low[axis], b.low[axis]);
  if (sides[0] <= 0 || sides[1] <= 0 || a.area() <= 0 || b.area() <= 0)
    return false;
  float shared = sides[0] * sides[1];
  float together = a.area() + b.area() - shared;
  return together > 0 && shared / together > threshold;
}

} // namespace

llvm::Error evaluateSuppress(Call &call) {
  const Tensor &boxes = call.operands[0], &candidates = call.operands[1];
  Shape shape = candidates.shape;
  shape.push_back(4);
  if (boxes.shape != shape || candidates.shape != call.results[0].shape)
    return fault("boxes have shape " + str(boxes.shape) +
                 " where the candidates give " + str(shape));
  auto threshold = static_cast<float>(call.operands[2].floats()[0]);
  auto limit = call.operands[3].ints()[0];
  MutableArrayRef<int64_t> result = call.make().writeInts();
  int64_t n = candidates.shape.back();
  for (int64_t row = 0; row < candidates.count(); row += n) {
    std::vector<Box> kept;
    for (int64_t i = row; i < row + n; ++i) {
      Box box(&boxes.floats()[4 * i]);
      bool isKept = candidates.ints()[i] && int64_t(kept.size()) < limit &&
                    llvm::none_of(
                        kept,
                        [&](const Box &before) {
                          return overlaps(before, box, threshold);
                        });
      if (isKept)
        kept.push_back(box);
      result[i] = isKept;
    }
  }
  return llvm::Error::success();
}

} // namespace tenon::reference
