//===- LowerHopper.cpp - Instructions of sm_90a ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/PtxPatterns.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

/// "{$first, $first+1, ...}"
std::string registers(int64_t first, int64_t count) {
  std::string text = "{";
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

/// An op without operands -> its instruction
template <typename Op> struct LowerPlain : OpRewritePattern<Op> {
  LowerPlain(MLIRContext *context, StringRef text)
      : OpRewritePattern<Op>(context), text(text) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder(op.getLoc(), rewriter).assembly(text, {});
    rewriter.eraseOp(op);
    return success();
  }
  StringRef text;
};

//===----------------------------------------------------------------------===//
// Products of warpgroups
//===----------------------------------------------------------------------===//

/// ptx.wgmma.descriptor -> shifts and ors
struct LowerDescriptor : OpRewritePattern<ptx::WgmmaDescriptorOp> {
  using OpRewritePattern<ptx::WgmmaDescriptorOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::WgmmaDescriptorOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    // Bits 0, 16 and 32 on: units of 16 bytes; bits 62, 63: the swizzle.
    uint64_t rest = uint64_t(op.getLeading() / 16) << 16 |
                    uint64_t(op.getStride() / 16) << 32 |
                    uint64_t(op.getSwizzle()) << 62;
    Value units = LLVM::LShrOp::create(
        b,
        LLVM::AndOp::create(b, b.sharedAddress(op.getAddress()),
                            b.word(0x3ffff)),
        b.word(4));
    Value low = LLVM::ZExtOp::create(b, b.getI64Type(), units);
    Value high = LLVM::ConstantOp::create(b, b.getI64Type(),
                                          b.getI64IntegerAttr(int64_t(rest)));
    rewriter.replaceOpWithNewOp<LLVM::OrOp>(op, low, high);
    return success();
  }
};

/// ptx.wgmma.mma -> wgmma.mma_async
struct LowerWgmma : OpRewritePattern<ptx::WgmmaMmaOp> {
  using OpRewritePattern<ptx::WgmmaMmaOp>::OpRewritePattern;

  static int64_t depthOf(ptx::Wgmma kind) {
    bool isHalf = kind == ptx::Wgmma::F16 || kind == ptx::Wgmma::BF16;
    return isHalf ? 16 : kind == ptx::Wgmma::TF32 ? 8 : 32;
  }

  LogicalResult matchAndRewrite(ptx::WgmmaMmaOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    auto type = cast<VectorType>(op.getType());
    int64_t count = type.getNumElements(), next = 2 * count;
    SmallVector<Value> operands = b.elements(op.getSums());
    std::string lhs = "$" + std::to_string(next);
    bool isInMemory = op.getLhs().getType().isInteger(64);
    if (isInMemory) {
      operands.push_back(op.getLhs());
      next += 1;
    } else {
      llvm::append_range(operands, b.elements(op.getLhs()));
      lhs = registers(next, 4);
      next += 4;
    }
    operands.push_back(op.getRhs());
    std::string rhs = "$" + std::to_string(next++), before, scale = "1";
    if (Value accumulate = op.getAccumulate()) {
      operands.push_back(LLVM::ZExtOp::create(b, b.getI32Type(), accumulate));
      before = ".reg .pred more; setp.ne.b32 more, $" + std::to_string(next) +
               ", 0; ";
      scale = "more";
    }
    std::string text =
        llvm::formatv("{{ {0}wgmma.mma_async.sync.aligned.m64n{1}k{2}.{3}.{4}."
                      "{4} {5}, {6}, {7}, {8}{9}; }",
                      before, ptx::wgmmaColumns(type), depthOf(op.getKind()),
                      type.getElementType().isF32() ? "f32" : "s32",
                      ptx::stringifyWgmma(op.getKind()), registers(0, count),
                      lhs, rhs, scale, flags(op, isInMemory));
    SmallVector<Value> sums = b.assembly(text, operands, b.elementTypes(type));
    rewriter.replaceOp(op, b.vector(sums, type));
    return success();
  }

  /// Signs of both operands, and whether they lie transposed.
  static std::string flags(ptx::WgmmaMmaOp op, bool isInMemory) {
    if (!cast<VectorType>(op.getType()).getElementType().isF32())
      return "";
    std::string flags = ", 1, 1";
    if (depthOf(op.getKind()) != 16)
      return flags;
    if (isInMemory)
      flags += op.getTransLhs() ? ", 1" : ", 0";
    return flags + (op.getTransRhs() ? ", 1" : ", 0");
  }
};

/// ptx.wgmma.wait -> wgmma.wait_group, through which all values go
struct LowerWgmmaWait : OpRewritePattern<ptx::WgmmaWaitOp> {
  using OpRewritePattern<ptx::WgmmaWaitOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::WgmmaWaitOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> operands;
    for (Value value : op.getValues())
      llvm::append_range(operands, b.elements(value));
    SmallVector<Value> made =
        b.assembly("wgmma.wait_group.sync.aligned " +
                       std::to_string(op.getPending()) + ";",
                   operands, ValueRange(operands).getTypes());
    SmallVector<Value> results;
    ArrayRef<Value> rest = made;
    for (Type type : op.getResultTypes()) {
      size_t count = cast<VectorType>(type).getNumElements();
      results.push_back(b.vector(rest.take_front(count), type));
      rest = rest.drop_front(count);
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Tiles of tensors
//===----------------------------------------------------------------------===//

/// "[$map, {$x, $y}]"
std::string tileAt(int64_t map, int64_t coordinates) {
  return "[$" + std::to_string(map) + ", " + registers(map + 1, coordinates) +
         "]";
}

/// ptx.tma.load, ptx.tma.load_multicast -> cp.async.bulk.tensor
template <typename Op> struct LowerTmaLoad : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> operands = {b.sharedAddress(op.getTo()), op.getMap()};
    llvm::append_range(operands, op.getCoordinates());
    int64_t axes = op.getCoordinates().size();
    operands.push_back(b.sharedAddress(op.getBarrier()));
    std::string mode, mask;
    if constexpr (std::is_same_v<Op, ptx::TmaLoadMulticastOp>) {
      operands.push_back(op.getMask());
      mode = ".multicast::cluster";
      mask = ", $" + std::to_string(axes + 3);
    }
    b.assembly(llvm::formatv("cp.async.bulk.tensor.{0}d.shared::cluster.global."
                             "mbarrier::complete_tx::bytes{1} [$0], {2}, "
                             "[${3}]{4};",
                             axes, mode, tileAt(1, axes), axes + 2, mask)
                   .str(),
               operands);
    rewriter.eraseOp(op);
    return success();
  }
};

/// ptx.tma.store -> cp.async.bulk.tensor
struct LowerTmaStore : OpRewritePattern<ptx::TmaStoreOp> {
  using OpRewritePattern<ptx::TmaStoreOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::TmaStoreOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> operands = {op.getMap()};
    llvm::append_range(operands, op.getCoordinates());
    int64_t axes = op.getCoordinates().size();
    operands.push_back(b.sharedAddress(op.getFrom()));
    b.assembly(llvm::formatv("cp.async.bulk.tensor.{0}d.global.shared::cta."
                             "bulk_group {1}, [${2}];",
                             axes, tileAt(0, axes), axes + 1)
                   .str(),
               operands);
    rewriter.eraseOp(op);
    return success();
  }
};

/// ptx.tma.wait -> cp.async.bulk.wait_group
struct LowerTmaWait : OpRewritePattern<ptx::TmaWaitOp> {
  using OpRewritePattern<ptx::TmaWaitOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::TmaWaitOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder(op.getLoc(), rewriter)
        .assembly(std::string("cp.async.bulk.wait_group") +
                      (op.getRead() ? ".read " : " ") +
                      std::to_string(op.getPending()) + ";",
                  {});
    rewriter.eraseOp(op);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Order and registers
//===----------------------------------------------------------------------===//

/// ptx.sched_fence -> a nanosleep that no value leads to
struct LowerSchedFence : OpRewritePattern<ptx::SchedFenceOp> {
  using OpRewritePattern<ptx::SchedFenceOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::SchedFenceOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder(op.getLoc(), rewriter)
        .assembly("{ .reg .pred never; setp.eq.f32 never, $0, 0fBF800000; "
                  "@never nanosleep.u32 1; }",
                  op.getValue());
    rewriter.eraseOp(op);
    return success();
  }
};

/// ptx.setmaxnreg -> setmaxnreg
struct LowerSetmaxnreg : OpRewritePattern<ptx::SetmaxnregOp> {
  using OpRewritePattern<ptx::SetmaxnregOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::SetmaxnregOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder(op.getLoc(), rewriter)
        .assembly(
            std::string("setmaxnreg.") + (op.getIncrease() ? "inc" : "dec") +
                ".sync.aligned.u32 " + std::to_string(op.getRegisters()) + ";",
            {});
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateHopperPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns
      .add<LowerDescriptor, LowerSchedFence, LowerSetmaxnreg,
           LowerTmaLoad<ptx::TmaLoadMulticastOp>, LowerTmaLoad<ptx::TmaLoadOp>,
           LowerTmaStore, LowerTmaWait, LowerWgmma, LowerWgmmaWait>(context);
  patterns.add<LowerPlain<ptx::FenceProxyAsyncOp>>(
      context, "fence.proxy.async.shared::cta;");
  patterns.add<LowerPlain<ptx::GridLaunchOp>>(
      context, "griddepcontrol.launch_dependents;");
  patterns.add<LowerPlain<ptx::GridWaitOp>>(context, "griddepcontrol.wait;");
  patterns.add<LowerPlain<ptx::TmaCommitOp>>(context,
                                             "cp.async.bulk.commit_group;");
  patterns.add<LowerPlain<ptx::WgmmaCommitOp>>(
      context, "wgmma.commit_group.sync.aligned;");
  patterns.add<LowerPlain<ptx::WgmmaFenceOp>>(context,
                                              "wgmma.fence.sync.aligned;");
}

} // namespace tenon::cuda
