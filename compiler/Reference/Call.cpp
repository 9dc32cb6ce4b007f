//===- Call.cpp - One op under evaluation ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Reference/Call.h"

using namespace mlir;

namespace tenon::reference {

Tensor &Call::make(unsigned i) {
  results[i] = Tensor(results[i].element, results[i].shape);
  return results[i];
}

void Call::round(unsigned i) {
  if (options.rounded && results[i].isFloat())
    roundAll(results[i].element, results[i].writeFloats());
}

llvm::Expected<Tensor> Call::temporary(Type element,
                                       ArrayRef<int64_t> shape) const {
  std::optional<int64_t> count = countOf(shape);
  if (!count || *count > options.maxBytes / 8)
    return fault("an intermediate tensor of shape " + str(shape) +
                 " is too large");
  return Tensor(element, shape);
}

llvm::Expected<Shape> Call::sizes(graph::DimsAttr dims) const {
  Shape numbers;
  for (graph::Expr expr : dims.exprs()) {
    std::optional<int64_t> number = evaluateSize(expr, symbols);
    if (!number)
      return fault("the size " + expr.str() + " has no value");
    numbers.push_back(*number);
  }
  return numbers;
}

llvm::Error fault(const llvm::Twine &reason) {
  return llvm::createStringError(reason.str());
}

llvm::Error expectShape(const Tensor *operand, ArrayRef<int64_t> shape,
                        StringRef name) {
  if (!operand || ArrayRef<int64_t>(operand->shape) == shape)
    return llvm::Error::success();
  return fault(name + " has shape " + str(operand->shape) + ", not " +
               str(shape));
}

llvm::Expected<Shape> broadcastStrides(ArrayRef<int64_t> from,
                                       ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 0);
  bool fits = from.size() <= shape.size();
  size_t lead = fits ? shape.size() - from.size() : 0;
  Shape own = stridesOf(from);
  for (size_t i = 0; fits && i < from.size(); ++i) {
    fits = from[i] == 1 || from[i] == shape[lead + i];
    strides[lead + i] = from[i] == 1 ? 0 : own[i];
  }
  if (!fits)
    return fault("an operand of shape " + str(from) +
                 " does not broadcast to " + str(shape));
  return strides;
}

bool step(MutableArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  for (size_t i = shape.size(); i-- > 0;) {
    if (++index[i] < shape[i])
      return true;
    index[i] = 0;
  }
  return false;
}

void forEachRow(ArrayRef<int64_t> shape, ArrayRef<Shape> strides,
                llvm::function_ref<void(int64_t, ArrayRef<int64_t>)> body) {
  if (countOf(shape) == 0)
    return;
  ArrayRef<int64_t> outer = shape.drop_back(shape.empty() ? 0 : 1);
  Shape index(outer.size(), 0), offsets(strides.size(), 0);
  int64_t length = rowLength(shape), done = 0;
  while (true) {
    body(done, offsets);
    done += length;
    // An odometer that carries the offsets along.
    size_t axis = outer.size();
    while (axis-- > 0) {
      bool carries = ++index[axis] == outer[axis];
      for (size_t j = 0; j < strides.size(); ++j)
        offsets[j] +=
            carries ? -strides[j][axis] * (outer[axis] - 1) : strides[j][axis];
      if (!carries)
        break;
      index[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1))
      return;
  }
}

AxisView::AxisView(ArrayRef<int64_t> shape, int64_t axis)
    : outer(1), size(shape[axis]), inner(1) {
  for (int64_t before : shape.take_front(axis))
    outer = wrapMul(outer, before);
  for (int64_t after : shape.drop_front(axis + 1))
    inner = wrapMul(inner, after);
}

} // namespace tenon::reference
