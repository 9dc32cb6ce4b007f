//===- UnifySizes.cpp - One symbol for sizes that must be equal -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/Passes.h"
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_UNIFYSIZESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::DimsAttr;
using graph::Expr;

class Unifier {
public:
  Unifier(func::FuncOp function, bool explain)
      : function(function), explain(explain) {}

  LogicalResult run() {
    for (BlockArgument argument : function.getArguments())
      graph::forEachSymbol(argument.getType(),
                           [&](Expr symbol) { inputs.insert(symbol.name()); });
    // What a branch or a loop asks for may never be asked.
    for (auto require : function.getBody().front().getOps<graph::RequireOp>())
      if (require.getRelation() == graph::Relation::Equal)
        unify(meant(require.getSizes()[0]), meant(require.getSizes()[1]));
    if (explain)
      remarkOnTheRest();
    if (meaning.empty())
      return success();
    if (failed(joinRanges()))
      return failure();
    bool isKnown = true;
    AttrTypeReplacer replacer;
    replacer.addReplacement(
        [&](DimsAttr dims) -> std::pair<Attribute, WalkResult> {
          SmallVector<Expr> exprs;
          for (Expr expr : dims.exprs())
            exprs.push_back(meant(expr));
          if (llvm::all_of(exprs, [](Expr expr) { return bool(expr); }))
            return {DimsAttr::get(dims.getContext(), exprs),
                    WalkResult::skip()};
          isKnown = false;
          return {dims, WalkResult::skip()};
        });
    replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    if (!isKnown)
      return emitError(UnknownLoc::get(function.getContext()),
                       "sizes that must be equal are formulas of more than 64 "
                       "bits or of too many terms; give them with --dim");
    return success();
  }

private:
  /// Of what else the user may know to be equal.
  void remarkOnTheRest() {
    llvm::SmallPtrSet<const void *, 8> seen;
    for (auto require : function.getBody().front().getOps<graph::RequireOp>()) {
      if (require.getRelation() != graph::Relation::Broadcasts &&
          require.getRelation() != graph::Relation::Equal)
        continue;
      auto [first, later] = settlingPair(meant(require.getSizes()[0]),
                                         meant(require.getSizes()[1]));
      if (!first)
        continue;
      auto pair = DimsAttr::get(first.getContext(), {first, later});
      if (seen.insert(pair.getAsOpaquePointer()).second)
        require.emitRemark("the sizes '")
            << later.str() << "' and '" << first.str()
            << "' may differ for all that is known; where they never do, --dim "
            << later.str() << "=" << first.str() << " lets more be fused";
    }
  }

  /// Whether two sizes are the same, or one is the other beside more that may
  /// be 1.
  static bool meet(Expr lhs, Expr rhs) {
    if (!lhs || !rhs || lhs.asConstant() || rhs.asConstant())
      return lhs && lhs == rhs;
    Expr both = lhs.broadcast(rhs);
    return both == lhs || both == rhs;
  }

  /// Two symbols of inputs by which, were they one, two sizes would meet; null
  /// where there are none.
  std::pair<Expr, Expr> settlingPair(Expr lhs, Expr rhs) const {
    constexpr size_t most = 8;
    if (!lhs || !rhs || meet(lhs, rhs))
      return {};
    SmallVector<Expr> found = symbolsOf({lhs, rhs});
    if (found.size() > most)
      return {};
    for (Expr first : found)
      for (Expr later : found) {
        auto joined = [&](Expr each) { return each == later ? first : Expr(); };
        if (rank(first) < 0 || rank(later) <= rank(first))
          continue;
        if (meet(lhs.substitute(joined), rhs.substitute(joined)))
          return {first, later};
      }
    return {};
  }

  /// With what is known by now in the place of symbols.
  Expr meant(Expr expr) const {
    return expr.substitute(
        [&](Expr symbol) { return meaning.lookup(symbol.name()); });
  }

  void unify(Expr lhs, Expr rhs) {
    if (!lhs || !rhs || lhs == rhs)
      return;
    if (rank(lhs) < rank(rhs))
      std::swap(lhs, rhs);
    if (isGivenBy(lhs, rhs))
      replace(lhs, rhs);
    else if (isGivenBy(rhs, lhs))
      replace(rhs, lhs);
    else if (auto [first, later] = pairOf(lhs - rhs); first)
      replace(later, first);
  }

  /// The place of a symbol among those of inputs, -1 for another expression.
  int64_t rank(Expr expr) const {
    const auto *it =
        expr.isSymbol() ? llvm::find(inputs, expr.name()) : inputs.end();
    return it == inputs.end() ? -1 : it - inputs.begin();
  }

  /// The symbols of sizes, those of inputs in their order behind any others.
  SmallVector<Expr> symbolsOf(ArrayRef<Expr> sizes) const {
    SmallVector<Expr> found;
    for (Expr size : sizes)
      size.forEachSymbol([&](Expr symbol) {
        if (!llvm::is_contained(found, symbol))
          found.push_back(symbol);
      });
    llvm::sort(found, [&](Expr a, Expr b) { return rank(a) < rank(b); });
    return found;
  }

  /// Whether a symbol of an input can be replaced by an expression of others.
  /// That one is a number is better said by the node that requires it.
  bool isGivenBy(Expr symbol, Expr other) const {
    SmallVector<Expr> found = symbolsOf(other);
    if (rank(symbol) < 0 || found.empty() || rank(found[0]) < 0 ||
        llvm::is_contained(found, symbol))
      return false;
    // What was promised of a symbol can hold for another, for a sum it cannot.
    return other.isSymbol() || !rangeOf(symbol.name());
  }

  /// a and b of n (a - b) in their order, or null.
  std::pair<Expr, Expr> pairOf(Expr difference) const {
    if (!difference)
      return {};
    SmallVector<Expr> found = symbolsOf(difference);
    if (found.size() != 2 || rank(found[0]) < 0)
      return {};
    Expr first = found[0], later = found[1];
    Expr one = Expr::constant(first.getContext(), 1);
    std::optional<int64_t> times = difference
                                       .substitute([&](Expr each) {
                                         return each == first ? one : one - 1;
                                       })
                                       .asConstant();
    if (!times || *times == 0 || difference != (first - later) * *times)
      return {};
    return {first, later};
  }

  void replace(Expr symbol, Expr by) {
    for (auto &[name, known] : meaning)
      known = known.substitute(
          [&](Expr each) { return each == symbol ? by : Expr(); });
    meaning.insert({symbol.name(), by});
  }

  DenseI64ArrayAttr rangeOf(StringRef name) const {
    auto given = function->getAttrOfType<DictionaryAttr>("graph.ranges");
    return given ? given.getAs<DenseI64ArrayAttr>(name) : DenseI64ArrayAttr();
  }

  /// What was promised of each of the symbols holds for all that are one.
  LogicalResult joinRanges() {
    auto given = function->getAttrOfType<DictionaryAttr>("graph.ranges");
    if (!given)
      return success();
    struct Range {
      StringRef first; // The name that was promised it first.
      int64_t lo, hi;
    };
    llvm::MapVector<StringRef, Range> joined;
    for (NamedAttribute each : given) {
      auto range = cast<DenseI64ArrayAttr>(each.getValue());
      Expr known = meaning.lookup(each.getName());
      StringRef name = known ? known.name() : each.getName().strref();
      auto &[first, lo, hi] =
          joined.insert({name, {each.getName(), range[0], range[1]}})
              .first->second;
      lo = std::max(lo, range[0]);
      hi = std::min(hi, range[1]);
      if (lo > hi)
        return emitError(UnknownLoc::get(function.getContext()), "the dim '")
               << first << "' always equals '" << each.getName().strref()
               << "', and no size is in the ranges that --dim gives both";
    }
    Builder builder(function.getContext());
    SmallVector<NamedAttribute> ranges;
    for (auto &[name, range] : joined)
      ranges.push_back(builder.getNamedAttr(
          name, builder.getDenseI64ArrayAttr({range.lo, range.hi})));
    function->setAttr("graph.ranges", builder.getDictionaryAttr(ranges));
    return success();
  }

  func::FuncOp function;
  bool explain;
  llvm::SetVector<StringRef> inputs;        // Symbols of their sizes, in order.
  llvm::MapVector<StringRef, Expr> meaning; // Of symbols that are replaced.
};

struct UnifySizes : impl::UnifySizesPassBase<UnifySizes> {
  using Base = impl::UnifySizesPassBase<UnifySizes>;
  using Base::Base;

  void runOnOperation() override {
    if (!getOperation().isExternal() &&
        failed(Unifier(getOperation(), explain).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace tenon
