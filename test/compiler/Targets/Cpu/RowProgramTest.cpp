//===- RowProgramTest.cpp - Norms, softmax and reductions of rows ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/LevelTest.h"
#include "test/compiler/Targets/Cpu/RowCases.h"

namespace tenon::test {
namespace {

using Names = std::vector<std::string>;
using Dims = std::vector<std::string>;

const Names narrow = {"f16", "bf16", "f32"};

class RowProgram : public LevelTest {
protected:
  void runRows(std::vector<KernelCase> cases) {
    for (KernelCase &test : cases)
      test.schedule = "RowProgram";
    run(cases);
  }
};

TEST_P(RowProgram, RowsOfAnyLength) {
  std::vector<Symbols> sizes;
  for (int64_t n : {1, 2, 7, 8, 15, 16, 17, 31, 63, 64, 65, 97, 200, 1000})
    sizes.push_back({{"m", 5}, {"n", n}});
  sizes.push_back({{"m", 0}, {"n", 9}});
  sizes.push_back({{"m", 3}, {"n", 0}});
  std::vector<KernelCase> cases;
  for (const std::string &type : narrow)
    addRowRoots(cases, tensor({"m", "n"}, type), tensor({"n"}, type), "1",
                sizes);
  runRows(cases);
}

TEST_P(RowProgram, RowsOfKnownLength) {
  std::vector<KernelCase> cases;
  for (const std::string &n : {"8", "33", "64", "96", "100", "193", "1001"})
    addRowRoots(cases, tensor({"m", n}, "f32"), tensor({n}, "f32"), "1",
                {{{"m", 5}}});
  addRowRoots(cases, tensor({"m", "3", "40"}, "bf16"), tensor({"40"}, "bf16"),
              "2", {{{"m", 2}}});
  runRows(cases);
}

TEST_P(RowProgram, SeveralAxesAsOneRow) {
  std::vector<KernelCase> cases;
  for (const std::string &op : {"layer_norm", "rms_norm"}) {
    std::string whole = tensor({"m", "3", "n"}, "f32");
    cases.push_back(one(op, "{axis = 1, epsilon = 1.0e-5}", {whole}, {whole},
                        {{{"m", 3}, {"n", 21}}, {{"m", 2}, {"n", 100}}}));
    cases.back().tolerance = 2e-5;
    cases.push_back(withEpilogue(cases.back(), whole, whole));
  }
  runRows(cases);
}

/// What calibration makes of a norm that others read as it is, too.
TEST_P(RowProgram, StoresBytesBesideTheResult) {
  std::vector<Symbols> sizes;
  for (int64_t n : {0, 1, 15, 16, 65, 200})
    sizes.push_back({{"m", 5}, {"n", n}});
  std::string whole = tensor({"m", "n"}, "f32"), row = tensor({"n"}, "f32"),
              bytes = tensor({"m", "n"}, "ui8");
  std::vector<KernelCase> cases;
  for (const std::string &op : {"layer_norm", "rms_norm"}) {
    KernelCase test =
        one(op, "{axis = 1, epsilon = 1.0e-5}", {whole}, {whole}, sizes);
    test.arguments += ", %f: " + row + ", %z: tensor<ui8>";
    test.body.resize(test.body.find("kernel.yield"));
    test.body +=
        "%one = graph.constant {value = dense<1.0> : tensor<f32>} : () -> "
        "tensor<f32>\n%s = graph.mul %r#0, %f : (" +
        whole + ", " + row + ") -> " + whole +
        "\n%q = graph.quantize %s, %one, %z : (" + whole +
        ", tensor<f32>, tensor<ui8>) -> " + bytes +
        "\nkernel.yield %r#0, %q : " + whole + ", " + bytes;
    test.values = {{-4, 4}, {20, 80}, {100, 150}};
    cases.push_back(std::move(test));
  }
  runRows(cases);
}

TEST_P(RowProgram, RowsAreReadAsBytes) {
  std::vector<Symbols> sizes;
  for (int64_t n : {0, 1, 8, 15, 16, 17, 65, 200})
    sizes.push_back({{"m", 5}, {"n", n}});
  std::string whole = tensor({"m", "n"}, "f32");
  std::vector<KernelCase> cases;
  for (const std::string &byte : {"ui8", "i8"})
    for (const std::string &root :
         {"softmax %x {axis = 1}", "layer_norm %x {axis = 1, epsilon = 0.1}",
          "rms_norm %x {axis = 1, epsilon = 0.1}"}) {
      KernelCase test;
      test.name = root + " of " + byte;
      test.sizes = sizes;
      test.arguments = "%b: " + tensor({"m", "n"}, byte) +
                       ", %s: tensor<f32>, %z: tensor<" + byte + ">";
      test.body = "%x = graph.dequantize %b, %s, %z : (" +
                  tensor({"m", "n"}, byte) + ", tensor<f32>, tensor<" + byte +
                  ">) -> " + whole + "\n%y = graph." + root + " : (" + whole +
                  ") -> " + whole + "\nkernel.yield %y : " + whole;
      test.values = {{-128, 256}, {0.01, 0.1}, {0, 9}};
      cases.push_back(test);
    }
  runRows(cases);
}

TEST_P(RowProgram, RowsBecomeBytes) {
  std::vector<Symbols> sizes;
  for (int64_t n : {0, 1, 7, 15, 16, 33, 65, 200})
    sizes.push_back({{"m", 5}, {"n", n}});
  sizes.push_back({{"m", 0}, {"n", 9}});
  std::vector<KernelCase> cases = rowsAsBytes({"m", "n"}, sizes);
  for (const std::string &n : {"8", "33", "96", "193"})
    for (KernelCase &test : rowsAsBytes({"m", "2", n}, {{{"m", 3}}}))
      cases.push_back(std::move(test));
  runRows(cases);
}

TEST_P(RowProgram, SoftmaxOfSpecialValues) {
  std::string whole = tensor({"m", "n"}, "f32");
  std::vector<KernelCase> cases;
  for (const std::string &axis : {"0", "1"})
    for (const std::string &op : {"softmax", "log_softmax"}) {
      cases.push_back(one(op, "{axis = " + axis + "}", {whole}, {whole},
                          {{{"m", 40}, {"n", 5}}, {{"m", 9}, {"n", 70}}}));
      cases.back().values = {{-2, 2, true}};
    }
  runRows(cases);
}

TEST_P(RowProgram, Columns) {
  std::vector<Symbols> sizes;
  for (int64_t n : {2, 7, 16, 17, 64, 65, 130, 200})
    sizes.push_back({{"k", 11}, {"m", 3}, {"n", n}});
  sizes.push_back({{"k", 1}, {"m", 2}, {"n", 20}});
  sizes.push_back({{"k", 0}, {"m", 2}, {"n", 20}});
  sizes.push_back({{"k", 4}, {"m", 2}, {"n", 0}});
  std::vector<KernelCase> cases;
  for (const std::string &type : narrow) {
    std::string whole = tensor({"m", "k", "n"}, type);
    std::string images = tensor({"m", "k", "3", "n"}, type);
    for (const std::string &op : {"softmax", "log_softmax"}) {
      cases.push_back(one(op, "{axis = 1}", {whole}, {whole}, sizes));
      if (type == "f32")
        cases.back().tolerance = 2e-5;
      cases.push_back(withPrologue(
          withEpilogue(cases.back(), whole, tensor({"n"}, type)), whole));
      cases.push_back(one(op, "{axis = 1}", {images}, {images}, sizes));
      cases.push_back(one(op, "{axis = 0}", {whole}, {whole}, sizes));
    }
  }
  runRows(cases);
}

TEST_P(RowProgram, Reduces) {
  std::vector<Symbols> sizes;
  for (int64_t n : {1, 2, 7, 16, 33, 64, 100, 300})
    sizes.push_back({{"m", 3}, {"n", n}});
  sizes.push_back({{"m", 3}, {"n", 0}});
  sizes.push_back({{"m", 0}, {"n", 5}});
  struct Shape {
    std::string axes;
    Dims result;
  };
  const std::vector<Shape> shapes = {
      {"2", {"m", "4", "1"}},      {"1", {"m", "1", "n"}},
      {"0", {"1", "4", "n"}},      {"1, 2", {"m", "1", "1"}},
      {"0, 2", {"1", "4", "1"}},   {"0, 1", {"1", "1", "n"}},
      {"0, 1, 2", {"1", "1", "1"}}};
  std::vector<KernelCase> cases;
  for (const std::string &type : narrow)
    for (const std::string &kind : {"sum", "mean", "max", "min", "prod"})
      for (const Shape &shape : shapes) {
        KernelCase test =
            reduceOf(kind, shape.axes, tensor({"m", "4", "n"}, type),
                     tensor(shape.result, type), sizes);
        if (kind == "max" || kind == "min")
          test.values = {{-1, 1, true}};
        cases.push_back(test);
        if (type != "f32")
          continue;
        cases.push_back(withPrologue(test, tensor({"m", "4", "n"}, type)));
        // The sum has other sizes than what is reduced.
        KernelCase &last = cases.back();
        last.body.erase(last.body.rfind(", %sum"), 6);
        last.body.erase(last.body.rfind(", tensor"));
      }
  runRows(cases);
}

TEST_P(RowProgram, ArgReduces) {
  std::vector<Symbols> sizes;
  for (int64_t n : {1, 2, 7, 16, 33, 64, 100, 300})
    sizes.push_back({{"m", 3}, {"n", n}});
  std::vector<KernelCase> cases;
  for (const std::string &type : narrow)
    for (const std::string &kind : {"max", "min"})
      for (bool last : {true, false})
        for (int axis : {0, 1, 2}) {
          Dims result = {"m", "4", "n"};
          result[axis] = "1";
          cases.push_back(argReduceOf(kind, last, axis,
                                      tensor({"m", "4", "n"}, type),
                                      tensor(result, "i64"), sizes));
          cases.back().values = {{-1, 1, true}};
        }
  runRows(cases);
  KernelCase empty =
      argReduceOf("max", false, 1, tensor({"m", "n"}, "f32"),
                  tensor({"m", "1"}, "i64"), {{{"m", 3}, {"n", 0}}});
  empty.fault = 3;
  runRows({empty});
}

TEST_P(RowProgram, RunningSums) {
  std::vector<Symbols> sizes;
  for (int64_t n : {1, 2, 7, 16, 33, 64, 100, 300})
    sizes.push_back({{"m", 3}, {"n", n}});
  sizes.push_back({{"m", 3}, {"n", 0}});
  std::vector<KernelCase> cases;
  for (const std::string &type : narrow)
    for (int axis : {0, 1, 2})
      // Along rows, backwards is left to the generic schedule.
      for (const KernelCase &test :
           cumulativesOf(axis, tensor({"m", "4", "n"}, type), sizes, axis != 2))
        cases.push_back(test);
  runRows(cases);
}

TEST_P(RowProgram, SumsManyElementsPrecisely) {
  std::vector<KernelCase> cases;
  for (const std::string &whole :
       {tensor({"n"}, "f32"), tensor({"n", "3"}, "f32")}) {
    bool isRow = whole.find("x3") == std::string::npos;
    cases.push_back(
        reduceOf("sum", "0", whole,
                 isRow ? tensor({"1"}, "f32") : tensor({"1", "3"}, "f32"),
                 {{{"n", 1000000}}}));
    cases.back().values = {{0, 1}};
    cases.back().tolerance = 1e-6;
  }
  runRows(cases);
}

/// Sums are of f64, their signs go to what is stored in 16 bits.
TEST_P(RowProgram, RoundsWhatHasTheSignOfASum) {
  std::string whole = tensor({"m", "n"}, "f32"),
              sums = tensor({"m", "1"}, "f32");
  std::vector<KernelCase> cases;
  for (const std::string op : {"tanh", "erf"})
    for (const std::string element : {"f16", "bf16"}) {
      std::string result = tensor({"m", "1"}, element);
      KernelCase &test = cases.emplace_back();
      test.name = op + " " + element;
      test.arguments = "%a: " + whole;
      test.body = "%s = graph.reduce %a {axes = array<i64: 1>, kind = "
                  "#graph<reduce_kind sum>} : (" +
                  whole + ") -> " + sums + "\n%t = graph." + op + " %s : (" +
                  sums + ") -> " + sums + "\n%r = graph.cast %t : (" + sums +
                  ") -> " + result + "\nkernel.yield %r : " + result;
      test.sizes = {{{"m", 5}, {"n", 33}}, {{"m", 2}, {"n", 1}}};
    }
  runRows(cases);
}

/// Operands that are looked up, cut, glued and turned on their way to a row.
TEST_P(RowProgram, ReadsThroughMovement) {
  std::string whole = tensor({"m", "n"}, "f32");
  auto normOf = [&](const std::string &name, const std::string &arguments,
                    const std::string &body) {
    KernelCase test;
    test.name = name;
    test.arguments = arguments;
    test.body = body + "\n%r = graph.layer_norm %x {axis = 1, epsilon = " +
                "1.0e-5} : (" + whole + ") -> " + whole +
                "\nkernel.yield %r, %x : " + whole + ", " + whole;
    test.sizes = {{{"m", 4}, {"n", 37}}, {{"m", 4}, {"n", 160}}};
    test.tolerance = 2e-5;
    return test;
  };
  std::string table = tensor({"9", "n"}, "f32"), where = tensor({"m"}, "i64"),
              row = tensor({"n"}, "f32"),
              pairs = tensor({"m", "2", "n"}, "f32"),
              single = tensor({"m", "1", "n"}, "f32"),
              turned = tensor({"2", "m", "n"}, "f32"),
              fixed = tensor({"3", "n"}, "f32"),
              rest = tensor({"m + -3", "n"}, "f32");
  KernelCase lookup =
      normOf("gather", "%t: " + table + ", %i: " + where + ", %p: " + row,
             "%g = graph.gather %t, %i {axis = 0} : (" + table + ", " + where +
                 ") -> " + whole + "\n%x = graph.add %g, %p : (" + whole +
                 ", " + row + ") -> " + whole);
  lookup.values = {{-4, 4}, {0, 8.9}, {-4, 4}};
  std::string slice = "%s = graph.slice %v {starts = #graph.dims<0, 1, 0>, "
                      "steps = #graph.dims<1, 1, 1>} : (" +
                      pairs + ") -> " + single + "\n%x = graph.reshape %s : (" +
                      single + ") -> " + whole;
  KernelCase cut = normOf("slice and reshape", "%v: " + pairs, slice);
  KernelCase turn =
      normOf("transpose", "%a: " + turned,
             "%v = graph.transpose %a {permutation = array<i64: 1, 0, 2>} : (" +
                 turned + ") -> " + pairs + "\n" + slice);
  KernelCase glue = normOf("concat", "%a: " + fixed + ", %b: " + rest,
                           "%x = graph.concat %a, %b {axis = 0} : (" + fixed +
                               ", " + rest + ") -> " + whole);
  std::string signal = tensor({"m + n + -1"}, "f32");
  KernelCase windows =
      normOf("windows", "%a: " + signal,
             "%x = graph.windows %a {axis = 0, stride = 1, step = 1} : (" +
                 signal + ") -> " + whole);
  // The sizes of a roll are numbers; its rows may have any length.
  whole = tensor({"4", "n"}, "f32");
  KernelCase roll = normOf(
      "roll", "%a: " + whole + ", %z: tensor<f32>",
      "%x = graph.pad %a, %z {low = #graph.dims<-1, 0>, mode = #graph<pad_mode "
      "wrap>} : (" +
          whole + ", tensor<f32>) -> " + whole);
  runRows({lookup, cut, turn, glue, windows, roll});
}

TENON_FOR_ALL_LEVELS(RowProgram);

} // namespace
} // namespace tenon::test
