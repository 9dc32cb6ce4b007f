//===- PackedMatmulTest.cpp - Matrix products with packed weights ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/model_format.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"
#include "test/compiler/Targets/Cpu/MatmulCase.h"

namespace tenon::test {
namespace {

class PackedMatmul : public LevelTest {};

TEST_P(PackedMatmul, TakesAnyNumberOfRows) {
  std::vector<Symbols> sizes = rows({0, 127, 128, 129, 130, 191, 257});
  for (int64_t m = 1; m <= 65; ++m)
    sizes.push_back({{"m", m}});
  run({product({"m"}, 7, 49, sizes)});
}

TEST_P(PackedMatmul, TakesAnyNumberOfColumns) {
  std::vector<KernelCase> cases;
  for (int64_t columns : {1, 15, 16, 17, 47, 48, 49, 95, 96, 97, 1000})
    cases.push_back(product({"m"}, 13, columns, rows({1, 9, 67, 140})));
  run(cases);
}

TEST_P(PackedMatmul, TakesAnyDepth) {
  std::vector<KernelCase> cases;
  for (int64_t depth : {1, 2, 3, 4, 5, 64, 512, 513, 896, 1100})
    for (int64_t columns : {48, 50})
      cases.push_back(product({"m"}, depth, columns, rows({3, 13})));
  run(cases);
}

TEST_P(PackedMatmul, CopiesRowsThatLiePagesApart) {
  std::string half = tensor({"m", "50"}, "f16");
  run({product({"m"}, 1024, 50, rows({1, 7, 8, 9, 63, 65, 129, 140})),
       product({"m"}, 2048, 17 * 48, rows({0, 5, 130})),
       product({"m"}, 1024, 50, rows({3, 70}), "",
               "%y = graph.cast %sums : (RESULT) -> " + half, "f16")});
}

TEST_P(PackedMatmul, TakesAMatrixPerBatch) {
  std::vector<KernelCase> cases;
  for (const char *depth : {"20", "1024", "1100"})
    for (const char *columns : {"48", "50", "130"}) {
      KernelCase test;
      test.name = std::string("batches, ") + depth + "x" + columns;
      test.schedule = "PackedMatmul";
      std::string lhs = tensor({"3", "m", depth}, "f32");
      std::string weight = tensor({"3", depth, columns}, "f32");
      std::string sums = tensor({"3", "m", columns}, "f32");
      std::string bias = "tensor<" + std::string(columns) + "xf32>";
      test.arguments = "%a: " + lhs + ", %b: " + weight + ", %c: " + bias;
      test.body = "%s = graph.matmul %a, %b : (" + lhs + ", " + weight +
                  ") -> " + sums + "\n%y = graph.add %s, %c : (" + sums + ", " +
                  bias + ") -> " + sums + "\nkernel.yield %y : " + sums;
      test.sizes = rows({0, 1, 9, 66, 130});
      cases.push_back(test);
    }
  run(cases);
}

const std::vector<Symbols> ofBatches = {{{"t", 0}, {"m", 3}},
                                        {{"t", 1}, {"m", 1}},
                                        {{"t", 4}, {"m", 1}},
                                        {{"t", 9}, {"m", 2}},
                                        {{"t", 3}, {"m", 70}}};

TEST_P(PackedMatmul, PicksMatricesOfBatches) {
  run({picked("20", "50", ofBatches), picked("1024", "96", ofBatches),
       picked("1100", "130", ofBatches), picked("20", "50", ofBatches, "bf16"),
       picked("1024", "96", ofBatches, "bf16")});
}

TEST_P(PackedMatmul, FaultsWhereThereIsNoSuchMatrix) {
  KernelCase test = picked("20", "50", {{{"t", 3}, {"m", 2}}});
  test.values.back() = {5, 9};
  test.fault = TENON_FAULT_INDEX;
  run({test});
}

TEST_P(PackedMatmul, ReadsLhsThroughTransposes) {
  std::vector<KernelCase> cases;
  for (const char *depth : {"1", "20", "196", "1024", "1100"}) {
    KernelCase test;
    test.name = std::string("transposed, depth ") + depth;
    test.schedule = "PackedMatmul";
    std::string lies = tensor({"b", depth, "m"}, "f32");
    std::string seen = tensor({"b", "m", depth}, "f32");
    std::string weight = tensor({depth, "50"}, "f32");
    std::string sums = tensor({"b", "m", "50"}, "f32");
    test.arguments = "%a: " + lies + ", %b: " + weight + ", %c: tensor<50xf32>";
    test.body = "%t = graph.transpose %a {permutation = array<i64: 0, 2, 1>} "
                ": (" +
                lies + ") -> " + seen + "\n%s = graph.matmul %t, %b : (" +
                seen + ", " + weight + ") -> " + sums +
                "\n%y = graph.add %s, %c : (" + sums + ", tensor<50xf32>) -> " +
                sums + "\nkernel.yield %y : " + sums;
    test.sizes = {{{"b", 1}, {"m", 1}},
                  {{"b", 2}, {"m", 16}},
                  {{"b", 3}, {"m", 70}},
                  {{"b", 2}, {"m", 135}},
                  {{"b", 2}, {"m", 0}}};
    cases.push_back(test);
  }
  run(cases);
}

TEST_P(PackedMatmul, SumsManyPanelsInChunks) {
  run({product({"m"}, 520, 18 * 48, rows({2, 70})),
       product({"m"}, 520, 17 * 48 + 5, rows({9}), "%c: tensor<821xf32>",
               "%y = graph.add %sums, %c : (RESULT, tensor<821xf32>) "
               "-> RESULT")});
}

TEST_P(PackedMatmul, CombinesTwoHalvesOfItsColumns) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes = rows({0, 127, 128, 129, 130, 191, 257});
  for (int64_t m = 1; m <= 65; ++m)
    sizes.push_back({{"m", m}});
  cases.push_back(gated({"m"}, 7, 49, sizes, silu));
  for (int64_t columns : {1, 15, 16, 47, 48, 49, 95, 96, 97, 1000})
    cases.push_back(gated({"m"}, 13, columns, rows({1, 9, 67, 140}), silu));
  for (int64_t depth : {1, 3, 64, 896, 897, 1100, 2048})
    cases.push_back(gated({"m"}, depth, 300, rows({0, 1, 13, 130}), silu));
  cases.push_back(gated({"b", "s"}, 20, 50,
                        {{{"b", 2}, {"s", 5}}, {{"b", 3}, {"s", 50}}}, silu));
  run(cases);
}

TEST_P(PackedMatmul, CombinesHalvesByAnyPointwiseOps) {
  std::string half = tensor({"m", "100"}, "f16");
  std::vector<Symbols> sizes = rows({1, 8, 21, 129});
  std::string gelu = "%g = graph.gelu %l {kind = #graph<gelu_kind tanh>} : "
                     "(HALF) -> HALF\n";
  run({gated({"m"}, 20, 100, sizes,
             gelu + "%y = graph.mul %g, %h : (HALF, HALF) -> HALF"),
       gated({"m"}, 900, 100, sizes,
             gelu +
                 "%u = graph.mul %h, %g : (HALF, HALF) -> HALF\n"
                 "%y = graph.cast %u : (HALF) -> " +
                 half,
             "f16"),
       gated({"m"}, 20, 100, sizes,
             "%u = graph.add %h, %c : (HALF, tensor<100xf32>) -> HALF\n"
             "%v = graph.sub %u, %l : (HALF, HALF) -> HALF\n"
             "%y = graph.mul %v, %r : (HALF, HALF) -> HALF",
             "f32",
             ", %c: tensor<100xf32>, %r: " + tensor({"m", "100"}, "f32"))});
}

TEST(BatchedMatmul, CombinesTwoHalvesOfItsColumns) {
  std::vector<KernelCase> cases;
  for (const char *schedule : {"BatchedMatmul", "Generic"})
    for (int64_t depth : {7, 1000})
      for (int64_t columns : {1, 48, 50, 250}) {
        KernelCase test =
            gated({"m"}, depth, columns, rows({0, 1, 9, 70, 140}), silu);
        test.schedule = schedule;
        cases.push_back(test);
      }
  runCases(cases);
}

TEST_P(PackedMatmul, TakesRowsOfSeveralAxes) {
  std::vector<Symbols> sizes = {{{"b", 2}, {"s", 5}},
                                {{"b", 3}, {"s", 0}},
                                {{"b", 1}, {"s", 70}},
                                {{"b", 5}, {"s", 33}}};
  std::string row = tensor({"b", "1", "50"}, "f32");
  run({product({"b", "s"}, 20, 50, sizes),
       product({"b", "s"}, 20, 50, sizes, "%c: " + row,
               "%y = graph.add %sums, %c : (RESULT, " + row + ") -> RESULT"),
       product({"3", "1"}, 20, 1, {{}}, "%c: tensor<3x1x1xf32>",
               "%y = graph.mul %sums, %c : (RESULT, tensor<3x1x1xf32>) "
               "-> RESULT"),
       product({"1"}, 20, 70, {{}}, "%c: tensor<1x70xf32>",
               "%y = graph.mul %c, %sums : (tensor<1x70xf32>, RESULT) "
               "-> RESULT")});
}

TEST_P(PackedMatmul, RunsWhatFollows) {
  std::vector<KernelCase> cases;
  std::string bias = "%c: tensor<100xf32>";
  std::string addBias = "%t = graph.add %sums, %c : (RESULT, "
                        "tensor<100xf32>) -> RESULT\n";
  std::string residual = tensor({"m", "100"}, "f32");
  std::vector<Symbols> sizes = rows({1, 8, 21, 129});
  for (std::string rest :
       {"%z = graph.constant {value = dense<0.0> : tensor<f32>} : () "
        "-> tensor<f32>\n"
        "%y = graph.max %t, %z : (RESULT, tensor<f32>) -> RESULT",
        "%y = graph.gelu %t {kind = #graph<gelu_kind erf>} : (RESULT) "
        "-> RESULT",
        "%y = graph.gelu %t {kind = #graph<gelu_kind tanh>} : (RESULT) "
        "-> RESULT",
        "%y = graph.tanh %t : (RESULT) -> RESULT",
        "%s = graph.sigmoid %t : (RESULT) -> RESULT\n"
        "%y = graph.mul %s, %t : (RESULT, RESULT) -> RESULT"})
    cases.push_back(product({"m"}, 30, 100, sizes, bias, addBias + rest));
  cases.push_back(product({"m"}, 30, 100, sizes,
                          bias + ", %d: " + residual + ", %e: tensor<f32>",
                          addBias +
                              "%u = graph.mul %t, %e : (RESULT, "
                              "tensor<f32>) -> RESULT\n"
                              "%y = graph.add %d, %u : (" +
                              residual + ", RESULT) -> RESULT"));
  run(cases);
}

TEST_P(PackedMatmul, GivesOtherTypes) {
  std::vector<KernelCase> cases;
  for (std::string element : {"f16", "bf16", "f64", "i32", "ui8", "i1"})
    cases.push_back(product({"m"}, 30, 100, rows({1, 21, 129}), "",
                            "%y = graph.cast %sums : (RESULT) -> " +
                                tensor({"m", "100"}, element),
                            element));
  for (KernelCase &test : cases) {
    test.values = {{0, 4}, {0, 0.25}};
    if (test.body.find("f64") != std::string::npos)
      test.tolerance = 1e-6;
  }
  run(cases);
}

TENON_FOR_ALL_LEVELS(PackedMatmul);

} // namespace
} // namespace tenon::test
