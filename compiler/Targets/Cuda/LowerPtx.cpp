//===- LowerPtx.cpp - Instructions of all GPUs ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/LowerPtx.h"
#include "compiler/Targets/Cuda/Passes.h"
#include "compiler/Targets/Cuda/PtxPatterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_LOWERPTXPASS
#include "compiler/Targets/Cuda/Passes.h.inc"

namespace cuda {
namespace {

/// ptx.mma -> llvm.nvvm.mma
struct LowerMma : OpRewritePattern<ptx::MmaOp> {
  using OpRewritePattern<ptx::MmaOp>::OpRewritePattern;

  static StringRef intrinsicOf(ptx::Mma kind) {
    switch (kind) {
    case ptx::Mma::F16:
      return "llvm.nvvm.mma.m16n8k16.row.col.f32.f32";
    case ptx::Mma::BF16:
      return "llvm.nvvm.mma.m16n8k16.row.col.bf16";
    case ptx::Mma::TF32:
      return "llvm.nvvm.mma.m16n8k8.row.col.tf32";
    case ptx::Mma::S8:
      return "llvm.nvvm.mma.m16n8k32.row.col.s8";
    case ptx::Mma::U8:
      return "llvm.nvvm.mma.m16n8k32.row.col.u8";
    case ptx::Mma::S8U8:
      return "llvm.nvvm.mma.m16n8k32.row.col.s8.u8";
    case ptx::Mma::U8S8:
      return "llvm.nvvm.mma.m16n8k32.row.col.u8.s8";
    }
    llvm_unreachable("all kinds of products");
  }

  LogicalResult matchAndRewrite(ptx::MmaOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> operands = b.elements(op.getLhs());
    llvm::append_range(operands, b.elements(op.getRhs()));
    // LLVM takes pairs of halves as such.
    if (op.getKind() == ptx::Mma::F16)
      for (Value &pair : operands)
        pair = LLVM::BitcastOp::create(b, VectorType::get({2}, b.getF16Type()),
                                       pair);
    llvm::append_range(operands, b.elements(op.getSums()));
    SmallVector<Value> sums =
        b.intrinsic(intrinsicOf(op.getKind()), operands,
                    b.elementTypes(op.getSums().getType()));
    rewriter.replaceOp(op, b.vector(sums, op.getType()));
    return success();
  }
};

/// ptx.ldmatrix -> llvm.nvvm.ldmatrix
struct LowerLdmatrix : OpRewritePattern<ptx::LdmatrixOp> {
  using OpRewritePattern<ptx::LdmatrixOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::LdmatrixOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    std::string name = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x" +
                       std::to_string(op.getType().getNumElements()) +
                       (op.getTrans() ? ".trans.b16" : ".b16");
    SmallVector<Value> registers =
        b.intrinsic(name, op.getAddress(), b.elementTypes(op.getType()));
    rewriter.replaceOp(op, b.vector(registers, op.getType()));
    return success();
  }
};

/// ptx.stmatrix -> llvm.nvvm.stmatrix
struct LowerStmatrix : OpRewritePattern<ptx::StmatrixOp> {
  using OpRewritePattern<ptx::StmatrixOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::StmatrixOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> registers = b.elements(op.getValues());
    std::string name = "llvm.nvvm.stmatrix.sync.aligned.m8n8.x" +
                       std::to_string(registers.size()) +
                       (op.getTrans() ? ".trans.b16" : ".b16");
    registers.insert(registers.begin(), op.getAddress());
    b.intrinsic(name, registers);
    rewriter.eraseOp(op);
    return success();
  }
};

/// ptx.cp_async -> llvm.nvvm.cp.async
struct LowerCpAsync : OpRewritePattern<ptx::CpAsyncOp> {
  using OpRewritePattern<ptx::CpAsyncOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::CpAsyncOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    std::string name =
        ("llvm.nvvm.cp.async." + ptx::stringifyCache(op.getCache()) +
         ".shared.global." + Twine(op.getBytes()))
            .str();
    SmallVector<Value> operands = {op.getTo(), op.getFrom()};
    if (Value size = op.getSize()) {
      name += ".s";
      operands.push_back(size);
    }
    b.intrinsic(name, operands);
    rewriter.eraseOp(op);
    return success();
  }
};

/// ptx.cp_async_commit -> llvm.nvvm.cp.async.commit.group
struct LowerCpAsyncCommit : OpRewritePattern<ptx::CpAsyncCommitOp> {
  using OpRewritePattern<ptx::CpAsyncCommitOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::CpAsyncCommitOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder(op.getLoc(), rewriter)
        .intrinsic("llvm.nvvm.cp.async.commit.group", {});
    rewriter.eraseOp(op);
    return success();
  }
};

/// ptx.cp_async_wait -> llvm.nvvm.cp.async.wait.group
struct LowerCpAsyncWait : OpRewritePattern<ptx::CpAsyncWaitOp> {
  using OpRewritePattern<ptx::CpAsyncWaitOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::CpAsyncWaitOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    b.intrinsic("llvm.nvvm.cp.async.wait.group", b.word(op.getPending()));
    rewriter.eraseOp(op);
    return success();
  }
};

/// ptx.named_barrier -> llvm.nvvm.barrier.cta
struct LowerNamedBarrier : OpRewritePattern<ptx::NamedBarrierOp> {
  using OpRewritePattern<ptx::NamedBarrierOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::NamedBarrierOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    b.intrinsic(op.getArrive() ? "llvm.nvvm.barrier.cta.arrive.aligned.count"
                               : "llvm.nvvm.barrier.cta.sync.aligned.count",
                {b.word(op.getId()), b.word(op.getThreads())});
    rewriter.eraseOp(op);
    return success();
  }
};

/// ptx.mbarrier.init -> mbarrier.init
struct LowerMbarrierInit : OpRewritePattern<ptx::MbarrierInitOp> {
  using OpRewritePattern<ptx::MbarrierInitOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::MbarrierInitOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    b.assembly("mbarrier.init.shared.b64 [$0], $1;",
               {b.sharedAddress(op.getBarrier()), op.getCount()});
    rewriter.eraseOp(op);
    return success();
  }
};

/// ptx.mbarrier.arrive -> mbarrier.arrive
struct LowerMbarrierArrive : OpRewritePattern<ptx::MbarrierArriveOp> {
  using OpRewritePattern<ptx::MbarrierArriveOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::MbarrierArriveOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Value barrier = b.sharedAddress(op.getBarrier());
    if (Value rank = op.getRank())
      b.assembly("{ .reg .b32 there; mapa.shared::cluster.u32 there, $0, $1; "
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
                 "[there]; }",
                 {barrier, rank});
    else
      b.assembly("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [$0]; }",
                 barrier);
    rewriter.eraseOp(op);
    return success();
  }
};

/// ptx.mbarrier.expect -> mbarrier.arrive.expect_tx
struct LowerMbarrierExpect : OpRewritePattern<ptx::MbarrierExpectOp> {
  using OpRewritePattern<ptx::MbarrierExpectOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::MbarrierExpectOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    b.assembly("{ .reg .b64 state; "
               "mbarrier.arrive.expect_tx.shared.b64 state, [$0], $1; }",
               {b.sharedAddress(op.getBarrier()), op.getBytes()});
    rewriter.eraseOp(op);
    return success();
  }
};

/// ptx.mbarrier.wait -> a loop on mbarrier.try_wait.parity
struct LowerMbarrierWait : OpRewritePattern<ptx::MbarrierWaitOp> {
  using OpRewritePattern<ptx::MbarrierWaitOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ptx::MbarrierWaitOp op,
                                PatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    StringRef test = op.getPoll() ? "test_wait" : "try_wait";
    b.assembly(("{\n.reg .pred done;\nagain:\nmbarrier." + test +
                ".parity.shared.b64 done, [$0], $1;\n@!done bra again;\n}")
                   .str(),
               {b.sharedAddress(op.getBarrier()), op.getParity()});
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

LogicalResult lowerPtx(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  patterns
      .add<LowerCpAsync, LowerCpAsyncCommit, LowerCpAsyncWait, LowerLdmatrix,
           LowerMbarrierArrive, LowerMbarrierExpect, LowerMbarrierInit,
           LowerMbarrierWait, LowerMma, LowerNamedBarrier, LowerStmatrix>(
          context);
  populateHopperPatterns(patterns);
  ConversionTarget target(*context);
  target.addIllegalDialect<ptx::PtxDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}

void markConvergent(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (!call)
        continue;
      auto *assembly =
          llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
      llvm::Function *callee = call->getCalledFunction();
      if ((assembly && assembly->hasSideEffects()) ||
          (callee && (callee->getName().starts_with("llvm.nvvm.mma.") ||
                      callee->getName().starts_with("llvm.nvvm.ldmatrix.") ||
                      callee->getName().starts_with("llvm.nvvm.stmatrix."))))
        call->setConvergent();
    }
}

} // namespace cuda

namespace {
struct LowerPtx : impl::LowerPtxPassBase<LowerPtx> {
  void runOnOperation() override {
    if (failed(cuda::lowerPtx(getOperation())))
      signalPassFailure();
  }
};
} // namespace

} // namespace tenon
