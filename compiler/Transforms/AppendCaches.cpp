//===- AppendCaches.cpp - Caches that grow where they lie -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoder takes what its layers kept of earlier tokens and gives that back
// with new rows behind it. As dense tensors all rows of but the first head move
// at each step. So both get room along the axis that grows, a symbol of its own
// that the caller sets, and readers see a slice: where the caller gives one
// buffer for both, only the new rows are written. Where a model in 16 bits has
// caches of f32 at its interface alone, new rows are widened instead of all
// being rounded and widened again, and readers round: what was given comes back
// as it was.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_APPENDCACHESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using graph::DimsAttr;
using graph::Expr;

/// A cache that comes in as an argument and goes out as a result.
struct Cache {
  graph::ConcatOp concat;
  BlockArgument past;
  unsigned result;
  graph::CastOp rounding, widening; // Around the concat, or null.
};

bool isRounding(graph::CastOp cast) {
  Type to = graph::getElementType(cast.getResult());
  return graph::getElementType(cast.getInput()).isF32() &&
         (to.isF16() || to.isBF16());
}

class Appender {
public:
  Appender(func::FuncOp function, bool explain)
      : function(function), explain(explain), builder(function.getContext()) {
    auto note = [&](Expr symbol) { symbols.insert(symbol.name()); };
    function.walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (graph::hasDims(result.getType()))
          for (Expr dim : graph::getDims(result))
            dim.forEachSymbol(note);
    });
    for (BlockArgument argument : function.getArguments())
      for (Expr dim : graph::getDims(argument))
        dim.forEachSymbol([&](Expr symbol) {
          note(symbol);
          known.insert(symbol.name());
        });
  }

  void run() {
    Operation *end = function.getBody().front().getTerminator();
    for (unsigned i = 0; i < end->getNumOperands(); ++i) {
      Cache cache = cacheOf(end->getOperand(i), i);
      if (!cache.past || cache.past.getOwner() != &function.getBody().front())
        continue;
      if (std::optional<StringRef> why = refusal(cache)) {
        if (explain)
          cache.concat.emitRemark()
              << "no cache that grows where it lies: " << *why;
        continue;
      }
      if (cache.rounding)
        cache.concat = widened(cache);
      rewrite(cache);
    }
    SmallVector<Type> results(end->getOperandTypes());
    function.setType(builder.getFunctionType(
        function.getBody().front().getArgumentTypes(), results));
  }

private:
  /// Without a past where an output is no cache.
  static Cache cacheOf(Value output, unsigned result) {
    auto widening = output.getDefiningOp<graph::CastOp>();
    Value whole = widening ? widening.getInput() : output;
    auto concat = whole.getDefiningOp<graph::ConcatOp>();
    if (!concat || concat.getInputs().size() != 2)
      return {};
    Value past = concat.getInputs()[0];
    auto rounding = past.getDefiningOp<graph::CastOp>();
    bool isBetween = rounding && widening && isRounding(rounding) &&
                     rounding->hasOneUse() &&
                     rounding.getInput().getType() ==
                         graph::tensorOf(graph::getDims(past),
                                         graph::getElementType(output));
    if (bool(rounding) != isBetween || bool(widening) != isBetween)
      return {};
    if (rounding)
      past = rounding.getInput();
    return {concat, dyn_cast<BlockArgument>(past), result, rounding, widening};
  }

  /// The concat of a cache in the type that its interface has.
  graph::ConcatOp widened(Cache cache) {
    graph::ConcatOp concat = cache.concat;
    Value output = cache.widening.getResult();
    Location loc = concat.getLoc();
    builder.setInsertionPoint(concat);
    Value rows = castTo(builder, loc, concat.getInputs()[1],
                        graph::getElementType(output));
    auto wide =
        graph::ConcatOp::create(builder, loc, output.getType(),
                                ValueRange{cache.past, rows}, concat.getAxis());
    Value narrow =
        castTo(builder, loc, wide, graph::getElementType(concat.getResult()));
    output.replaceAllUsesWith(wide);
    cache.widening.erase();
    concat.getResult().replaceAllUsesWith(narrow);
    concat.erase();
    cache.rounding.erase();
    eraseUnused(narrow.getDefiningOp());
    return wide;
  }

  std::optional<StringRef> refusal(Cache cache) {
    if (!cache.past.hasOneUse())
      return "what came before is read elsewhere too";
    Operation *end = function.getBody().front().getTerminator();
    if (llvm::count(end->getOperands(), end->getOperand(cache.result)) != 1)
      return "it is several outputs";
    bool isKnown = true;
    for (Expr dim : graph::getDims(cache.concat.getResult()))
      dim.forEachSymbol([&](Expr symbol) {
        isKnown = isKnown && known.contains(symbol.name());
      });
    if (!isKnown)
      return "its size is not known from the inputs' sizes";
    int64_t axis = cache.concat.getAxis();
    SmallVector<Expr> whole = graph::getDims(cache.concat.getResult());
    for (Value part : cache.concat.getInputs())
      for (auto [i, dim] : llvm::enumerate(graph::getDims(part)))
        if (int64_t(i) != axis && dim != whole[i])
          return "the other sizes of what is new are not proven to be its own";
    return std::nullopt;
  }

  Expr freshSymbol() {
    std::string name;
    do
      name = "room" + std::to_string(next++);
    while (!symbols.insert(name).second);
    return Expr::symbol(builder.getContext(), name);
  }

  DimsAttr dims(ArrayRef<Expr> exprs) {
    return DimsAttr::get(builder.getContext(), exprs);
  }

  void rewrite(Cache cache) {
    graph::ConcatOp concat = cache.concat;
    int64_t axis = concat.getAxis();
    Value whole = concat.getResult(), rows = concat.getInputs()[1];
    Type element = graph::getElementType(whole);
    SmallVector<Expr> past = graph::getDims(cache.past);
    SmallVector<Expr> grown = graph::getDims(whole);
    Expr length = past[axis];
    unsigned argument = cache.past.getArgNumber();
    function.setArgAttr(argument, "graph.dims", dims(past));
    function.setResultAttr(cache.result, "graph.dims", dims(grown));
    function.setResultAttr(cache.result, "graph.appends_to",
                           builder.getI64IntegerAttr(argument));

    past[axis] = freshSymbol();
    cache.past.setType(graph::tensorOf(past, element));
    SmallVector<Expr> stored = grown;
    stored[axis] = freshSymbol();
    builder.setInsertionPoint(concat);
    Location loc = concat.getLoc();
    auto append =
        graph::AppendOp::create(builder, loc, graph::tensorOf(stored, element),
                                cache.past, rows, axis, dims({length}));
    Expr zero = Expr::constant(builder.getContext(), 0);
    Expr one = Expr::constant(builder.getContext(), 1);
    SmallVector<Expr> starts(grown.size(), zero), steps(grown.size(), one);
    auto slice =
        graph::SliceOp::create(builder, loc, whole.getType(),
                               append.getResult(), dims(starts), dims(steps));
    function.getBody().front().getTerminator()->setOperand(cache.result,
                                                           append.getResult());
    whole.replaceAllUsesWith(slice.getResult());
    concat.erase();
    if (slice->use_empty())
      slice.erase();
  }

  func::FuncOp function;
  bool explain;
  OpBuilder builder;
  llvm::StringSet<> symbols, known; // All; those of the arguments' dims.
  unsigned next = 0;
};

struct AppendCaches : impl::AppendCachesPassBase<AppendCaches> {
  using AppendCachesPassBase::AppendCachesPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function.isExternal() &&
        isa<func::ReturnOp>(function.getBody().front().getTerminator()))
      Appender(function, explain).run();
  }
};

} // namespace
} // namespace tenon
