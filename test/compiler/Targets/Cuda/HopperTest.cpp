//===- HopperTest.cpp - Ops of sm_90a on the simulator --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/LowerPtx.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "test/gpu/sim/Simulator.h"
#include "test/gpu/sim/TensorMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tenon;

namespace {

std::unique_ptr<llvm::TargetMachine> hopper() {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  return std::unique_ptr<llvm::TargetMachine>(
      target ? target->createTargetMachine(triple, "sm_90a", "+ptx80",
                                           llvm::TargetOptions(),
                                           llvm::Reloc::PIC_)
             : nullptr);
}

/// The PTX of a file of ptx ops; empty after a failure.
std::string compile(const std::string &path) {
  MLIRContext context;
  registerBuiltinDialectTranslation(context);
  registerLLVMDialectTranslation(context);
  registerNVVMDialectTranslation(context);
  context.loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, ptx::PtxDialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  std::unique_ptr<llvm::TargetMachine> machine = hopper();
  if (!module || !machine || failed(cuda::lowerPtx(*module)))
    return {};
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(*module, llvmContext);
  if (!code)
    return {};
  cuda::markConvergent(*code);
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    return {};
  passes.run(*code);
  return text.str().str();
}

/// Small whole numbers, exact in bf16 and in sums of any order.
float element(unsigned row, unsigned k) {
  return float((row * 7 + k * 3) % 11) - 5;
}

/// A matrix of bf16, `rows` by `depth`, in boxes of 64 by 64.
sim::TensorMap give(sim::Memory &memory, unsigned rows, unsigned depth) {
  std::vector<uint16_t> values(rows * depth);
  for (unsigned i = 0; i < values.size(); ++i) {
    float value = element(i / depth, i % depth);
    uint32_t bits;
    memcpy(&bits, &value, 4);
    values[i] = uint16_t(bits >> 16);
  }
  sim::TensorMap map;
  map.address = memory.allocate(values.size() * 2);
  memory.write(map.address, values.data(), values.size() * 2);
  map.rank = 2;
  map.elementBytes = map.strides[0] = 2;
  map.sizes[0] = depth;
  map.sizes[1] = rows;
  map.strides[1] = depth * 2;
  map.box[0] = map.box[1] = 64;
  map.swizzle = sim::Swizzle::B128;
  EXPECT_EQ(map.check(), "");
  return map;
}

/// Ragged in all directions: what is outside arrives as zeros.
TEST(Hopper, ProductByTmaAndWgmma) {
  constexpr unsigned kM = 61, kN = 50, kK = 136, kTiles = 3;
  std::string text =
                  compile(std::string(TENON_TEST_CUDA) + "/HopperProduct.mlir"),
              error;
  ASSERT_NE(text, "");
  std::unique_ptr<sim::Module> module = sim::Module::parse(text, error);
  ASSERT_TRUE(module) << error << text;
  ASSERT_TRUE(module->kernel("product")) << text;
  for (sim::Order order :
       {sim::Order::Eager, sim::Order::Lazy, sim::Order::Random}) {
    sim::Memory memory;
    sim::TensorMap a = give(memory, kM, kK), b = give(memory, kN, kK);
    uint64_t c = memory.allocate(128 * 32 * 4);
    sim::Launch launch;
    launch.block[0] = 128;
    launch.dynamicShared = 16384 + 8;
    launch.order = order;
    launch.parameters.resize(128 + 128 + 8 + 4);
    a.encode(launch.parameters.data());
    b.encode(launch.parameters.data() + 128);
    memcpy(launch.parameters.data() + 256, &c, 8);
    memcpy(launch.parameters.data() + 264, &kTiles, 4);
    ASSERT_EQ(sim::run(*module->kernel("product"), memory, launch), "");
    std::vector<float> sums(128 * 32);
    ASSERT_TRUE(memory.read(c, sums.data(), sums.size() * 4));
    for (unsigned m = 0; m < 64; ++m)
      for (unsigned n = 0; n < 64; ++n) {
        float wanted = 0;
        for (unsigned k = 0; k < kK && m < kM && n < kN; ++k)
          wanted += element(m, k) * element(n, k);
        unsigned thread = m / 16 * 32 + m % 8 * 4 + n % 8 / 2;
        unsigned index = n / 8 * 4 + m % 16 / 8 * 2 + n % 2;
        ASSERT_EQ(sums[thread * 32 + index], wanted) << m << " " << n;
      }
  }
}

} // namespace
