//===- Prediction.cpp - How long launches should take on a GPU ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/Prediction.h"
#include "dialects/Kernel/ConvTiles.h"
#include "dialects/Kernel/FragmentLayout.h"
#include "dialects/Kernel/PointwiseView.h"
#include "dialects/Kernel/RowTile.h"
#include "dialects/Kernel/SerialTiles.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;

namespace tenon::cuda {
namespace {

/// Between an empty device and a full one speed grows with the threads that are
/// there; so many on each multiprocessor are enough to hide what they wait for.
constexpr double enoughThreads = 512;

/// Multiply-adds per second that a schedule's instructions allow: of tf32, half
/// as many as of 16 bits, and of 8 twice as many.
double peakOf(StringRef schedule, const Device &device) {
  if (kernel::isByteSchedule(schedule) || kernel::isConvBytes(schedule))
    return device.halfFlops * 2;
  if (schedule.contains("Mma"))
    return device.halfFlops;
  if (schedule.contains("Tf32x3"))
    return device.halfFlops / 6;
  return schedule.contains("Tf32") ? device.halfFlops / 2 : device.flops;
}

/// How much more than others threads of a schedule ask for at a time: vectors.
double threadWidth(StringRef schedule) {
  bool isByVectors = schedule == kernel::blockColumnsSchedule ||
                     schedule == kernel::blockRowsSchedule ||
                     schedule == kernel::vectorMapSchedule;
  return isByVectors ? 2 : 1;
}

/// How often a kernel reads its operands: rows that are too long for registers
/// are read again, and so are those of which some are the best, for each.
double passesOver(kernel::FuncOp function) {
  Block &body = function.getBlock();
  if (function.getSchedule() == kernel::blockTopkSchedule) {
    auto op = cast<graph::TopkOp>(kernel::findRoot(body));
    graph::Expr few = graph::getDim(op.getValues(), op.getAxis());
    return double(few.asConstant().value_or(1));
  }
  std::string why;
  std::optional<kernel::RowView> view;
  if (function.getSchedule() == kernel::blockRowsSchedule)
    view = kernel::rowViewOf(body, why);
  if (!view || !view->length.asConstant() ||
      kernel::rowTileOf(body, *view).held > 0)
    return 1;
  if (isa<graph::SoftmaxOp, graph::LogSoftmaxOp, graph::RmsNormOp>(view->root))
    return 2;
  return isa<graph::LayerNormOp>(view->root) ? 3 : 1;
}

class Predictor {
public:
  Predictor(exec::ProgramOp program, const CudaCode &code,
            const llvm::StringMap<KernelResources> &resources,
            const Device &device)
      : resources(resources), device(device),
        module(program->getParentOfType<ModuleOp>()) {
    for (auto [name, lo, hi] :
         llvm::zip(program.getSymbols(), program.getLo(), program.getHi()))
      sizes[cast<StringAttr>(name).getValue()] = chosenSize(lo, hi);
    for (const CudaKernel &kernel : code.kernels)
      kernels[kernel.name] = &kernel;
  }

  void visit(Block &block) {
    for (Operation &op : block) {
      if (auto set = dyn_cast<exec::SetOp>(op)) {
        sizes[set.getSymbol()] = numberOf(set.getValue()[0]);
      } else if (auto launch = dyn_cast<exec::LaunchOp>(op)) {
        add(launch);
      } else if (auto choice = dyn_cast<exec::IfOp>(op)) {
        visit(choice.getThenRegion().front());
        visit(choice.getElseRegion().front());
      } else if (auto loop = dyn_cast<exec::LoopOp>(op)) {
        visit(loop.getBody().front()); // Once: only the run knows how often.
      }
    }
  }

  std::vector<PredictedKernel> sorted() {
    std::vector<PredictedKernel> all;
    for (auto &[name, kernel] : predicted)
      all.push_back(std::move(kernel));
    llvm::sort(all, [](const auto &a, const auto &b) {
      return std::tie(b.seconds, a.name) < std::tie(a.seconds, b.name);
    });
    return all;
  }

  bool overflowed = false;

private:
  static int64_t chosenSize(int64_t lo, int64_t hi) {
    return std::clamp<int64_t>(128, lo, std::max(lo, hi));
  }

  int64_t numberOf(graph::Expr expr) {
    std::optional<int64_t> value =
        expr.evaluate([&](StringRef name) -> std::optional<int64_t> {
          auto found = sizes.find(name);
          return found == sizes.end() ? 128 : found->second;
        });
    overflowed |= !value || *value < 0;
    return std::max<int64_t>(value.value_or(0), 0);
  }

  void add(exec::LaunchOp launch) {
    auto function =
        module.lookupSymbol<kernel::FuncOp>(launch.getKernelAttr().getValue());
    auto code = kernels.find(launch.getKernel());
    if (!function || code == kernels.end())
      return;
    graph::DimsAttr geometry = launch.getGeometry();
    int64_t rows = numberOf(geometry[0]);
    if (rows == 0)
      return; // It is not launched.
    PredictedKernel &kernel = predicted[launch.getKernel()];
    if (kernel.launches++ == 0)
      start(kernel, function, *code->second);
    int64_t grain = std::max<int64_t>(numberOf(geometry[1]), 1);
    int64_t blocks = llvm::divideCeil(rows, grain);
    double flops = 0, bytes = 0;
    if (auto cost = launch->getAttrOfType<graph::DimsAttr>("cost")) {
      flops = double(numberOf(cost[0]));
      bytes = double(numberOf(cost[1])) * passesOver(function) +
              double(numberOf(cost[2])) + double(packedBytes(launch, function));
    }
    account(kernel, blocks, flops, bytes);
  }

  /// Of weights that lie in a layout of their own, which the cost leaves out.
  static int64_t packedBytes(exec::LaunchOp launch, kernel::FuncOp function) {
    int64_t bytes = 0;
    auto buffers = launch.getBuffers().getAsRange<exec::BufferAttr>();
    for (auto [argument, buffer] :
         llvm::zip(function.getBlock().getArguments(), buffers)) {
      auto type = cast<RankedTensorType>(argument.getType());
      StringRef name = buffer.getLayout().getValue();
      if (buffer.getPlace() != exec::Place::Weights || name.empty() ||
          !type.hasStaticShape())
        continue;
      int64_t width = graph::byteWidth(type.getElementType());
      std::optional<int64_t> known;
      if (auto layout = kernel::FragmentLayout::parse(name))
        known = layout->bytesOf(type.getShape(), width);
      bytes += known.value_or(type.getNumElements() * width);
    }
    return bytes;
  }

  void start(PredictedKernel &kernel, kernel::FuncOp function,
             const CudaKernel &code) {
    kernel.name = function.getSymName().str();
    kernel.schedule = function.getSchedule().str();
    kernel.resources = resources.lookup(kernel.name);
    kernel.threads = code.threads;
    kernel.occupancy =
        double(resident(kernel, code.sharedBytes) * kernel.threads) /
        double(device.threads);
    dynamicShared[kernel.name] = code.sharedBytes;
  }

  int64_t resident(const PredictedKernel &kernel, int64_t dynamic) const {
    return blocksPerMultiprocessor(device, kernel.threads,
                                   kernel.resources.sharedBytes + dynamic,
                                   kernel.resources.registers);
  }

  void account(PredictedKernel &kernel, int64_t blocks, double flops,
               double bytes) {
    kernel.flops += flops;
    kernel.bytes += bytes;
    int64_t slots = std::max<int64_t>(
        resident(kernel, dynamicShared[kernel.name]) * device.multiprocessors,
        1);
    double waves = double(blocks) / double(slots);
    if (blocks > kernel.blocks) {
      kernel.blocks = blocks;
      kernel.waves = waves;
    }
    // The last round takes as long as the others.
    double share =
        std::min(1.0, double(std::min(blocks, slots)) * double(kernel.threads) *
                          threadWidth(kernel.schedule) /
                          (enoughThreads * double(device.multiprocessors)));
    double tail = waves > 1 ? std::ceil(waves) / waves : 1;
    double peak = peakOf(kernel.schedule, device);
    double slowed = tail / std::max(share, 1e-6);
    double compute = flops / peak * slowed;
    double memory = bytes / device.bytes / std::max(share, 1e-6);
    double seconds = std::max({compute, memory, launchSeconds});
    kernel.seconds += seconds;
    if (seconds <= largest[kernel.name])
      return;
    largest[kernel.name] = seconds;
    kernel.limit = seconds == launchSeconds ? Limit::Launch
                   : seconds == compute     ? Limit::Compute
                                            : Limit::Memory;
  }

  const llvm::StringMap<KernelResources> &resources;
  const Device &device;
  ModuleOp module;
  llvm::StringMap<int64_t> sizes, dynamicShared;
  llvm::StringMap<double> largest;
  llvm::StringMap<const CudaKernel *> kernels;
  llvm::MapVector<StringRef, PredictedKernel> predicted;
};

} // namespace

StringRef nameOf(Limit limit) {
  return limit == Limit::Compute  ? "compute"
         : limit == Limit::Memory ? "memory"
                                  : "launch";
}

llvm::Expected<std::vector<PredictedKernel>>
predict(exec::ProgramOp program, const CudaCode &code,
        const llvm::StringMap<KernelResources> &resources,
        const Device &device) {
  Predictor predictor(program, code, resources, device);
  predictor.visit(program.getBody().front());
  if (predictor.overflowed)
    return llvm::createStringError("the sizes of the model overflow for the "
                                   "dims that it is predicted for; give "
                                   "smaller ones with --dim");
  return predictor.sorted();
}

} // namespace tenon::cuda
