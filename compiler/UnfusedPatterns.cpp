//===- UnfusedPatterns.cpp - What --require-fused refuses -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/UnfusedPatterns.h"
#include "dialects/Graph/Graph.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon {
namespace {

/// How the remark of a recogniser begins that refuses a pattern of this kind.
struct PatternKind {
  llvm::StringLiteral name, refusal;
};
constexpr PatternKind patternKinds[] = {
    {"activation", "not a GELU: "},
    {"attention", "not an attention: "},
    {"norm", "not a norm: "},
    {"rotary", "not a rotation: "},
};

bool isThrough(Operation *op) {
  return graph::isPointwise(op) ||
         isa<graph::BroadcastOp, graph::ReshapeOp, graph::TransposeOp>(op);
}

/// Whether a value is held by the model, as it is or under another shape.
bool isStored(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isThrough(op) && op->getNumOperands() == 1)
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<graph::WeightOp, graph::ConstantOp>(op);
}

/// A product of two tensors that are both computed.
bool isProduct(Operation *op) {
  auto matmul = dyn_cast<graph::MatmulOp>(op);
  return matmul && !isStored(matmul.getLhs()) && !isStored(matmul.getRhs());
}

/// Whether a product is met on the way from the softmax up, or down.
bool meetsProduct(graph::SoftmaxOp softmax, bool up) {
  constexpr size_t most = 256;
  llvm::SetVector<Operation *> seen;
  auto visit = [&](Operation *op) {
    if (up)
      for (Value operand : op->getOperands()) {
        if (Operation *producer = operand.getDefiningOp())
          seen.insert(producer);
      }
    else
      seen.insert(op->user_begin(), op->user_end());
  };
  visit(softmax);
  for (size_t i = 0; i < seen.size() && i < most; ++i) {
    if (isProduct(seen[i]))
      return true;
    if (isThrough(seen[i]))
      visit(seen[i]);
  }
  return false;
}

std::string nodeOf(Operation *op) {
  auto name = dyn_cast<NameLoc>(op->getLoc());
  return name ? name.getName().str() : "";
}

/// What a recogniser said about a node, without its first words.
std::string reasonAt(const std::multimap<std::string, std::string> &remarks,
                     const std::string &node, StringRef refusal) {
  auto [first, last] = remarks.equal_range(node);
  for (auto remark = first; remark != last; ++remark)
    if (StringRef(remark->second).starts_with(refusal))
      return remark->second.substr(refusal.size());
  return "no recogniser says why";
}

} // namespace

bool isPatternKind(StringRef kind) {
  return llvm::any_of(
      patternKinds, [&](const PatternKind &each) { return each.name == kind; });
}

std::vector<std::string>
findUnfused(ModuleOp module, ArrayRef<std::string> kinds,
            const std::multimap<std::string, std::string> &remarks) {
  std::vector<std::string> found;
  auto report = [&](StringRef kind, const std::string &node,
                    const std::string &reason) {
    found.push_back("node '" + node + "': " + kind.str() +
                    " is not fused: " + reason);
  };
  for (const PatternKind &kind : patternKinds) {
    if (!llvm::is_contained(kinds, kind.name))
      continue;
    // A softmax may stand alone; between two products it is attention.
    if (kind.name == "attention") {
      module.walk([&](graph::SoftmaxOp op) {
        std::string node = nodeOf(op);
        if (meetsProduct(op, true) && meetsProduct(op, false))
          report(kind.name, node, reasonAt(remarks, node, kind.refusal));
      });
      continue;
    }
    for (const auto &[node, remark] : remarks)
      if (StringRef(remark).starts_with(kind.refusal))
        report(kind.name, node, remark.substr(kind.refusal.size()));
  }
  return found;
}

} // namespace tenon
