//===- RewritesTest.cpp - LLVM IR as devices have instructions for it -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/Rewrites.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

namespace tenon::cuda {
namespace {

/// What a rewrite makes of a function of that body.
std::string rewritten(void (*rewrite)(llvm::Module &), const std::string &type,
                      const std::string &body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> code = llvm::parseAssemblyString(
      "define void @k(" + type + " %x, ptr %to) {\n" + body + "ret void\n}\n",
      error, context);
  EXPECT_TRUE(code) << error.getMessage().str();
  if (!code)
    return {};
  rewrite(*code);
  EXPECT_FALSE(llvm::verifyModule(*code, &llvm::errs()));
  std::string text;
  llvm::raw_string_ostream(text) << *code;
  return text;
}

bool has(const std::string &text, const char *part) {
  return text.find(part) != text.npos;
}

/// As cpu::roundTo writes it, with `half` added.
std::string rounding(const std::string &half) {
  return "%b = bitcast float %x to i32\n"
         "%s = lshr i32 %b, 16\n"
         "%o = and i32 %s, 1\n"
         "%h = add i32 %b, " +
         half +
         "\n"
         "%a = add i32 %h, %o\n"
         "%m = and i32 %a, -65536\n"
         "%f = bitcast i32 %m to float\n"
         "%n = fcmp uno float %x, %x\n"
         "%r = select i1 %n, float 0x7FF8000000000000, float %f\n"
         "%rb = bitcast float %r to i32\n"
         "%u = lshr i32 %rb, 16\n"
         "%t = trunc i32 %u to i16\n"
         "store i16 %t, ptr %to\n";
}

TEST(Rewrites, RoundingIsAConversion) {
  std::string text = rewritten(useConversions, "float", rounding("32767"));
  EXPECT_TRUE(has(text, "fptrunc float %x to bfloat")) << text;
  EXPECT_TRUE(has(text, "bitcast bfloat")) << text;
}

TEST(Rewrites, OtherArithmeticStays) {
  std::string text = rewritten(useConversions, "float", rounding("32768"));
  EXPECT_FALSE(has(text, "fptrunc")) << text;
}

TEST(Rewrites, PartsOfFloatsAreMoved) {
  std::string byte = "%b = bitcast float %x to i32\n"
                     "%t = trunc i32 %b to i8\nstore i8 %t, ptr %to\n";
  EXPECT_TRUE(has(rewritten(keepPartialStores, "float", byte), "mov.b32"));
  std::string half = "%b = bitcast double %x to i64\n"
                     "%t = trunc i64 %b to i16\nstore i16 %t, ptr %to\n";
  EXPECT_TRUE(has(rewritten(keepPartialStores, "double", half), "mov.b64"));
  std::string single = "%b = bitcast <1 x float> %x to <1 x i32>\n"
                       "%t = trunc <1 x i32> %b to <1 x i8>\n"
                       "store <1 x i8> %t, ptr %to\n";
  EXPECT_TRUE(
      has(rewritten(keepPartialStores, "<1 x float>", single), "mov.b32"));
}

TEST(Rewrites, WholeFloatsAndPartsOfIntegersStay) {
  EXPECT_FALSE(
      has(rewritten(keepPartialStores, "float", "store float %x, ptr %to\n"),
          "mov"));
  EXPECT_FALSE(has(rewritten(keepPartialStores, "i32",
                             "%t = trunc i32 %x to i8\nstore i8 %t, ptr %to\n"),
                   "mov"));
}

} // namespace
} // namespace tenon::cuda
