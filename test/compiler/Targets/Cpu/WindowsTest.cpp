//===- WindowsTest.cpp - Convolutions, pools and resampling ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

const std::vector<std::string> floats = {"f16", "bf16", "f32", "f64"};

TEST(Windows, Convolves) {
  std::vector<KernelCase> cases;
  for (std::string type : {"f16", "bf16", "f32", "f64", "i32", "i8"}) {
    cases.push_back(one("conv",
                        "{strides = array<i64: 1, 1>, dilations = array<i64: "
                        "1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1}",
                        {tensor({"b", "3", "h", "w"}, type),
                         tensor({"4", "3", "3", "3"}, type)},
                        {tensor({"b", "4", "h", "w"}, type)},
                        {{{"b", 2}, {"h", 5}, {"w", 19}},
                         {{"b", 1}, {"h", 1}, {"w", 1}},
                         {{"b", 0}, {"h", 4}, {"w", 4}}}));
    cases.push_back(one("conv",
                        "{strides = array<i64: 2, 3>, dilations = array<i64: "
                        "2, 1>, pads = #graph.dims<0, 2, 3, 1>, group = 2}",
                        {tensor({"1", "4", "9", "17"}, type),
                         tensor({"6", "2", "3", "2"}, type)},
                        {tensor({"1", "6", "4", "7"}, type)}));
    cases.push_back(
        one("conv",
            "{strides = array<i64: 4>, dilations = array<i64: 3>, "
            "pads = #graph.dims<5, 0>, group = 1}",
            {tensor({"2", "2", "40"}, type), tensor({"3", "2", "5"}, type)},
            {tensor({"2", "3", "9"}, type)}));
    cases.push_back(
        one("conv",
            "{strides = array<i64: 1, 2, 1>, dilations = array<i64: 1, 1, 1>, "
            "pads = #graph.dims<0, 1, 0, 1, 0, 1>, group = 1}",
            {tensor({"1", "2", "3", "5", "6"}, type),
             tensor({"2", "2", "2", "2", "2"}, type)},
            {tensor({"1", "2", "3", "3", "6"}, type)}));
    cases.push_back(
        one("conv_transpose",
            "{strides = array<i64: 2, 3>, dilations = array<i64: 1, 2>, "
            "pads = #graph.dims<1, 2, 0, 1>, group = 2}",
            {tensor({"2", "4", "5", "6"}, type),
             tensor({"4", "3", "3", "2"}, type)},
            {tensor({"2", "6", "10", "16"}, type)}));
    cases.push_back(
        one("conv_transpose",
            "{strides = array<i64: 1>, dilations = array<i64: 1>, "
            "pads = #graph.dims<0, 0>, group = 1}",
            {tensor({"1", "2", "7"}, type), tensor({"2", "3", "3"}, type)},
            {tensor({"1", "3", "9"}, type)}));
  }
  runCases(cases);
}

struct Pool {
  std::string op, extra;
};

TEST(Windows, Pools) {
  std::vector<KernelCase> cases;
  std::vector<Pool> pools = {{"max_pool", ""},
                             {"average_pool", ", count_pads = true"},
                             {"average_pool", ", count_pads = false"},
                             {"lp_pool", ", p = 2"},
                             {"lp_pool", ", p = 3"},
                             {"max_pool_indices", ", column_major = false"},
                             {"max_pool_indices", ", column_major = true"}};
  for (const Pool &pool : pools)
    for (std::string type : {"f16", "bf16", "f32", "f64", "i8", "ui8"}) {
      if (type.find('8') != std::string::npos &&
          pool.op.find("max") == std::string::npos)
        continue;
      std::string result = pool.op == "max_pool_indices" ? "i64" : type;
      cases.push_back(
          one(pool.op,
              "{kernel = array<i64: 3, 2>, strides = array<i64: 2, 1>, "
              "dilations = array<i64: 1, 2>, pads = #graph.dims<1, 1, 1, 0>" +
                  pool.extra + "}",
              {tensor({"b", "2", "7", "w"}, type)},
              {tensor({"b", "2", "4", "w + -1"}, result)},
              {{{"b", 2}, {"w", 21}}, {{"b", 1}, {"w", 2}}}));
      cases.push_back(one(
          pool.op,
          "{kernel = array<i64: 4>, strides = array<i64: 3>, "
          "dilations = array<i64: 1>, pads = #graph.dims<2, 3>" +
              pool.extra + "}",
          {tensor({"1", "3", "11"}, type)}, {tensor({"1", "3", "5"}, result)}));
    }
  runCases(cases);
}

TEST(Windows, Resizes) {
  std::vector<KernelCase> cases;
  auto add = [&](const std::string &mode, const std::string &coordinates,
                 const std::string &nearest, const std::string &scales,
                 const std::string &flags, const std::string &type) {
    std::string roi = coordinates == "tf_crop_and_resize"
                          ? ": 0.0, 0.0, 0.1, -0.2, 1.0, 1.0, 0.8, 1.3"
                          : "";
    std::string attributes =
        "{mode = #graph<resize_mode " + mode + ">, coordinates = \"" +
        coordinates + "\", nearest = \"" + nearest + "\", scales = array<f64" +
        scales + ">, roi = array<f64" + roi +
        ">, cubic_coefficient = -0.75, extrapolation = 2.5, " + flags + "}";
    for (int64_t w : {17, 3})
      cases.push_back(one("resize", attributes,
                          {tensor({"1", "2", "5", "8"}, type)},
                          {tensor({"1", "2", "9", "w"}, type)}, {{{"w", w}}}));
  };
  std::string plain = "exclude_outside = false, antialias = false";
  for (const std::string &coordinates :
       {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
        "align_corners", "asymmetric", "tf_crop_and_resize"}) {
    for (const std::string &nearest :
         {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
      add("nearest", coordinates, nearest, "", plain, "f32");
    for (const std::string &mode : {"linear", "cubic"}) {
      for (const std::string &type : {"f32", "f64", "f16", "ui8"})
        add(mode, coordinates, "floor", "", plain, type);
      add(mode, coordinates, "floor", "",
          "exclude_outside = true, antialias = false", "f32");
      add(mode, coordinates, "floor", "",
          "exclude_outside = false, antialias = true", "f32");
      add(mode, coordinates, "floor", ": 1.0, 1.0, 1.9, 2.1", plain, "f32");
    }
  }
  for (KernelCase &test : cases)
    if (test.name.find("ui8") != std::string::npos)
      test.values = {{0, 200}};
  runCases(cases);
}

} // namespace
} // namespace tenon::test
