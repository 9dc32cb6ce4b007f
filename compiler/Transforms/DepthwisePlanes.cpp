//===- DepthwisePlanes.cpp - Convolutions of each channel by planes -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution that has channels first before and behind it is between two
// transposes that take longer than itself. Where each channel is by itself, its
// plane is an image, which a kernel can take as it is.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Reordering.h"
#include "compiler/Transforms/SimplifyMovement.h"
#include "dialects/Kernel/DepthwiseView.h"
#include "dialects/Kernel/PlanesView.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_DEPTHWISEPLANESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// Whether a kernel for planes takes it. Images of bytes and of bf16 are read
/// as such with channels last.
bool mayHavePlanes(Operation *op) {
  auto conv = dyn_cast<graph::ConvOp>(op);
  std::string why;
  return conv && conv.getChannelsLast() && isStored(conv.getFilter()) &&
         !kernel::depthwiseBytesOf(conv) && !kernel::depthwiseBf16Of(conv) &&
         kernel::planesViewOf(conv, why);
}

struct DepthwisePlanes : impl::DepthwisePlanesPassBase<DepthwisePlanes> {
  using DepthwisePlanesPassBase::DepthwisePlanesPassBase;

  void runOnOperation() override {
    while (reorderOneSet())
      ;
  }

private:
  /// Those around a set that is in order now meet others.
  void mergeTransposes() {
    RewritePatternSet patterns(&getContext());
    addMergeTransposes(patterns);
    // Where the driver's rounds run out, the graph is right all the same.
    (void)applyPatternsGreedily(getOperation(), std::move(patterns));
  }

  /// Each such set leaves fewer transposes.
  bool reorderOneSet() {
    SmallVector<graph::ConvOp> convs;
    getOperation().walk([&](graph::ConvOp op) {
      if (mayHavePlanes(op))
        convs.push_back(op);
    });
    for (graph::ConvOp conv : convs) {
      int64_t rank = graph::getRank(conv.getInput());
      Reordering planes(inverse(toChannelsLast(rank)), [&](Operation *op) {
        return mayHavePlanes(op) &&
               graph::getRank(cast<graph::ConvOp>(op).getInput()) == rank;
      });
      planes.add(conv);
      planes.grow(Reordering::Direction::Both);
      if (planes.gain() <= 0)
        continue;
      if (explain)
        conv.emitRemark("channels come first again, and transposes around go: "
                        "each is a plane by itself");
      IRRewriter rewriter(&getContext());
      planes.apply(rewriter);
      mergeTransposes();
      return true;
    }
    return false;
  }
};

} // namespace
} // namespace tenon
