//===- PlainBasesTest.cpp - Addresses that the vectorizer understands -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/PlainBases.h"
#include "compiler/Targets/Cpu/LlvmPasses.h"
#include "llvm-c/Target.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

/// out[x + i] = 2 * in[i], where x is nested `depth` times: the analysis of
/// loops counts the whole expression, which doubles each time.
std::string loopBehind(int depth) {
  std::string text = R"(
define void @f(ptr noalias %out, ptr noalias %in, i64 %a, i64 %b, i64 %x0) {
entry:
)";
  for (int i = 0; i < depth; ++i) {
    std::string x = "%x" + std::to_string(i), n = std::to_string(i);
    text += "  %y" + n + " = udiv i64 " + x + ", %a\n  %z" + n +
            " = udiv i64 " + x + ", %b\n  %x" + std::to_string(i + 1) +
            " = mul i64 %y" + n + ", %z" + n + "\n";
  }
  return text + "  %base = getelementptr float, ptr %out, i64 %x" +
         std::to_string(depth) + R"(
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %in, i64 %i
  %v = load float, ptr %from
  %w = fadd float %v, %v
  %to = getelementptr float, ptr %base, i64 %i
  store float %w, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 48
  br i1 %more, label %loop, label %done
done:
  ret void
}
)";
}

constexpr int plain = 1, huge = 16;

/// What passes make of it on a CPU with AVX-512.
std::string afterPasses(int depth, const std::string &passes) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(loopBehind(depth), error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  EXPECT_TRUE(target) << message;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, "x86-64-v4", "", {}, {}));
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  cpu::runPasses(*module, *machine, passes);
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

bool holds(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

TEST(PlainBases, ElementsSideBySideAreStoredTogether) {
  std::string code =
      afterPasses(huge, "function(hide-bases,loop-vectorize,show-bases)");
  EXPECT_TRUE(holds(code, "store <")) << code;
  EXPECT_FALSE(holds(code, "extractelement")) << code;
  EXPECT_FALSE(holds(code, "call ptr @llvm.launder")) << code;
}

/// The day that this fails, the passes can go.
TEST(PlainBases, TheyWouldNotBeElse) {
  std::string code = afterPasses(huge, "function(loop-vectorize)");
  EXPECT_FALSE(holds(code, "store <")) << code;
}

TEST(PlainBases, WhatIsSeenToCountStays) {
  EXPECT_FALSE(holds(afterPasses(plain, "function(hide-bases)"),
                     "call ptr @llvm.launder"));
  EXPECT_TRUE(holds(afterPasses(huge, "function(hide-bases)"),
                    "call ptr @llvm.launder"));
}

} // namespace
} // namespace tenon::test
