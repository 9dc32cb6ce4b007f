//===- ResizeView.cpp - Resampled images, row by row ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/ResizeView.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace tenon::kernel {
namespace {

/// Rows of the input that are summed for one of the result.
constexpr int64_t mostRows = 64;

/// Elements of an axis that one of the result is made of.
constexpr int64_t mostTaps = 16;

/// What an element and a table's entry cost, of the 20000 of a piece.
constexpr int64_t elementCost = 2, entryCost = 24;

/// Bytes that are read behind a row of the input.
constexpr int64_t lineBehind = 128;

Expr number(graph::ResizeOp op, int64_t value) {
  return Expr::constant(op.getContext(), value);
}

std::optional<std::string> refusalOf(graph::ResizeOp op) {
  Type element = graph::getElementType(op.getResult());
  if (!element.isF32() && !element.isF16() && !element.isBF16())
    return "its elements are not f32, f16 or bf16";
  if (op.getCoordinates() == "tf_crop_and_resize")
    return "it crops";
  SmallVector<Expr> dims = graph::getDims(op.getResult());
  if (!dims.empty() && dims.back().isConstant(1))
    return "its rows are of one element";
  return std::nullopt;
}

} // namespace

int64_t supportOf(graph::ResizeOp op) {
  switch (op.getMode()) {
  case graph::ResizeMode::Nearest:
    return 1;
  case graph::ResizeMode::Linear:
    return 2;
  case graph::ResizeMode::Cubic:
    return 4;
  }
  llvm_unreachable("a mode that is none");
}

std::optional<int64_t> tapsOf(graph::ResizeOp op, int64_t axis) {
  int64_t support = supportOf(op);
  if (!op.getAntialias() || support == 1)
    return support;
  double scale;
  if (op.getScales().empty()) {
    auto in = graph::getDim(op.getInput(), axis).asConstant();
    auto out = graph::getDim(op.getResult(), axis).asConstant();
    if (!in || !out || *in < 1 || *out < 1)
      return std::nullopt;
    scale = double(*out) / double(*in);
  } else {
    scale = op.getScales()[axis];
  }
  // Of all between two numbers that are so far apart.
  double taps = std::ceil(double(support) / std::min(scale, 1.0));
  if (!(taps >= double(support) && taps <= mostTaps))
    return std::nullopt;
  return int64_t(taps);
}

bool keepsAxis(graph::ResizeOp op, int64_t axis) {
  return op.getCoordinates() != "tf_crop_and_resize" &&
         graph::getDim(op.getInput(), axis) ==
             graph::getDim(op.getResult(), axis) &&
         (op.getScales().empty() || op.getScales()[axis] == 1);
}

Expr ResizeView::tableBytes(int64_t axis) const {
  Expr size = graph::getDim(op.getResult(), axis);
  return (size * 4).ceilDiv(number(op, 64)) * 64;
}

Expr ResizeView::tableStart(size_t i) const {
  Expr bytes = number(op, 0);
  for (int64_t axis : ArrayRef(axes).take_front(i))
    bytes = bytes + tableBytes(axis) * (taps == 1 ? 1 : 2 * taps);
  return bytes;
}

Geometry ResizeView::geometry(Block &body) const {
  SmallVector<Expr> dims = graph::getDims(op.getResult());
  int64_t ops = std::distance(body.begin(), body.end());
  Expr entries = number(op, 0), scratch = tableStart(axes.size());
  for (int64_t axis : axes)
    entries = entries + dims[axis];
  if (changesRow())
    scratch = scratch + graph::getDims(op.getInput()).back() * 4 + lineBehind;
  Expr row = (dims.back() * (elementCost * (taps + ops))).max(number(op, 1));
  // A piece has work enough for its tables to be an eighth of it.
  Expr least = number(op, 20000).max(entries * (8 * entryCost * taps));
  Expr rows = graph::product(op.getContext(), ArrayRef(dims).drop_back());
  return {rows, least.ceilDiv(row), scratch};
}

std::optional<ResizeView> resizeViewOf(Block &body, std::string &why) {
  auto op = dyn_cast_if_present<graph::ResizeOp>(findRoot(body));
  if (!op) {
    why = "its root is no resize";
    return std::nullopt;
  }
  if (std::optional<std::string> refusal = refusalOf(op)) {
    why = *refusal;
    return std::nullopt;
  }
  ResizeView view{op, {}, 1};
  for (int64_t axis = 0; axis < graph::getRank(op.getResult()); ++axis) {
    if (keepsAxis(op, axis))
      continue;
    std::optional<int64_t> taps = tapsOf(op, axis);
    if (!taps) {
      why = "of how many others an element is made is not known, or is many";
      return std::nullopt;
    }
    view.axes.push_back(axis);
    view.taps = std::max(view.taps, *taps);
  }
  if (view.axes.empty()) {
    why = "no axis changes";
    return std::nullopt;
  }
  int64_t rows = 1;
  for (size_t i = view.changesRow() ? 1 : 0; i < view.axes.size(); ++i)
    rows = std::min(rows * view.taps, mostRows + 1);
  if (rows > mostRows) {
    why = "an element is made of those of too many rows";
    return std::nullopt;
  }
  if (!view.geometry(body)) {
    why = "a size is beyond what an expression holds";
    return std::nullopt;
  }
  return view;
}

} // namespace tenon::kernel
