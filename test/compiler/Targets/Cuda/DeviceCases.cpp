//===- DeviceCases.cpp - Runs kernels' PTX against the evaluator ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the CPU's tests ask for by KernelTest.h, for CUDA: the cases of a suite
// become one PTX module, which ptxas takes where it is installed and which the
// simulator runs, with as many blocks as pieces and with fewer.
//
//===----------------------------------------------------------------------===//

#include "compiler/Reference/Evaluate.h"
#include "compiler/Schedules/Schedules.h"
#include "compiler/Targets/Cpu/Compile.h"
#include "compiler/Targets/Cuda/Assemble.h"
#include "compiler/Targets/Cuda/Compile.h"
#include "mlir/Parser/Parser.h"
#include "runtime/model_format.h"
#include "test/compiler/Targets/Cpu/KernelData.h"
#include "test/gpu/sim/Allocation.h"
#include "test/gpu/sim/Simulator.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;

namespace tenon::test {
namespace {

std::string describe(const KernelCase &test, const Symbols &sizes) {
  std::string text = test.name;
  for (const auto &[name, value] : sizes)
    text += " " + name + "=" + std::to_string(value);
  return text;
}

/// A matrix [K, N] as warps read it, by panels of 32 columns: of numbers of few
/// bits, or (0 bits) of their scales and zero points.
std::vector<char> inFragments(const reference::Tensor &tensor, int64_t bits,
                              int64_t parts) {
  std::vector<char> bytes = tensor.toBytes();
  int64_t depth = tensor.shape[0], columns = tensor.shape[1] / parts;
  int64_t width = graph::byteWidth(tensor.element);
  int64_t steps = bits == 0 ? 1 : 32, blocks = (depth + steps - 1) / steps;
  int64_t blockBytes = bits == 0 ? 32 * width : 128 * bits;
  std::vector<char> packed((columns + 31) / 32 * parts * blocks * blockBytes);
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t n = 0; n < columns * parts; ++n) {
      int64_t part = n / columns, inPart = n % columns, at = inPart % 32;
      int64_t panel = inPart / 32 * parts + part;
      char *block = &packed[(panel * blocks + k / steps) * blockBytes];
      const char *from = &bytes[(k * columns * parts + n) * width];
      int64_t group = at % 8, of = at / 8, pair = k % 8 / 2, upper = k % 2;
      int64_t word = ((group * 4 + k % 32 / 8) * 4 + of) * 4;
      if (bits == 0) {
        std::memcpy(block + (group * 4 + of) * width, from, width);
      } else if (bits == 8) {
        block[pair / 2 * 512 + word + 2 * upper + pair % 2] = *from;
      } else {
        int number = *from + (tensor.element.isUnsignedInteger() ? 0 : 8);
        block[word + 2 * upper + pair / 2] |=
            char(number << (pair % 2 == 0 ? 0 : 4));
      }
    }
  return packed;
}

/// A filter [M, C, taps..] as the matrix [taps.. * C, M].
reference::Tensor asMatrix(const reference::Tensor &filter) {
  if (filter.shape.size() == 2)
    return filter;
  std::vector<char> bytes = filter.toBytes(), turned(bytes.size());
  int64_t maps = filter.shape[0], channels = filter.shape[1];
  int64_t depth = int64_t(bytes.size()) / maps, taps = depth / channels;
  for (int64_t map = 0; map < maps; ++map)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap)
        turned[(tap * channels + c) * maps + map] =
            bytes[(map * channels + c) * taps + tap];
  return llvm::cantFail(
      reference::Tensor::fromBytes(filter.element, {depth, maps}, turned));
}

/// A matrix [K, N] of bytes as warps multiply it: sixteen steps of four columns
/// for a lane.
std::vector<char> inQuads(const reference::Tensor &weight) {
  reference::Tensor tensor = asMatrix(weight);
  std::vector<char> bytes = tensor.toBytes();
  int64_t depth = tensor.shape[0], columns = tensor.shape[1];
  int64_t blocks = (depth + 63) / 64;
  std::vector<char> packed((columns + 31) / 32 * blocks * 2048);
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t n = 0; n < columns; ++n) {
      char *block = &packed[(n / 32 * blocks + k / 64) * 2048];
      int64_t lane = n % 8 * 4 + k % 64 / 16, word = k % 16 / 4;
      block[word * 512 + lane * 16 + n % 32 / 8 * 4 + k % 4] =
          bytes[k * columns + n];
    }
  if (weight.shape.size() == 2)
    return packed;
  // Behind a filter, the sums of its columns.
  std::vector<int32_t> sums((columns + 31) / 32 * 32);
  for (size_t i = 0; i < bytes.size(); ++i)
    sums[i % columns] += bytes[i];
  const char *from = reinterpret_cast<const char *>(sums.data());
  packed.insert(packed.end(), from, from + sums.size() * sizeof sums[0]);
  return packed;
}

std::vector<char> inDeviceLayout(const reference::Tensor &tensor,
                                 StringRef layout) {
  StringRef name = layout;
  int64_t parts = name.consume_back("_halves") ? 2 : 1;
  if (name == "nibbles32")
    return inFragments(tensor, 4, parts);
  if (name == "bytes32")
    return inFragments(tensor, 8, parts);
  if (name == "quads32")
    return inQuads(tensor);
  if (name == "sides32")
    return inFragments(tensor, 0, parts);
  return inFilterLayout(tensor, layout);
}

/// One case at one list of sizes.
class DeviceRun {
public:
  DeviceRun(const KernelCase &test, kernel::FuncOp kernel, sim::Module &module,
            const cuda::CudaKernel &block, const Symbols &sizes)
      : test(test), kernel(kernel), module(module), block(block), sizes(sizes),
        where(describe(test, sizes)) {
    for (const auto &[name, value] : sizes)
      symbols[name] = value;
  }

  void run(unsigned seed) {
    std::mt19937_64 random(seed);
    for (BlockArgument argument : kernel.getBlock().getArguments())
      inputs.push_back(randomTensor(graph::getElementType(argument),
                                    shapeOf(argument), valuesOf(inputs.size()),
                                    random));
    auto results = reference::evaluateBlock(kernel.getBlock(), inputs, symbols);
    if (results)
      expected = *results;
    else
      EXPECT_NE(test.fault, 0)
          << where << ": " << llvm::toString(results.takeError());
    int64_t rows = size(kernel.getRows());
    int64_t pieces = llvm::divideCeil(rows, size(kernel.getGeometry()[1]));
    if (rows == 0)
      return;
    launch(pieces, sim::Order::Lazy);
    if (pieces > 2)
      launch(pieces / 2, sim::Order::Eager);
    else if (block.sharedBytes != 0)
      launch(pieces, sim::Order::Random);
  }

private:
  int64_t size(graph::Expr expr) {
    auto value = reference::evaluateSize(expr, symbols);
    EXPECT_TRUE(value) << where << ": no value for " << expr.str();
    return value.value_or(0);
  }

  reference::Shape shapeOf(Value value) {
    reference::Shape shape;
    for (graph::Expr dim : graph::getDims(value))
      shape.push_back(size(dim));
    return shape;
  }

  Values valuesOf(size_t i) {
    return test.values.empty()
               ? Values()
               : test.values[std::min(i, test.values.size() - 1)];
  }

  void launch(int64_t blocks, sim::Order order) {
    sim::Memory memory;
    std::string error;
    ASSERT_TRUE(module.load(memory, error)) << error;
    std::vector<uint64_t> words;
    auto weights =
        kernel->getAttrOfType<DenseI64ArrayAttr>(cuda::weightsAttribute);
    for (auto [i, input, layout] : llvm::enumerate(
             inputs, kernel.getLayouts().getAsValueRange<StringAttr>())) {
      std::vector<char> bytes = inDeviceLayout(input, layout);
      words.push_back(memory.allocate(bytes.size()));
      memory.write(words.back(), bytes.data(), bytes.size());
      if (bytes.empty())
        continue;
      // The launch before may have made all others.
      memory.allocation(words.back())->isOfKernels =
          !weights || !llvm::is_contained(weights.asArrayRef(), int64_t(i));
    }
    for (Value yielded : kernel.getYielded())
      words.push_back(
          memory.allocate(reference::countOf(shapeOf(yielded)).value_or(0) *
                          graph::byteWidth(graph::getElementType(yielded))));
    for (const auto &[name, value] : sizes)
      words.push_back(value);
    uint64_t stride = size(kernel.getGeometry()[2]);
    uint64_t fault = memory.allocate(8);
    memory.fill(fault, -1, 8);
    words.push_back(size(kernel.getRows()));
    words.push_back(size(kernel.getGeometry()[1]));
    words.push_back(memory.allocate(stride * block.threads * blocks));
    uint64_t common = shared(memory);
    words.insert(words.end(), {stride, common, fault});
    simulate(memory, words, blocks, order);
    if (::testing::Test::HasFatalFailure())
      return;
    check(memory, words, fault);
    if (common)
      checkCounters(memory, common);
    module.unload(memory);
  }

  /// The next launch finds them as this one has.
  void checkCounters(const sim::Memory &memory, uint64_t address) {
    char counters[TENON_SHARED_ZEROS];
    uint64_t bytes =
        std::min<uint64_t>(size(kernel.getGeometry()[3]), sizeof counters);
    ASSERT_TRUE(memory.read(address, counters, bytes)) << where;
    EXPECT_TRUE(llvm::all_of(ArrayRef(counters, bytes),
                             [](char byte) { return byte == 0; }))
        << where << ": a counter was not left 0";
  }

  /// What pieces share.
  uint64_t shared(sim::Memory &memory) {
    if (kernel.getGeometry().size() < 4)
      return 0;
    uint64_t bytes = size(kernel.getGeometry()[3]);
    uint64_t address = memory.allocate(bytes);
    memory.fill(address, 0, std::min<uint64_t>(bytes, TENON_SHARED_ZEROS));
    return address;
  }

  void simulate(sim::Memory &memory, ArrayRef<uint64_t> words, int64_t blocks,
                sim::Order order) {
    const sim::Kernel *code = module.kernel(kernel.getSymName().str());
    ASSERT_NE(code, nullptr) << where;
    ASSERT_EQ(code->parameters.size(), words.size()) << where;
    sim::Launch launch;
    launch.grid[0] = blocks;
    launch.block[0] = block.threads;
    launch.dynamicShared = block.sharedBytes;
    launch.order = order;
    launch.overlaps = true;
    launch.parameters.resize(code->parameterBytes);
    for (auto [parameter, word] : llvm::zip(code->parameters, words)) {
      ASSERT_EQ(parameter.bytes, 8u) << where;
      std::memcpy(&launch.parameters[parameter.offset], &word, 8);
    }
    ASSERT_EQ(sim::run(*code, memory, launch), "") << where;
  }

  void check(const sim::Memory &memory, ArrayRef<uint64_t> words,
             uint64_t faultAddress) {
    uint64_t word = 0;
    memory.read(faultAddress, &word, 8);
    int32_t fault = word == ~uint64_t(0) ? 0 : static_cast<int32_t>(word);
    EXPECT_EQ(fault, test.fault) << where;
    for (auto [i, want] : llvm::enumerate(expected)) {
      std::vector<char> bytes(want.toBytes().size());
      uint64_t address = words[inputs.size() + i];
      if (!bytes.empty())
        EXPECT_TRUE(memory.read(address, bytes.data(), bytes.size())) << where;
      EXPECT_TRUE(bytes.empty() || memory.isWritten(address, bytes.size()))
          << where << ", result " << i << " was not written everywhere";
      reference::Tensor got = llvm::cantFail(
          reference::Tensor::fromBytes(want.element, want.shape, bytes));
      double tolerance =
          test.tolerance ? test.tolerance : defaultTolerance(want.element);
      std::string differs = difference(got, want, tolerance);
      EXPECT_TRUE(differs.empty())
          << where << ", result " << i << ": " << differs;
    }
  }

  const KernelCase &test;
  kernel::FuncOp kernel;
  sim::Module &module;
  const cuda::CudaKernel &block;
  const Symbols &sizes;
  std::string where;
  reference::SymbolMap symbols;
  SmallVector<reference::Tensor> inputs, expected;
};

/// Whether what the compiler wrote is PTX to NVIDIA's assembler, too.
void assemble(const cuda::CudaCode &code) {
  if (cuda::findPtxas().empty())
    return;
  auto cubins = cuda::assembleCubins(
      {cuda::AssemblySource{80, code.ptx, /*optimization=*/0},
       {120, code.waitingPtx, /*optimization=*/0}});
  EXPECT_TRUE(bool(cubins)) << llvm::toString(cubins.takeError());
}

void runOnDevice(const std::vector<KernelCase> &cases) {
  DialectRegistry registry;
  registry.insert<graph::GraphDialect, kernel::KernelDialect>();
  cpu::registerCpuDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::string text;
  for (size_t i = 0; i < cases.size(); ++i)
    text += kernelText(cases[i], i);
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text.substr(0, 2000);
  int64_t count = 0;
  for (auto function : module->getOps<kernel::FuncOp>()) {
    // Two of three have weights, as products mostly do.
    if (count++ % 3)
      function->setAttr(
          cuda::weightsAttribute,
          DenseI64ArrayAttr::get(
              &context, llvm::to_vector(llvm::seq<int64_t>(
                            1, function.getBlock().getNumArguments()))));
    // Products have tests of their own, with the memory that they share.
    if (isa_and_present<graph::AttentionOp, graph::ConvOp, graph::MatmulOp>(
            kernel::findRoot(function.getBlock())) &&
        function.getSchedule().empty())
      function.setSchedule("Generic");
    applySchedule(function, Target::Cuda);
  }
  CodeCache cache;
  auto code = cuda::compilePtx(*module, cache);
  ASSERT_TRUE(succeeded(code));
  assemble(*code);
  std::string error;
  auto simulated = sim::Module::parse(code->waitingPtx, error);
  ASSERT_TRUE(simulated) << error;
  size_t i = 0;
  for (auto function : module->getOps<kernel::FuncOp>()) {
    unsigned seed = 1;
    for (const Symbols &sizes : cases[i].sizes)
      DeviceRun(cases[i], function, *simulated, code->kernels[i], sizes)
          .run(seed++);
    ++i;
  }
}

} // namespace

bool canRun(const char *levelName) {
  return levelName == std::string("native");
}

void runCases(const std::vector<KernelCase> &cases, const char *) {
  std::vector<KernelCase> ours;
  for (const KernelCase &test : cases)
    if (llvm::any_of(schedules(), [&](const Schedule &schedule) {
          return schedule.name == test.schedule && schedule.isOn(Target::Cuda);
        })) {
      ours.push_back(test);
      // Most of them as the compiler would run them.
      if (test.schedule == "Generic" && ours.size() % 4 != 0) {
        ours.back().schedule.clear();
        ours.back().name += " as scheduled";
      }
    }
  if (ours.empty())
    GTEST_SKIP() << "cases of schedules for CPUs";
  runOnDevice(ours);
}

} // namespace tenon::test
