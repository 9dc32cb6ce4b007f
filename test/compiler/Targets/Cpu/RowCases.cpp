//===- RowCases.cpp - Kernels of ops that work along axes -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/compiler/Targets/Cpu/RowCases.h"

namespace tenon::test {

KernelCase reduceOf(const std::string &kind, const std::string &axes,
                    const std::string &operand, const std::string &result,
                    const std::vector<Symbols> &sizes) {
  KernelCase test = one("reduce",
                        "{axes = array<i64: " + axes +
                            ">, kind = #graph<reduce_kind " + kind + ">}",
                        {operand}, {result}, sizes);
  if (kind == "prod")
    test.values = {{0.9, 1.1}};
  return test;
}

KernelCase argReduceOf(const std::string &kind, bool last, int axis,
                       const std::string &operand, const std::string &result,
                       const std::vector<Symbols> &sizes) {
  return one("arg_reduce",
             "{axis = " + std::to_string(axis) +
                 ", kind = #graph<reduce_kind " + kind +
                 ">, last = " + (last ? "true" : "false") + "}",
             {operand}, {result}, sizes);
}

std::vector<KernelCase> cumulativesOf(int axis, const std::string &whole,
                                      const std::vector<Symbols> &sizes,
                                      bool backwardsToo) {
  std::vector<KernelCase> cases;
  for (const std::string &kind : {"sum", "prod"})
    for (const std::string &exclusive : {"true", "false"})
      for (const std::string &reverse : {"true", "false"}) {
        if (reverse == "true" && !backwardsToo)
          continue;
        cases.push_back(one("cumulative",
                            "{axis = " + std::to_string(axis) +
                                ", kind = #graph<reduce_kind " + kind +
                                ">, exclusive = " + exclusive +
                                ", reverse = " + reverse + "}",
                            {whole}, {whole}, sizes));
        if (kind == "prod")
          cases.back().values = {{0.9, 1.1}};
      }
  return cases;
}

KernelCase followedBy(KernelCase test, const std::string &op,
                      const std::string &type) {
  size_t at = test.body.find("kernel.yield");
  test.body = test.body.substr(0, at) + "%s = " + op +
              "\nkernel.yield %s, %r#0 : " + type + ", " + type;
  test.name += " with epilogue";
  return test;
}

KernelCase withEpilogue(KernelCase test, const std::string &type,
                        const std::string &columns) {
  test.arguments += ", %gain: " + columns;
  return followedBy(std::move(test),
                    "graph.mul %r#0, %gain : (" + type + ", " + columns +
                        ") -> " + type,
                    type);
}

KernelCase withPrologue(KernelCase test, const std::string &type) {
  test.arguments += ", %other: " + type;
  size_t at = test.body.find(" %a ");
  test.body.replace(at, 4, " %sum ");
  test.body = "%sum = graph.add %a, %other : (" + type + ", " + type + ") -> " +
              type + "\n" + test.body;
  test.body += ", " + type;
  test.body.insert(test.body.find(" : ", test.body.find("kernel.yield")),
                   ", %sum");
  test.name += " with prologue";
  return test;
}

void addRowRoots(std::vector<KernelCase> &cases, const std::string &whole,
                 const std::string &columns, const std::string &axis,
                 const std::vector<Symbols> &sizes) {
  for (const std::string &op :
       {"softmax", "log_softmax", "layer_norm", "rms_norm"}) {
    std::string attributes = "{axis = " + axis;
    attributes +=
        op.find("norm") == std::string::npos ? "}" : ", epsilon = 1.0e-5}";
    KernelCase alone = one(op, attributes, {whole}, {whole}, sizes);
    if (whole.find("xf32") != std::string::npos)
      alone.tolerance = 2e-5;
    cases.push_back(alone);
    cases.push_back(withEpilogue(alone, whole, columns));
    cases.push_back(withPrologue(alone, whole));
    cases.push_back(withPrologue(withEpilogue(alone, whole, columns), whole));
  }
}

std::vector<KernelCase> rowsAsBytes(std::vector<std::string> dims,
                                    const std::vector<Symbols> &sizes) {
  std::string whole = tensor(dims, "f32"), bytes = tensor(dims, "ui8"),
              row = tensor({dims.back()}, "f32");
  std::string axis = std::to_string(dims.size() - 1);
  dims.back() = "1";
  std::vector<std::string> results = {bytes, tensor(dims, "f32"),
                                      tensor(dims, "ui8")};
  std::string types = results[0] + ", " + results[1] + ", " + results[2];
  KernelCase plain = one("quantize_rows", "", {whole}, results, sizes);
  std::vector<KernelCase> cases = {plain, plain, plain};
  cases[0].values = {{-0.5, 4}};
  cases[1].values = {{-3, -2}};
  cases[2].values = {{-2, 2, true}};
  KernelCase sum = plain;
  sum.name += " of a sum";
  sum.arguments += ", %b: " + row;
  sum.body = "%s = graph.add %a, %b : (" + whole + ", " + row + ") -> " +
             whole + "\n%n, %c, %z = graph.quantize_rows %s : (" + whole +
             ") -> (" + types + ")\nkernel.yield %n, %c, %z : " + types;
  cases.push_back(sum);
  for (const std::string &op : {"layer_norm", "rms_norm"})
    for (bool isRead : {false, true}) {
      KernelCase norm = sum;
      norm.name = op + (isRead ? " and" : " as") + " bytes of rows";
      norm.body = "%r = graph." + op + " %a {axis = " + axis +
                  ", epsilon = 1.0e-5} : (" + whole + ") -> " + whole +
                  "\n%s = graph.mul %r, %b : (" + whole + ", " + row + ") -> " +
                  whole + "\n%n, %c, %z = graph.quantize_rows %s : (" + whole +
                  ") -> (" + types + ")\nkernel.yield " +
                  (isRead ? "%s, " : "") +
                  "%n, %c, %z : " + (isRead ? whole + ", " : "") + types;
      cases.push_back(norm);
    }
  return cases;
}

} // namespace tenon::test
