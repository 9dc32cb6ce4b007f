//===- OperatorsPage.cpp - docs/reference/operators.md from the tables ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   operators_page OPERATORS.csv PAGE [--write]
//
// Fails when the page is not what the tables give; --write makes it so.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/CheckModel.h"
#include "compiler/Import/Functions.h"
#include "compiler/Import/NodeConverter.h"

#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

using namespace tenon;

namespace {

/// An operator as ONNX or the importer's table knows it.
struct Operator {
  std::vector<int> versions; // In force from the oldest supported opset on.
  bool expands = false;      // By a body of ONNX.
  const OpRow *row = nullptr;
};

using Operators = std::map<std::pair<std::string, std::string>, Operator>;

void addOnnx(const char *path, Operators &operators) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    llvm::SmallVector<llvm::StringRef> cells;
    llvm::StringRef(line).split(cells, ',');
    int since = 0;
    if (cells.size() < 5 || cells[2].getAsInteger(10, since))
      continue;
    Operator &op = operators[{cells[0].str(), cells[1].str()}];
    if (cells[0].empty() && since <= kMinOpset)
      op.versions.clear();
    op.versions.push_back(since);
    op.expands = cells[4] == "static";
  }
}

void addTable(Operators &operators) {
  for (llvm::ArrayRef<OpRow> family : allRows())
    for (const OpRow &row : family) {
      Operator &op = operators[{row.domain.str(), row.op.str()}];
      op.row = &row;
      op.versions.clear();
      for (int version : row.versions)
        if (version)
          op.versions.push_back(version);
    }
}

std::string support(const std::string &domain, const std::string &name,
                    const Operator &op) {
  if (op.row)
    return "yes";
  if (op.expands)
    return "by the operators of its body";
  onnx::NodeProto node;
  node.set_domain(domain);
  node.set_op_type(name);
  return "no: " + FunctionLibrary::explain(node, kMaxOpset).reason;
}

std::string page(const Operators &operators) {
  std::ostringstream text;
  text
      << "# Operators\n\n"
         "Opsets "
      << kMinOpset << " to " << kMaxOpset
      << " of ai.onnx. Written by `operators_page` from ONNX's list and the\n"
         "importer's table; a test holds it against both. A version is the "
         "opset that\n"
         "changed the operator. `tenon check` says why one node is refused.\n\n"
         "| domain | operator | versions | supported |\n|---|---|---|---|\n";
  for (const auto &[key, op] : operators) {
    const auto &[domain, name] = key;
    std::string versions;
    for (int version : op.versions)
      versions += (versions.empty() ? "" : ", ") + std::to_string(version);
    text << "| " << (domain.empty() ? "ai.onnx" : domain) << " | " << name
         << " | " << versions << " | " << support(domain, name, op) << " |\n";
  }
  return text.str();
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  Operators operators;
  addOnnx(argv[1], operators);
  addTable(operators);
  std::string expected = page(operators);
  if (argc > 3 && llvm::StringRef(argv[3]) == "--write") {
    std::ofstream(argv[2]) << expected;
    return 0;
  }
  std::ifstream file(argv[2]);
  std::stringstream found;
  found << file.rdbuf();
  if (found.str() == expected)
    return 0;
  std::cerr << argv[2] << " is not what the tables give; run " << argv[0] << ' '
            << argv[1] << ' ' << argv[2] << " --write\n";
  return 1;
}
