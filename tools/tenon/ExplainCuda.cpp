//===- ExplainCuda.cpp - tenon explain --target=cuda ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Commands.h"
#include "tools/tenon/CompileRequest.h"

#include "compiler/Pipeline.h"
#include "compiler/Targets/Cuda/Prediction.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::cuda;

namespace {

int refuse(const std::string &reason, int code) {
  llvm::errs() << "tenon explain: " << reason << '\n';
  return code;
}

std::string percent(double share) {
  return llvm::formatv("{0:P0}", share).str();
}

void print(const PredictedKernel &kernel) {
  std::string registers = kernel.resources.registers
                              ? std::to_string(kernel.resources.registers)
                              : "?";
  if (kernel.resources.spillBytes)
    registers += "!";
  llvm::outs() << llvm::format(
      "%9.2f us %5lld x %9.3f GF %9.2f MB  %-7s %4lld x %-7lld %4s regs "
      "%5s occupied %8.2f waves  ",
      kernel.seconds * 1e6, static_cast<long long>(kernel.launches),
      kernel.flops / 1e9, kernel.bytes / 1e6, nameOf(kernel.limit).data(),
      static_cast<long long>(kernel.threads),
      static_cast<long long>(kernel.blocks), registers.c_str(),
      percent(kernel.occupancy).c_str(), kernel.waves);
  llvm::outs() << kernel.name << " (" << kernel.schedule << ")\n";
}

void printAll(const std::vector<PredictedKernel> &kernels,
              const Device &device) {
  double seconds = 0, flops = 0, bytes = 0;
  int64_t launches = 0, spills = 0;
  for (const PredictedKernel &kernel : kernels) {
    print(kernel);
    seconds += kernel.seconds;
    flops += kernel.flops;
    bytes += kernel.bytes;
    launches += kernel.launches;
    spills += kernel.resources.spillBytes > 0;
  }
  llvm::outs() << llvm::format("%9.2f us %5lld launches, %.3f GF, %.2f MB on ",
                               seconds * 1e6, static_cast<long long>(launches),
                               flops / 1e9, bytes / 1e6);
  llvm::outs() << device.name << " (sm_" << device.sm
               << "), as a model of it says\n";
  if (spills)
    llvm::outs() << spills << " kernels spill registers (!)\n";
}

} // namespace

int tenon::explainForCuda(const ExplainCommand &command) {
  auto options = makeCompileOptions("", command.dims, "exec");
  if (!options)
    return refuse(llvm::toString(options.takeError()), kInvalid);
  options->targets = {Target::Cuda};
  if (llvm::Error error = setPrecision(*options, command.precision))
    return refuse(llvm::toString(std::move(error)), kInvalid);
  options->tf32 = parseTf32(command.tf32);
  const Device *device = findDevice(command.sm);
  if (!device)
    return refuse("there is no model of a device sm_" +
                      std::to_string(command.sm),
                  kInvalid);
  Compilation compilation;
  if (!lowerModel(compilation, command.model, *options)) {
    for (const std::string &error : compilation.errors)
      refuse(error, kFailure);
    return compilation.report.isInvalidModel() ? kInvalid : kFailure;
  }
  CodeCache cache;
  FailureOr<CudaCode> code = compilePtx(*compilation.module, cache);
  if (failed(code))
    return refuse("the kernels could not be compiled; please report this",
                  kFailure);
  llvm::StringMap<KernelResources> resources;
  if (findPtxas().empty()) {
    llvm::outs() << "ptxas is not installed: registers are not known, and "
                    "occupancy is without them\n";
  } else {
    auto found = resourcesOf(
        command.sm >= waitingSm ? code->waitingPtx : code->ptx, command.sm);
    if (!found)
      return refuse(llvm::toString(found.takeError()), kFailure);
    resources = std::move(*found);
  }
  auto kernels = predict(*compilation.module->getOps<exec::ProgramOp>().begin(),
                         *code, resources, *device);
  if (!kernels)
    return refuse(llvm::toString(kernels.takeError()), kFailure);
  printAll(*kernels, *device);
  return kSuccess;
}
