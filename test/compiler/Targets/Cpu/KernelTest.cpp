//===- KernelTest.cpp - Runs compiled kernels against the evaluator -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include "compiler/Reference/Evaluate.h"
#include "compiler/Schedules/Schedules.h"
#include "compiler/Targets/Cpu/Compile.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/FilterLayout.h"
#include "dialects/Kernel/Packing.h"
#include "dialects/Kernel/WinogradView.h"
#include "mlir/Parser/Parser.h"
#include "runtime/Math.h"
#include "runtime/model_format.h"
#include "llvm/Support/FileSystem.h"
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>

using namespace mlir;

namespace tenon::test {
namespace {

/// Memory that ends where an unreadable page begins.
class GuardedBuffer {
public:
  explicit GuardedBuffer(size_t bytes) : bytes(bytes) {
    mapped = (bytes + page - 1) / page * page + page;
    base = static_cast<char *>(mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base + mapped - page, page, PROT_NONE);
    memset(data(), 0xCD, bytes);
  }
  GuardedBuffer(GuardedBuffer &&other)
      : bytes(other.bytes), mapped(other.mapped),
        base(std::exchange(other.base, nullptr)) {}
  ~GuardedBuffer() {
    if (base)
      munmap(base, mapped);
  }
  char *data() const { return base + mapped - page - bytes; }

  size_t bytes;

private:
  static constexpr size_t page = 4096;
  size_t mapped;
  char *base;
};

std::string compileText(const KernelCase &test, size_t ordinal) {
  std::string symbols, layouts;
  for (const auto &[name, value] : test.sizes[0])
    symbols += (symbols.empty() ? "\"" : ", \"") + name + "\"";
  size_t arguments =
      std::count(test.arguments.begin(), test.arguments.end(), '%');
  for (size_t i = 0; i < arguments; ++i)
    layouts += i ? ", \"\"" : "\"\"";
  return "kernel.func @k" + std::to_string(ordinal) + " symbols [" + symbols +
         "] layouts [" + layouts + "] schedule \"" + test.schedule +
         "\" geometry <1, 1, 0> {\n^bb0(" + test.arguments + "):\n" +
         test.body + "\n}\n";
}

double sample(Type element, const Values &values, std::mt19937_64 &random) {
  if (values.special && random() % 4 == 0) {
    static constexpr double inf = std::numeric_limits<double>::infinity();
    static const double floats[] = {0,    -0.0,  inf,   -inf,  NAN, 1,   -1,
                                    1e30, -1e30, 1e-30, 1e-40, 88,  -104};
    if (isa<FloatType>(element))
      return floats[random() % std::size(floats)];
    unsigned width = element.getIntOrFloatBitWidth();
    double top = std::ldexp(1, width - (element.isUnsignedInteger() ? 0 : 1));
    double ints[] = {0, 1, -1, top - 1, -top};
    double value = ints[random() % std::size(ints)];
    return element.isUnsignedInteger() ? std::fabs(value) : value;
  }
  double unit = std::uniform_real_distribution<double>()(random);
  return values.lo + (values.hi - values.lo) * unit;
}

reference::Tensor randomTensor(Type element, ArrayRef<int64_t> shape,
                               const Values &values, std::mt19937_64 &random) {
  int64_t count = reference::countOf(shape).value_or(0);
  if (isa<FloatType>(element)) {
    std::vector<double> numbers(count);
    for (double &number : numbers)
      number = sample(element, values, random);
    reference::Tensor wide =
        reference::Tensor::fromFloats(element, shape, numbers);
    std::vector<char> bytes = wide.toBytes(); // Rounds.
    return llvm::cantFail(reference::Tensor::fromBytes(element, shape, bytes));
  }
  std::vector<int64_t> numbers(count);
  unsigned width = element.getIntOrFloatBitWidth();
  for (int64_t &number : numbers) {
    double value = std::floor(sample(element, values, random));
    if (element.isInteger(1)) {
      number = random() % 2;
      continue;
    }
    number = value >= 9.2e18 ? (value >= 1.8e19 ? -1 : INT64_MAX)
                             : static_cast<int64_t>(value);
    if (width < 64) {
      uint64_t mask = (uint64_t(1) << width) - 1;
      if (element.isUnsignedInteger())
        number = std::clamp<int64_t>(number, 0, mask);
      else
        number = std::clamp<int64_t>(number, -int64_t(mask / 2) - 1, mask / 2);
    } else if (element.isUnsignedInteger() && value < 0) {
      number = 0;
    }
  }
  return reference::Tensor::fromInts(element, shape, numbers);
}

double defaultTolerance(Type element) {
  return element.isBF16()  ? 8e-3
         : element.isF16() ? 1e-3
         : element.isF64() ? 1e-10
                           : 1e-5;
}

/// Where two tensors of one type and shape differ; empty when they agree.
std::string difference(const reference::Tensor &got,
                       const reference::Tensor &want, double tolerance) {
  double scale = 0;
  int64_t count = want.count();
  auto at = [&](int64_t i) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "element " << i << " of " << count << ": got " << got.number(i)
        << ", want " << want.number(i);
    return text;
  };
  if (!want.isFloat()) {
    for (int64_t i = 0; i < count; ++i)
      if (got.ints()[i] != want.ints()[i])
        return at(i);
    return {};
  }
  for (int64_t i = 0; i < count; ++i)
    if (std::isfinite(want.number(i)) && std::fabs(want.number(i)) < 1e30)
      scale = std::max(scale, std::fabs(want.number(i)));
  for (int64_t i = 0; i < count; ++i) {
    double x = got.number(i), y = want.number(i);
    bool same = std::isnan(y) ? std::isnan(x)
                : std::isinf(y)
                    ? x == y
                    : std::fabs(x - y) <=
                          tolerance * std::max(scale, std::fabs(y)) + 1e-37;
    if (!same)
      return at(i);
  }
  return {};
}

/// Whether two buffers hold the same bits; any f32 NaN is as good as another,
/// since which one an addition passes on is up to the order of its operands.
bool sameBits(ArrayRef<char> x, const GuardedBuffer &y, Type element) {
  if (std::memcmp(x.data(), y.data(), y.bytes) == 0)
    return true;
  if (!element.isF32())
    return false;
  for (size_t at = 0; at < y.bytes; at += 4) {
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
  int64_t bytesEach = tensor.element.isBF16() ? 2 : 4, rowsEach = 4 / bytesEach;
  int64_t lines = (depth + rowsEach - 1) / rowsEach;
  std::vector<char> packed(batches * panels * width * lines * 4);
  for (int64_t line = 0; line < batches * depth; ++line)
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t n = 0; n < columns; ++n) {
        int64_t panel = line / depth * panels + n / width * parts + part;
        int64_t k = line % depth, row = panel * lines + k / rowsEach;
        std::memcpy(
            &packed[(row * width + n % width) * 4 + k % rowsEach * bytesEach],
            &bytes[((line * parts + part) * columns + n) * bytesEach],
            bytesEach);
      }
  return packed;
}

/// The bytes of a filter [M, C, taps..] of 4-byte elements as
/// [groups][ceil(M / groups / width)][taps..][C][width].
std::vector<char> packFilter(const reference::Tensor &tensor, int64_t width,
                             int64_t groups) {
  std::vector<char> bytes = tensor.toBytes();
  int64_t maps = tensor.shape[0] / groups, channels = tensor.shape[1], taps = 1;
  for (int64_t size : ArrayRef(tensor.shape).drop_front(2))
    taps *= size;
  int64_t panels = (maps + width - 1) / width;
  std::vector<char> packed(groups * panels * width * channels * taps * 4);
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t m = 0; m < maps; ++m)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t t = 0; t < taps; ++t) {
          int64_t to = ((g * panels + m / width) * taps + t) * channels + c;
          int64_t from = ((g * maps + m) * channels + c) * taps + t;
          std::memcpy(&packed[(to * width + m % width) * 4], &bytes[from * 4],
                      4);
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

/// The bytes of a tensor in a layout.
std::vector<char> inLayout(const reference::Tensor &tensor, StringRef layout) {
  if (layout == kernel::packedLayout)
    return pack(tensor, 1);
  if (layout == kernel::packedHalvesLayout)
    return pack(tensor, 2);
  if (auto filter = kernel::FilterLayout::parse(layout))
    return packFilter(tensor, filter->width, filter->groups);
  if (auto winograd = kernel::WinogradLayout::parse(layout))
    return packWinograd(tensor, winograd->outputs);
  if (layout == kernel::depthwiseLayout)
    return packFilter(tensor, tensor.shape[0], 1);
  return tensor.toBytes();
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
    for (int64_t piece : {rows, int64_t(1), int64_t(3)})
      if (piece == rows || piece < rows)
        launch(inputs, *expected, piece, sizes);
  }

  void launch(ArrayRef<reference::Tensor> inputs,
              ArrayRef<reference::Tensor> expected, int64_t piece,
              const Symbols &sizes) {
    std::vector<GuardedBuffer> buffers;
    std::vector<void *> pointers;
    for (auto [i, input] : llvm::enumerate(inputs)) {
      auto layout = cast<StringAttr>(kernel.getLayouts()[i]).getValue();
      std::vector<char> bytes = inLayout(input, layout);
      buffers.emplace_back(bytes.size());
      std::memcpy(buffers.back().data(), bytes.data(), bytes.size());
    }
    for (Value yielded : kernel.getYielded()) {
      int64_t count = 1;
      for (graph::Expr dim : graph::getDims(yielded))
        count *= size(dim);
      buffers.emplace_back(count *
                           graph::byteWidth(graph::getElementType(yielded)));
    }
    for (GuardedBuffer &buffer : buffers)
      pointers.push_back(buffer.data());
    std::vector<int64_t> params;
    for (const auto &[name, value] : sizes)
      params.push_back(value);
    GuardedBuffer scratch(size(kernel.getGeometry()[2]));
    bool shares = kernel.getGeometry().size() > 3;
    GuardedBuffer shared(shares ? size(kernel.getGeometry()[3]) : 0);
    memset(shared.data(), 0,
           std::min<size_t>(shared.bytes, TENON_SHARED_ZEROS));
    tenon_kernel_context_t context = {
        scratch.data(),        runtime::unaryMath,     runtime::binaryMath,
        runtime::unaryMathF32, runtime::binaryMathF32, shared.data()};
    int64_t rows = size(kernel.getRows());
    int32_t status = 0;
    if (piece == 0)
      piece = rows;
    for (int64_t row = 0; row < rows; row += piece)
      status = std::max(status, code(pointers.data(), params.data(), row,
                                     std::min(row + piece, rows), &context));
    EXPECT_EQ(status, test.fault) << describe(sizes);
    if (piece == rows)
      whole.clear();
    for (size_t i = 0; i < expected.size(); ++i) {
      GuardedBuffer &buffer = buffers[inputs.size() + i];
      if (piece == rows)
        whole.emplace_back(buffer.data(), buffer.data() + buffer.bytes);
      else
        EXPECT_TRUE(sameBits(whole[i], buffer, expected[i].element))
            << describe(sizes) << ", result " << i
            << ": the bits depend on how its rows are cut";
      reference::Tensor got = llvm::cantFail(
          reference::Tensor::fromBytes(expected[i].element, expected[i].shape,
                                       ArrayRef(buffer.data(), buffer.bytes)));
      double tolerance = test.tolerance ? test.tolerance
                                        : defaultTolerance(expected[i].element);
      std::string differs = difference(got, expected[i], tolerance);
      EXPECT_TRUE(differs.empty())
          << describe(sizes) << ", result " << i << ", pieces of " << piece
          << " rows: " << differs;
    }
  }

  const KernelCase &test;
  kernel::FuncOp kernel;
  tenon_kernel_fn_t code;
  reference::SymbolMap symbols;
  std::vector<std::vector<char>> whole; // Results of a run in one piece.
};

/// Sets geometry and layouts as the schedule asks for; all operands that it
/// wants to be weights are.
void schedule(kernel::FuncOp function) {
  SmallVector<bool> isWeight(function.getBlock().getNumArguments(), true);
  KernelView view{function.getBlock(), isWeight};
  const Schedule *found = llvm::find_if(schedules(), [&](const Schedule &s) {
    return s.name == function.getSchedule();
  });
  ASSERT_NE(found, schedules().end());
  EXPECT_EQ(found->refusal(view).value_or(""), "");
  kernel::Geometry geometry = found->geometry(view);
  ASSERT_TRUE(geometry);
  Builder builder(function.getContext());
  function.setGeometryAttr(
      graph::DimsAttr::get(builder.getContext(), geometry.exprs()));
  SmallVector<StringRef> layouts;
  SmallVector<std::string> wanted = found->layouts(view);
  for (const std::string &layout : wanted)
    layouts.push_back(layout);
  function.setLayoutsAttr(builder.getStrArrayAttr(layouts));
}

/// Links an object to a shared one and loads it; null after a failure.
void *loadObject(const std::string &object) {
  llvm::SmallString<64> source, target;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("kernels", "o", source));
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("kernels", "so", target));
  {
    std::error_code error;
    llvm::raw_fd_ostream(source, error) << object;
  }
  std::string command = "ld.lld-22 -shared --no-undefined -o " +
                        target.str().str() + " " + source.str().str();
  EXPECT_EQ(std::system(command.c_str()), 0);
  void *handle = dlopen(target.c_str(), RTLD_NOW);
  EXPECT_NE(handle, nullptr) << dlerror();
  llvm::sys::fs::remove(source);
  llvm::sys::fs::remove(target);
  return handle;
}

cpu::CpuLevel levelOf(StringRef name) {
  if (name != expandedPairs)
    return *cpu::findCpuLevel(name);
  cpu::CpuLevel level = *cpu::findCpuLevel("x86-64-v4");
  level.name = expandedPairs;
  level.pairDots = cpu::PairDots::Expanded;
  return level;
}

} // namespace

bool canRun(const char *levelName) {
  return (levelOf(levelName).features &
          ~cpu::findCpuLevel("native")->features) == 0;
}

std::string tensor(const std::vector<std::string> &dims,
                   const std::string &element) {
  std::string shape, names;
  bool isStatic = true;
  for (const std::string &dim : dims) {
    bool isNumber = dim.find_first_not_of("0123456789") == std::string::npos;
    isStatic &= isNumber;
    shape += (isNumber ? dim : "?") + "x";
    names += (names.empty() ? "" : ", ") + dim;
  }
  return "tensor<" + shape + element +
         (isStatic ? ">" : ", #graph.dims<" + names + ">>");
}

KernelCase one(const std::string &op, const std::string &attributes,
               const std::vector<std::string> &operands,
               const std::vector<std::string> &results,
               std::vector<Symbols> sizes) {
  KernelCase test;
  test.name = op + " " + operands[0];
  test.sizes = std::move(sizes);
  std::string names, types;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string name =
        i < 16 ? std::string(1, 'a' + i) : "v" + std::to_string(i);
    std::string comma = i ? ", " : "";
    test.arguments += comma + "%" + name + ": " + operands[i];
    names += comma + "%" + name;
    types += comma + operands[i];
  }
  std::string produced, yielded;
  for (size_t i = 0; i < results.size(); ++i) {
    yielded += (i ? ", " : "") + ("%r#" + std::to_string(i));
    produced += (i ? ", " : "") + results[i];
  }
  test.body = "%r:" + std::to_string(results.size()) + " = graph." + op + " " +
              names + " " + attributes + " : (" + types + ") -> (" + produced +
              ")\nkernel.yield " + yielded + " : " + produced;
  return test;
}

void runCases(const std::vector<KernelCase> &cases, const char *levelName) {
  DialectRegistry registry;
  registry.insert<graph::GraphDialect, kernel::KernelDialect>();
  cpu::registerCpuDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::string text;
  for (size_t i = 0; i < cases.size(); ++i)
    text += compileText(cases[i], i);
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text.substr(0, 2000);
  for (auto function : module->getOps<kernel::FuncOp>()) {
    schedule(function);
  }
  cpu::CpuLevel level = levelOf(levelName);
  auto objects = cpu::compileObjects(*module, level);
  ASSERT_TRUE(succeeded(objects));
  void *handle = loadObject((*objects)[0]);
  ASSERT_NE(handle, nullptr);
  size_t i = 0;
  for (auto function : module->getOps<kernel::FuncOp>()) {
    std::string symbol = (function.getSymName() + "." + level.name).str();
    auto code =
        reinterpret_cast<tenon_kernel_fn_t>(dlsym(handle, symbol.c_str()));
    ASSERT_NE(code, nullptr) << symbol;
    CaseRunner(cases[i++], function, code).run();
  }
  dlclose(handle);
}

} // namespace tenon::test
