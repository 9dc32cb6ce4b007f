//===- Compile.cpp - Kernels become object code for CPUs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Compile.h"
#include "compiler/Targets/Cpu/Emitter.h"
#include "compiler/Targets/Cpu/LlvmPasses.h"
#include "compiler/Targets/Cpu/LowerToLlvm.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <future>
#include <mutex>

using namespace mlir;

namespace tenon::cpu {
namespace {

/// Vectorises and cleans up; nothing that would call a library function.
constexpr StringLiteral rowsPipeline =
    "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "simplifycfg,"
    "loop-mssa(loop-simplifycfg,loop-rotate,licm,"
    "simple-loop-unswitch<nontrivial>),instcombine<no-verify-fixpoint>,"
    "simplifycfg,gvn,"
    "loop-mssa(licm),loop(indvars),loop-simplify,lcssa,hide-bases,"
    "loop-vectorize,show-bases,instcombine<no-verify-fixpoint>,simplifycfg,"
    "early-cse<memssa>,loop-mssa("
    "licm),gvn,"
    "instcombine<no-verify-fixpoint>,simplifycfg";
/// Inner kernels are written as they are to be: the passes above would make the
/// same loops of them in three times the time.
constexpr StringLiteral tilePipeline =
    "early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(loop-rotate,licm),loop(indvars),"
    "instcombine<no-verify-fixpoint>,simplifycfg";

void optimize(llvm::Module &code, llvm::TargetMachine &machine) {
  runFunctionPasses(code, machine, [](const llvm::Function &function) {
    bool isTile = function.hasFnAttribute(tileAttribute);
    return StringRef(isTile ? tilePipeline : rowsPipeline);
  });
}

std::unique_ptr<llvm::TargetMachine> targetMachine(const CpuLevel &level) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.FunctionSections = true;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, level.targetCpu, "", options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// Everything about a level on its way to code.
struct Work {
  CpuLevel level;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> code;
  std::unique_ptr<llvm::TargetMachine> machine;
};

FailureOr<Work> emitLevel(ModuleOp module, const CpuLevel &level) {
  Work work{level, std::make_unique<llvm::LLVMContext>(), nullptr,
            targetMachine(level)};
  if (!work.machine)
    return module.emitError("this LLVM has no x86-64 target"), failure();
  OwningOpRef<ModuleOp> emitted = ModuleOp::create(module.getLoc());
  for (auto kernel : module.getOps<kernel::FuncOp>())
    if (failed(Emitter(kernel, level, *emitted).emit()))
      return failure();
  work.code = lowerToLlvm(*emitted, *work.context);
  if (!work.code)
    return module.emitError("kernels could not be lowered; please report this"),
           failure();
  work.code->setTargetTriple(work.machine->getTargetTriple());
  work.code->setDataLayout(work.machine->createDataLayout());
  for (llvm::Function &function : *work.code) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", level.targetCpu);
    function.addFnAttr("prefer-vector-width", Twine(level.vectorBits).str());
    std::string features;
    // Slower than scalar loads on most machines of that level.
    if (level.vectorBits >= 512)
      features = "+prefer-no-gather,+prefer-no-scatter";
    if (level.pairDots == PairDots::Native)
      features += ",+avx512bf16";
    if (level.quadDots)
      features += level.vectorBits >= 512 ? ",+avx512vnni" : ",+avxvnni";
    if (level.byteTables)
      features += ",+avx512vbmi";
    if (level.f16Fma == F16Fma::Native)
      features += ",+avx512fp16";
    if (level.amx == Amx::Native)
      features += ",+amx-tile,+amx-bf16,+amx-int8";
    if (!features.empty())
      function.addFnAttr("target-features", features);
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  return work;
}

/// The name of a symbol that the object lacks; empty when it is complete.
std::string undefinedSymbol(StringRef object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(object, "kernels"));
  if (!file)
    return llvm::toString(file.takeError());
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return llvm::toString(flags.takeError());
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined))
      continue;
    llvm::Expected<StringRef> name = symbol.getName();
    if (!name)
      return llvm::toString(name.takeError());
    if (!name->empty())
      return name->str();
  }
  return {};
}

} // namespace

FailureOr<std::vector<std::string>> compileObjects(ModuleOp module,
                                                   ArrayRef<CpuLevel> levels) {
  // LLVM's part is the longer one, and levels share nothing in it.
  std::vector<std::future<std::string>> codes;
  for (const CpuLevel &level : levels) {
    FailureOr<Work> emitted = emitLevel(module, level);
    if (failed(emitted))
      return failure();
    codes.push_back(
        std::async(std::launch::async, [work = std::move(*emitted)] {
          optimize(*work.code, *work.machine);
          return writeCode(*work.code, *work.machine,
                           llvm::CodeGenFileType::ObjectFile);
        }));
  }
  std::vector<std::string> objects;
  for (std::future<std::string> &code : codes)
    objects.push_back(code.get());
  for (const std::string &object : objects) {
    std::string missing = undefinedSymbol(object);
    if (!missing.empty())
      return module.emitError("kernels refer to '")
                 << missing << "', which nobody defines; please report this",
             failure();
  }
  return objects;
}

FailureOr<std::string> compileToLlvmIr(ModuleOp module, const CpuLevel &level) {
  FailureOr<Work> work = emitLevel(module, level);
  if (failed(work))
    return failure();
  optimize(*work->code, *work->machine);
  std::string text;
  llvm::raw_string_ostream stream(text);
  work->code->print(stream, nullptr);
  return text;
}

} // namespace tenon::cpu
