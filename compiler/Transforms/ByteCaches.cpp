//===- ByteCaches.cpp - Caches of bytes and their scales ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is what lies along the last axis: the key or value of a token and head.
// Its scale is its largest magnitude over 127, found when it is appended, so no
// later row changes what an earlier one is.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/ByteCaches.h"
#include "compiler/Transforms/Int8Products.h"
#include "compiler/Transforms/Matching.h"
#include "dialects/Kernel/StridedView.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tenon {
namespace {

/// What a scale is made of at least, so that rows of zeros have one.
constexpr double smallest = 1e-30, largest = 127;

using graph::DimsAttr;
using graph::Expr;

/// Whether an op leaves rows whole: then it moves their scales as well.
bool keepsRows(Operation *op) {
  if (auto transpose = dyn_cast<graph::TransposeOp>(op))
    return transpose.getPermutation().back() ==
           int64_t(transpose.getPermutation().size()) - 1;
  auto slice = dyn_cast<graph::SliceOp>(op);
  return slice && graph::getDims(slice.getInput()).back() ==
                      graph::getDims(slice.getResult()).back();
}

class ByteCache {
public:
  ByteCache(func::FuncOp function, graph::AppendOp cache)
      : function(function), cache(cache), builder(function.getContext()),
        loc(cache.getLoc()), f32(builder.getF32Type()),
        element(graph::getElementType(cache.getResult())) {}

  void keep() {
    Value rows = cache.getRows();
    Operation *rounding = rows.getDefiningOp();
    if (auto cast = dyn_cast_if_present<graph::CastOp>(rounding);
        cast && graph::getElementType(cast.getInput()).isF32())
      rows = cast.getInput();
    builder.setInsertionPoint(cache);
    if (!graph::getElementType(rows).isF32())
      rows = castTo(builder, loc, rows, f32);
    Value scale = scaleOfRows(rows);
    Value numbers = graph::QuantizeOp::create(
        builder, loc, graph::tensorOf(graph::getDims(rows), bytes()), rows,
        scale, zero());
    retype(cache.getBuffer());
    cache.getRowsMutable().assign(numbers);
    if (rounding)
      eraseUnused(rounding);
    retype(cache.getResult());
    Value scales = appendScales(scale);
    for (Operation *user : llvm::make_early_inc_range(cache->getUsers()))
      if (auto held = dyn_cast<graph::SliceOp>(user))
        dequantize(held, heldScales(scales, held));
  }

private:
  Type bytes() { return builder.getI8Type(); }
  Value zero() { return numberOf(builder, loc, bytes(), 0); }
  DimsAttr dims(ArrayRef<Expr> exprs) {
    return DimsAttr::get(builder.getContext(), exprs);
  }
  void retype(Value value) {
    value.setType(graph::tensorOf(graph::getDims(value), bytes()));
  }

  /// Each op reads the one before alone, so that they are one kernel.
  Value scaleOfRows(Value rows) {
    SmallVector<Expr> dims = graph::getDims(rows);
    dims.back() = Expr::constant(builder.getContext(), 1);
    Type type = graph::tensorOf(dims, f32);
    Value size = graph::AbsOp::create(builder, loc, rows.getType(), rows);
    Value most = graph::ReduceOp::create(
        builder, loc, type, size,
        builder.getDenseI64ArrayAttr({graph::getRank(rows) - 1}),
        graph::ReduceKindAttr::get(builder.getContext(),
                                   graph::ReduceKind::Max));
    most = graph::MaxOp::create(builder, loc, type, most,
                                numberOf(builder, loc, f32, smallest));
    return graph::DivOp::create(builder, loc, type, most,
                                numberOf(builder, loc, f32, largest));
  }

  /// A name that is no symbol of the function.
  Expr freshSymbol() {
    llvm::StringSet<> used;
    auto note = [&](Expr symbol) { used.insert(symbol.name()); };
    auto noteAll = [&](Value value) {
      if (graph::hasDims(value.getType()))
        for (Expr dim : graph::getDims(value))
          dim.forEachSymbol(note);
    };
    llvm::for_each(function.getArguments(), noteAll);
    function.walk(
        [&](Operation *op) { llvm::for_each(op->getResults(), noteAll); });
    std::string name;
    for (unsigned next = 0; name.empty() || used.contains(name); ++next)
      name = "room" + std::to_string(next);
    return Expr::symbol(builder.getContext(), name);
  }

  /// The dims of a value of the cache's axes, less the last one.
  SmallVector<Expr> withoutLast(ArrayRef<Expr> all) {
    return SmallVector<Expr>(all.drop_back());
  }

  /// The same with `room` along the axis that grows.
  Type typeOfScales(Value like, Expr room) {
    SmallVector<Expr> stored = withoutLast(graph::getDims(like));
    stored[cache.getAxis()] = room;
    return graph::tensorOf(stored, f32);
  }

  /// What an attribute of the cache says of the scales.
  NamedAttrList attributesLike(DictionaryAttr of) {
    NamedAttrList list;
    if (auto name = of.getAs<StringAttr>("graph.name"))
      list.set("graph.name", builder.getStringAttr(name.getValue() + ".scale"));
    if (auto held = of.getAs<DimsAttr>("graph.dims"))
      list.set("graph.dims", dims(ArrayRef(held.exprs()).drop_back()));
    return list;
  }

  Value appendScales(Value scale) {
    auto past = cast<BlockArgument>(cache.getBuffer());
    Operation *end = function.front().getTerminator();
    unsigned input = function.getNumArguments(), output = end->getNumOperands(),
             own = 0;
    while (end->getOperand(own) != cache.getResult())
      ++own;
    Type stored = typeOfScales(past, freshSymbol());
    (void)function.insertArgument(
        input, stored,
        attributesLike(function.getArgAttrDict(past.getArgNumber()))
            .getDictionary(builder.getContext()),
        loc);
    SmallVector<Expr> each = withoutLast(graph::getDims(scale));
    Value rows = graph::ReshapeOp::create(builder, loc,
                                          graph::tensorOf(each, f32), scale);
    Type grown = typeOfScales(cache.getResult(), freshSymbol());
    Value scales = graph::AppendOp::create(
        builder, loc, grown, function.getArgument(input), rows, cache.getAxis(),
        cache.getLengthAttr());
    NamedAttrList attributes = attributesLike(DictionaryAttr::get(
        builder.getContext(), function.getResultAttrs(own)));
    attributes.set("graph.appends_to", builder.getI64IntegerAttr(input));
    (void)function.insertResult(output, grown,
                                attributes.getDictionary(builder.getContext()));
    end->insertOperands(output, scales);
    return scales;
  }

  /// The scales of the rows that a cache holds, with a last axis of size 1.
  Value heldScales(Value scales, graph::SliceOp held) {
    builder.setInsertionPoint(held);
    SmallVector<Expr> kept = withoutLast(graph::getDims(held.getResult()));
    Value slice = graph::SliceOp::create(
        builder, loc, graph::tensorOf(kept, f32), scales,
        dims(ArrayRef(held.getStarts().exprs()).drop_back()),
        dims(ArrayRef(held.getSteps().exprs()).drop_back()));
    kept.push_back(Expr::constant(builder.getContext(), 1));
    return graph::ReshapeOp::create(builder, loc, graph::tensorOf(kept, f32),
                                    slice);
  }

  /// An op that moves rows, for their scales.
  Value moveScales(Operation *op, Value scale) {
    builder.setInsertionPoint(op);
    Operation *copy = builder.clone(*op);
    copy->setOperand(0, scale);
    SmallVector<Expr> moved = graph::getDims(op->getResult(0));
    moved.back() = Expr::constant(builder.getContext(), 1);
    copy->getResult(0).setType(graph::tensorOf(moved, f32));
    return copy->getResult(0);
  }

  /// The same in the type that a reader expects; a cast has rounded it anyway.
  Value inElement(Value wide, bool isCast) {
    if (isCast || element.isF32())
      return wide;
    builder.setInsertionPointAfterValue(wide);
    return castTo(builder, loc, wide, element);
  }

  /// What moves bytes does so, what reads them gets f32.
  void dequantize(Operation *view, Value scale) {
    Value value = view->getResult(0);
    retype(value);
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses())
      uses.push_back(&use);
    builder.setInsertionPointAfter(view);
    Value wide = graph::DequantizeOp::create(
        builder, loc, graph::tensorOf(graph::getDims(value), f32), value, scale,
        zero());
    for (OpOperand *use : uses) {
      Operation *user = use->getOwner();
      auto cast = dyn_cast<graph::CastOp>(user);
      if (keepsRows(user))
        dequantize(user, moveScales(user, scale));
      else if (cast && graph::getElementType(cast.getResult()).isF32())
        cast.getResult().replaceAllUsesWith(wide), cast.erase();
      else
        use->set(inElement(wide, isa<graph::CastOp>(user)));
    }
    eraseUnused(wide.getDefiningOp());
  }

  func::FuncOp function;
  graph::AppendOp cache;
  OpBuilder builder;
  Location loc;
  Type f32, element; // What readers have had.
};

} // namespace

std::string refusalOfBytes(graph::AppendOp cache) {
  if (cache.getAxis() == uint64_t(graph::getRank(cache.getResult()) - 1))
    return "it grows along its last axis, whose elements share a scale";
  SmallVector<Value> values = {cache.getResult()};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (!kernel::isViewOp(user))
        continue;
      if (!keepsRows(user))
        return "its rows, which share a scale, are taken apart by '" +
               user->getName().getStringRef().str() + "'";
      values.push_back(user->getResult(0));
    }
  for (Operation *user : cache->getUsers())
    if (!isa<graph::SliceOp, func::ReturnOp>(user))
      return "its room is read too";
  return "";
}

void keepInBytes(func::FuncOp function, graph::AppendOp cache) {
  ByteCache(function, cache).keep();
}

} // namespace tenon
