//===- MathLibrary.cpp - Functions of floats for devices ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/MathLibrary.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Linker/Linker.h"

namespace tenon::cuda {
namespace {

// device/Math.cpp as LLVM bitcode; the build puts it beside.
constexpr unsigned char bitcode[] = {
#include "DeviceMath.inc"
};

} // namespace

llvm::Error linkMath(llvm::Module &code) {
  llvm::StringSet<> known;
  bool isNeeded = false;
  for (const llvm::Function &function : code) {
    known.insert(function.getName());
    isNeeded |= function.isDeclaration() && !function.isIntrinsic();
  }
  if (!isNeeded)
    return llvm::Error::success();
  llvm::StringRef bytes(reinterpret_cast<const char *>(bitcode),
                        sizeof bitcode);
  auto library = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(bytes, "device math"), code.getContext());
  if (!library)
    return library.takeError();
  llvm::SmallVector<std::string> functions;
  for (const llvm::Function &function : **library)
    functions.push_back(function.getName().str());
  if (llvm::Linker::linkModules(code, std::move(*library),
                                llvm::Linker::LinkOnlyNeeded))
    return llvm::createStringError("the bitcode does not fit");
  for (const std::string &name : functions) {
    llvm::Function *function = code.getFunction(name);
    if (!function || function->isDeclaration())
      continue;
    function->setLinkage(llvm::Function::InternalLinkage);
    function->removeFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr(llvm::Attribute::AlwaysInline);
  }
  return llvm::Error::success();
}

} // namespace tenon::cuda
