//===- StateCases.cpp - Cases of attention by a state ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/StateCases.h"

namespace tenon::test {

std::vector<KernelCase> statesOf(int64_t depth, int64_t width, int64_t group,
                                 const std::string &schedule) {
  std::string d = std::to_string(depth), e = std::to_string(width);
  std::string heads = std::to_string(2 * group);
  auto f32 = [](const std::vector<std::string> &dims) {
    return tensor(dims, "f32");
  };
  std::vector<KernelCase> cases;
  for (bool hasState : {false, true})
    for (std::string decay : {std::string(), std::string("1"), d})
      for (std::string beta : {"", "1", "2"}) {
        std::vector<std::string> operands = {f32({"b", "t", heads, d}),
                                             f32({"b", "t", "2", d}),
                                             f32({"b", "t", "2", e})};
        // Keys are short, so that states that correct themselves stay small.
        std::vector<Values> values = {{-1, 1}, {-0.3, 0.3}, {-1, 1}};
        std::string segments = "1, 1, 1";
        auto add = [&](bool isThere, const std::string &type, Values range) {
          segments += isThere ? ", 1" : ", 0";
          if (!isThere)
            return;
          operands.push_back(type);
          values.push_back(range);
        };
        add(hasState, f32({"b", "2", d, e}), {-1, 1});
        add(!decay.empty(), f32({"b", "t", "2", decay}), {0.5, 1});
        add(!beta.empty(), f32({"b", "t", beta}), {0, 1});
        KernelCase test =
            one("linear_attention",
                "{scale = 0.25 : f64, operandSegmentSizes = array<i32: " +
                    segments + ">}",
                operands, {f32({"b", "t", heads, e}), f32({"b", "2", d, e})},
                {{{"b", 2}, {"t", 5}},
                 {{"b", 1}, {"t", 1}},
                 {{"b", 1}, {"t", 0}},
                 {{"b", 0}, {"t", 3}}});
        test.schedule = schedule;
        test.name += " " + segments + " decay " + decay + " beta " + beta;
        test.values = values;
        cases.push_back(test);
      }
  return cases;
}

} // namespace tenon::test
