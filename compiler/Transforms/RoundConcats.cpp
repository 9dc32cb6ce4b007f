//===- RoundConcats.cpp - Dense blocks keep their maps in 16 bits ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dense block joins the maps of its convolutions, and each of them reads all
// that were joined before, scaled and then rounded. If what waits for that is
// in 16 bits itself, joining it and scaling it move half the bytes: residuals
// between convolutions are kept so, too (see LowerPrecision.cpp).
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/MatmulView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_ROUNDCONCATSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// Whether all that reads a value of bf16 are convolutions of pairs.
bool isConvolved(graph::CastOp rounded) {
  auto isImage = [&](Operation *user) {
    auto conv = dyn_cast<graph::ConvOp>(user);
    return conv && kernel::convolvesPairs(conv) &&
           kernel::behindWidening(conv.getInput()) == rounded.getResult();
  };
  return graph::getElementType(rounded.getResult()).isBF16() &&
         !rounded->use_empty() &&
         llvm::all_of(rounded->getUsers(), [&](Operation *user) {
           return isa<graph::CastOp>(user) && !user->use_empty() &&
                  llvm::all_of(user->getUsers(), isImage);
         });
}

bool isFixed(Value operand) {
  Operation *op = operand.getDefiningOp();
  return isa_and_present<graph::ConstantOp, graph::WeightOp>(op);
}

/// Ops between what is joined and a convolution, as normalizations have them.
constexpr int mostScalings = 16;

struct RoundConcats : impl::RoundConcatsPassBase<RoundConcats> {
  void runOnOperation() override {
    SmallVector<graph::ConcatOp> concats;
    getOperation().walk([&](graph::ConcatOp op) { concats.push_back(op); });
    // From the last one on: of those that read another one, it is known.
    for (graph::ConcatOp op : llvm::reverse(concats))
      if (joinsChannels(op) && isForConvs(op.getResult(), mostScalings))
        wanted.insert(op);
    for (graph::ConcatOp op : concats)
      if (wanted.contains(op))
        round(op);
  }

private:
  static bool joinsChannels(graph::ConcatOp op) {
    return graph::getElementType(op.getResult()).isF32() &&
           int64_t(op.getAxis()) + 1 == graph::getRank(op.getResult());
  }

  /// Whether a value is only joined with others, or computed with constants
  /// element by element, until it is rounded for a convolution.
  bool isForConvs(Value value, int scalings) const {
    return !value.use_empty() &&
           llvm::all_of(value.getUsers(), [&](Operation *user) {
             if (auto cast = dyn_cast<graph::CastOp>(user))
               return isConvolved(cast);
             if (isa<graph::ConcatOp>(user))
               return wanted.contains(user);
             return scalings > 0 && graph::isPointwise(user) &&
                    llvm::count_if(user->getOperands(), isFixed) + 1 ==
                        user->getNumOperands() &&
                    isForConvs(user->getResult(0), scalings - 1);
           });
  }

  void round(graph::ConcatOp op) {
    OpBuilder builder(op);
    SmallVector<Value> parts;
    for (Value operand : op.getInputs())
      parts.push_back(rounded(operand));
    Type type =
        graph::tensorOf(graph::getDims(op.getResult()), builder.getBF16Type());
    Value joined = graph::ConcatOp::create(builder, op.getLoc(), type, parts,
                                           op.getAxis());
    replaceCasts(op.getResult(), joined);
    if (!op->use_empty())
      op.getResult().replaceAllUsesWith(
          castTo(builder, op.getLoc(), joined, builder.getF32Type()));
    op.erase();
  }

  /// Once for all that read it so.
  Value rounded(Value value) {
    Value narrow = kernel::behindWidening(value);
    if (narrow && graph::getElementType(narrow).isBF16())
      return narrow;
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    Value cast = castTo(builder, value.getLoc(), value, builder.getBF16Type());
    replaceCasts(value, cast);
    return cast;
  }

  static void replaceCasts(Value value, Value by) {
    for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
      if (user != by.getDefiningOp() && isa<graph::CastOp>(user) &&
          user->getResult(0).getType() == by.getType()) {
        user->getResult(0).replaceAllUsesWith(by);
        user->erase();
      }
  }

  llvm::SmallPtrSet<Operation *, 8> wanted;
};

} // namespace
} // namespace tenon
