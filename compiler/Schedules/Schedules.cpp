//===- Schedules.cpp - The table of schedules -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/Schedules.h"
#include "dialects/Kernel/Packing.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;

SmallVector<std::string> rowMajor(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

//===--- Generic ---===//

std::optional<std::string> refusalGeneric(const KernelView &) {
  return std::nullopt;
}
kernel::Geometry geometryGeneric(const KernelView &view) {
  return kernel::geometryOf(view.body);
}
SmallVector<std::string> layoutsGeneric(const KernelView &view) {
  return rowMajor(view);
}

//===--- PackedMatmul ---===//

std::optional<std::string> refusalPackedMatmul(const KernelView &view) {
  auto matmul =
      dyn_cast_if_present<graph::MatmulOp>(kernel::findRoot(view.body));
  if (!matmul)
    return "its root is no matmul";
  if (!graph::getElementType(matmul.getLhs()).isF32())
    return "its operands are not f32";
  auto lhs = dyn_cast<BlockArgument>(matmul.getLhs());
  auto rhs = dyn_cast<BlockArgument>(matmul.getRhs());
  if (!lhs || !rhs)
    return "an operand of the matmul is computed in the kernel";
  if (!view.isWeight[rhs.getArgNumber()])
    return "rhs is no weight";
  auto type = cast<RankedTensorType>(rhs.getType());
  if (type.getRank() != 2 || !type.hasStaticShape())
    return "rhs has not two axes with numbers as sizes";
  if (type.getNumElements() == 0)
    return "rhs is empty";
  if (!rhs.hasOneUse())
    return "rhs has another user in the kernel";
  if (view.body.getTerminator()->getNumOperands() != 1)
    return "it has several results";
  // Behind the root, every op runs on the tile that was just stored.
  for (Operation &op : view.body.without_terminator()) {
    kernel::Role role = kernel::roleOf(&op);
    if (role == kernel::Role::Movement)
      return "it moves data";
  }
  return std::nullopt;
}

kernel::Geometry geometryPackedMatmul(const KernelView &view) {
  auto matmul = cast<graph::MatmulOp>(kernel::findRoot(view.body));
  MLIRContext *context = matmul.getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  SmallVector<Expr> lhs = graph::getDims(matmul.getLhs());
  Expr rows = graph::product(context, ArrayRef(lhs).drop_back());
  auto rhs = cast<RankedTensorType>(matmul.getRhs().getType());
  int64_t depth = rhs.getDimSize(0), columns = rhs.getDimSize(1);
  int64_t panels = llvm::divideCeil(columns, kernel::panelColumns);
  Expr blocks = rows.ceilDiv(number(kernel::blockRows));
  // The panels of a piece share what it reads of lhs, or its copy: as many as
  // leave some eight pieces, within bounds.
  int64_t fewest = kernel::copiesLhs(depth) ? 8 : 4;
  Expr grain = blocks.min(number(kernel::groupBlocks)) *
               std::clamp<int64_t>(panels / 8, fewest, 16);
  return {blocks * panels, grain, number(kernel::lhsCopyBytes(depth))};
}

SmallVector<std::string> layoutsPackedMatmul(const KernelView &view) {
  SmallVector<std::string> layouts = rowMajor(view);
  auto matmul = cast<graph::MatmulOp>(kernel::findRoot(view.body));
  layouts[cast<BlockArgument>(matmul.getRhs()).getArgNumber()] =
      kernel::packedLayout.str();
  return layouts;
}

} // namespace

ArrayRef<Schedule> schedules() {
  static const Schedule table[] = {
#define SCHEDULE(NAME, ROOT, APPLIES)                                          \
  {#NAME, APPLIES, refusal##NAME, geometry##NAME, layouts##NAME},
#include "compiler/Schedules/Schedules.def"
  };
  return table;
}

const Schedule &selectSchedule(const KernelView &view) {
  for (const Schedule &schedule : schedules())
    if (!schedule.refusal(view))
      return schedule;
  return schedules().back();
}

} // namespace tenon
