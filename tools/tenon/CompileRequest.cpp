//===- CompileRequest.cpp - Compile options from a command line -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/CompileRequest.h"
#include "compiler/CodeCache.h"
#include "tools/tenon/TensorFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tenon;

static llvm::Expected<DimRange> parseDimRange(const std::string &text) {
  auto [name, value] = llvm::StringRef(text).rsplit('=');
  auto [lo, hi] = value.split("..");
  if (!value.contains(".."))
    hi = lo;
  DimRange range;
  range.name = name.str();
  if (!name.empty() && !value.empty() && !value.contains("..") &&
      !llvm::isDigit(value[0]) && value[0] != '-') {
    range.same = value.str();
    return range;
  }
  if (name.empty() || lo.getAsInteger(10, range.lo) ||
      hi.getAsInteger(10, range.hi) || range.lo < 0 || range.hi < range.lo ||
      range.hi > INT32_MAX)
    return sentence("--dim " + text +
                    ": give NAME=LO..HI or NAME=N, within 0..2147483647, or "
                    "NAME=OTHER for a dim that always equals another");
  return range;
}

llvm::Expected<std::vector<DimRange>>
tenon::parseDimRanges(const std::vector<std::string> &texts) {
  std::vector<DimRange> ranges;
  for (const std::string &text : texts) {
    auto range = parseDimRange(text);
    if (!range)
      return range.takeError();
    ranges.push_back(std::move(*range));
  }
  return ranges;
}

std::vector<Target> tenon::parseTargets(const std::vector<std::string> &names) {
  std::vector<Target> targets;
  for (const std::string &name : names) {
    Target target = name == "cuda" ? Target::Cuda : Target::Cpu;
    if (!llvm::is_contained(targets, target))
      targets.push_back(target);
  }
  if (targets.empty())
    targets.push_back(Target::Cpu);
  return targets;
}

llvm::Error tenon::setPrecision(CompileOptions &options,
                                const PrecisionRequest &request) {
  options.precision = findPrecision(request.all).value_or(Precision::Fp32);
  options.kvCache = findCacheType(request.kvCache).value_or(CacheType::AsGiven);
  if (request.blockSize != 0) {
    if (!request.isAuto() && !isOfFewBits(options.precision))
      return sentence("--block-size is for --precision=int8-weights, "
                      "int4-weights and auto; a plan says \"block\" itself");
    options.blockSize = request.blockSize;
  }
  if (!request.readsPlan())
    return llvm::Error::success();
  auto plan = readPrecisionPlan(request.plan);
  if (!plan)
    return plan.takeError();
  options.precisionPlan = std::move(*plan);
  return llvm::Error::success();
}

llvm::Error tenon::setCodeCache(CompileOptions &options,
                                const std::string &folder) {
  if (folder.empty() || folder == "off") {
    // Choosing precisions compiles much of a model again.
    options.codeCache = std::make_shared<CodeCache>();
    return llvm::Error::success();
  }
  auto cache = CodeCache::inFolder(folder);
  if (!cache)
    return cache.takeError();
  options.codeCache = std::move(*cache);
  return llvm::Error::success();
}

llvm::Error tenon::setSeed(CompileOptions &options, const std::string &text) {
  uint64_t seed = 0;
  if (text == "input")
    options.seed.reset();
  else if (llvm::StringRef(text).getAsInteger(10, seed))
    return sentence("--seed " + text +
                    ": give a number within 0..18446744073709551615, or "
                    "'input'");
  else
    options.seed = seed;
  return llvm::Error::success();
}

Tf32 tenon::parseTf32(const std::string &text) {
  return text == "on" ? Tf32::On : text == "3x" ? Tf32::Split : Tf32::Off;
}

int64_t tenon::itemsAtOnce(const std::string &text) {
  return text == "auto"  ? 0
         : text == "all" ? CompileOptions::allItems
                         : std::stoll(text);
}

int64_t tenon::winogradOutputs(const std::string &text) {
  return text == "f2" ? 2 : text == "f4" ? 4 : 0;
}

llvm::Expected<CompileOptions>
tenon::makeCompileOptions(const std::string &cpu,
                          const std::vector<std::string> &dims,
                          const std::string &emit) {
  CompileOptions options;
  if (!cpu.empty()) {
    llvm::SmallVector<llvm::StringRef> names;
    llvm::StringRef(cpu).split(names, ',', -1, false);
    for (llvm::StringRef name : names)
      options.levels.push_back(name.trim().str());
    if (options.levels.empty())
      return sentence("--cpu names no CPU level");
  }
  auto ranges = parseDimRanges(dims);
  if (!ranges)
    return ranges.takeError();
  options.dims = std::move(*ranges);
  options.stage = llvm::StringSwitch<EmitStage>(emit)
                      .Case("graph", EmitStage::Graph)
                      .Case("regions", EmitStage::Regions)
                      .Case("kernels", EmitStage::Kernels)
                      .Case("exec", EmitStage::Exec)
                      .Case("llvm", EmitStage::Llvm)
                      .Case("object", EmitStage::Object)
                      .Case("ptx", EmitStage::Ptx)
                      .Default(EmitStage::Artifact);
  return options;
}
