//===- PointwiseTest.cpp - Every formula in every element type ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <gtest/gtest.h>
#include <iomanip>
#include <sstream>

namespace tenon::test {
namespace {

using Names = std::vector<std::string>;

const Names floats = {"f16", "bf16", "f32", "f64"};
const Names ints = {"i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"};
const std::vector<Symbols> flatSizes = {{{"n", 0}}, {{"n", 1}}, {{"n", 613}}};

Names numbers() {
  Names all = floats;
  all.insert(all.end(), ints.begin(), ints.end());
  return all;
}

struct Op {
  std::string name; // With attributes behind it.
  double lo = -4, hi = 4;
};

std::string flat(const std::string &element) { return tensor({"n"}, element); }

KernelCase unary(const Op &op, const std::string &from, const std::string &to,
                 bool special) {
  KernelCase test;
  test.name = op.name + " " + from + " -> " + to;
  test.arguments = "%a: " + flat(from);
  test.body = "%r = graph." + op.name + " : (" + flat(from) + ") -> " +
              flat(to) + "\nkernel.yield %r : " + flat(to);
  test.body.insert(test.body.find("graph.") + 6 + op.name.find_first_of(" {"),
                   " %a");
  test.sizes = flatSizes;
  test.values = {{op.lo, op.hi, special}};
  return test;
}

KernelCase binary(const Op &op, const std::string &type, const std::string &to,
                  bool special) {
  KernelCase test;
  test.name = op.name + " " + type;
  test.arguments = "%a: " + flat(type) + ", %b: " + flat(type);
  test.body = "%r = graph." + op.name + " %a, %b : (" + flat(type) + ", " +
              flat(type) + ") -> " + flat(to) +
              "\nkernel.yield %r : " + flat(to);
  test.sizes = flatSizes;
  test.values = {{op.lo, op.hi, special}};
  return test;
}

std::vector<KernelCase> unaryCases(const std::vector<Op> &ops,
                                   const Names &types, const std::string &to,
                                   bool special) {
  std::vector<KernelCase> cases;
  for (Op op : ops) {
    op.name += " "; // Where the operand goes.
    for (const std::string &type : types)
      cases.push_back(unary(op, type, to.empty() ? type : to, special));
  }
  return cases;
}

std::vector<KernelCase> binaryCases(const std::vector<Op> &ops,
                                    const Names &types, const std::string &to,
                                    bool special) {
  std::vector<KernelCase> cases;
  for (const Op &op : ops)
    for (const std::string &type : types)
      cases.push_back(binary(op, type, to.empty() ? type : to, special));
  return cases;
}

TEST(Pointwise, UnaryFloats) {
  runCases(unaryCases({{"abs"},
                       {"acos", -1, 1},
                       {"acosh", 1, 9},
                       {"asin", -1, 1},
                       {"asinh"},
                       {"atan"},
                       {"atanh", -1, 1},
                       {"ceil"},
                       {"cos"},
                       {"cosh"},
                       {"erf"},
                       {"exp", -20, 20},
                       {"floor"},
                       {"log", 0, 9},
                       {"neg"},
                       {"reciprocal"},
                       {"round"},
                       {"sigmoid", -20, 20},
                       {"sign"},
                       {"sin"},
                       {"sinh"},
                       {"softplus", -20, 20},
                       {"sqrt", 0, 9},
                       {"tan"},
                       {"tanh"},
                       {"gelu {kind = #graph<gelu_kind erf>}"},
                       {"gelu {kind = #graph<gelu_kind tanh>}"},
                       {"gelu {kind = #graph<gelu_kind quick>}"}},
                      floats, "", false));
}

TEST(Pointwise, UnaryFloatsOfSpecialValues) {
  runCases(unaryCases(
      {{"abs"},     {"acos", -1, 1},  {"acosh"}, {"asin"},     {"asinh"},
       {"atan"},    {"atanh", -1, 1}, {"ceil"},  {"cosh"},     {"erf"},
       {"exp"},     {"floor"},        {"log"},   {"neg"},      {"round"},
       {"sigmoid"}, {"sign"},         {"sinh"},  {"softplus"}, {"sqrt"},
       {"tanh"}},
      floats, "", true));
}

TEST(Pointwise, FloatsOfFewBits) {
  std::vector<KernelCase> cases;
  for (const std::string &to :
       {"f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "f4E2M1FN"})
    for (const std::string &saturates : {"true", "false"})
      for (double size : {1e-3, 1.0, 500.0, 1e5}) {
        std::string name =
            "round_float {to = " + to + ", saturates = " + saturates + "} ";
        for (bool special : {false, true})
          cases.push_back(unary({name, -size, size}, "f32", "f32", special));
      }
  for (KernelCase &test : cases)
    test.tolerance = 1e-12; // The very number.
  runCases(cases);
}

TEST(Pointwise, BitsStay) {
  std::vector<KernelCase> cases;
  for (const Names &types : std::vector<Names>{{"i1", "i8", "ui8"},
                                               {"f16", "bf16", "i16", "ui16"},
                                               {"f32", "i32", "ui32"},
                                               {"f64", "i64", "ui64"}})
    for (const std::string &from : types)
      for (const std::string &to : types)
        if (to != "i1")
          cases.push_back(unary({"bitcast "}, from, to, false));
  runCases(cases);
}

/// The instruction that rounds what a kernel computes to bf16 takes numbers
/// that are not normal for zeros, so what is only cast does without it. Rows
/// end inside of a vector.
TEST(Pointwise, CastsKeepNumbersThatAreNotNormal) {
  for (const char *level : {"native", "x86-64-v3"}) {
    KernelCase cast = unary({"cast "}, "f32", "bf16", false);
    cast.values = {{1e-39, 1e-38}};
    runCases({cast}, level);
    std::string floats = tensor({"m", "23"}, "f32");
    std::string halves = tensor({"m", "23"}, "bf16");
    KernelCase sum;
    sum.name = "a rounded sum";
    sum.arguments = "%a: " + floats + ", %b: " + floats;
    sum.body = "%s = graph.add %a, %b : (" + floats + ", " + floats + ") -> " +
               floats + "\n%r = graph.cast %s : (" + floats + ") -> " + halves +
               "\nkernel.yield %r : " + halves;
    sum.sizes = {{{"m", 5}}, {{"m", 1}}, {{"m", 0}}};
    runCases({sum}, level);
  }
}

/// Within this of the largest result.
constexpr double accuracy = 2.5e-7;

TEST(Pointwise, FloatFunctionsAreAccurate) {
  std::vector<KernelCase> cases =
      unaryCases({{"acos", -1, 1},
                  {"acos", 0.999, 1},
                  {"acosh", 1, 1.001},
                  {"acosh", 1, 1e9},
                  {"asin", -1, 1},
                  {"asin", -1e-3, 1e-3},
                  {"asinh", -0.02, 0.02},
                  {"asinh", -1e9, 1e9},
                  {"atan", -1e-3, 1e-3},
                  {"atan", -4, 4},
                  {"atanh", -0.02, 0.02},
                  {"atanh", -1, 1},
                  {"cos", -4, 4},
                  {"cos", 1e9, 2e9},
                  {"cosh", -4, 4},
                  {"erf", -5, 5},
                  {"exp", -1, 1},
                  {"exp", 88, 88.7},
                  {"exp", -87, -86.5},
                  {"gelu {kind = #graph<gelu_kind erf>}", -3, 1},
                  {"gelu {kind = #graph<gelu_kind tanh>}", -3, 1},
                  {"gelu {kind = #graph<gelu_kind quick>}", -3, 1},
                  {"log", 0.5, 2},
                  {"sigmoid", -20, 0},
                  {"sigmoid", -80, -79},
                  {"sin", -1e-3, 1e-3},
                  {"sin", -4, 4},
                  {"sin", -1e6, 1e6},
                  {"sinh", -0.02, 0.02},
                  {"sinh", -80, 80},
                  {"softplus", -20, 0},
                  {"tan", -1.5, 1.5},
                  {"tanh", -1e-3, 1e-3},
                  {"tanh", -12, 12}},
                 {"f32"}, "", false);
  for (KernelCase &test : cases) {
    test.sizes = {{{"n", 4099}}};
    test.tolerance = accuracy;
  }
  runCases(cases);
}

/// Infinities become NaN before they get there: at -infinity gelu is 0 here
/// and NaN by its definition.
TEST(Pointwise, GeluOfSpecialAndLargeValues) {
  std::string type = flat("f32"), unary = " : (" + type + ") -> " + type + "\n",
              binary = " : (" + type + ", " + type + ") -> " + type + "\n";
  std::vector<KernelCase> cases;
  for (const std::string &kind : {"erf", "tanh", "quick"})
    for (double size : {20.0, 1e29})
      cases.push_back({"gelu of special values, " + kind,
                       "%a: " + type,
                       "%d = graph.sub %a, %a" + binary +
                           "%s = graph.add %a, %d" + binary +
                           "%r = graph.gelu %s {kind = #graph<gelu_kind " +
                           kind + ">}" + unary + "kernel.yield %r : " + type,
                       {{{"n", 4099}}},
                       {{-size, size, true}},
                       accuracy});
  runCases(cases);
}

/// Where only bf16 sees it, gelu is less accurate: some results are rounded the
/// other way, to the next number.
TEST(Pointwise, GeluRoundedToBf16) {
  constexpr double nextNumber = 1.0 / 128;
  std::string wide = flat("f32"), narrow = flat("bf16");
  std::vector<KernelCase> cases;
  for (const std::string &kind : {"erf", "tanh", "quick"})
    for (auto [lo, hi] : {std::pair(-9.0, 9.0), std::pair(-4.0, -1.0),
                          std::pair(-0.05, 0.05)}) {
      KernelCase test;
      test.name = "gelu of bf16, " + kind;
      test.arguments = "%a: " + wide;
      test.body = "%g = graph.gelu %a {kind = #graph<gelu_kind " + kind +
                  ">} : (" + wide + ") -> " + wide +
                  "\n%r = graph.cast %g : (" + wide + ") -> " + narrow +
                  "\nkernel.yield %r : " + narrow;
      test.sizes = {{{"n", 4099}}};
      test.values = {{lo, hi}};
      test.tolerance = nextNumber;
      cases.push_back(test);
    }
  runCases(cases);
}

TEST(Pointwise, PredicatesOfFloats) {
  runCases(unaryCases({{"is_nan"},
                       {"is_inf {negative = true, positive = true}"},
                       {"is_inf {negative = true, positive = false}"},
                       {"is_inf {negative = false, positive = true}"},
                       {"is_inf {negative = false, positive = false}"}},
                      floats, "i1", true));
}

TEST(Pointwise, UnaryIntegers) {
  runCases(
      unaryCases({{"abs"}, {"neg"}, {"sign"}, {"bit_not"}}, ints, "", true));
  runCases(unaryCases({{"not"}}, {"i1"}, "", true));
}

TEST(Pointwise, Casts) {
  Names types = numbers();
  types.push_back("i1");
  for (const std::string &to : types) {
    std::vector<KernelCase> cases =
        unaryCases({{"cast", -300, 300}}, types, to, true);
    for (KernelCase &test : unaryCases({{"cast", -3e9, 3e9}}, types, to, false))
      cases.push_back(test);
    for (KernelCase &test : cases)
      test.tolerance = 1e-30;
    runCases(cases);
  }
}

TEST(Pointwise, BinaryFloats) {
  runCases(binaryCases(
      {{"add"}, {"sub"}, {"mul"}, {"div"}, {"max"}, {"min"}, {"fmod"}, {"mod"}},
      floats, "", false));
  runCases(binaryCases({{"pow", 0, 4}}, floats, "", false));
  runCases(binaryCases({{"add"}, {"sub"}, {"mul"}, {"max"}, {"min"}}, floats,
                       "", true));
}

TEST(Pointwise, Powers) {
  runCases(binaryCases({{"pow", -3, 3}}, floats, "", true));
  std::string f32 = flat("f32");
  KernelCase precise = one("pow", "", {f32, f32}, {f32}, flatSizes);
  precise.tolerance = 2e-7;
  std::vector<KernelCase> cases = {precise, precise, precise};
  cases[0].values = {{0, 40}, {-9, 9}};
  cases[1].values = {{0.99, 1.01}, {-3000, 3000}};
  // Bases of either sign, exponents that are integers.
  cases[2].arguments = "%a: " + f32 + ", %c: " + f32;
  cases[2].body =
      "%b = graph.floor %c : (" + f32 + ") -> " + f32 + "\n" + cases[2].body;
  cases[2].values = {{-5, 5}, {-8, 8}};
  runCases(cases);
}

TEST(Pointwise, PowersOfConstantExponents) {
  std::vector<KernelCase> cases;
  for (const std::string &type : {"f16", "f32", "f64"})
    for (const std::string &exponent : {"-1.0", "0.5", "1.0", "2.0", "3.0"})
      cases.push_back({"pow " + type + " " + exponent,
                       "%a: " + flat(type),
                       "%e = graph.constant {value = dense<" + exponent +
                           "> : tensor<" + type + ">} : () -> tensor<" + type +
                           ">\n" + "%r = graph.pow %a, %e : (" + flat(type) +
                           ", tensor<" + type + ">) -> " + flat(type) +
                           "\nkernel.yield %r : " + flat(type),
                       flatSizes,
                       {{0, 9, true}}});
  runCases(cases);
}

TEST(Pointwise, BinaryIntegers) {
  runCases(binaryCases({{"add"},
                        {"sub"},
                        {"mul"},
                        {"max"},
                        {"min"},
                        {"bit_and"},
                        {"bit_or"},
                        {"bit_xor"}},
                       ints, "", true));
  runCases(binaryCases({{"shift_left", 0, 70}, {"shift_right", 0, 70}}, ints,
                       "", false));
  runCases(binaryCases({{"div", 1, 9}, {"mod", 1, 9}, {"fmod", 1, 9}}, ints, "",
                       false));
  runCases(binaryCases({{"div", -9, -1}, {"mod", -9, -1}, {"pow", -4, 9}},
                       {"i8", "i16", "i32", "i64"}, "", false));
  runCases(binaryCases({{"and"}, {"or"}, {"xor"}}, {"i1"}, "", false));
}

TEST(Pointwise, RandomBits) {
  runCases(binaryCases({{"random_bits"}}, {"ui64"}, "", true));
}

TEST(Pointwise, Comparisons) {
  Names types = numbers();
  runCases(binaryCases({{"equal", 0, 3}, {"less", 0, 3}, {"less_equal", 0, 3}},
                       types, "i1", true));
  runCases(binaryCases({{"equal"}}, {"i1"}, "i1", false));
}

TEST(Pointwise, DivisionByZeroIsAFaultOfItsOp) {
  std::vector<KernelCase> cases = binaryCases(
      {{"div", 0, 0}, {"mod", 0, 0}, {"fmod", 0, 0}}, ints, "", false);
  for (KernelCase &test : cases) {
    test.sizes = {{{"n", 613}}};
    test.body =
        "%u = graph.add %a, %b : (" +
        test.arguments.substr(4, test.arguments.find(", %b") - 4) + ", " +
        test.arguments.substr(4, test.arguments.find(", %b") - 4) + ") -> " +
        test.arguments.substr(4, test.arguments.find(", %b") - 4) + "\n" +
        test.body;
    test.fault = 2 | 1 << 8;
  }
  runCases(cases);
}

TEST(Pointwise, SelectsAndBroadcasts) {
  std::vector<KernelCase> cases;
  Names types = numbers();
  types.push_back("i1");
  std::vector<Symbols> sizes = {{{"a", 3}, {"b", 5}, {"c", 3}},
                                {{"a", 1}, {"b", 7}, {"c", 3}},
                                {{"a", 4}, {"b", 1}, {"c", 1}},
                                {{"a", 0}, {"b", 5}, {"c", 1}}};
  for (const std::string &type : types) {
    std::string condition = tensor({"a", "1"}, "i1"),
                lhs = tensor({"c", "b"}, type), rhs = tensor({}, type),
                result = tensor({"broadcast(a, c)", "b"}, type);
    cases.push_back(
        {"select " + type, "%p: " + condition + ", %x: " + lhs + ", %y: " + rhs,
         "%r = graph.select %p, %x, %y : (" + condition + ", " + lhs + ", " +
             rhs + ") -> " + result + "\nkernel.yield %r : " + result,
         sizes});
  }
  runCases(cases);
}

/// Neighbouring axes along which all operands are contiguous or repeat.
TEST(Pointwise, MergesAxes) {
  std::vector<Symbols> sizes = {{{"a", 3}, {"b", 5}, {"c", 7}},
                                {{"a", 1}, {"b", 1}, {"c", 40}},
                                {{"a", 2}, {"b", 9}, {"c", 1}},
                                {{"a", 2}, {"b", 0}, {"c", 3}}};
  std::string whole = tensor({"a", "b", "1", "c"}, "f32");
  std::vector<KernelCase> cases;
  for (const std::vector<std::string> &dims :
       std::vector<Names>{{"a", "b", "1", "c"},
                          {"b", "1", "c"},
                          {"b", "1", "1"},
                          {"c"},
                          {"a", "1", "1", "c"},
                          {"a", "1", "1", "1"},
                          {},
                          {"1"}}) {
    std::string other = tensor(dims, "f32");
    cases.push_back({"add " + other, "%x: " + whole + ", %y: " + other,
                     "%r = graph.add %x, %y : (" + whole + ", " + other +
                         ") -> " + whole + "\nkernel.yield %r : " + whole,
                     sizes});
  }
  // Of another number of axes at once, which is found by its position.
  std::string flat = tensor({"a * b", "c"}, "f32");
  cases.push_back({"abs, reshape, neg", "%x: " + whole,
                   "%s = graph.abs %x : (" + whole + ") -> " + whole +
                       "\n%f = graph.reshape %s : (" + whole + ") -> " + flat +
                       "\n%r = graph.neg %f : (" + flat + ") -> " + flat +
                       "\nkernel.yield %s, %r : " + whole + ", " + flat,
                   sizes});
  runCases(cases);
}

TEST(Pointwise, Quantizes) {
  std::vector<KernelCase> cases;
  std::vector<Symbols> sizes = {{{"n", 0}}, {{"n", 1}}, {{"n", 37}}};
  for (const std::string &from : {"f32", "f16", "i32"})
    for (const std::string &type : {"i8", "ui8", "i16", "ui16", "i32"}) {
      std::string input = tensor({"3", "n"}, from),
                  result = tensor({"3", "n"}, type),
                  scale = tensor({"3", "1"}, "f32"),
                  zero = tensor({"3", "1"}, type);
      cases.push_back({"quantize " + from + " " + type,
                       "%x: " + input + ", %s: " + scale + ", %z: " + zero,
                       "%r = graph.quantize %x, %s, %z : (" + input + ", " +
                           scale + ", " + zero + ") -> " + result +
                           "\nkernel.yield %r : " + result,
                       sizes,
                       {{-90, 90, true}, {0.2, 0.5}, {0, 100}}});
    }
  for (const std::string &type : {"i8", "ui8", "i16", "ui16", "i32", "i64"})
    for (const std::string &to : floats) {
      std::string input = tensor({"3", "n"}, type),
                  result = tensor({"3", "n"}, to),
                  scale = tensor({"3", "1"}, to),
                  zero = tensor({"3", "1"}, type);
      cases.push_back({"dequantize " + type + " " + to,
                       "%x: " + input + ", %s: " + scale + ", %z: " + zero,
                       "%r = graph.dequantize %x, %s, %z : (" + input + ", " +
                           scale + ", " + zero + ") -> " + result +
                           "\nkernel.yield %r : " + result,
                       sizes,
                       {{-90, 90}, {0.2, 0.5}, {0, 100}}});
    }
  runCases(cases);
}

TEST(Pointwise, LooksUpInACodebook) {
  std::vector<KernelCase> cases;
  for (const std::string &type : {"i8", "ui8", "i32"})
    for (const std::string &to : floats) {
      std::string input = tensor({"3", "n"}, type),
                  result = tensor({"3", "n"}, to),
                  scale = tensor({"3", "1"}, to);
      cases.push_back(
          {"decode " + type + " " + to,
           "%x: " + input + ", %s: " + scale,
           "%r = graph.decode %x, %s {codebook = array<f32: -8.0, -5.0, -3.0, "
           "-2.0, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, "
           "9.0>} : (" +
               input + ", " + scale + ") -> " + result +
               "\nkernel.yield %r : " + result,
           {{{"n", 1}}, {{"n", 37}}},
           {{0, 100}, {0.2, 0.5}}});
    }
  runCases(cases);
}

/// Quantized and back in one kernel, by zero points that are given or constant:
/// the lowest number, which NaN becomes without a case of its own, and another.
TEST(Pointwise, QuantizesAndBack) {
  std::vector<KernelCase> cases;
  for (const auto &[type, zeros] :
       std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"i8", {"", "-128", "5"}},
           {"ui8", {"", "0", "131"}},
           {"i16", {"", "-32768", "-7"}},
           {"ui16", {"", "0", "9"}}})
    for (const std::string &zero : zeros)
      for (bool keepsInteger : {false, true}) {
        std::string wide = tensor({"n"}, "f32"), narrow = tensor({"n"}, type),
                    point = tensor({}, type);
        std::string body =
            zero.empty() ? ""
                         : "%z = graph.constant {value = dense<" + zero +
                               "> : " + point + "} : () -> " + point + "\n";
        body += "%q = graph.quantize %x, %s, %z : (" + wide +
                ", tensor<f32>, " + point + ") -> " + narrow +
                "\n%r = graph.dequantize %q, %t, %z : (" + narrow +
                ", tensor<f32>, " + point + ") -> " + wide + "\nkernel.yield " +
                (keepsInteger ? "%q, " : "") +
                "%r : " + (keepsInteger ? narrow + ", " : "") + wide;
        std::string arguments =
            "%x: " + wide + ", %s: tensor<f32>, %t: tensor<f32>";
        if (zero.empty())
          arguments += ", %z: " + point;
        cases.push_back({"back from " + type + " " + zero,
                         arguments,
                         body,
                         {{{"n", 0}}, {{"n", 1}}, {{"n", 61}}},
                         {{-90, 90, true}, {0.2, 0.5}, {0.1, 2}, {0, 100}}});
      }
  runCases(cases);
}

/// By scales that are known, or are said to be normal: also of half steps,
/// which a division rounds to the middle between two integers or beside it.
class QuantizesByANormalScale : public testing::TestWithParam<bool> {};

TEST_P(QuantizesByANormalScale, LikeADivision) {
  bool isKnown = GetParam();
  std::vector<KernelCase> cases;
  for (const auto &[type, zero] :
       std::vector<std::pair<std::string, int>>{{"i8", -128},
                                                {"i8", 5},
                                                {"ui8", 0},
                                                {"ui8", 255},
                                                {"ui8", 131},
                                                {"i16", 0},
                                                {"ui16", 9},
                                                {"ui16", 65535}})
    for (double scale : {0.103602804, 0.0129503505, 0.5, 1.0, 3.7e-9, 2.9e17}) {
      std::string wide = tensor({"n"}, "f32"), narrow = tensor({"n"}, type),
                  counts = tensor({"n"}, "i32"), point = tensor({}, type),
                  attribute = isKnown ? "" : " {kernel.normal_scale}";
      std::ostringstream body;
      body << std::scientific << std::setprecision(9);
      if (isKnown)
        body << "%s = graph.constant {value = dense<" << scale
             << "> : tensor<f32>} : () -> tensor<f32>\n"
             << "%z = graph.constant {value = dense<" << zero << "> : " << point
             << "} : () -> " << point << "\n";
      body << "%half = graph.constant {value = dense<0.5> : tensor<f32>} : () "
              "-> tensor<f32>\n"
           << "%h = graph.mul %s, %half : (tensor<f32>, tensor<f32>) -> "
              "tensor<f32>\n"
           << "%f = graph.cast %i : (" << counts << ") -> " << wide
           << "\n%m = graph.mul %f, %h : (" << wide << ", tensor<f32>) -> "
           << wide << "\n";
      for (const std::string &from : {"x", "m"})
        body << "%q" << from << " = graph.quantize %" << from << ", %s, %z"
             << attribute << " : (" << wide << ", tensor<f32>, " << point
             << ") -> " << narrow << "\n";
      body << "kernel.yield %qx, %qm : " << narrow << ", " << narrow;
      std::string arguments = "%x: " + wide + ", %i: " + counts;
      std::vector<Values> ranges = {{-150 * scale, 150 * scale, true},
                                    {-600, 600}};
      if (!isKnown) {
        arguments += ", %s: tensor<f32>, %z: " + point;
        ranges.push_back({scale, scale});
        ranges.push_back({double(zero), double(zero)});
      }
      cases.push_back(
          {type + " " + std::to_string(zero) + " by " + std::to_string(scale),
           arguments,
           body.str(),
           {{{"n", 0}}, {{"n", 1}}, {{"n", 997}}},
           ranges});
    }
  runCases(cases);
}

INSTANTIATE_TEST_SUITE_P(Scales, QuantizesByANormalScale, testing::Bool());

} // namespace
} // namespace tenon::test
