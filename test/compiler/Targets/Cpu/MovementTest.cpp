//===- MovementTest.cpp - Elements that are found by their index ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

const std::vector<std::string> types = {"i1",  "ui8",  "i16", "i32", "i64",
                                        "f16", "bf16", "f32", "f64"};
const std::vector<Symbols> sizes = {{{"m", 3}, {"n", 7}},
                                    {{"m", 1}, {"n", 1}},
                                    {{"m", 0}, {"n", 4}},
                                    {{"m", 2}, {"n", 0}}};

TEST(Movement, Reshapes) {
  std::vector<KernelCase> cases;
  auto add = [&](std::vector<std::string> from, std::vector<std::string> to) {
    for (const std::string &type : types)
      cases.push_back(
          one("reshape", "", {tensor(from, type)}, {tensor(to, type)}, sizes));
  };
  add({"m", "n", "6"}, {"m", "n", "2", "3"});
  add({"m", "n", "2", "3"}, {"m", "n", "6"});
  add({"m", "n", "6"}, {"m * n", "3", "2"});
  add({"m", "6", "n"}, {"6 * n", "m", "1"});
  runCases(cases);
}

TEST(Movement, ReshapesInsideOfKernels) {
  std::string from = tensor({"m", "n", "6"}, "f32"),
              middle = tensor({"m", "n", "2", "3"}, "f32"),
              turned = tensor({"2", "m", "n", "3"}, "f32"),
              flat = tensor({"2", "m", "3 * n"}, "f32");
  KernelCase test;
  test.name = "reshape, transpose, reshape, abs";
  test.arguments = "%a: " + from;
  test.body =
      "%r = graph.reshape %a : (" + from + ") -> " + middle +
      "\n%t = graph.transpose %r {permutation = array<i64: 2, 0, 1, 3>} : (" +
      middle + ") -> " + turned + "\n%f = graph.reshape %t : (" + turned +
      ") -> " + flat + "\n%s = graph.abs %f : (" + flat + ") -> " + flat +
      "\nkernel.yield %s, %t : " + flat + ", " + turned;
  test.sizes = sizes;
  runCases({test});
}

TEST(Movement, AppendsToBuffersWithRoom) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes;
  for (int64_t held : {0, 1, 5})
    for (int64_t added : {0, 1, 4})
      sizes.push_back({{"m", 2}, {"p", held}, {"s", added}, {"c", held + 3}});
  sizes.push_back({{"m", 0}, {"p", 2}, {"s", 1}, {"c", 2}});
  for (const std::string &type : types) {
    auto add = [&](int axis, std::vector<std::string> dims) {
      auto with = [&](const std::string &size) {
        std::vector<std::string> own = dims;
        own.insert(own.begin() + axis, size);
        return tensor(own, type);
      };
      cases.push_back(one("append",
                          "{axis = " + std::to_string(axis) +
                              " : i64, length = #graph.dims<p>}",
                          {with("c"), with("s")}, {with("p + s")}, sizes));
    };
    add(0, {});
    add(0, {"m", "3"});
    add(1, {"m", "17"});
    add(2, {"m", "3"});
    add(2, {"2", "m", "8"});
  }
  runCases(cases);
}

TEST(Movement, TransposesBroadcastsAndSlices) {
  std::vector<KernelCase> cases;
  for (const std::string &type : types) {
    std::string from = tensor({"m", "n", "5"}, type);
    cases.push_back(one("transpose", "{permutation = array<i64: 2, 0, 1>}",
                        {from}, {tensor({"5", "m", "n"}, type)}, sizes));
    cases.push_back(one("broadcast", "", {tensor({"m", "1", "5"}, type)},
                        {tensor({"2", "m", "n", "5"}, type)}, sizes));
    cases.push_back(one("slice",
                        "{starts = #graph.dims<0, 0, 3>, "
                        "steps = #graph.dims<1, 1, -2>}",
                        {from}, {tensor({"m", "n", "2"}, type)}, sizes));
    cases.push_back(one("slice",
                        "{starts = #graph.dims<0, n + -1, 1>, "
                        "steps = #graph.dims<1, -1, 2>}",
                        {from}, {tensor({"m", "n", "2"}, type)}, sizes));
  }
  for (const std::string &type : types)
    cases.push_back(one("windows",
                        "{axis = 1 : i64, stride = 3 : i64, step = 2 : i64}",
                        {tensor({"m", "3 * n + 3", "5"}, type)},
                        {tensor({"m", "n", "2", "5"}, type)}, sizes));
  cases.push_back(
      one("windows", "{axis = 0 : i64, stride = 1 : i64, step = 1 : i64}",
          {tensor({"m + n + 1"}, "f32")}, {tensor({"m", "n"}, "f32")}, sizes));
  cases.push_back(
      one("broadcast", "", {tensor({"n"}, "f32")},
          {tensor({"m", "broadcast(n, k)"}, "f32")},
          {{{"k", 5}, {"m", 3}, {"n", 1}}, {{"k", 1}, {"m", 3}, {"n", 5}}}));
  runCases(cases);
}

/// Planes of a few channels become pixels, with some channels more or none;
/// lines are more and less than a tile.
TEST(Movement, TurnsChannels) {
  std::vector<Symbols> images;
  for (int64_t w : {0, 1, 63, 64, 65, 200})
    images.push_back({{"n", 2}, {"h", 3}, {"w", w}});
  std::vector<KernelCase> cases;
  for (const std::string &type : types)
    for (int64_t channels : {2, 3, 4, 7}) {
      std::string planes =
                      tensor({"n", std::to_string(channels), "h", "w"}, type),
                  pixels =
                      tensor({"n", "h", "w", std::to_string(channels)}, type),
                  wider = tensor({"n", "h", "w", std::to_string(channels + 1)},
                                 type),
                  zero = tensor({}, type),
                  turn = "%t = graph.transpose %x {permutation = "
                         "array<i64: 0, 2, 3, 1>} : (" +
                         planes + ") -> " + pixels;
      cases.push_back({"turn " + pixels, "%x: " + planes,
                       turn + "\nkernel.yield %t : " + pixels, images});
      cases.push_back(
          {"turn and pad " + pixels, "%x: " + planes + ", %z: " + zero,
           turn +
               "\n%p = graph.pad %t, %z {low = #graph.dims<0, 0, 0, "
               "0>, mode = #graph<pad_mode constant>} : (" +
               pixels + ", " + zero + ") -> " + wider +
               "\nkernel.yield %p : " + wider,
           images});
    }
  // With something before and behind it that counts the channels.
  std::string planes = tensor({"n", "3", "h", "w"}, "f32"),
              pixels = tensor({"n", "h", "w", "3"}, "f32"),
              wider = tensor({"n", "h", "w", "4"}, "f32"),
              half = tensor({"n", "h", "w", "4"}, "bf16"),
              row = tensor({"4"}, "f32");
  cases.push_back(
      {"add, turn, pad, mul, cast",
       "%x: " + planes + ", %y: " + planes + ", %z: tensor<f32>, %c: " + row,
       "%s = graph.add %x, %y : (" + planes + ", " + planes + ") -> " + planes +
           "\n%t = graph.transpose %s {permutation = array<i64: 0, 2, 3, 1>} "
           ": (" +
           planes + ") -> " + pixels +
           "\n%p = graph.pad %t, %z {low = #graph.dims<0, 0, 0, 0>, mode = "
           "#graph<pad_mode constant>} : (" +
           pixels + ", tensor<f32>) -> " + wider +
           "\n%m = graph.mul %p, %c : (" + wider + ", " + row + ") -> " +
           wider + "\n%r = graph.cast %m : (" + wider + ") -> " + half +
           "\nkernel.yield %m, %r : " + wider + ", " + half,
       images});
  runCases(cases);
  if (canRun("x86-64-v3"))
    runCases(cases, "x86-64-v3");
}

/// Planes of more and less than a tile, of every width of element; pieces end
/// anywhere.
TEST(Movement, TransposesInTiles) {
  std::vector<Symbols> planes;
  for (int64_t m : {1, 15, 16, 33})
    for (int64_t n : {0, 1, 8, 64, 67})
      planes.push_back({{"k", 3}, {"m", m}, {"n", n}});
  std::vector<KernelCase> cases;
  for (const std::string &type : types) {
    cases.push_back(one("transpose", "{permutation = array<i64: 0, 2, 1>}",
                        {tensor({"k", "m", "n"}, type)},
                        {tensor({"k", "n", "m"}, type)}, planes));
    cases.push_back(one("transpose", "{permutation = array<i64: 0, 3, 1, 2>}",
                        {tensor({"k", "m", "2", "n"}, type)},
                        {tensor({"k", "n", "m", "2"}, type)}, planes));
    cases.push_back(one("transpose", "{permutation = array<i64: 2, 3, 0, 1>}",
                        {tensor({"m", "1", "1", "n"}, type)},
                        {tensor({"1", "n", "m", "1"}, type)}, planes));
    cases.push_back(one("transpose", "{permutation = array<i64: 1, 0>}",
                        {tensor({"19", "40"}, type)},
                        {tensor({"40", "19"}, type)}));
  }
  // With something before and behind it.
  std::string from = tensor({"k", "m", "n"}, "f32"), row = tensor({"n"}, "f32"),
              turned = tensor({"n", "k", "m"}, "f32"),
              flat = tensor({"n", "k * m"}, "f32"),
              scale = tensor({"k", "m"}, "f32");
  cases.push_back(
      {"add, transpose, mul, reshape",
       "%a: " + from + ", %b: " + row + ", %c: " + scale,
       "%s = graph.add %a, %b : (" + from + ", " + row + ") -> " + from +
           "\n%t = graph.transpose %s {permutation = array<i64: 2, 0, 1>} : (" +
           from + ") -> " + turned + "\n%p = graph.mul %t, %c : (" + turned +
           ", " + scale + ") -> " + turned + "\n%f = graph.reshape %p : (" +
           turned + ") -> " + flat + "\nkernel.yield %f, %t : " + flat + ", " +
           turned,
       planes});
  runCases(cases);
  if (canRun("x86-64-v3"))
    runCases(cases, "x86-64-v3");
}

/// Windows of a rolled image, cut for a norm and put back behind one.
TEST(Movement, RowsLieElsewhere) {
  std::string rows = tensor({"d0", "24", "5"}, "f32");
  std::string image = tensor({"d0", "4", "6", "5"}, "f32");
  std::string split = tensor({"d0", "2", "2", "2", "3", "5"}, "f32");
  std::string windows = tensor({"4 * d0", "6", "5"}, "f32");
  std::string order = " {permutation = array<i64: 0, 1, 3, 2, 4, 5>}";
  std::string roll = ", %zero {low = #graph.dims<0, -1, LOW, 0>, "
                     "mode = #graph<pad_mode wrap>} : (" +
                     image + ", tensor<f32>) -> " + image + "\n";
  std::string zero = "%zero = graph.constant {value = dense<0.0> : "
                     "tensor<f32>} : () -> tensor<f32>\n";
  KernelCase cut;
  cut.name = "cut";
  cut.sizes = {{{"d0", 1}}, {{"d0", 3}}, {{"d0", 0}}};
  cut.arguments = "%x: " + image;
  std::string left = roll;
  cut.body = zero + "%0 = graph.pad %x" +
             left.replace(left.find("LOW"), 3, "-2") +
             "%1 = graph.reshape %0 : (" + image + ") -> " + split + "\n" +
             "%2 = graph.transpose %1" + order + " : (" + split + ") -> " +
             split + "\n%3 = graph.reshape %2 : (" + split + ") -> " + windows +
             "\n%4 = graph.layer_norm %3 {axis = 2 : i64, epsilon = 1.0e-05 : "
             "f64} : (" +
             windows + ") -> " + windows + "\nkernel.yield %4 : " + windows;
  KernelCase back = cut;
  back.name = "back";
  back.arguments = "%x: " + rows + ", %w: " + windows;
  std::string right = roll;
  back.body = zero + "%0 = graph.reshape %w : (" + windows + ") -> " + split +
              "\n%1 = graph.transpose %0" + order + " : (" + split + ") -> " +
              split + "\n%2 = graph.reshape %1 : (" + split + ") -> " + image +
              "\n%3 = graph.pad %2" + right.replace(right.find("LOW"), 3, "2") +
              "%4 = graph.reshape %3 : (" + image + ") -> " + rows +
              "\n%5 = graph.add %x, %4 : (" + rows + ", " + rows + ") -> " +
              rows + "\nkernel.yield %5 : " + rows;
  runCases({cut, back});
}

TEST(Movement, Concatenates) {
  std::vector<KernelCase> cases;
  for (const std::string &type : types) {
    cases.push_back(one("concat", "{axis = 1 : i64}",
                        {tensor({"m", "n"}, type), tensor({"m", "3"}, type),
                         tensor({"m", "n"}, type)},
                        {tensor({"m", "2 * n + 3"}, type)}, sizes));
    cases.push_back(one("concat", "{axis = 0 : i64}",
                        {tensor({"m", "4"}, type), tensor({"n", "4"}, type)},
                        {tensor({"m + n", "4"}, type)}, sizes));
    // Loops of their own for each operand, and too many for that.
    cases.push_back(
        one("concat", "{axis = 2 : i64}",
            {tensor({"m", "n", "5"}, type), tensor({"m", "n", "64"}, type),
             tensor({"m", "n", "7"}, type)},
            {tensor({"m", "n", "76"}, type)}, sizes));
    cases.push_back(
        one("concat", "{axis = 2 : i64}",
            std::vector<std::string>(17, tensor({"m", "n", "3"}, type)),
            {tensor({"m", "n", "51"}, type)}, sizes));
  }
  runCases(cases);
}

TEST(Movement, Pads) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> some = {
      {{"m", 3}, {"n", 7}}, {{"m", 3}, {"n", 4}}, {{"m", 2}, {"n", 300}}};
  for (const std::string &type : types)
    for (const std::string &mode : {"constant", "edge", "reflect", "wrap"}) {
      // One row; more is put around it than it has.
      cases.push_back(
          one("pad",
              "{low = #graph.dims<0, 9>, mode = #graph<pad_mode " + mode + ">}",
              {tensor({"1", "n"}, type), tensor({}, type)},
              {tensor({"1", "n + 20"}, type)}, some));
      cases.push_back(
          one("pad",
              "{low = #graph.dims<0, 2>, mode = #graph<pad_mode " + mode + ">}",
              {tensor({"m", "n"}, type), tensor({}, type)},
              {tensor({"m", "n + 3"}, type)}, some));
      cases.push_back(one("pad",
                          "{low = #graph.dims<1, -2>, mode = #graph<pad_mode " +
                              mode + ">}",
                          {tensor({"m", "n"}, type), tensor({}, type)},
                          {tensor({"m + 2", "n + -3"}, type)}, some));
    }
  runCases(cases);
}

TEST(Movement, Gathers) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> some = {
      {{"m", 3}, {"n", 7}}, {{"m", 1}, {"n", 1}}, {{"m", 4}, {"n", 0}}};
  for (const std::string &type : types)
    for (const std::string &index : {"i32", "i64"}) {
      cases.push_back(one("gather", "{axis = 0 : i64}",
                          {tensor({"5", "n"}, type), tensor({"m", "2"}, index)},
                          {tensor({"m", "2", "n"}, type)}, some));
      cases.push_back(one("gather", "{axis = 1 : i64}",
                          {tensor({"n", "5"}, type), tensor({"m"}, index)},
                          {tensor({"n", "m"}, type)}, some));
      cases.push_back(one("gather_elements", "{axis = 1 : i64}",
                          {tensor({"m", "5"}, type), tensor({"m", "n"}, index)},
                          {tensor({"m", "n"}, type)}, some));
      cases.push_back(one(
          "gather_nd", "{batch_dims = 1 : i64}",
          {tensor({"m", "5", "5", "n"}, type), tensor({"m", "3", "2"}, index)},
          {tensor({"m", "3", "n"}, type)}, some));
    }
  for (KernelCase &test : cases)
    test.values = {{-4, 4}, {-5, 5}};
  runCases(cases);
}

/// Sums of rows of a table of r, each times a number of its own; on axis 0 or
/// on one behind another.
KernelCase pickedRows(const std::string &type, bool isBehind) {
  std::vector<std::string> lead;
  if (isBehind)
    lead.push_back("2");
  auto of = [&](std::vector<std::string> dims, const std::string &element) {
    dims.insert(dims.begin(), lead.begin(), lead.end());
    return tensor(dims, element);
  };
  std::string table = of({"r", "n"}, type), rows = of({"m", "3", "n"}, type),
              factors = tensor({"m", "3", "1"}, type),
              indices = tensor({"m", "3"}, "i64"),
              axis = "{axis = " + std::to_string(lead.size()) + " : i64}";
  auto pick = [&](const std::string &name, const std::string &by) {
    return name + " = graph.gather %a, " + by + " " + axis + " : (" + table +
           ", " + indices + ") -> " + rows + "\n";
  };
  KernelCase test;
  test.name = "picked rows of " + type + (isBehind ? " behind" : "");
  test.arguments = "%a: " + table + ", %b: " + indices + ", %c: " + indices +
                   ", %d: " + factors;
  test.body = pick("%p", "%b") + pick("%q", "%c") +
              "%s = graph.mul %p, %d : (" + rows + ", " + factors + ") -> " +
              rows + "\n%t = graph.add %s, %q : (" + rows + ", " + rows +
              ") -> " + rows + "\nkernel.yield %t : " + rows;
  test.values = {{-4, 4}, {-5, 4}, {-5, 4}, {-4, 4}};
  for (int64_t n : {0, 1, 7, 16, 40, 300})
    for (int64_t m : {0, 1, 5})
      test.sizes.push_back({{"m", m}, {"n", n}, {"r", 5}});
  test.sizes.erase(test.sizes.begin());
  return test;
}

class PickedRows : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Levels, PickedRows,
                         testing::Values("native", "x86-64-v3"));

TEST_P(PickedRows, AreAdded) {
  if (!canRun(GetParam()))
    GTEST_SKIP() << "this machine has no " << GetParam();
  std::vector<KernelCase> cases;
  for (const std::string &type : types)
    for (bool isBehind : {false, true})
      if (type != "i1") // Has no products.
        cases.push_back(pickedRows(type, isBehind));
  runCases(cases, GetParam());
}

TEST_P(PickedRows, NoneThereIsAFault) {
  if (!canRun(GetParam()))
    GTEST_SKIP() << "this machine has no " << GetParam();
  std::vector<KernelCase> cases = {pickedRows("f32", false),
                                   pickedRows("f32", true)};
  for (KernelCase &test : cases) {
    test.fault = 257; // Of the second.
    test.sizes = {{{"m", 2}, {"n", 40}, {"r", 0}},
                  {{"m", 2}, {"n", 40}, {"r", 4}}};
    test.values = {{-4, 4}, {0, 0}, {4, 4}};
  }
  runCases(cases, GetParam());
}

TEST(Movement, Rotates) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> some = {{{"b", 2}, {"s", 5}},
                               {{"b", 1}, {"s", 1}},
                               {{"b", 0}, {"s", 3}},
                               {{"b", 3}, {"s", 0}}};
  // Heads turned whole, in part and not at all; tables per batch and for all.
  for (const std::string &type : {"f16", "bf16", "f32", "f64"})
    for (const std::string &interleaved : {"true", "false"})
      for (const std::string &half : {"0", "1", "5", "6"})
        for (const std::string &batch : {"1", "b"}) {
          std::string x = tensor({"b", "3", "s", "12"}, type);
          std::string table = tensor({batch, "s", half}, type);
          cases.push_back(one("rotary", "{interleaved = " + interleaved + "}",
                              {x, table, table}, {x}, some));
        }
  runCases(cases);
}

TEST(Movement, RotatesInsideOfKernels) {
  std::string from = tensor({"b", "s", "3", "8"}, "f32"),
              to = tensor({"b", "3", "s", "8"}, "f32"),
              table = tensor({"1", "s", "4"}, "f32");
  KernelCase test;
  test.name = "transpose, cos, sin, rotary, abs";
  test.arguments = "%a: " + from + ", %t: " + table;
  test.body = "%x = graph.transpose %a {permutation = array<i64: 0, 2, 1, 3>} "
              ": (" +
              from + ") -> " + to + "\n%c = graph.cos %t : (" + table +
              ") -> " + table + "\n%s = graph.sin %t : (" + table + ") -> " +
              table +
              "\n%r = graph.rotary %x, %c, %s {interleaved = false} "
              ": (" +
              to + ", " + table + ", " + table + ") -> " + to +
              "\n%y = graph.abs %r : (" + to + ") -> " + to +
              "\nkernel.yield %y : " + to;
  test.sizes = {{{"b", 2}, {"s", 7}}, {{"b", 0}, {"s", 2}}};
  runCases({test});
}

/// Heads where a merged projection left them: columns [from, from + 16) of 40.
std::string headsOf(const std::string &name, int64_t from) {
  std::string flat = tensor({"b", "s", "16"}, "f32");
  std::string split = tensor({"b", "s", "2", "8"}, "f32");
  return "%f" + name + " = graph.slice %a {starts = #graph.dims<0, 0, " +
         std::to_string(from) + ">, steps = #graph.dims<1, 1, 1>} : (" +
         tensor({"b", "s", "40"}, "f32") + ") -> " + flat + "\n%h" + name +
         " = graph.reshape %f" + name + " : (" + flat + ") -> " + split +
         "\n%" + name + " = graph.transpose %h" + name +
         " {permutation = array<i64: 0, 2, 1, 3>} : (" + split + ") -> " +
         tensor({"b", "2", "s", "8"}, "f32") + "\n";
}

TEST(Movement, RotatesAndAppendsSlices) {
  std::string heads = tensor({"b", "2", "s", "8"}, "f32");
  std::string table = tensor({"b", "s", "4"}, "f32");
  std::string past = tensor({"b", "2", "p", "8"}, "f32");
  std::string present = tensor({"b", "2", "p + s", "8"}, "f32");
  KernelCase rotary, append;
  rotary.name = "slice, reshape, transpose, rotary";
  append.name = "slice, reshape, transpose, concat";
  rotary.sizes = append.sizes = {{{"b", 1}, {"s", 1}, {"p", 3}},
                                 {{"b", 2}, {"s", 7}, {"p", 0}},
                                 {{"b", 3}, {"s", 37}, {"p", 12}},
                                 {{"b", 1}, {"s", 0}, {"p", 5}},
                                 {{"b", 0}, {"s", 4}, {"p", 5}}};
  std::string product = "%a: " + tensor({"b", "s", "40"}, "f32");
  rotary.arguments = product + ", %c: " + table + ", %s: " + table;
  rotary.body = headsOf("q", 8) +
                "%r = graph.rotary %q, %c, %s {interleaved = false} : (" +
                heads + ", " + table + ", " + table + ") -> " + heads +
                "\nkernel.yield %r : " + heads;
  append.arguments = product + ", %p: " + past;
  append.body = headsOf("v", 24) +
                "%r = graph.concat %p, %v {axis = 2 : i64} "
                ": (" +
                past + ", " + heads + ") -> " + present +
                "\nkernel.yield %r : " + present;
  runCases({rotary, append});
}

TEST(Movement, IndexOutOfRangeIsAFaultOfItsOp) {
  std::vector<KernelCase> cases;
  for (double index : {5.0, -6.0, 1e12}) {
    cases.push_back(one("gather", "{axis = 0 : i64}",
                        {tensor({"5", "n"}, "f32"), tensor({"3"}, "i64")},
                        {tensor({"3", "n"}, "f32")}, {{{"n", 40}}}));
    cases.back().values = {{}, {index, index}};
    cases.push_back(one("gather", "{axis = 0 : i64}",
                        {tensor({"n", "4"}, "f32"), tensor({"3"}, "i64")},
                        {tensor({"3", "4"}, "f32")}, {{{"n", 0}}}));
    cases.back().values = {{}, {index, index}};
  }
  for (KernelCase &test : cases)
    test.fault = 1;
  runCases(cases);
}

TEST(Movement, Constants) {
  std::vector<KernelCase> cases;
  auto add = [&](const std::string &body, const std::string &type) {
    KernelCase test;
    test.name = body;
    test.arguments = "%a: " + tensor({"n"}, "f32");
    test.body = body + "\nkernel.yield %c : " + type;
    test.sizes = {{{"n", 5}}, {{"n", 300}}};
    cases.push_back(test);
  };
  add("%c = graph.constant {value = dense<[[1.5, -2.0], [3.0, 4.0]]> : "
      "tensor<2x2xf32>} : () -> tensor<2x2xf32>",
      "tensor<2x2xf32>");
  add("%c = graph.constant {value = dense<[1.5, -2.0, 3.0]> : tensor<3xbf16>} "
      ": () -> tensor<3xbf16>",
      "tensor<3xbf16>");
  add("%c = graph.constant {value = dense<[true, false, true]> : "
      "tensor<3xi1>} : () -> tensor<3xi1>",
      "tensor<3xi1>");
  add("%c = graph.constant {value = dense<7> : tensor<3xui8>} : () -> "
      "tensor<3xui8>",
      "tensor<3xui8>");
  add("%c = graph.constant {value = dense<2.5> : tensor<f16>} : () -> "
      "tensor<f16>",
      "tensor<f16>");
  add("%c = graph.sizes {value = #graph.dims<n, 3 * n + 1, floordiv(n, 2)>} : "
      "() -> tensor<3xi64>",
      "tensor<3xi64>");
  for (const std::string &type : {"i64", "f32", "ui8", "f16"})
    add("%c = graph.iota : () -> " + tensor({"n"}, type), tensor({"n"}, type));
  cases.pop_back(); // 300 is no f16 that counts in ones up to 2048.
  runCases(cases);
}

} // namespace
} // namespace tenon::test
