//===- Descriptor.cpp - The metadata as a relocatable object --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/Image.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

static GlobalVariable *addBytes(Module &module, const tenon::ImageBytes &part) {
  Constant *bytes = ConstantDataArray::getString(module.getContext(),
                                                 part.bytes, /*AddNull=*/false);
  auto *block =
      new GlobalVariable(module, bytes->getType(), true,
                         GlobalValue::ExternalLinkage, bytes, part.symbol);
  block->setVisibility(GlobalValue::HiddenVisibility);
  block->setAlignment(Align(64));
  block->setSection(".rodata");
  return block;
}

static void fill(Module &module, ArrayRef<tenon::ImageBytes> parts) {
  LLVMContext &context = module.getContext();
  SmallVector<GlobalVariable *> blocks;
  for (const tenon::ImageBytes &part : parts)
    blocks.push_back(addBytes(module, part));

  auto *type = FunctionType::get(PointerType::get(context, 0), false);
  auto *function = Function::Create(type, GlobalValue::ExternalLinkage,
                                    tenon::kDescriptorSymbol, module);
  function->addFnAttr(Attribute::NoUnwind);
  IRBuilder<> builder(BasicBlock::Create(context, "", function));
  builder.CreateRet(blocks.front());
}

Expected<SmallVector<char, 0>>
tenon::compileDescriptor(ArrayRef<ImageBytes> parts) {
  InitializeAllTargetInfos();
  InitializeAllTargets();
  InitializeAllTargetMCs();
  InitializeAllAsmPrinters();
  Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return createStringError("LLVM has no x86-64 target: " + error);
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, "x86-64", "", TargetOptions(), Reloc::PIC_));

  LLVMContext context;
  Module module("tenon", context);
  module.setTargetTriple(triple);
  module.setDataLayout(machine->createDataLayout());
  fill(module, parts);

  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   CodeGenFileType::ObjectFile))
    return createStringError("LLVM cannot write x86-64 objects");
  passes.run(module);
  return object;
}
