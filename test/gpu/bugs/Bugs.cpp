//===- Bugs.cpp - Bugs planted in real kernels are reported ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each bug is one change to the text of a kernel that is right. The simulator
// must say what is wrong; a wrong result alone would not name the cause. The
// bug that only costs speed, a spill, is the lint's: kernel_lint_test.py.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/bugs/Kernels.h"

#include <gtest/gtest.h>

using namespace tenon::sim;

namespace {
constexpr Order kOrders[] = {Order::Eager, Order::Lazy, Order::Random};

class RightKernels : public testing::TestWithParam<TestKernel> {};

TEST_P(RightKernels, AreRightInEveryOrder) {
  std::string text = textOf(GetParam());
  for (Order order : kOrders)
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      Outcome outcome = GetParam().run(text, order, seed);
      EXPECT_EQ(outcome.report, "");
      EXPECT_TRUE(outcome.right);
    }
}

INSTANTIATE_TEST_SUITE_P(All, RightKernels, testing::ValuesIn(testKernels()),
                         [](auto &info) { return info.param.name; });

struct Bug {
  const char *name, *kernel;
  const char *good, *bad; // The first `good` becomes `bad`.
  const char *words;      // Part of the report.
};

void PrintTo(const Bug &bug, std::ostream *out) { *out << bug.name; }

const Bug kBugs[] = {
    {"MissingBarrier", "block_sum", "bar.sync 0;", "", "never written"},
    {"MissingBarrierInLoop", "block_sum", "idle:\n  bar.sync 0;",
     "idle:", "data race"},
    {"MissingBarrierBeforeReuse", "reverse_tiles",
     "add.s64 %d6, %d6, 2048;\n  bar.sync 0;", "add.s64 %d6, %d6, 2048;",
     "may still be under way"},
    {"BoundOffByOne", "block_sum", "setp.lt.u64", "setp.le.u64",
     "4 bytes past the end"},
    {"DroppedPredicate", "block_sum", "@%p1 ld.global", "ld.global",
     "ends 4 bytes past the end"},
    {"MissingWait", "reverse_tiles", "cp.async.wait_group 1;", "",
     "nobody has waited for it"},
    {"WaitForOneLess", "reverse_tiles", "cp.async.wait_group 1;",
     "cp.async.wait_group 2;", "nobody has waited for it"},
    {"SharedAddressAsGeneric", "block_sum", "ld.shared.f32 %f5, [%r5];",
     "cvt.u64.u32 %d7, %r5; ld.f32 %f5, [%d7];", "nothing was allocated"},
    {"MissingAtomic", "block_sum", "red.global.add.f32 [%d2], %f5;",
     "ld.global.f32 %f6, [%d2]; add.f32 %f7, %f6, %f5;\n"
     "  st.global.f32 [%d2], %f7;",
     "data race"},
    {"UninitialisedShared", "block_sum", "st.shared.f32 [%r7], %f1;", "",
     "never written"},
    {"DivergentBarrier", "block_sum", "idle:\n  bar.sync 0;",
     "bar.sync 0;\nidle:", "deadlock"},
    {"MisalignedLoad", "reverse_tiles", "{%r16, %r17, %r18, %r19}, [%r15];",
     "{%r16, %r17, %r18, %r19}, [%r15+4];", "which is no multiple of 16"},
    {"WritePastTheEnd", "reverse_tiles", "st.global.v4.b32 [%d6]",
     "st.global.v4.b32 [%d6+16]", "ends 16 bytes past the end"},
    {"SharedPastTheEnd", "reverse_tiles", "shl.b32 %r13, %r12, 11;",
     "shl.b32 %r13, %r12, 12;", "where the block has 4096 bytes"},
    {"MissingBarrierBeforeMatrices", "product", "bar.sync 0;\n  ldmatrix",
     "ldmatrix", "data race"},
    {"MatricesNotWritten", "product", "[%r9+1536], {%r21", "[%r9+1024], {%r21",
     "never written"},
};

// Of kernels that LLVM wrote: with its tabs and numbers of registers.
const Bug kHopperBugs[] = {
    {"MissingProxyFence", "gemm_bf16_bias_gelu",
     "fence.proxy.async.shared::cta;", "", "with no fence.proxy.async between"},
    {"MissingProxyFenceOfAttention", "fa_fwd", "fence.proxy.async.shared::cta;",
     "", "with no fence.proxy.async between"},
    {"ProductsWaitForOneLess", "gemm_bf16_bias_gelu",
     "wait_group.sync.aligned \t1", "wait_group.sync.aligned \t2",
     "may still read"},
    {"ProductsWaitForOneLessOfAttention", "fa_fwd", "wait_group.sync.aligned 1",
     "wait_group.sync.aligned 2", "of the product in flight"},
    {"MissingWaitForProducts", "gemm_bf16_bias_gelu",
     "wgmma.wait_group.sync.aligned \t0;", "",
     "is a sum of the product in flight"},
    {"MissingCommitOfProducts", "fa_fwd", "wgmma.commit_group.sync.aligned;",
     "", "is a sum of the product in flight"},
    {"MissingFenceOfProducts", "fa_fwd", "wgmma.fence.sync.aligned;", "",
     "no wgmma.fence"},
    {"OperandOverwrittenInFlight", "fa_fwd", "wgmma.wait_group.sync.aligned 1;",
     "wgmma.wait_group.sync.aligned 1;\n\tmov.b32 %r49, 0;",
     "is an operand of the product in flight"},
    {"SumOverwrittenInFlight", "fa_fwd", "wgmma.wait_group.sync.aligned 1;",
     "wgmma.wait_group.sync.aligned 1;\n\tmov.b32 %r922, 0;",
     "is a sum of the product in flight"},
    {"FullBarrierOffBy8", "gemm_bf16_bias_gelu", "P1, [%r112], %r1655",
     "P1, [%r112+8], %r1655", "nobody has waited for it"},
    {"BytesAtBarrierOffBy8", "gemm_bf16_bias_gelu", "[%rd123], %r1511",
     "[%rd123+8], %r1511", "deadlock"},
    {"EmptyBarrierCountTooSmall", "gemm_bf16_bias_gelu", "mov.b32 \t%r37, 4;",
     "mov.b32 \t%r37, 3;", "may still"},
    {"EmptyBarrierCountTooLarge", "gemm_bf16_bias_gelu", "mov.b32 \t%r37, 4;",
     "mov.b32 \t%r37, 5;", "deadlock"},
    {"ProducerParity", "gemm_bf16_bias_gelu", "mov.b32 \t%r1522, 1;",
     "mov.b32 \t%r1522, 0;", "deadlock"},
    {"ConsumerParity", "fa_fwd", "[%r4], 0, 10000000", "[%r4], 1, 10000000",
     "deadlock"},
    {"FewerBytesExpected", "gemm_bf16_bias_gelu", "mov.b32 \t%r1511, 49152;",
     "mov.b32 \t%r1511, 32768;", "never written"},
    {"MoreBytesExpected", "gemm_bf16_bias_gelu", "mov.b32 \t%r1511, 49152;",
     "mov.b32 \t%r1511, 49168;", "waits for 0 of 1 arrivals and 16 bytes"},
    {"MulticastToOneLess", "gemm_bf16_bias_gelu", "mov.b16 \t%rs2, 3;",
     "mov.b16 \t%rs2, 1;", "deadlock"},
    {"ClusterLost", "gemm_bf16_bias_gelu",
     ".explicitcluster\n.reqnctapercluster 2", "", "outside the cluster of 1"},
    {"MissingClusterBarrier", "gemm_bf16_bias_gelu",
     "barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;",
     "bar.sync 0;", "may not have begun"},
    {"MissingClusterBarrierAtTheEnd", "gemm_bf16_bias_gelu",
     "barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n\tret",
     "ret", "may have exited"},
    {"MissingFenceOfBarriers", "gemm_bf16_bias_gelu",
     "fence.mbarrier_init.release.cluster;", "", "with no fence.mbarrier_init"},
    {"MissingBarrierBehindInit", "fa_fwd", "bar.sync \t0;", "", "mbarrier at"},
    {"StoreNotWaitedFor", "gemm_bf16_bias_gelu",
     "cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read \t1;",
     "cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read \t2;",
     "may still read"},
    {"ExitBeforeStore", "fa_fwd", "cp.async.bulk.wait_group \t0;", "",
     "the block ends while the copy"},
    {"TooManyRegisters", "gemm_bf16_bias_gelu", "aligned.u32 \t232",
     "aligned.u32 \t240", "deadlock"},
};

class Bugs : public testing::TestWithParam<Bug> {};

/// The first report in any order of asynchronous work, or "right" or "wrong"
/// for results without one.
std::string firstReport(const TestKernel &kernel, const std::string &text) {
  bool right = true;
  for (Order order : kOrders)
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      Outcome outcome = kernel.run(text, order, seed);
      if (!outcome.report.empty())
        return outcome.report;
      right &= outcome.right;
    }
  return right ? "right results" : "wrong results";
}

TEST_P(Bugs, AreReported) {
  const Bug &bug = GetParam();
  const TestKernel &kernel = testKernel(bug.kernel);
  std::string text = textOf(kernel), good = bug.good;
  size_t at = text.find(good);
  ASSERT_NE(at, std::string::npos) << "the kernel has changed";
  text.replace(at, good.size(), bug.bad);
  std::string report = firstReport(kernel, text);
  EXPECT_NE(report.find(bug.words), std::string::npos)
      << "the report: " << report;
  EXPECT_NE(report.find(bug.kernel), std::string::npos) << report;
}

INSTANTIATE_TEST_SUITE_P(Hopper, Bugs, testing::ValuesIn(kHopperBugs),
                         [](auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Planted, Bugs, testing::ValuesIn(kBugs),
                         [](auto &info) { return info.param.name; });
} // namespace
