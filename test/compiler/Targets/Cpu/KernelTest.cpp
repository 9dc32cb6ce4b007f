//===- KernelTest.cpp - Runs compiled kernels against the evaluator -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include "compiler/Reference/Evaluate.h"
#include "compiler/Targets/Cpu/Compile.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/FilterLayout.h"
#include "dialects/Kernel/IntegerMatmulView.h"
#include "dialects/Kernel/Packing.h"
#include "dialects/Kernel/RecurrentView.h"
#include "dialects/Kernel/ResultPlaces.h"
#include "dialects/Kernel/WinogradView.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Level.h"
#include "runtime/Math.h"
#include "runtime/model_format.h"
#include "test/compiler/Targets/Cpu/GuardedBuffer.h"
#include "test/compiler/Targets/Cpu/KernelData.h"
#include "llvm/Support/FileSystem.h"
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace mlir;

namespace tenon::test {
namespace {

/// Whether two buffers hold the same bits; any f32 NaN is as good as another,
/// since which one an addition passes on is up to the order of its operands.
bool sameBits(ArrayRef<char> x, ArrayRef<char> y, Type element) {
  if (x == y)
    return true;
  if (!element.isF32())
    return false;
  for (size_t at = 0; at < y.size(); at += 4) {
    float left, right;
    std::memcpy(&left, x.data() + at, 4);
    std::memcpy(&right, y.data() + at, 4);
    if (std::memcmp(x.data() + at, y.data() + at, 4) != 0 &&
        !(std::isnan(left) && std::isnan(right)))
      return false;
  }
  return true;
}

/// The bytes of a tensor [K, N] or [B, K, N] in panels, those of `parts` equal
/// ranges of columns in turn; of a bf16, two rows lie together.
std::vector<char> pack(const reference::Tensor &tensor, int64_t parts) {
  std::vector<char> bytes = tensor.toBytes();
  ArrayRef<int64_t> matrix = ArrayRef(tensor.shape).take_back(2);
  int64_t batches = tensor.shape.size() == 3 ? tensor.shape[0] : 1;
  int64_t depth = matrix[0], columns = matrix[1] / parts;
  int64_t width = kernel::panelColumns;
  int64_t panels = (columns + width - 1) / width * parts;
  int64_t rowsEach = tensor.element.isBF16() ? 2 : 1;
  int64_t bytesEach = tensor.element.isF32() ? 4 : 2;
  int64_t lines = (depth + rowsEach - 1) / rowsEach;
  int64_t lineBytes = width * rowsEach * bytesEach;
  std::vector<char> packed(batches * panels * lines * lineBytes);
  for (int64_t line = 0; line < batches * depth; ++line)
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t n = 0; n < columns; ++n) {
        int64_t panel = line / depth * panels + n / width * parts + part;
        int64_t k = line % depth, row = panel * lines + k / rowsEach;
        int64_t place = n % width * rowsEach + k % rowsEach;
        std::memcpy(&packed[row * lineBytes + place * bytesEach],
                    &bytes[((line * parts + part) * columns + n) * bytesEach],
                    bytesEach);
      }
  return packed;
}

/// The bytes of a matrix of ui8 or i8 in panels of quads, column by column.
std::vector<char> packQuads(const reference::Tensor &tensor) {
  std::vector<char> bytes = tensor.toBytes();
  int64_t depth = tensor.shape[0], columns = tensor.shape[1];
  int64_t width = kernel::panelColumns, lines = (depth + 3) / 4;
  bool isUnsigned = tensor.element.isUnsignedInteger();
  std::vector<char> packed((columns + width - 1) / width * (lines + 1) * width *
                           4);
  for (int64_t n = 0; n < columns; ++n) {
    int64_t panel = n / width * (lines + 1), lane = n % width;
    int32_t sum = 0;
    for (int64_t k = 0; k < depth; ++k) {
      char byte = bytes[k * columns + n];
      int number = isUnsigned ? int(uint8_t(byte)) - 128 : int(byte);
      packed[((panel + k / 4) * width + lane) * 4 + k % 4] = char(number);
      sum += number;
    }
    std::memcpy(&packed[((panel + lines) * width + lane) * 4], &sum, 4);
  }
  return packed;
}

/// A matrix [K, N] in lines of panels, those of `parts` ranges of columns in
/// turn; numbers of 4 bits, eight of k in a word.
std::vector<char> packNarrow(const reference::Tensor &tensor, bool isNibbles,
                             int64_t parts) {
  std::vector<char> bytes = tensor.toBytes();
  int64_t depth = tensor.shape[0], columns = tensor.shape[1] / parts;
  int64_t width = kernel::panelColumns;
  int64_t panels = (columns + width - 1) / width * parts;
  int64_t each = int64_t(bytes.size()) / std::max<int64_t>(tensor.count(), 1);
  int64_t lines = isNibbles ? (depth + 7) / 8 : depth;
  int64_t lineBytes = width * (isNibbles ? 4 : each);
  std::vector<char> packed(panels * lines * lineBytes);
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t n = 0; n < columns; ++n) {
        int64_t panel = n / width * parts + part;
        const char *from = &bytes[((k * parts + part) * columns + n) * each];
        char *line =
            &packed[(panel * lines + (isNibbles ? k / 8 : k)) * lineBytes];
        if (isNibbles)
          line[n % width * 4 + k % 8 / 2] |=
              char((*from & 15) << (k % 2 == 0 ? 0 : 4));
        else
          std::memcpy(line + n % width * each, from, each);
      }
  return packed;
}

/// One axis of Winograd's transform of three taps, as polynomials: their values
/// at some points, times what each point's product is scaled by.
std::vector<double> atPoints(int64_t outputs, const double taps[3]) {
  struct Point {
    double at, scale;
  };
  std::vector<Point> points = {{0, 1}, {1, 0.5}, {-1, 0.5}};
  if (outputs == 4)
    points = {{0, 1.0 / 4},
              {1, -1.0 / 6},
              {-1, -1.0 / 6},
              {2, 1.0 / 24},
              {-2, 1.0 / 24}};
  std::vector<double> values;
  for (const Point &point : points)
    values.push_back(point.scale *
                     (taps[0] + point.at * (taps[1] + point.at * taps[2])));
  values.push_back(taps[2]); // At infinity.
  return values;
}

/// A filter [M, C, 3, 3] for Winograd tiles, by panels of 32 maps.
std::vector<char> packWinograd(const reference::Tensor &tensor,
                               int64_t outputs) {
  int64_t maps = tensor.shape[0], channels = tensor.shape[1];
  int64_t side = outputs + 2, panels = (maps + 31) / 32;
  std::vector<float> packed(panels * side * side * channels * 32);
  std::vector<char> bytes = tensor.toBytes();
  for (int64_t m = 0; m < maps; ++m)
    for (int64_t c = 0; c < channels; ++c) {
      float taps[9];
      std::memcpy(taps, &bytes[(m * channels + c) * sizeof taps], sizeof taps);
      std::vector<std::vector<double>> columns;
      for (int64_t x = 0; x < 3; ++x) {
        double column[3] = {taps[x], taps[3 + x], taps[6 + x]};
        columns.push_back(atPoints(outputs, column));
      }
      for (int64_t y = 0; y < side; ++y) {
        double line[3] = {columns[0][y], columns[1][y], columns[2][y]};
        std::vector<double> values = atPoints(outputs, line);
        for (int64_t x = 0; x < side; ++x)
          packed[(((m / 32 * side + y) * side + x) * channels + c) * 32 +
                 m % 32] = float(values[x]);
      }
    }
  const char *data = reinterpret_cast<const char *>(packed.data());
  return {data, data + packed.size() * sizeof(float)};
}

/// The recurrence of a cell, an element of f32 at a time.
std::vector<char> packCells(const reference::Tensor &tensor) {
  std::vector<char> bytes = tensor.toBytes();
  auto view = kernel::RecurrentView::of(tensor.shape).value();
  std::vector<char> packed(bytes.size());
  const char *from = bytes.data();
  for (int64_t d = 0; d < view.directions; ++d)
    for (int64_t unit = 0; unit < view.units(); ++unit)
      for (int64_t step = 0; step < view.hidden; ++step, from += 4)
        std::memcpy(&packed[4 * view.placeOf(d, unit, step)], from, 4);
  return packed;
}

/// The same of bytes, four steps of a unit in turn, and the sums of units
/// behind each direction.
std::vector<char> packCellQuads(const reference::Tensor &tensor) {
  std::vector<char> bytes = tensor.toBytes();
  int64_t hidden = tensor.shape[2], gates = tensor.shape[1] / hidden;
  int64_t units = tensor.shape[1], own = units * hidden + units * 4;
  bool isUnsigned = tensor.element.isUnsignedInteger();
  std::vector<char> packed(tensor.shape[0] * own);
  for (int64_t d = 0; d < tensor.shape[0]; ++d)
    for (int64_t gate = 0; gate < gates; ++gate)
      for (int64_t h = 0; h < hidden; ++h) {
        int64_t tile = h / 16, lane = h % 16;
        int32_t sum = 0;
        for (int64_t k = 0; k < hidden; ++k) {
          char byte = bytes[((d * gates + gate) * hidden + h) * hidden + k];
          int number = isUnsigned ? int(uint8_t(byte)) - 128 : int(byte);
          int64_t line = (tile * (hidden / 4) + k / 4) * gates + gate;
          packed[d * own + (line * 16 + lane) * 4 + k % 4] = char(number);
          sum += number;
        }
        int64_t place = (tile * gates + gate) * 16 + lane;
        std::memcpy(&packed[d * own + units * hidden + place * 4], &sum, 4);
      }
  return packed;
}

/// The same of bf16, two steps of a unit in turn, and zeros up to a multiple of
/// 32 steps.
std::vector<char> packCellPairs(const reference::Tensor &tensor) {
  std::vector<char> halves = tensor.toBytes();
  int64_t hidden = tensor.shape[2], gates = tensor.shape[1] / hidden;
  int64_t lines = (hidden + 31) / 32 * 16;
  std::vector<char> packed(tensor.shape[0] * tensor.shape[1] * lines * 4);
  const char *from = halves.data();
  for (int64_t d = 0; d < tensor.shape[0]; ++d)
    for (int64_t gate = 0; gate < gates; ++gate)
      for (int64_t h = 0; h < hidden; ++h)
        for (int64_t k = 0; k < hidden; ++k, from += 2) {
          int64_t tile = d * (hidden / 16) + h / 16;
          int64_t line = (tile * lines + k / 2) * gates + gate;
          std::memcpy(&packed[(line * 16 + h % 16) * 4 + k % 2 * 2], from, 2);
        }
  return packed;
}

/// The bytes of a tensor in a layout.
std::vector<char> inLayout(const reference::Tensor &tensor, StringRef layout) {
  if (layout == kernel::packedLayout)
    return pack(tensor, 1);
  if (layout == kernel::packedHalvesLayout)
    return pack(tensor, 2);
  if (layout == kernel::quadsLayout)
    return packQuads(tensor);
  if (layout == kernel::cellsLayout)
    return packCells(tensor);
  if (layout == kernel::cellQuadsLayout)
    return packCellQuads(tensor);
  if (layout == kernel::cellPairsLayout)
    return packCellPairs(tensor);
  StringRef narrow = layout;
  int64_t parts = narrow.consume_back("_halves") ? 2 : 1;
  if (narrow == kernel::linesLayout || narrow == kernel::nibblesLayout)
    return packNarrow(tensor, narrow == kernel::nibblesLayout, parts);
  if (auto winograd = kernel::WinogradLayout::parse(layout))
    return packWinograd(tensor, winograd->outputs);
  return inFilterLayout(tensor, layout);
}

class CaseRunner {
public:
  CaseRunner(const KernelCase &test, kernel::FuncOp kernel,
             tenon_kernel_fn_t code)
      : test(test), kernel(kernel), code(code) {}

  void run() {
    unsigned seed = 1;
    for (const Symbols &sizes : test.sizes)
      runAt(sizes, seed++);
  }

private:
  std::string describe(const Symbols &sizes) {
    std::string text = test.name;
    for (const auto &[name, value] : sizes)
      text += " " + name + "=" + std::to_string(value);
    return text;
  }

  int64_t size(graph::Expr expr) {
    auto value = reference::evaluateSize(expr, symbols);
    EXPECT_TRUE(value) << test.name << ": no value for " << expr.str();
    return value.value_or(0);
  }

  void runAt(const Symbols &sizes, unsigned seed) {
    symbols.clear();
    for (const auto &[name, value] : sizes)
      symbols[name] = value;
    std::mt19937_64 random(seed);
    std::vector<reference::Tensor> inputs;
    Block &body = kernel.getBlock();
    for (BlockArgument argument : body.getArguments()) {
      reference::Shape shape;
      for (graph::Expr dim : graph::getDims(argument))
        shape.push_back(size(dim));
      size_t i = inputs.size();
      Values values = test.values.empty()
                          ? Values()
                          : test.values[std::min(i, test.values.size() - 1)];
      inputs.push_back(
          randomTensor(graph::getElementType(argument), shape, values, random));
    }
    auto expected = reference::evaluateBlock(body, inputs, symbols);
    if (!expected) {
      std::string reason = llvm::toString(expected.takeError());
      EXPECT_NE(test.fault, 0) << describe(sizes) << ": " << reason;
      if (test.fault)
        launch(inputs, {}, 0, sizes);
      return;
    }
    int64_t rows = size(kernel.getRows());
    // What is copied on some caches is read as it lies on others.
    if (kernel.getSchedule() == "PackedMatmul" ||
        kernel.getSchedule() == "BatchedMatmul") {
      cacheWays = 12;
      launch(inputs, *expected, rows, sizes);
      cacheWays = 8;
    }
    for (int64_t piece : {rows, int64_t(1), int64_t(3)})
      if (piece == rows || piece < rows)
        launch(inputs, *expected, piece, sizes);
    if (shares() && rows > 1)
      launch(inputs, *expected, 1, sizes, /*threads=*/4);
  }

  bool shares() { return kernel.getGeometry().size() > 3; }

  /// Runs pieces of so many rows, of which each thread takes the next: a fault.
  int32_t runRows(void *const *buffers, const int64_t *params, int64_t piece,
                  unsigned threads) {
    int64_t rows = size(kernel.getRows());
    int64_t scratchBytes = size(kernel.getGeometry()[2]);
    GuardedBuffer shared(shares() ? size(kernel.getGeometry()[3]) : 0);
    memset(shared.data(), 0,
           std::min<size_t>(shared.bytes, TENON_SHARED_ZEROS));
    std::atomic<int64_t> next{0};
    std::atomic<int32_t> status{0};
    auto work = [&] {
      GuardedBuffer scratch(scratchBytes);
      tenon_kernel_context_t context = {scratch.data(),
                                        runtime::unaryMath,
                                        runtime::binaryMath,
                                        runtime::unaryMathF32,
                                        runtime::binaryMathF32,
                                        shared.data(),
                                        cacheWays};
      for (int64_t row; (row = next.fetch_add(piece)) < rows;)
        if (int32_t fault = code(buffers, params, row,
                                 std::min(row + piece, rows), &context))
          status = fault;
    };
    std::vector<std::thread> others;
    while (others.size() + 1 < threads)
      others.emplace_back(work);
    work();
    for (std::thread &other : others)
      other.join();
    return status;
  }

  void launch(ArrayRef<reference::Tensor> inputs,
              ArrayRef<reference::Tensor> expected, int64_t piece,
              const Symbols &sizes, unsigned threads = 1) {
    std::vector<GuardedBuffer> buffers;
    std::vector<void *> pointers;
    for (auto [i, input] : llvm::enumerate(inputs)) {
      auto layout = cast<StringAttr>(kernel.getLayouts()[i]).getValue();
      std::vector<char> bytes = inLayout(input, layout);
      buffers.emplace_back(bytes.size());
      std::memcpy(buffers.back().data(), bytes.data(), bytes.size());
    }
    for (Value yielded : kernel.getYielded())
      buffers.emplace_back(bytesOf(yielded, kernel::pitch));
    if (kernel->hasAttr(kernel::copyPitch))
      buffers.emplace_back(bytesOf(kernel.getYielded()[0], kernel::copyPitch));
    for (GuardedBuffer &buffer : buffers)
      pointers.push_back(buffer.data());
    if (auto index = kernel->getAttrOfType<IntegerAttr>(kernel::inPlace)) {
      GuardedBuffer &argument = buffers[index.getInt()];
      GuardedBuffer &result = buffers[inputs.size()];
      ASSERT_EQ(argument.bytes, result.bytes) << test.name;
      std::memcpy(result.data(), argument.data(), result.bytes);
      pointers[index.getInt()] = result.data();
    }
    std::vector<int64_t> params;
    for (const auto &[name, value] : sizes)
      params.push_back(value);
    int64_t rows = size(kernel.getRows());
    if (piece == 0)
      piece = rows;
    int32_t status = runRows(pointers.data(), params.data(), piece, threads);
    EXPECT_EQ(status, test.fault) << describe(sizes);
    if (piece == rows)
      whole.clear();
    for (size_t i = 0; i < expected.size(); ++i) {
      auto result = denseRows(buffers[inputs.size() + i],
                              kernel.getYielded()[i], kernel::pitch);
      ASSERT_TRUE(result) << describe(sizes) << ": written between rows";
      if (piece == rows)
        whole.push_back(*result);
      else
        EXPECT_TRUE(sameBits(whole[i], *result, expected[i].element))
            << describe(sizes) << ", result " << i
            << ": the bits depend on how its rows are cut";
      reference::Tensor got = llvm::cantFail(reference::Tensor::fromBytes(
          expected[i].element, expected[i].shape, *result));
      double tolerance = test.tolerance ? test.tolerance
                                        : defaultTolerance(expected[i].element);
      std::string differs = difference(got, expected[i], tolerance);
      EXPECT_TRUE(differs.empty())
          << describe(sizes) << ", result " << i << ", pieces of " << piece
          << " rows: " << differs;
    }
    if (!kernel->hasAttr(kernel::copyPitch) || expected.empty())
      return;
    auto copy =
        denseRows(buffers.back(), kernel.getYielded()[0], kernel::copyPitch);
    ASSERT_TRUE(copy) << describe(sizes) << ": written between rows";
    EXPECT_TRUE(sameBits(whole[0], *copy, expected[0].element))
        << describe(sizes) << ": the copy differs";
  }

  /// From the first to the last element of a result whose rows may lie apart.
  int64_t bytesOf(Value yielded, StringRef apart) {
    int64_t count = 1;
    for (graph::Expr dim : graph::getDims(yielded))
      count *= size(dim);
    if (auto pitch = kernel->getAttrOfType<IntegerAttr>(apart); pitch && count)
      count += (count / rowOf(yielded) - 1) * (pitch.getInt() - rowOf(yielded));
    return count * graph::byteWidth(graph::getElementType(yielded));
  }

  int64_t rowOf(Value yielded) { return size(graph::getDims(yielded).back()); }

  std::optional<std::vector<char>> denseRows(const GuardedBuffer &buffer,
                                             Value yielded, StringRef apart) {
    auto pitch = kernel->getAttrOfType<IntegerAttr>(apart);
    if (!pitch)
      return buffer.rows(1, 1);
    int64_t width = graph::byteWidth(graph::getElementType(yielded));
    return buffer.rows(rowOf(yielded) * width, pitch.getInt() * width);
  }

  const KernelCase &test;
  kernel::FuncOp kernel;
  tenon_kernel_fn_t code;
  int64_t cacheWays = 8; // Of the machine that kernels are told of.
  reference::SymbolMap symbols;
  std::vector<std::vector<char>> whole; // Results of a run in one piece.
};

/// Links an archive to a shared object and loads it; null after a failure.
void *loadArchive(const std::string &archive) {
  llvm::SmallString<64> source, target;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("kernels", "a", source));
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("kernels", "so", target));
  {
    std::error_code error;
    llvm::raw_fd_ostream(source, error) << archive;
  }
  std::string command = "ld.lld-22 -shared --no-undefined -o " +
                        target.str().str() + " --whole-archive " +
                        source.str().str();
  EXPECT_EQ(std::system(command.c_str()), 0);
  void *handle = dlopen(target.c_str(), RTLD_NOW);
  EXPECT_NE(handle, nullptr) << dlerror();
  llvm::sys::fs::remove(source);
  llvm::sys::fs::remove(target);
  return handle;
}

kernel::FuncOp addVariant(kernel::FuncOp function, StringRef suffix) {
  kernel::FuncOp variant = function.clone();
  variant.setSymName((function.getSymName() + suffix).str());
  OpBuilder builder(function);
  builder.setInsertionPointAfter(function);
  builder.insert(variant);
  return variant;
}

/// Of a kernel whose rows may lie apart, one with gaps between them, which
/// nothing may write to, and a copy with others.
void addApartVariant(kernel::FuncOp function) {
  if (!kernel::mayStoreApart(function))
    return;
  int64_t row = *graph::getDims(function.getYielded()[0]).back().asConstant();
  Builder builder(function.getContext());
  kernel::FuncOp variant = addVariant(function, "_apart");
  variant->setAttr(kernel::pitch, builder.getI64IntegerAttr(row + 5));
  variant->setAttr(kernel::copyPitch, builder.getI64IntegerAttr(row + 3));
}

bool isVariant(kernel::FuncOp function) {
  return function->hasAttr(kernel::inPlace) || function->hasAttr(kernel::pitch);
}

/// Of a kernel with a schedule of its own that may write its result over an
/// argument, one that does.
void addInPlaceVariant(kernel::FuncOp function) {
  if (function.getSchedule() == "Generic")
    return;
  for (unsigned i = 0; i < function.getBlock().getNumArguments(); ++i) {
    if (!kernel::mayOverwrite(function, i))
      continue;
    addVariant(function, "_over")
        ->setAttr(kernel::inPlace,
                  Builder(function.getContext()).getI64IntegerAttr(i));
    return;
  }
}

cpu::CpuLevel levelOf(StringRef name) {
  if (name != expandedPairs && name != expandedAmx && name != expandedF16)
    return *cpu::findCpuLevel(name);
  cpu::CpuLevel level = *cpu::findCpuLevel("x86-64-v4");
  level.name = name;
  // As the level that a name stands for has them.
  if (name == expandedF16 || name == expandedAmx)
    level.f16Fma = cpu::F16Fma::Expanded;
  if (name == expandedPairs || name == expandedAmx)
    level.pairDots = cpu::PairDots::Expanded;
  if (name == expandedAmx)
    level.amx = cpu::Amx::Expanded;
  return level;
}

} // namespace

bool canRun(const char *levelName) {
  uint64_t features = levelOf(levelName).features;
  if ((features & ~cpu::hostFeatures()) != 0)
    return false;
  return !(features & TENON_CPU_AMX) || runtime::requestAmx();
}

void runCases(const std::vector<KernelCase> &cases, const char *levelName) {
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
  unsigned number = 0;
  for (auto function :
       llvm::make_early_inc_range(module->getOps<kernel::FuncOp>())) {
    applySchedule(function);
    addInPlaceVariant(function);
    // Of some of a test's cases: they take long to compile.
    if (number++ % 3 == 0)
      addApartVariant(function);
  }
  cpu::CpuLevel level = levelOf(levelName);
  static CodeCache cache; // Tests share tiles.
  auto archives = cpu::compileArchives(*module, level, cache);
  ASSERT_TRUE(succeeded(archives));
  void *handle = loadArchive(archives->front());
  ASSERT_NE(handle, nullptr);
  int64_t i = -1;
  for (auto function : module->getOps<kernel::FuncOp>()) {
    i += !isVariant(function);
    std::string symbol = (function.getSymName() + "." + level.name).str();
    auto code =
        reinterpret_cast<tenon_kernel_fn_t>(dlsym(handle, symbol.c_str()));
    ASSERT_NE(code, nullptr) << symbol;
    CaseRunner(cases[i], function, code).run();
  }
  dlclose(handle);
}

} // namespace tenon::test
