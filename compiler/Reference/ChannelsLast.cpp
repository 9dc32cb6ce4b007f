//===- ChannelsLast.cpp - Windows over images with channels last ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turned into images with channels first, and their results back.
//
//===----------------------------------------------------------------------===//

#include "compiler/Reference/Call.h"

using namespace mlir;

namespace tenon::reference {
namespace {

/// [n, d.., c] -> [n, c, d..]
Shape channelsFirst(Shape shape) {
  std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}

/// Copies between a tensor with channels last and one with channels first.
void turn(Tensor &to, const Tensor &from, bool toFirst) {
  const Tensor &last = toFirst ? from : to;
  int64_t channels = last.shape.back(), images = last.shape[0];
  if (last.count() == 0)
    return;
  int64_t pixels = last.count() / images / channels;
  for (int64_t n = 0; n < images; ++n)
    for (int64_t pixel = 0; pixel < pixels; ++pixel)
      for (int64_t c = 0; c < channels; ++c) {
        int64_t inLast = (n * pixels + pixel) * channels + c;
        int64_t inFirst = (n * channels + c) * pixels + pixel;
        copyWords(to, toFirst ? inFirst : inLast, from,
                  toFirst ? inLast : inFirst);
      }
}

} // namespace

llvm::Error
evaluateChannelsLast(Call &call,
                     llvm::function_ref<llvm::Error(Call &)> evaluate) {
  const Tensor &input = call.operands[0];
  if (input.rank() < 2 || call.results[0].rank() < 2)
    return fault("an image has no axis of channels");
  auto turned = call.temporary(input.element, channelsFirst(input.shape));
  if (!turned)
    return turned.takeError();
  turn(*turned, input, /*toFirst=*/true);
  SmallVector<Tensor> operands(call.operands);
  operands[0] = *turned;
  Call inner{call.op, operands, call.symbols, call.options, call.results};
  inner.results[0].shape = channelsFirst(call.results[0].shape);
  if (auto error = evaluate(inner))
    return error;
  turn(call.make(), inner.results[0], /*toFirst=*/false);
  return llvm::Error::success();
}

} // namespace tenon::reference
