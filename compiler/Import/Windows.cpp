//===- Windows.cpp - The sliding windows of convolutions and pools --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Windows.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tenon {

using graph::Expr;
using graph::Relation;

AutoPad autoPad(NodeConverter &node) {
  std::string text = node.stringAttr("auto_pad", "NOTSET");
  auto mode = llvm::StringSwitch<std::optional<AutoPad>>(text)
                  .Cases({"NOTSET", ""}, AutoPad::None)
                  .Case("VALID", AutoPad::Valid)
                  .Case("SAME_UPPER", AutoPad::SameUpper)
                  .Case("SAME_LOWER", AutoPad::SameLower)
                  .Default(std::nullopt);
  if (!mode)
    (void)node.invalid("auto_pad must be NOTSET, VALID, SAME_UPPER or "
                       "SAME_LOWER");
  return mode.value_or(AutoPad::None);
}

Expr Windows::reach(size_t axis) const {
  return (kernel[axis] - 1) * dilations[axis] + 1;
}

Emitter::Exprs Windows::pads() const {
  Emitter::Exprs all = low;
  llvm::append_range(all, high);
  return all;
}

SmallVector<int64_t> perAxisAttr(NodeConverter &node, StringRef name,
                                 size_t rank, int64_t missing, int64_t lo) {
  SmallVector<int64_t> values = node.intsAttr(name);
  if (values.empty())
    values.assign(rank, missing);
  if (values.size() != rank)
    (void)node.invalid(Twine(name) + " has " + Twine(values.size()) +
                       " numbers where " + Twine(rank) + " are needed");
  for (int64_t value : values)
    if (value < lo || value > INT32_MAX)
      (void)node.invalid(Twine(name) + " must be " + Twine(lo) +
                         " or more, and less than 2^31, not " + Twine(value));
  return values;
}

namespace {

/// Borders with which there are ceil(input / stride) windows.
void padToSame(NodeConverter &node, Windows &windows, size_t axis) {
  Expr input = windows.input[axis];
  Expr stride = node.size(windows.strides[axis]), two = node.size(2);
  Expr reach = windows.reach(axis);
  Expr covered = (input.ceilDiv(stride) - 1) * stride + reach - input;
  // Between reach - stride and reach - 1, which sizes do not tell of
  // themselves: they would be nested from layer to layer.
  bool isCovered =
      reach && reach.asConstant().value_or(0) >= windows.strides[axis];
  Expr total = isCovered             ? covered
               : reach.isConstant(1) ? node.size(0)
                                     : covered.max(node.size(0));
  Expr less = total.floorDiv(two), more = total - less;
  bool upper = windows.mode == AutoPad::SameUpper;
  windows.low.push_back(upper ? less : more);
  windows.high.push_back(upper ? more : less);
}

} // namespace

Windows readWindows(NodeConverter &node, ArrayRef<Expr> dims,
                    ArrayRef<Expr> kernel) {
  Windows windows;
  windows.mode = autoPad(node);
  windows.kernel.assign(kernel.begin(), kernel.end());
  if (node.failed())
    return windows;
  if (dims.size() < 3 || dims.size() - 2 != kernel.size()) {
    (void)node.invalid("an input of rank " + Twine(dims.size()) +
                       " does not fit a kernel of " + Twine(kernel.size()) +
                       " spatial axes");
    return windows;
  }
  size_t rank = kernel.size();
  windows.input.assign(dims.begin() + 2, dims.end());
  windows.strides = perAxisAttr(node, "strides", rank, 1, 1);
  windows.dilations = perAxisAttr(node, "dilations", rank, 1, 1);
  SmallVector<int64_t> pads = perAxisAttr(node, "pads", 2 * rank, 0, 0);
  if (node.failed())
    return windows;
  for (size_t i = 0; i < rank; ++i) {
    if (windows.mode == AutoPad::SameUpper ||
        windows.mode == AutoPad::SameLower) {
      padToSame(node, windows, i);
      continue;
    }
    bool given = windows.mode == AutoPad::None;
    windows.low.push_back(node.size(given ? pads[i] : 0));
    windows.high.push_back(node.size(given ? pads[rank + i] : 0));
  }
  return windows;
}

Emitter::Exprs countWindows(NodeConverter &node, const Windows &windows,
                            bool ceil) {
  Emitter::Exprs counts;
  for (size_t i = 0; i < windows.rank() && !node.failed(); ++i) {
    Expr input = windows.input[i], stride = node.size(windows.strides[i]);
    if (windows.mode == AutoPad::SameUpper ||
        windows.mode == AutoPad::SameLower) {
      counts.push_back(input.ceilDiv(stride));
      continue;
    }
    Expr padded = input + windows.low[i] + windows.high[i];
    Expr reach = windows.reach(i);
    // Rounded up, a stride may begin a window that is larger than all.
    Expr most = ceil ? padded + (windows.strides[i] - 1) : padded;
    node.require(reach, Relation::LessEqual, most,
                 "the kernel must not exceed the padded input");
    Expr room = padded - reach;
    counts.push_back(ceil ? (room.ceilDiv(stride) + 1)
                                .min((input + windows.low[i]).ceilDiv(stride))
                          : room.floorDiv(stride) + 1);
  }
  return counts;
}

/// Moves axis `from` of x to `to`; -1 is the last.
static Value movedAxis(NodeConverter &node, Value x, int64_t from, int64_t to) {
  int64_t rank = node.dimsOf(x).size();
  if (!node.failed() && rank < 3)
    (void)node.invalid("the input must have rank 3 or more");
  if (node.failed())
    return {};
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  from = from < 0 ? rank - 1 : from;
  order.erase(order.begin() + from);
  order.insert(to < 0 ? order.end() : order.begin() + to, from);
  return node.transpose(x, order);
}

Value channelsSecond(NodeConverter &node, Value x) {
  return movedAxis(node, x, -1, 1);
}

Value channelsLast(NodeConverter &node, Value x) {
  return movedAxis(node, x, 1, -1);
}

} // namespace tenon
