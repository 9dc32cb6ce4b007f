//===- RoundConcats.cpp - Dense blocks keep their maps in 16 bits ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dense block joins the maps of its convolutions, and each of them reads all
// that were joined before, scaled and then rounded. If what waits for that is
// in 16 bits itself, joining it and scaling it move half the bytes: residuals
// between convolutions are kept so, too (see LowerPrecision.cpp). Here it is
// rounded when it is joined; hoist-casts then does so before.
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
bool isConvolved(graph::CastOp narrow) {
  auto isImage = [&](Operation *user) {
    auto conv = dyn_cast<graph::ConvOp>(user);
    return conv && kernel::convolvesPairs(conv) &&
           kernel::behindWidening(conv.getInput()) == narrow.getResult();
  };
  return graph::getElementType(narrow.getResult()).isBF16() &&
         !narrow->use_empty() &&
         llvm::all_of(narrow->getUsers(), [&](Operation *user) {
           return isa<graph::CastOp>(user) && !user->use_empty() &&
                  llvm::all_of(user->getUsers(), isImage);
         });
}

/// Ops between what is joined and a convolution, as normalizations have them.
constexpr int mostScalings = 16;

struct RoundConcats : impl::RoundConcatsPassBase<RoundConcats> {
  void runOnOperation() override {
    SmallVector<graph::ConcatOp> concats;
    getOperation().walk([&](graph::ConcatOp op) { concats.push_back(op); });
    // From the last one on: of those that read another one, it is known.
    for (graph::ConcatOp op : llvm::reverse(concats))
      if (joinsChannels(op) && isForConvs(op.getResult(), mostScalings)) {
        round(op);
        rounded.insert(op);
      }
  }

private:
  static bool joinsChannels(graph::ConcatOp op) {
    return graph::getElementType(op.getResult()).isF32() &&
           int64_t(op.getAxis()) + 1 == graph::getRank(op.getResult());
  }

  /// Whether a value is only joined with others, averaged over windows, or
  /// computed with constants element by element, until it is rounded for a
  /// convolution.
  bool isForConvs(Value value, int scalings) const {
    return !value.use_empty() &&
           llvm::all_of(value.getUsers(), [&](Operation *user) {
             if (auto cast = dyn_cast<graph::CastOp>(user))
               return isConvolved(cast);
             if (isa<graph::ConcatOp>(user))
               return rounded.contains(user);
             // Its kernel adds what it widens.
             if (isa<graph::AveragePoolOp>(user))
               return isForConvs(user->getResult(0), scalings);
             return scalings > 0 && soleInputOf(user) &&
                    isForConvs(user->getResult(0), scalings - 1);
           });
  }

  /// For all that do not round it themselves.
  static void round(graph::ConcatOp op) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Value narrow =
        castTo(builder, op.getLoc(), op.getResult(), builder.getBF16Type());
    Value wide = castTo(builder, op.getLoc(), narrow, builder.getF32Type());
    op.getResult().replaceUsesWithIf(wide, [](OpOperand &use) {
      return !isa<graph::CastOp>(use.getOwner());
    });
    eraseUnused(wide.getDefiningOp());
  }

  llvm::SmallPtrSet<Operation *, 8> rounded;
};

} // namespace
} // namespace tenon
