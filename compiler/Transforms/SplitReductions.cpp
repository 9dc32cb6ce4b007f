//===- SplitReductions.cpp - A few neighbours are joined last -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of channels are normalised over an image with channels last: all
// pixels, and in each the few channels of a group. Kernels work along what lies
// together, which is too little there. Over all pixels first, they have all
// channels side by side.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include <algorithm>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using graph::Expr;

/// Neighbours that are few for a kernel to work along.
constexpr int64_t mostNeighbours = 64;

/// Whether any order gives the same but for roundings in the type itself.
bool mayBeJoined(graph::ReduceOp op) {
  using graph::ReduceKind;
  Type element = graph::getElementType(op.getResult());
  bool isExtreme =
      op.getKind() == ReduceKind::Max || op.getKind() == ReduceKind::Min;
  return isExtreme || isa<Float32Type, Float64Type>(element);
}

struct SplitReductions : impl::SplitReductionsPassBase<SplitReductions> {
  void runOnOperation() override {
    getOperation().walk([&](graph::ReduceOp op) { split(op); });
  }

private:
  static void split(graph::ReduceOp op) {
    SmallVector<Expr> dims = graph::getDims(op.getInput());
    SmallVector<int64_t> before, behind; // The last axis that stays.
    int64_t rank = int64_t(dims.size()), stays = rank - 1, count = 1;
    auto isReduced = [&](int64_t axis) {
      return llvm::is_contained(op.getAxes(), axis);
    };
    while (stays >= 0 && (isReduced(stays) || dims[stays].isConstant(1)))
      --stays;
    for (int64_t axis = 0; axis < rank; ++axis) {
      if (!isReduced(axis))
        continue;
      bool isBefore = axis < stays && !dims[axis].isConstant(1);
      (isBefore ? before : behind).push_back(axis);
      if (isBefore)
        continue;
      std::optional<int64_t> size = dims[axis].asConstant();
      count = std::min(
          count * std::min(size.value_or(mostNeighbours), mostNeighbours),
          mostNeighbours);
    }
    if (stays < 0 || before.empty() || count <= 1 || count >= mostNeighbours ||
        !mayBeJoined(op))
      return;
    OpBuilder builder(op);
    Value first = graph::ReduceOp::create(builder, op.getLoc(), op.getInput(),
                                          before, op.getKind());
    Value second = graph::ReduceOp::create(builder, op.getLoc(), first, behind,
                                           op.getKind());
    op.getResult().replaceAllUsesWith(second);
    op->erase();
  }
};

} // namespace
} // namespace tenon
