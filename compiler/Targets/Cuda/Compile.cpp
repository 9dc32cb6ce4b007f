//===- Compile.cpp - Kernels become PTX for CUDA devices ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/Compile.h"
#include "compiler/Targets/Cpu/FunctionUnits.h"
#include "compiler/Targets/Cpu/LlvmPasses.h"
#include "compiler/Targets/Cpu/LowerToLlvm.h"
#include "compiler/Targets/Cuda/DeviceEmitter.h"
#include "compiler/Targets/Cuda/LowerPtx.h"
#include "compiler/Targets/Cuda/MathLibrary.h"
#include "compiler/Targets/Cuda/Rewrites.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Kernel/ConvTiles.h"
#include "dialects/Kernel/DeviceAttention.h"
#include "dialects/Kernel/FragmentLayout.h"
#include "dialects/Ptx/Ptx.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr StringLiteral device = "sm_80", version = "+ptx80";

/// Leaves entries that call nothing.
constexpr StringLiteral inlining = "always-inline,globaldce";
/// Nothing that makes copies of loops: what is inlined is large already.
constexpr StringLiteral pipeline =
    "function(sroa,early-cse<memssa>,infer-address-spaces,"
    "instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(loop-simplifycfg,loop-rotate,licm),"
    "instcombine<no-verify-fixpoint>,simplifycfg,gvn,loop-mssa(licm),"
    "loop(indvars),instcombine<no-verify-fixpoint>,simplifycfg,"
    "early-cse<memssa>)";

std::unique_ptr<llvm::TargetMachine> targetMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, device, version, llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Default));
}

/// What codegen is to know of each entry.
void describeEntries(llvm::Module &code, ArrayRef<CudaKernel> kernels) {
  for (llvm::Function &function : code)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", device);
      function.addFnAttr("target-features", version);
      function.addFnAttr("no-builtins");
      function.addFnAttr(llvm::Attribute::NoUnwind);
    }
  for (const CudaKernel &kernel : kernels)
    code.getFunction(kernel.name)
        ->addFnAttr("nvvm.maxntid", Twine(kernel.threads).str());
}

bool readsFragments(kernel::FuncOp function) {
  return llvm::any_of(
      function.getLayouts().getAsValueRange<StringAttr>(),
      [](StringRef layout) { return kernel::FragmentLayout::parse(layout); });
}

/// How many blocks of a kernel the registers are to leave room for, at least; 0
/// where that is left to the assembler. Of an attention by tiles as many as
/// shared memory does, up to where each thread has 128 registers: left alone,
/// it takes fewer and spills, or more and leaves a multiprocessor half empty.
/// The same is true of products by weights of few bits. Small blocks of
/// convolutions of bytes have some more registers, for their addresses.
unsigned leastBlocks(kernel::FuncOp function, const CudaKernel &kernel) {
  constexpr unsigned most = 4, roomyBytes = 227 << 10, ownBytes = 1 << 10;
  constexpr unsigned registers = 65536, ofThread = 128, ofConv = 160;
  if (kernel::isConvBytes(function.getSchedule()))
    return std::max(2u, registers / ofConv / kernel.threads);
  if (readsFragments(function))
    return registers / ofThread / kernel.threads;
  StringRef schedule = function.getSchedule();
  if (schedule == kernel::attentionMmaTallSchedule)
    return 2; // Its threads have all registers that one can.
  if (schedule != kernel::attentionMmaSchedule &&
      schedule != kernel::attentionSimtSchedule)
    return 0;
  unsigned fits = roomyBytes / (kernel.sharedBytes + ownBytes);
  // Sums over wide values have no room in so few registers.
  if (schedule == kernel::attentionMmaSchedule && fits <= most)
    return std::clamp(fits, 1u, most - 1);
  return std::clamp(fits, 1u, most);
}

/// Says of each kernel which arguments the programs' launches have weights for.
void markWeights(ModuleOp module) {
  llvm::StringMap<llvm::BitVector> weights;
  module.walk([&](exec::LaunchOp launch) {
    llvm::BitVector here(launch.getBuffers().size());
    for (auto [i, buffer] :
         llvm::enumerate(launch.getBuffers().getAsRange<exec::BufferAttr>()))
      here[i] = buffer.getPlace() == exec::Place::Weights;
    auto [found, isNew] = weights.try_emplace(launch.getKernel(), here);
    if (!isNew)
      found->second &= here;
  });
  for (auto kernel : module.getOps<kernel::FuncOp>()) {
    auto found = weights.find(kernel.getSymName());
    if (found == weights.end() || found->second.none())
      continue;
    auto arguments = llvm::to_vector_of<int64_t>(found->second.set_bits());
    kernel->setAttr(weightsAttribute,
                    DenseI64ArrayAttr::get(module.getContext(), arguments));
  }
}

/// The text for devices that let a launch begin while the one before is ending,
/// and for others, which do not know the instructions for it.
void writeTexts(std::string text, CudaCode &result) {
  constexpr StringRef opening = "\t// begin inline asm\n\tgriddepcontrol.",
                      closing = "// end inline asm\n";
  StringRef rest = text;
  while (!rest.empty()) {
    size_t at = std::min(rest.find(opening), rest.size());
    result.ptx += rest.take_front(at);
    rest = rest.drop_front(at);
    if (size_t end = rest.find(closing); !rest.empty())
      rest = rest.drop_front(end + closing.size());
  }
  result.waitingPtx = std::move(text);
  std::string target = (".target " + device).str();
  size_t at = result.waitingPtx.find(target);
  assert(at != std::string::npos && "PTX names its target");
  result.waitingPtx.replace(at, target.size(),
                            ".target sm_" + std::to_string(waitingSm));
}

std::string compileUnit(llvm::Module &code) {
  std::unique_ptr<llvm::TargetMachine> machine = targetMachine();
  cpu::runPasses(code, *machine, pipeline);
  keepPartialStores(code);
  return cpu::writeCode(code, *machine, llvm::CodeGenFileType::AssemblyFile);
}

/// The PTX of kernels that were compiled one by one.
class PtxText {
public:
  /// Adds a kernel under its name. A line that has no place in a text of many
  /// kernels, or nothing.
  std::string add(StringRef textOfUnit, const cpu::FunctionUnit &unit) {
    std::string text = cpu::withName(textOfUnit, unit);
    size_t entry = text.find(".visible .entry");
    if (entry == std::string::npos)
      return "no entry";
    SmallVector<StringRef> lines;
    StringRef(text).take_front(entry).split(lines, '\n', -1, false);
    for (StringRef line : lines) {
      if (line.ltrim().starts_with("//"))
        continue;
      std::string *part = partOf(line);
      if (!part)
        return line.str();
      if (part == &entries || !StringRef(*part).contains(line))
        *part += line.str() + "\n";
    }
    entries += StringRef(text).drop_front(entry);
    return {};
  }

  std::string text() const { return header + "\n" + shared + "\n" + entries; }

private:
  /// Where a line in front of an entry belongs.
  std::string *partOf(StringRef line) {
    if (line.starts_with(".version") || line.starts_with(".target") ||
        line.starts_with(".address_size"))
      return &header;
    if (line.starts_with(".extern .shared"))
      return &shared;
    return line.starts_with(".global") ? &entries : nullptr; // A table.
  }

  std::string header = "// Generated by Tenon, with LLVM's NVPTX back end\n\n";
  std::string shared, entries;
};

/// The first function that a kernel would have to call; empty if there is none.
StringRef calledFunction(const llvm::Module &code,
                         ArrayRef<CudaKernel> kernels) {
  for (const llvm::Function &function : code)
    if (!function.isIntrinsic() &&
        llvm::none_of(kernels, [&](const CudaKernel &kernel) {
          return kernel.name == function.getName();
        }))
      return function.getName();
  return {};
}

/// Compiles each kernel by itself, if no equal one has been.
FailureOr<std::string> compileEntries(ModuleOp module, llvm::Module &code,
                                      CodeCache &cache) {
  PtxText joined;
  for (const auto &[unit, text] : cpu::compileUnits(code, cache, compileUnit))
    if (std::string unknown = joined.add(text.get(), unit); !unknown.empty())
      return module.emitError("the PTX of '")
                 << unit.name() << "' says '" << unknown
                 << "'; please report this",
             failure();
  return joined.text();
}

} // namespace

FailureOr<CudaCode> compilePtx(ModuleOp module, CodeCache &cache) {
  CudaCode result;
  markWeights(module);
  module.getContext()->loadDialect<ptx::PtxDialect>();
  OwningOpRef<ModuleOp> emitted = ModuleOp::create(module.getLoc());
  for (auto kernel : module.getOps<kernel::FuncOp>()) {
    DeviceEmitter emitter(kernel, *emitted);
    if (failed(emitter.emit()))
      return failure();
    result.kernels.push_back(
        {kernel.getSymName().str(), emitter.threads, emitter.sharedBytes});
  }
  std::unique_ptr<llvm::TargetMachine> machine = targetMachine();
  if (!machine)
    return module.emitError("this LLVM has no NVPTX target"), failure();
  // So that loads and stores are known to be aligned.
  llvm::DataLayout layout = machine->createDataLayout();
  (*emitted)->setAttr(
      LLVM::LLVMDialect::getDataLayoutAttrName(),
      StringAttr::get(module.getContext(), layout.getStringRepresentation()));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code;
  if (succeeded(lowerPtx(*emitted)))
    code = cpu::lowerToLlvm(*emitted, context);
  if (!code)
    return module.emitError("kernels could not be lowered; please report this"),
           failure();
  markConvergent(*code);
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(layout);
  if (llvm::Error error = linkMath(*code))
    return module.emitError("the functions of floats could not be linked: ")
               << llvm::toString(std::move(error)),
           failure();
  describeEntries(*code, result.kernels);
  for (auto [function, kernel] :
       llvm::zip(module.getOps<kernel::FuncOp>(), result.kernels))
    if (unsigned blocks = leastBlocks(function, kernel))
      code->getFunction(kernel.name)
          ->addFnAttr("nvvm.minctasm", Twine(blocks).str());
  useConversions(*code);
  cpu::runPasses(*code, *machine, inlining);
  if (StringRef called = calledFunction(*code, result.kernels); !called.empty())
    return module.emitError("kernels call '")
               << called << "', which is not part of them; please report this",
           failure();
  FailureOr<std::string> text = compileEntries(module, *code, cache);
  if (failed(text))
    return failure();
  writeTexts(std::move(*text), result);
  return result;
}

} // namespace tenon::cuda
