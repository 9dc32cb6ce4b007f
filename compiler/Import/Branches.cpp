//===- Branches.cpp - Either of two, as a run decides ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Branches.h"

using namespace mlir;

namespace tenon {
namespace {

/// Values for what a branch gives: a sequence is all of its elements.
SmallVector<Value> flattened(ArrayRef<NamedValue> given) {
  SmallVector<Value> values;
  for (const NamedValue &each : given)
    if (each.sequence)
      llvm::append_range(values, each.sequence->values);
    else if (each.value)
      values.push_back(each.value);
  return values;
}

/// Emits one branch into a block of its own.
std::unique_ptr<Region> importBranch(NodeConverter &node, BranchBody body,
                                     SmallVector<NamedValue> &values) {
  auto region = std::make_unique<Region>();
  Block &block = region->emplaceBlock();
  OpBuilder::InsertionGuard guard(node.builder);
  node.builder.setInsertionPointToEnd(&block);
  ImportState::Known known = node.state.known;
  values = body();
  node.state.known = std::move(known);
  if (!node.failed())
    graph::YieldOp::create(node.builder, node.loc, flattened(values));
  return region;
}

/// Whether the branches give as many tensors in each place, so that one op
/// gives them whichever runs.
LogicalResult checkBranches(NodeConverter &node, ArrayRef<NamedValue> lhs,
                            ArrayRef<NamedValue> rhs) {
  if (lhs.size() != rhs.size())
    return node.invalid("its branches have different numbers of outputs");
  for (auto [a, b] : llvm::zip_equal(lhs, rhs)) {
    bool sameLength = a.sequence && b.sequence &&
                      a.sequence->values.size() == b.sequence->values.size();
    bool isOpen =
        (a.sequence && a.sequence->stack) || (b.sequence && b.sequence->stack);
    if (a.state != b.state || isOpen || (a.sequence && !sameLength))
      return node.unsupported("its branches give sequences of different "
                              "lengths, or one gives no value",
                              "export the model with one of its branches");
  }
  return success();
}

/// The results of the op, in the places that `like` has.
SmallVector<NamedValue> inPlaces(NodeConverter &node, ValueRange results,
                                 ArrayRef<NamedValue> like) {
  SmallVector<NamedValue> given(like);
  for (NamedValue &each : given) {
    size_t count = each.sequence ? each.sequence->values.size()
                                 : size_t(each.value ? 1 : 0);
    SmallVector<Value> own(results.take_front(count));
    results = results.drop_front(count);
    if (each.sequence)
      each = node.sequenceOf({each.sequence->element, own, {}});
    else if (each.value)
      each = NamedValue::of(own[0]);
  }
  return given;
}

/// The type for both branches: where dims differ, a symbol that the branch
/// which ran will set.
Type mergeTypes(NodeConverter &node, Value lhs, Value rhs) {
  auto left = graph::getDims(lhs), right = graph::getDims(rhs);
  if (left.size() != right.size()) {
    (void)node.unsupported("its branches give tensors of rank " +
                               Twine(left.size()) + " and " +
                               Twine(right.size()),
                           "where its condition is about sizes, fix them with "
                           "--dim NAME=N");
    return {};
  }
  if (graph::getElementType(lhs) != graph::getElementType(rhs)) {
    (void)node.invalid("its branches give tensors of different element types");
    return {};
  }
  for (auto [a, b] : llvm::zip(left, right))
    if (a != b)
      a = node.freshSymbol("branch");
  return graph::tensorOf(left, graph::getElementType(lhs));
}

} // namespace

SmallVector<NamedValue> eitherOf(NodeConverter &node, Value condition,
                                 BranchBody thenBody, BranchBody elseBody) {
  SmallVector<NamedValue> thenGives, elseGives;
  auto thenRegion = importBranch(node, thenBody, thenGives);
  // Both branches are imported, so that the problems of both are reported.
  auto elseRegion = importBranch(node, elseBody, elseGives);
  if (node.failed() || failed(checkBranches(node, thenGives, elseGives)))
    return {};
  SmallVector<Type> types;
  for (auto [lhs, rhs] :
       llvm::zip_equal(flattened(thenGives), flattened(elseGives))) {
    types.push_back(mergeTypes(node, lhs, rhs));
    if (node.failed())
      return {};
  }
  Value flag = node.reshape(condition, {});
  if (node.failed())
    return {};
  OperationState state(node.loc, graph::IfOp::getOperationName());
  state.addOperands(flag);
  state.addTypes(types);
  state.addRegion(std::move(thenRegion));
  state.addRegion(std::move(elseRegion));
  Operation *op = node.builder.create(state);
  return inPlaces(node, op->getResults(), thenGives);
}

} // namespace tenon
