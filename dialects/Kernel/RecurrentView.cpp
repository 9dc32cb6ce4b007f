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
  else
    return view;
  return std::nullopt;
}

} // namespace tenon::kernel
