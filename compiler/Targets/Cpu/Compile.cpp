//===- Compile.cpp - Kernels become object code for CPUs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Compile.h"
#include "compiler/Targets/Cpu/Emitter.h"
#include "compiler/Targets/Cpu/FunctionUnits.h"
#include "compiler/Targets/Cpu/LlvmPasses.h"
#include "compiler/Targets/Cpu/LowerToLlvm.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <deque>
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
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, level.targetCpu, "", llvm::TargetOptions(), llvm::Reloc::PIC_,
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

std::string compileUnit(llvm::Module &code, const CpuLevel &level) {
  std::unique_ptr<llvm::TargetMachine> machine = targetMachine(level);
  if (!machine)
    return {};
  optimize(code, *machine);
  return writeCode(code, *machine, llvm::CodeGenFileType::ObjectFile);
}

/// An archive in memory of objects, and what they define and lack.
class ObjectArchive {
public:
  llvm::Error add(std::string object, StringRef name) {
    objects.push_back(std::move(object));
    llvm::MemoryBufferRef bytes(objects.back(), name);
    auto file = llvm::object::ObjectFile::createELFObjectFile(bytes);
    if (!file)
      return file.takeError();
    for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
      llvm::Expected<uint32_t> flags = symbol.getFlags();
      if (!flags)
        return flags.takeError();
      llvm::Expected<StringRef> called = symbol.getName();
      if (!called)
        return called.takeError();
      bool isLacking = *flags & llvm::object::SymbolRef::SF_Undefined;
      (isLacking ? lacking : defined).insert(*called);
    }
    members.emplace_back(bytes);
    return llvm::Error::success();
  }

  llvm::Expected<std::string> write() const {
    for (const auto &symbol : lacking)
      if (!symbol.first().empty() && !defined.contains(symbol.first()))
        return llvm::createStringError("kernels refer to '" + symbol.first() +
                                       "', which nobody defines");
    auto bytes = llvm::writeArchiveToBuffer(
        members, llvm::SymtabWritingMode::NormalSymtab,
        llvm::object::Archive::K_GNU, /*Deterministic=*/true, /*Thin=*/false);
    if (!bytes)
      return bytes.takeError();
    return (*bytes)->getBuffer().str();
  }

private:
  std::deque<std::string> objects;
  std::vector<llvm::NewArchiveMember> members;
  llvm::StringSet<> defined, lacking;
};

llvm::Expected<std::string> archiveOf(ArrayRef<CompiledUnit> compiled) {
  ObjectArchive archive;
  for (const auto &[unit, code] : compiled) {
    auto object = withNames(code.get(), unit);
    if (!object)
      return llvm::createStringError("the code of '" + unit.name() + "': " +
                                     llvm::toString(object.takeError()));
    if (llvm::Error error = archive.add(std::move(*object), unit.name()))
      return error;
  }
  return archive.write();
}

} // namespace

FailureOr<std::vector<std::string>>
compileArchives(ModuleOp module, ArrayRef<CpuLevel> levels, CodeCache &cache) {
  // Functions of all levels share the processors.
  std::vector<std::vector<CompiledUnit>> unitsOfLevels;
  for (const CpuLevel &level : levels) {
    FailureOr<Work> emitted = emitLevel(module, level);
    if (failed(emitted))
      return failure();
    unitsOfLevels.push_back(
        compileUnits(*emitted->code, cache, [level](llvm::Module &code) {
          return compileUnit(code, level);
        }));
  }
  std::vector<std::string> archives;
  for (ArrayRef<CompiledUnit> units : unitsOfLevels) {
    auto archive = archiveOf(units);
    if (!archive)
      return module.emitError(llvm::toString(archive.takeError()))
                 << "; please report this",
             failure();
    archives.push_back(std::move(*archive));
  }
  return archives;
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
