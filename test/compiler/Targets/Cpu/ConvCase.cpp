//===- ConvCase.cpp - A convolution, as a kernel --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"

#include <algorithm>

namespace tenon::test {
namespace {

std::string join(const Numbers &numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

std::string withResult(std::string text, const std::string &type) {
  for (size_t at; (at = text.find("RESULT")) != std::string::npos;)
    text.replace(at, 6, type);
  return text;
}

} // namespace

AnyConv AnyConv::of(int64_t channels, int64_t groups, int64_t maps,
                    const Numbers &taps, const Sliding &sliding) {
  size_t axes = taps.size();
  AnyConv conv = {
      {"n"}, {std::to_string(maps), std::to_string(channels / groups)}, {"n"}};
  for (size_t i = 0; i < axes; ++i) {
    std::string size = "h" + std::to_string(i);
    int64_t stride = sliding.strides[i];
    int64_t more = sliding.pads[i] + sliding.pads[axes + i] -
                   sliding.dilations[i] * (taps[i] - 1) - 1;
    conv.input.push_back(size);
    conv.filter.push_back(std::to_string(taps[i]));
    std::string slid = size + " + " + std::to_string(more);
    if (stride != 1)
      slid = "floordiv(" + slid + ", " + std::to_string(stride) + ") + 1";
    else if (more == -1)
      slid = size;
    else
      slid = size + " + " + std::to_string(more + 1);
    conv.result.push_back(slid);
  }
  conv.input.push_back(std::to_string(channels));
  conv.result.push_back(std::to_string(maps));
  return conv;
}

AnyConv AnyConv::planes() const {
  AnyConv conv = *this;
  for (Dims *dims : {&conv.input, &conv.result})
    std::rotate(dims->begin() + 1, dims->end() - 1, dims->end());
  return conv;
}

std::vector<Symbols> sizesOf(const std::vector<Numbers> &images) {
  std::vector<Symbols> sizes;
  for (const Numbers &image : images) {
    Symbols &symbols = sizes.emplace_back();
    symbols["n"] = image[0];
    for (size_t i = 1; i < image.size(); ++i)
      symbols["h" + std::to_string(i - 1)] = image[i];
  }
  return sizes;
}

KernelCase convCase(const std::string &schedule, const Sliding &sliding,
                    const Dims &input, const Dims &filter, const Dims &result,
                    const Behind &behind) {
  std::string attributes =
      "{strides = array<i64: " + join(sliding.strides) +
      ">, dilations = array<i64: " + join(sliding.dilations) +
      ">, pads = #graph.dims<" + join(sliding.pads) +
      ">, group = " + std::to_string(sliding.groups) +
      (sliding.channelsLast ? ", channels_last}" : "}");
  std::string a = tensor(input, sliding.element),
              b = tensor(filter, sliding.element), sums = tensor(result, "f32"),
              wideA = tensor(input, "f32"), wideB = tensor(filter, "f32"),
              types = "(" + wideA + ", " + wideB + ")", names = "%a, %b";
  KernelCase test;
  test.name = attributes + types + sliding.element + behind.ops +
              (behind.isTurned ? " turned" : "");
  test.schedule = schedule;
  test.arguments = "%a: " + a + ", %b: " + b;
  if (!behind.arguments.empty())
    test.arguments += ", " + withResult(behind.arguments, sums);
  if (sliding.element != "f32") {
    test.body = "%aw = graph.cast %a : (" + a + ") -> " + wideA +
                "\n%bw = graph.cast %b : (" + b + ") -> " + wideB + "\n";
    names = "%aw, %bw";
  }
  std::string last = behind.ops.empty() ? "%sums" : "%y",
              type = tensor(result, behind.element);
  test.body += "%sums = graph.conv " + names + " " + attributes + " : " +
               types + " -> " + sums + "\n" + withResult(behind.ops, sums);
  if (behind.isTurned) {
    Dims turned = {result[0], result.back()};
    Numbers axes = {0, int64_t(result.size()) - 1};
    for (size_t i = 1; i + 1 < result.size(); ++i) {
      turned.push_back(result[i]);
      axes.push_back(i);
    }
    std::string before = type;
    type = tensor(turned, behind.element);
    test.body += "\n%turned = graph.transpose " + last +
                 " {permutation = array<i64: " + join(axes) + ">} : (" +
                 before + ") -> " + type;
    last = "%turned";
  }
  test.body += "\nkernel.yield " + last + " : " + type;
  // Their sums are f32.
  if (behind.element == "f64")
    test.tolerance = 1e-6;
  return test;
}

std::vector<Symbols> countsOf(const Numbers &images) {
  std::vector<Symbols> sizes;
  for (int64_t count : images)
    sizes.push_back({{"n", count}});
  return sizes;
}

AnyConv FixedConv::dims() const {
  size_t axes = taps.size();
  auto text = [](int64_t number) { return std::to_string(number); };
  Dims input = {"n"}, filter = {text(groups * maps), text(channels)},
       result = {"n"};
  for (size_t i = 0; i < axes; ++i) {
    int64_t room =
        image[i] + pads[i] + pads[axes + i] - dilations[i] * (taps[i] - 1) - 1;
    input.push_back(text(image[i]));
    filter.push_back(text(taps[i]));
    result.push_back(text(room / strides[i] + 1));
  }
  input.push_back(text(groups * channels));
  result.push_back(text(groups * maps));
  return {input, filter, result};
}

KernelCase FixedConv::with(const std::string &schedule,
                           const Numbers &images) const {
  AnyConv own = dims();
  KernelCase test =
      convCase(schedule, {strides, dilations, pads, groups, element}, own.input,
               own.filter, own.result, behind);
  test.sizes = countsOf(images);
  return test;
}

std::vector<Behind> commonEpilogues(int64_t maps) {
  return commonEpilogues(Dims{std::to_string(maps)});
}

std::vector<Behind> commonEpilogues(const Dims &bias) {
  std::string row = tensor(bias, "f32");
  std::string addBias =
      "%t = graph.add %sums, %c : (RESULT, " + row + ") -> RESULT\n";
  std::string zero = "%z = graph.constant {value = dense<0.0> : tensor<f32>} "
                     ": () -> tensor<f32>\n";
  std::vector<Behind> all;
  for (const std::string &rest :
       {zero + "%y = graph.max %t, %z : (RESULT, tensor<f32>) -> RESULT",
        zero + "%s = graph.add %t, %d : (RESULT, RESULT) -> RESULT\n"
               "%y = graph.max %s, %z : (RESULT, tensor<f32>) -> RESULT",
        std::string("%y = graph.gelu %t {kind = #graph<gelu_kind erf>} : "
                    "(RESULT) -> RESULT"),
        std::string("%s = graph.sigmoid %t : (RESULT) -> RESULT\n"
                    "%y = graph.mul %s, %t : (RESULT, RESULT) -> RESULT")})
    all.push_back({"%c: " + row + ", %d: RESULT", addBias + rest});
  return all;
}

Behind castTo(const std::string &element, const Dims &result) {
  return {"", "%y = graph.cast %sums : (RESULT) -> " + tensor(result, element),
          element};
}

std::vector<FixedConv> withCasts(FixedConv conv) {
  std::vector<FixedConv> all;
  for (std::string element : {"f16", "bf16", "f64"}) {
    conv.behind = castTo(element, conv.dims().result);
    all.push_back(conv);
  }
  return all;
}

void FixedConvTest::run(const std::vector<FixedConv> &convs,
                        const Numbers &images) {
  std::vector<KernelCase> cases;
  for (const FixedConv &conv : convs)
    cases.push_back(conv.with(schedule, images));
  run(cases);
}

} // namespace tenon::test
