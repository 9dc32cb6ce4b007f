//===- ResizeRowsTest.cpp - Resampling by rows ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/ConvCase.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {
namespace {

struct Resize {
  std::string mode = "linear", coordinates = "half_pixel",
              nearest = "round_prefer_floor", scales = "", element = "f32",
              excludes = "false", antialias = "false";
};

KernelCase resize(const Resize &how, const Dims &from, const Dims &to,
                  std::vector<Symbols> sizes = {{}}) {
  KernelCase test = one(
      "resize",
      "{mode = #graph<resize_mode " + how.mode + ">, coordinates = \"" +
          how.coordinates + "\", nearest = \"" + how.nearest +
          "\", scales = array<f64" + how.scales +
          ">, roi = array<f64>, cubic_coefficient = -0.75, extrapolation = "
          "0.0, exclude_outside = " +
          how.excludes + ", antialias = " + how.antialias + "}",
      {tensor(from, how.element)}, {tensor(to, how.element)}, std::move(sizes));
  test.schedule = "ResizeRows";
  test.name += " " + how.mode + " " + how.coordinates + " " + how.nearest;
  return test;
}

class ResizeRows : public LevelTest {};

TEST_P(ResizeRows, SamplesAnywhere) {
  std::vector<KernelCase> cases;
  for (const std::string &coordinates :
       {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
        "align_corners", "asymmetric"}) {
    std::vector<Resize> all = {{"linear", coordinates}, {"cubic", coordinates}};
    for (const std::string &nearest :
         {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
      all.push_back({"nearest", coordinates, nearest});
    for (const Resize &how : all) {
      // Larger, smaller, one element and from one element.
      std::vector<Symbols> sizes = {{{"h", 9}, {"w", 70}},
                                    {{"h", 3}, {"w", 11}},
                                    {{"h", 5}, {"w", 21}},
                                    {{"h", 1}, {"w", 1}}};
      cases.push_back(
          resize(how, {"2", "3", "5", "21"}, {"2", "3", "h", "w"}, sizes));
      cases.push_back(resize(how, {"1", "1"}, {"h", "w"}, sizes));
      cases.push_back(
          resize(how, {"2", "5", "21", "19"}, {"2", "h", "w", "19"}, sizes));
    }
  }
  run(cases);
}

TEST_P(ResizeRows, TakesAnyAxes) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes = {{{"n", 40}}, {{"n", 7}}, {{"n", 20}}};
  for (const std::string &mode : {"nearest", "linear", "cubic"}) {
    Resize how = {mode};
    cases.push_back(resize(how, {"20"}, {"n"}, sizes));
    cases.push_back(resize(how, {"20", "3", "5"}, {"n", "3", "5"}, sizes));
    cases.push_back(resize(how, {"2", "20", "33"}, {"2", "n", "33"}, sizes));
    cases.push_back(resize(how, {"3", "20", "5"}, {"3", "n", "9"}, sizes));
    cases.push_back(resize(how, {"3", "4", "20"}, {"5", "4", "n"}, sizes));
    cases.push_back(resize(how, {"2", "20", "5", "6", "40"},
                           {"2", "n", "5", "9", "40"}, sizes));
    cases.push_back(
        resize(how, {"20", "3", "4", "5"}, {"n", "5", "7", "5"}, sizes));
    // An axis of the same size, which the code does not know.
    cases.push_back(resize(how, {"20", "10"}, {"n", "23"}, sizes));
  }
  cases.push_back(resize({"linear"}, {"1", "2", "3", "4", "20"},
                         {"1", "2", "5", "9", "n"}, sizes));
  run(cases);
}

TEST_P(ResizeRows, KeepsGivenScales) {
  std::vector<KernelCase> cases;
  for (const std::string &mode : {"nearest", "linear", "cubic"})
    for (const std::string &coordinates : {"half_pixel", "asymmetric"}) {
      Resize how = {mode, coordinates};
      how.scales = ": 1.0, 1.9, 2.1";
      cases.push_back(resize(how, {"2", "5", "20"}, {"2", "9", "42"}));
      how.scales = ": 1.0, 2.0, 0.3";
      cases.push_back(resize(how, {"2", "5", "60"}, {"2", "10", "18"}));
      how.scales = ": 1.7, 0.6, 1.0";
      cases.push_back(resize(how, {"4", "5", "20"}, {"6", "3", "20"}));
    }
  run(cases);
}

TEST_P(ResizeRows, LeavesOutWhatIsNoTap) {
  std::vector<KernelCase> cases;
  for (const std::string &coordinates : {"half_pixel", "align_corners"})
    for (const Dims &inner : {Dims{"21", "2"}, Dims{"3", "19"}}) {
      Dims from = {"2", "5"}, to = {"2", "9", "w", inner[1]};
      from.insert(from.end(), inner.begin(), inner.end());
      cases.push_back(
          resize({"linear", coordinates}, from, to, {{{"w", 41}}, {{"w", 7}}}));
      cases.back().values = {{-4, 4, /*special=*/true}};
    }
  cases.push_back(
      resize({"linear", "align_corners"}, {"3", "21"}, {"5", "41"}));
  cases.back().values = {{-4, 4, /*special=*/true}};
  run(cases);
}

TEST_P(ResizeRows, LeavesOutWhatIsOutside) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes = {
      {{"h", 9}, {"w", 70}}, {{"h", 3}, {"w", 11}}, {{"h", 1}, {"w", 1}}};
  for (const std::string &coordinates :
       {"half_pixel", "align_corners", "asymmetric"})
    for (const std::string &mode : {"linear", "cubic"}) {
      Resize how = {mode, coordinates};
      how.excludes = "true";
      cases.push_back(resize(how, {"3", "5", "21"}, {"3", "h", "w"}, sizes));
      cases.back().values = {{-4, 4, /*special=*/mode == "linear"}};
      cases.push_back(resize(how, {"1", "3", "19"}, {"h", "w", "19"}, sizes));
      // Some positions lie where no element is.
      how.scales = ": 1.0, 0.3, 0.2";
      cases.push_back(resize(how, {"2", "5", "21"}, {"2", "9", "40"}));
    }
  run(cases);
}

TEST_P(ResizeRows, SmoothesWhatShrinks) {
  std::vector<KernelCase> cases;
  for (const std::string &mode : {"nearest", "linear", "cubic"})
    for (const std::string &excludes : {"false", "true"}) {
      Resize how = {mode};
      how.excludes = excludes;
      how.antialias = "true";
      cases.push_back(resize(how, {"2", "9", "60"}, {"2", "4", "23"}));
      cases.push_back(resize(how, {"2", "9", "20"}, {"2", "4", "50"}));
      cases.push_back(resize(how, {"9", "8", "33"}, {"5", "8", "33"}));
      cases.push_back(resize(how, {"9", "16", "5"}, {"5", "8", "5"}));
      cases.push_back(resize(how, {"7", "64"}, {"7", "16"}));
      how.scales = ": 1.0, 0.6, 0.37";
      cases.push_back(resize(how, {"2", "11", "40"}, {"2", "6", "14"}));
      how.scales = ": 1.0, 0.5, 1.0";
      cases.push_back(resize(how, {"n", "h", "19"}, {"n", "w", "19"},
                             {{{"n", 3}, {"h", 8}, {"w", 4}}}));
    }
  run(cases);
}

TEST_P(ResizeRows, TakesShortFloats) {
  std::vector<KernelCase> cases;
  for (const std::string &element : {"f16", "bf16"})
    for (const std::string &mode : {"nearest", "linear", "cubic"}) {
      Resize how = {mode};
      how.element = element;
      cases.push_back(resize(how, {"2", "5", "21"}, {"2", "9", "50"}));
      cases.push_back(resize(how, {"5", "6", "21"}, {"9", "9", "21"}));
    }
  run(cases);
}

TEST_P(ResizeRows, TakesNoElements) {
  Symbols none = {{"h", 0}, {"w", 9}}, some = {{"h", 4}, {"w", 9}};
  std::vector<KernelCase> cases = {
      resize({}, {"h", "5"}, {"h", "w"}, {none, some}),
      resize({}, {"3", "h"}, {"3", "w"}, {none})};
  cases.back().fault = 3;
  run(cases);
}

TEST_P(ResizeRows, RunsWhatIsAround) {
  std::vector<KernelCase> cases;
  auto surround = [&](const Dims &from, const Dims &to, const Dims &added) {
    KernelCase test = resize({}, from, to, {{{"h", 9}, {"w", 37}}});
    std::string x = tensor(from, "f32"), y = tensor(to, "f32"),
                z = tensor(added, "f32");
    std::string op = test.body.substr(test.body.find("graph.resize"));
    op = op.substr(0, op.find('\n'));
    op.replace(op.find("%a"), 2, "%t");
    test.arguments = "%a: " + x + ", %b: " + z;
    test.body = "%t = graph.tanh %a : (" + x + ") -> " + x + "\n%r = " + op +
                "\n%s = graph.add %r, %b : (" + y + ", " + z + ") -> " + y +
                "\nkernel.yield %s : " + y;
    test.name += " surrounded";
    cases.push_back(test);
  };
  surround({"2", "5", "21"}, {"2", "h", "w"}, {"h", "w"});
  surround({"2", "5", "21"}, {"2", "h", "w"}, {"h", "1"});
  surround({"5", "6", "20"}, {"h", "w", "20"}, {"20"});
  surround({"5", "6", "20"}, {"h", "w", "20"}, {"h", "1", "20"});
  run(cases);
}

TENON_FOR_ALL_LEVELS(ResizeRows);

} // namespace
} // namespace tenon::test
