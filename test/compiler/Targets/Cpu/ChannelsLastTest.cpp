//===- ChannelsLastTest.cpp - Windows over images with channels last ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <gtest/gtest.h>

namespace tenon::test {
namespace {

TEST(ChannelsLast, Convolves) {
  std::vector<KernelCase> cases;
  for (std::string type : {"f16", "bf16", "f32", "f64", "i32", "i8"}) {
    cases.push_back(one("conv",
                        "{strides = array<i64: 1, 1>, dilations = array<i64: "
                        "1, 1>, pads = #graph.dims<1, 1, 1, 1>, group = 1, "
                        "channels_last}",
                        {tensor({"b", "h", "w", "3"}, type),
                         tensor({"4", "3", "3", "3"}, type)},
                        {tensor({"b", "h", "w", "4"}, type)},
                        {{{"b", 2}, {"h", 5}, {"w", 19}},
                         {{"b", 1}, {"h", 1}, {"w", 1}},
                         {{"b", 0}, {"h", 4}, {"w", 4}}}));
    cases.push_back(one("conv",
                        "{strides = array<i64: 2, 3>, dilations = array<i64: "
                        "2, 1>, pads = #graph.dims<0, 2, 3, 1>, group = 2, "
                        "channels_last}",
                        {tensor({"1", "9", "17", "4"}, type),
                         tensor({"6", "2", "3", "2"}, type)},
                        {tensor({"1", "4", "7", "6"}, type)}));
    cases.push_back(
        one("conv",
            "{strides = array<i64: 4>, dilations = array<i64: 3>, "
            "pads = #graph.dims<5, 0>, group = 5, channels_last}",
            {tensor({"2", "40", "5"}, type), tensor({"5", "1", "5"}, type)},
            {tensor({"2", "9", "5"}, type)}));
  }
  runCases(cases);
}

TEST(ChannelsLast, Pools) {
  std::vector<KernelCase> cases;
  for (std::string op : {"max_pool {", "average_pool {count_pads = true, ",
                         "average_pool {count_pads = false, "})
    for (std::string type : {"f16", "bf16", "f32", "f64", "i8", "ui8"}) {
      if (type.find('8') != std::string::npos && op[0] == 'a')
        continue;
      std::string name = op.substr(0, op.find(' '));
      std::string extra = op.substr(op.find('{'));
      for (std::string channels : {"1", "3", "47", "64"})
        cases.push_back(one(name,
                            extra +
                                "kernel = array<i64: 3, 2>, strides = "
                                "array<i64: 2, 1>, dilations = array<i64: 1, "
                                "2>, pads = #graph.dims<1, 1, 1, 0>, "
                                "channels_last}",
                            {tensor({"b", "7", "w", channels}, type)},
                            {tensor({"b", "4", "w + -1", channels}, type)},
                            {{{"b", 2}, {"w", 21}},
                             {{"b", 1}, {"w", 2}},
                             {{"b", 0}, {"w", 2}}}));
      cases.push_back(one(name,
                          extra + "kernel = array<i64: 4>, strides = "
                                  "array<i64: 3>, dilations = array<i64: 1>, "
                                  "pads = #graph.dims<2, 3>, channels_last}",
                          {tensor({"1", "11", "3"}, type)},
                          {tensor({"1", "5", "3"}, type)}));
    }
  runCases(cases);
}

} // namespace
} // namespace tenon::test
