//===- FunctionUnitsTest.cpp - Functions that compile by themselves -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/FunctionUnits.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

class FunctionUnits : public testing::Test {
protected:
  std::vector<cpu::FunctionUnit> split(llvm::StringRef text) {
    llvm::SMDiagnostic error;
    auto code = llvm::parseAssemblyString(text, error, context);
    EXPECT_TRUE(code) << error.getMessage().str();
    return code ? cpu::splitFunctions(*code) : std::vector<cpu::FunctionUnit>();
  }

  std::unique_ptr<llvm::Module> read(const cpu::FunctionUnit &unit) {
    auto code = cpu::readUnit(unit.bitcode, context);
    EXPECT_TRUE(code);
    EXPECT_FALSE(llvm::verifyModule(*code, &llvm::errs()));
    return code;
  }

  llvm::LLVMContext context;
};

using Names = std::vector<std::string>;

TEST_F(FunctionUnits, AreEqualButForNames) {
  auto units = split(R"(
    define internal i32 @tile(i32 %a) { ret i32 %a }
    define i32 @kernel_1(i32 %a) {
      %r = call i32 @tile(i32 %a)
      ret i32 %r
    }
    define internal i32 @same(i32 %a) { ret i32 %a }
    define i32 @kernel_2(i32 %a) {
      %r = call i32 @same(i32 %a)
      ret i32 %r
    })");
  ASSERT_EQ(units.size(), 4u);
  EXPECT_EQ(units[0].bitcode, units[2].bitcode);
  EXPECT_EQ(units[1].bitcode, units[3].bitcode);
  EXPECT_NE(units[0].bitcode, units[1].bitcode);
  EXPECT_EQ(units[1].names, (Names{"kernel_1", "tile"}));
  EXPECT_EQ(units[3].names, (Names{"kernel_2", "same"}));
  // Others find those that were local.
  auto tile = read(units[0]), kernel = read(units[1]);
  EXPECT_TRUE(tile->getFunction("function0")->hasHiddenVisibility());
  EXPECT_TRUE(kernel->getFunction("function0")->hasDefaultVisibility());
  EXPECT_TRUE(kernel->getFunction("function1")->hasHiddenVisibility());
}

TEST_F(FunctionUnits, DifferByCodeAttributesAndConstants) {
  auto units = split(R"(
    @one = private constant i32 1
    @two = private constant i32 2
    define i32 @first() {
      %r = load i32, ptr @one
      ret i32 %r
    }
    define i32 @second() {
      %r = load i32, ptr @two
      ret i32 %r
    }
    define i32 @third() #0 {
      %r = load i32, ptr @two
      ret i32 %r
    }
    attributes #0 = { "target-cpu"="x86-64-v4" })");
  ASSERT_EQ(units.size(), 3u);
  EXPECT_NE(units[0].bitcode, units[1].bitcode);
  EXPECT_NE(units[1].bitcode, units[2].bitcode);
  auto code = read(units[0]);
  ASSERT_EQ(code->global_size(), 1u);
  EXPECT_TRUE(code->globals().begin()->hasPrivateLinkage());
}

/// A pass expands the callee, or what the vectoriser makes of it, by name.
TEST_F(FunctionUnits, WhatNoModuleDefinesKeepsItsNameAndForms) {
  auto units = split(R"ir(
    declare i16 @marker(float) #0
    declare <16 x i16> @marker_16(<16 x float>)
    define i16 @kernel(float %a) {
      %r = call i16 @marker(float %a)
      ret i16 %r
    }
    define void @other() { ret void }
    attributes #0 = { "vector-function-abi-variant"="_ZGV_LLVM_N16v_marker(marker_16)" })ir");
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(units[0].names, Names{"kernel"});
  auto kernel = read(units[0]), other = read(units[1]);
  EXPECT_TRUE(kernel->getFunction("marker"));
  EXPECT_TRUE(kernel->getFunction("marker_16"));
  EXPECT_FALSE(other->getFunction("marker"));
}

TEST_F(FunctionUnits, TextsGetOneName) {
  cpu::FunctionUnit unit = {"", {"relu_f32_0"}};
  EXPECT_EQ(cpu::withName("", unit), "");
  EXPECT_EQ(cpu::withName(".entry function0(\n function0_param_0)", unit),
            ".entry relu_f32_0(\n relu_f32_0_param_0)");
  EXPECT_EQ(cpu::withName("bra function0", unit), "bra relu_f32_0");
  EXPECT_EQ(cpu::withName("add", unit), "add");
}

TEST_F(FunctionUnits, RefusesWhatIsNoneOfIts) {
  EXPECT_FALSE(cpu::readUnit("no bitcode", context));
  auto renamed = cpu::withNames("no object", {"", {"kernel"}});
  ASSERT_FALSE(bool(renamed));
  llvm::consumeError(renamed.takeError());
}

} // namespace
} // namespace tenon::test
