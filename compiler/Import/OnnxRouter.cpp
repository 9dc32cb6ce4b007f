//===- OnnxRouter.cpp - Which experts a token goes to ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MoEGroupRouter of com.microsoft, for mixtures whose experts come in groups.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/OpFamilies.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using Exprs = SmallVector<Expr>;

/// Bools [tokens, all]: whether a token's places [tokens, n] list the column.
Value areListed(NodeConverter &node, Value places, int64_t all) {
  Value columns = node.iota(node.size(all), node.integer(64));
  Value hits =
      node.emit<graph::EqualOp>({node.unsqueeze(places, {2}), columns});
  return node.reduce(hits, {1}, graph::ReduceKind::Max, /*keepDims=*/false);
}

/// How experts are chosen.
struct Choice {
  int64_t experts, groups, chosenGroups, best, chosen;
};

/// Those of a token among its best groups: bools [tokens, experts].
Value chosenExperts(NodeConverter &node, Value scores, Expr tokens,
                    const Choice &choice) {
  int64_t size = choice.experts / choice.groups;
  auto some = [&](int64_t count) { return node.size(count); };
  Value grouped =
      node.reshape(scores, {tokens, some(choice.groups), some(size)});
  Value best = node.topk(grouped, 2, some(std::min(choice.best, size))).values;
  Value sums = node.reduce(best, {2}, graph::ReduceKind::Sum,
                           /*keepDims=*/false);
  Value groups = node.topk(sums, 1, some(choice.chosenGroups)).places;
  Value isOpen = node.unsqueeze(areListed(node, groups, choice.groups), {2});
  Value hidden = node.scalar(node.f32(), -infinity);
  Value candidates = node.reshape(node.select(isOpen, grouped, hidden),
                                  {tokens, some(choice.experts)});
  Value chosen = node.topk(candidates, 1, some(choice.chosen)).places;
  return areListed(node, chosen, choice.experts);
}

LogicalResult readChoice(NodeConverter &node, Choice &choice) {
  choice.groups = node.intAttr("n_group", 1);
  choice.chosenGroups = node.intAttr("topk_group", 1);
  choice.best = node.intAttr("group_topk", 2);
  choice.chosen = node.intAttr("top_k");
  if (node.failed())
    return failure();
  if (choice.groups < 1 || choice.experts % choice.groups != 0)
    return node.invalid("n_group must divide the number of experts");
  if (choice.best < 1 || choice.chosenGroups < 1 ||
      choice.chosenGroups > choice.groups)
    return node.invalid("topk_group must be from 1 to n_group, and group_topk "
                        "positive");
  int64_t open = choice.experts / choice.groups * choice.chosenGroups;
  if (choice.chosen < 1 || choice.chosen > open)
    return node.invalid("top_k must be from 1 to the " + Twine(open) +
                        " experts of the chosen groups");
  return success();
}

/// Logarithms of the scores of chosen experts, a low number for the others; or
/// all scores, with and without the bias.
LogicalResult convertGroupRouter(NodeConverter &node) {
  Value logits = node.input(0), bias = node.input(1);
  Value projection = node.optionalInput(2);
  Exprs dims = node.dimsOf(logits);
  bool givesAll = node.wantsOutput(1) || node.wantsOutput(2);
  if (node.failed() || failed(node.expectRank(bias, 1, "the bias")))
    return failure();
  if (dims.empty() || givesAll == node.wantsOutput(0))
    return node.invalid("it has logits, and either router_probs or the other "
                        "outputs");
  if (projection && !givesAll)
    return node.invalid("only for all scores there may be a projection");
  std::optional<int64_t> experts = node.dimOf(bias, 0).asConstant();
  if (!experts || *experts < 1)
    return node.unsupported("the number of experts is not known",
                            "export it with a bias of known size");
  Type element = node.elementOf(logits);
  Value wide = node.cast(logits, node.f32());
  if (projection) {
    if (failed(node.expectRank(projection, 2, "the projection")))
      return failure();
    wide = node.matmul(
        wide, node.transpose(node.cast(projection, node.f32()), {1, 0}));
    dims = node.dimsOf(wide);
  }
  if (node.failed())
    return failure();
  node.require(dims.back(), graph::Relation::Equal, node.size(*experts),
               "the bias must have a number for each expert");
  Expr tokens = graph::product(node.context(), ArrayRef(dims).drop_back());
  Value weights = node.emit<graph::SigmoidOp>(
      {node.reshape(wide, {tokens, node.size(*experts)})});
  Value scores = node.add(weights, node.cast(bias, node.f32()));
  if (givesAll) {
    node.setOutput(1, scores);
    node.setOutput(2, weights);
    return node.result();
  }
  Choice choice{*experts, 1, 1, 1, 1};
  if (failed(readChoice(node, choice)))
    return failure();
  Value isChosen = chosenExperts(node, scores, tokens, choice);
  Value logs = node.emit<graph::LogOp>({node.maximum(weights, 1e-20)});
  Value low = node.scalar(node.f32(), node.floatAttr("router_sentinel", -1e4));
  return node.output(node.cast(node.select(isChosen, logs, low), element));
}

} // namespace

ArrayRef<OpRow> routerRows() {
  static constexpr OpRow rows[] = {
      {"com.microsoft", "MoEGroupRouter", {1}, convertGroupRouter},
  };
  return rows;
}

} // namespace tenon
