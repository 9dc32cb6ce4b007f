//===- PipelineTargets.cpp - Kernels become code for each target ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/PipelineTargets.h"
#include "compiler/Package/Image.h"
#include "compiler/Targets/Cpu/Compile.h"
#include "compiler/Targets/Cuda/Compile.h"
#include "dialects/Kernel/AttentionView.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/MatmulView.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tenon {
namespace {

/// What kernels multiply that some CPUs have instructions for.
struct Multiplied {
  bool pairs = false, quads = false; // Of bf16, and of 8-bit numbers.
  bool halves = false;               // Of f16.
};

bool readsBf16(Value operand) {
  Value narrow = kernel::behindWidening(operand);
  return narrow && graph::getElementType(narrow).isBF16();
}

Multiplied multipliedBy(ModuleOp module, const CompileOptions &options) {
  Multiplied found;
  // Many rows meet weights of few bits as pairs.
  found.pairs = options.usesPrecision(Precision::Bf16) ||
                options.usesPrecision(Precision::Int8Weights) ||
                options.usesPrecision(Precision::Int4Weights);
  for (auto function : module.getOps<kernel::FuncOp>())
    found.quads |= function.getSchedule() == "PackedMatmulInt8" ||
                   function.getSchedule() == "BatchedMatmulInt8" ||
                   function.getSchedule() == "LineConvInt8" ||
                   function.getSchedule() == "PackedConvInt8";
  module.walk([&](Operation *op) {
    found.halves |= op->hasAttr(kernel::addsF16Attribute);
    // Beside products of bytes, attention is of pairs, and what waits for its
    // bytes is rounded.
    if (auto cast = dyn_cast<graph::CastOp>(op))
      found.pairs |=
          found.quads && graph::getElementType(cast.getResult()).isBF16();
    if (auto matmul = dyn_cast<graph::MatmulOp>(op))
      found.pairs |= readsBf16(matmul.getLhs()) && readsBf16(matmul.getRhs());
    if (auto attention = dyn_cast<graph::AttentionOp>(op))
      found.halves |=
          kernel::storedOperandOf(attention, attention.getQuery()).isRounded;
    if (auto conv = dyn_cast<graph::ConvOp>(op))
      found.pairs |= kernel::convolvesPairs(conv);
  });
  return found;
}

/// Whether a program that multiplies these has a use for a level's
/// instructions.
bool isWorthIt(const cpu::CpuLevel &level, Multiplied multiplied) {
  if (level.amx != cpu::Amx::None)
    return multiplied.pairs || multiplied.quads;
  if (level.pairDots != cpu::PairDots::None)
    return multiplied.pairs;
  if (level.f16Fma != cpu::F16Fma::None)
    return multiplied.halves;
  return multiplied.quads || !level.quadDots;
}

/// Where this machine runs none, all stay, and loading says why none does.
void keepBestOfThisMachine(std::vector<cpu::CpuLevel> &levels) {
  std::optional<cpu::CpuLevel> machine = cpu::findCpuLevel("native");
  uint64_t features = machine ? machine->features : 0;
  for (const cpu::CpuLevel &level : llvm::reverse(levels))
    if ((level.features & ~features) == 0) {
      levels = {cpu::CpuLevel(level)};
      return;
    }
}

/// The CPU levels that code is made for; those that are unknown become errors.
/// Unless some are named, the ones whose instructions a program needs.
std::vector<cpu::CpuLevel> levelsOf(const CompileOptions &options,
                                    Multiplied multiplied,
                                    std::vector<std::string> &errors) {
  std::vector<cpu::CpuLevel> levels;
  if (options.levels.empty())
    for (const cpu::CpuLevel &level : cpu::cpuLevels())
      if (isWorthIt(level, multiplied))
        levels.push_back(level);
  for (const std::string &name : options.levels) {
    std::optional<cpu::CpuLevel> level = cpu::findCpuLevel(name);
    if (level) {
      levels.push_back(*level);
      continue;
    }
    std::string known;
    for (const cpu::CpuLevel &each : cpu::cpuLevels())
      known += (known.empty() ? "" : ", ") + each.name.str();
    errors.push_back("there is no CPU level '" + name +
                     "'; say native or one of " + known);
  }
  if (options.isForThisMachine)
    keepBestOfThisMachine(levels);
  return levels;
}

} // namespace

static bool someLevel(const CompileOptions &options,
                      function_ref<bool(const cpu::CpuLevel &)> has) {
  return options.levels.empty() ||
         llvm::any_of(options.levels, [&](const std::string &name) {
           std::optional<cpu::CpuLevel> level = cpu::findCpuLevel(name);
           return level && has(*level);
         });
}

bool multipliesPairs(const CompileOptions &options) {
  return someLevel(options, [](const cpu::CpuLevel &level) {
    return level.pairDots != cpu::PairDots::None;
  });
}

bool addsInF16(const CompileOptions &options) {
  return someLevel(options, [](const cpu::CpuLevel &level) {
    return level.f16Fma != cpu::F16Fma::None;
  });
}

void checkTargets(const CompileOptions &options,
                  std::vector<std::string> &errors) {
  bool hasCpu = llvm::is_contained(options.targets, Target::Cpu);
  bool hasCuda = llvm::is_contained(options.targets, Target::Cuda);
  if (hasCpu)
    levelsOf(options, {}, errors);
  else if (!options.levels.empty())
    errors.push_back("CPU levels are given, but CPUs are no target");
  if (!hasCuda && !options.sms.empty())
    errors.push_back("compute capabilities are given, but CUDA is no target");
  if (options.stage == EmitStage::Ptx && options.targets[0] != Target::Cuda)
    errors.push_back("PTX is for CUDA: name that target first");
  if ((options.stage == EmitStage::Object ||
       options.stage == EmitStage::Llvm) &&
      options.targets[0] != Target::Cpu)
    errors.push_back("object code and LLVM IR are shown for CPUs; for CUDA "
                     "there is PTX");
}

std::string llvmIrOf(ModuleOp module, const CompileOptions &options) {
  std::vector<std::string> errors;
  FailureOr<std::string> ir = cpu::compileToLlvmIr(
      module, levelsOf(options, multipliedBy(module, options), errors).front());
  return succeeded(ir) ? *ir : "";
}

bool TargetCode::generate(const CompileOptions &options,
                          std::vector<std::string> &errors) {
  return target == Target::Cuda ? generateForCuda(options, errors)
                                : generateForCpu(options, errors);
}

static std::shared_ptr<CodeCache> cacheOf(const CompileOptions &options) {
  return options.codeCache ? options.codeCache : std::make_shared<CodeCache>();
}

bool TargetCode::generateForCpu(const CompileOptions &options,
                                std::vector<std::string> &errors) {
  std::vector<cpu::CpuLevel> wanted =
      levelsOf(options, multipliedBy(*module, options), errors);
  FailureOr<std::vector<std::string>> made =
      cpu::compileArchives(*module, wanted, *cacheOf(options));
  if (failed(made))
    return false;
  archives = std::move(*made);
  for (auto [level, archive] : llvm::zip(wanted, archives))
    levels.push_back({level.name.str(), level.features,
                      ArrayRef<char>(archive.data(), archive.size())});
  if (options.stage != EmitStage::Object)
    return true;
  auto joined = joinObjects(levels.front().archive);
  if (!joined) {
    errors.push_back(llvm::toString(joined.takeError()));
    return false;
  }
  object = std::move(*joined);
  return true;
}

bool TargetCode::generateForCuda(const CompileOptions &options,
                                 std::vector<std::string> &errors) {
  FailureOr<cuda::CudaCode> code = cuda::compilePtx(*module, *cacheOf(options));
  if (failed(code))
    return false;
  for (const cuda::CudaKernel &kernel : code->kernels)
    blocks.push_back({kernel.threads, kernel.sharedBytes});
  auto waits = [](unsigned sm) { return sm >= cuda::waitingSm; };
  // The texts end with a NUL, as drivers want it.
  images.push_back({TENON_IMAGE_PTX, cuda::ptxSm, code->ptx + '\0'});
  images.push_back({TENON_IMAGE_PTX, cuda::waitingSm, code->waitingPtx + '\0',
                    /*waits=*/true});
  if (options.sms.empty() || options.stage == EmitStage::Ptx)
    return true;
  SmallVector<cuda::AssemblySource> sources;
  for (unsigned sm : options.sms)
    sources.push_back({sm, waits(sm) ? code->waitingPtx : code->ptx});
  auto cubins = cuda::assembleCubins(sources);
  if (!cubins) {
    errors.push_back(llvm::toString(cubins.takeError()));
    return false;
  }
  for (auto [sm, bytes] : llvm::zip(options.sms, *cubins))
    images.push_back({TENON_IMAGE_CUBIN, sm, std::move(bytes), waits(sm)});
  return true;
}

TargetProgram TargetCode::program() {
  return {target == Target::Cuda ? TENON_TARGET_CUDA : TENON_TARGET_CPU,
          *module->getOps<exec::ProgramOp>().begin(),
          *module,
          levels,
          images,
          blocks};
}

std::string TargetCode::text() const {
  return target == Target::Cuda ? images.front().bytes.c_str() : object;
}

} // namespace tenon
