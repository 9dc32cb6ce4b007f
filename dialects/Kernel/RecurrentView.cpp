//===- RecurrentView.cpp - Recurrent cells by vectors of units ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/RecurrentView.h"

using namespace mlir;

namespace tenon::kernel {

std::optional<RecurrentView> RecurrentView::of(ArrayRef<int64_t> recurrence) {
  if (recurrence.size() != 3 || recurrence[0] < 1 || recurrence[2] < 1 ||
      recurrence[2] % cellUnits != 0 || recurrence[1] % recurrence[2] != 0)
    return std::nullopt;
  return RecurrentView{recurrence[0], recurrence[1] / recurrence[2],
                       recurrence[2]};
}

graph::DequantizeOp cellBytesOf(graph::RecurrentOp op) {
  auto bytes = op.getRecurrence().getDefiningOp<graph::DequantizeOp>();
  auto type = bytes ? cast<RankedTensorType>(bytes.getInput().getType())
                    : RankedTensorType();
  if (!type || !type.getElementType().isInteger(8) || !type.hasStaticShape() ||
      !graph::getElementType(bytes.getResult()).isF32() ||
      !graph::getElementType(bytes.getScale()).isF32())
    return {};
  std::optional<RecurrentView> view = RecurrentView::of(type.getShape());
  if (!view || view->hidden > RecurrentView::mostOfBytes)
    return {};
  // One for all, for each direction, or for each of its units.
  auto isAlongUnits = [&](Value value) {
    auto own = cast<RankedTensorType>(value.getType());
    return own.hasStaticShape() &&
           (own.getRank() == 0 || own.getShape().back() == 1);
  };
  bool suits =
      isAlongUnits(bytes.getScale()) && isAlongUnits(bytes.getZeroPoint());
  return suits ? bytes : graph::DequantizeOp();
}

graph::CastOp cellPairsOf(graph::RecurrentOp op) {
  auto widening = op.getRecurrence().getDefiningOp<graph::CastOp>();
  auto type = widening ? cast<RankedTensorType>(widening.getInput().getType())
                       : RankedTensorType();
  bool suits = type && op.getRoundsState() && type.getElementType().isBF16() &&
               type.hasStaticShape() && RecurrentView::of(type.getShape()) &&
               graph::getElementType(widening.getResult()).isF32();
  return suits ? widening : graph::CastOp();
}

Value storedRecurrenceOf(graph::RecurrentOp op) {
  if (graph::CastOp pairs = cellPairsOf(op))
    return pairs.getInput();
  graph::DequantizeOp bytes = cellBytesOf(op);
  return bytes ? bytes.getInput() : op.getRecurrence();
}

std::optional<RecurrentView> recurrentViewOf(graph::RecurrentOp op,
                                             std::string &why) {
  auto type = cast<RankedTensorType>(op.getRecurrence().getType());
  auto view =
      type.hasStaticShape() ? RecurrentView::of(type.getShape()) : std::nullopt;
  if (!type.getElementType().isF32())
    why = "it is not of f32";
  else if (op.getWeights())
    why = "its input is not multiplied by its weights yet";
  else if (!view)
    why = "its hidden units are no multiple of " + std::to_string(cellUnits);
  else {
    view->hasBytes = bool(cellBytesOf(op));
    view->hasPairs = bool(cellPairsOf(op));
    view->entries =
        view->entriesOf(graph::getDim(op.getInput(), 1).asConstant());
    view->abreast = std::min(view->entries, view->mostAbreast());
    return view;
  }
  return std::nullopt;
}

} // namespace tenon::kernel
