//===- KernelData.cpp - Cases of kernels and the data they run on ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/KernelData.h"
#include "compiler/Schedules/Schedules.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/FilterLayout.h"
#include "dialects/Kernel/IntegerConvView.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;

namespace tenon::test {

std::string kernelText(const KernelCase &test, size_t ordinal) {
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

namespace {

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
  // Not by std::uniform_real_distribution, which takes logarithms for each.
  double unit = static_cast<double>(random() >> 11) * 0x1p-53;
  return values.lo + (values.hi - values.lo) * unit;
}

} // namespace

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

/// A filter [M, C, taps..] of bytes by panels of 48 maps: four numbers of a
/// line together, behind them the sum of each map.
static std::vector<char> inQuads(const reference::Tensor &tensor,
                                 const kernel::QuadFilter &layout) {
  std::vector<char> bytes = tensor.toBytes();
  bool isUnsigned = tensor.element.isUnsignedInteger();
  int64_t maps = tensor.shape[0], channels = tensor.shape[1], taps = 1;
  for (int64_t size : ArrayRef(tensor.shape).drop_front(2))
    taps *= size;
  int64_t lineTaps = layout.isByTap ? 1 : tensor.shape.back();
  int64_t quads = (lineTaps * channels + 3) / 4, width = kernel::panelColumns;
  int64_t depth = taps / lineTaps * quads;
  std::vector<char> packed((maps + width - 1) / width * (depth + 1) * width *
                           4);
  kernel::PanelCut cut = layout.panelsOf(maps);
  for (int64_t m = 0; m < maps; ++m) {
    int64_t number = cut.panelOf(m), lane = m - cut.first(number);
    char *panel = &packed[number * (depth + 1) * width * 4];
    int32_t sum = 0;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t) {
        char byte = bytes[(m * channels + c) * taps + t];
        int number = isUnsigned ? int(uint8_t(byte)) - 128 : int(byte);
        int64_t k = t % lineTaps * channels + c;
        int64_t quad = t / lineTaps * quads + k / 4;
        panel[(quad * width + lane) * 4 + k % 4] = char(number);
        sum += number;
      }
    std::memcpy(panel + (depth * width + lane) * 4, &sum, sizeof sum);
  }
  return packed;
}

std::vector<char> inFilterLayout(const reference::Tensor &tensor,
                                 StringRef layout) {
  std::vector<char> bytes = tensor.toBytes();
  if (auto quads = kernel::QuadFilter::parse(layout))
    return inQuads(tensor, *quads);
  auto filter = kernel::FilterLayout::parse(layout);
  if (layout == kernel::depthwiseLayout)
    filter = kernel::FilterLayout{tensor.shape[0]};
  if (!filter)
    return bytes;
  int64_t blocks = filter->groups / filter->merged, width = filter->width;
  int64_t maps = tensor.shape[0] / blocks, own = tensor.shape[1], taps = 1;
  int64_t channels = own * filter->merged;
  for (int64_t size : ArrayRef(tensor.shape).drop_front(2))
    taps *= size;
  int64_t panels = (maps + width - 1) / width;
  int64_t element = graph::byteWidth(tensor.element);
  std::vector<char> packed(blocks * panels * width * channels * taps * element);
  for (int64_t g = 0; g < blocks; ++g)
    for (int64_t m = 0; m < maps; ++m)
      for (int64_t c = 0; c < own; ++c)
        for (int64_t t = 0; t < taps; ++t) {
          int64_t before = m * filter->merged / maps * own;
          int64_t panel = filter->panelOf(maps, m);
          int64_t lane = m - filter->firstMap(maps, panel);
          int64_t to = (g * panels + panel) * taps * channels * width +
                       filter->placeInPanel(t, before + c, channels, lane);
          int64_t from = ((g * maps + m) * own + c) * taps + t;
          std::memcpy(&packed[to * element], &bytes[from * element], element);
        }
  return packed;
}

double defaultTolerance(Type element) {
  return element.isBF16()  ? 8e-3
         : element.isF16() ? 1e-3
         : element.isF64() ? 1e-10
                           : 1e-5;
}

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

void applySchedule(kernel::FuncOp function, Target target) {
  SmallVector<bool> isWeight(function.getBlock().getNumArguments(), true);
  KernelView view{function.getBlock(), isWeight, target};
  bool isAny = function.getSchedule().empty();
  const Schedule *found = llvm::find_if(schedules(), [&](const Schedule &s) {
    return isAny ? s.isOn(target) && !s.when && !s.refusal(view)
                 : s.name == function.getSchedule();
  });
  ASSERT_NE(found, schedules().end());
  EXPECT_EQ(found->refusal(view).value_or(""), "");
  kernel::Geometry geometry = found->geometry(view);
  ASSERT_TRUE(geometry);
  Builder builder(function.getContext());
  function.setSchedule(found->name);
  function.setGeometryAttr(
      graph::DimsAttr::get(builder.getContext(), geometry.exprs()));
  SmallVector<StringRef> layouts;
  SmallVector<std::string> wanted = found->layouts(view);
  for (const std::string &layout : wanted)
    layouts.push_back(layout);
  function.setLayoutsAttr(builder.getStrArrayAttr(layouts));
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

} // namespace tenon::test
