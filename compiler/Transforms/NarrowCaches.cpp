//===- NarrowCaches.cpp - Caches are kept in fewer bits -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a decoder keeps of earlier tokens is read again for each new one: behind
// long texts that is what a step waits for. In fewer bits it is less, at the
// interface too, so that the caller holds what the program reads. New rows are
// rounded once, when they are appended; what reads the cache widens it. Only
// attention does so in its own kernel, so caches that others read stay. Of
// bytes each row has a scale (ByteCaches.h).
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/ByteCaches.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/Kernel/AttentionView.h"
#include "dialects/Kernel/MatmulView.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_NARROWCACHESPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

bool isOfFloats(Type type) {
  return type.isF32() || type.isF16() || type.isBF16();
}

std::string nameOf(Type type) {
  if (type.isInteger(8))
    return "int8";
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

class Narrowing {
public:
  Narrowing(func::FuncOp function, Type narrow, bool isCuda, bool explain)
      : function(function), narrow(narrow), isCuda(isCuda), explain(explain) {}

  LogicalResult run() {
    SmallVector<graph::AppendOp> caches = findCaches();
    if (caches.empty())
      return emitError(UnknownLoc::get(function.getContext()))
             << "no cache can be kept in " << nameOf(narrow) << ": "
             << (refusals.empty() ? "no input comes back with rows behind it"
                                  : refusals.front());
    if (isCuda && !narrow.isInteger(8))
      for (graph::AppendOp cache : caches)
        if (failed(checkOnCuda(cache)))
          return failure();
    for (graph::AppendOp cache : caches)
      narrowCache(cache);
    for (graph::AttentionOp attention : readers)
      roundOperands(attention);
    SmallVector<Type> results(
        function.front().getTerminator()->operand_type_begin(),
        function.front().getTerminator()->operand_type_end());
    function.setType(FunctionType::get(
        function.getContext(), function.front().getArgumentTypes(), results));
    return success();
  }

private:
  std::string inputOf(graph::AppendOp cache) {
    auto past = cast<BlockArgument>(cache.getBuffer());
    auto name = function.getArgAttrOfType<StringAttr>(past.getArgNumber(),
                                                      "graph.name");
    return name ? "'" + name.str() + "'"
                : "input " + std::to_string(past.getArgNumber());
  }

  SmallVector<graph::AppendOp> findCaches() {
    SmallVector<graph::AppendOp> caches;
    Operation *end = function.front().getTerminator();
    for (unsigned i = 0; i < end->getNumOperands(); ++i) {
      if (!function.getResultAttr(i, "graph.appends_to"))
        continue;
      auto cache = end->getOperand(i).getDefiningOp<graph::AppendOp>();
      std::string why = refusal(cache);
      if (why.empty()) {
        caches.push_back(cache);
        continue;
      }
      refusals.push_back(inputOf(cache) + ": " + why);
      if (explain)
        cache.emitRemark("cache ") << inputOf(cache) << " stays: " << why;
    }
    return caches;
  }

  /// Why a cache stays as it is, on all targets; empty where it does not.
  std::string refusal(graph::AppendOp cache) {
    Type type = graph::getElementType(cache.getResult());
    if (!isOfFloats(type)) {
      return "it holds numbers of " + nameOf(type);
    }
    SmallVector<Value> values = {cache.getResult()};
    while (!values.empty()) {
      Value value = values.pop_back_val();
      for (OpOperand &use : value.getUses()) {
        Operation *user = use.getOwner();
        if (kernel::isViewOp(user) || isa<graph::CastOp>(user))
          values.push_back(user->getResult(0));
        else if (value == cache.getResult() && isa<func::ReturnOp>(user))
          continue;
        else if (std::string why = refusalOfUse(use); !why.empty())
          return why;
      }
    }
    return narrow.isInteger(8) ? refusalOfBytes(cache) : "";
  }

  static std::string refusalOfUse(OpOperand &use) {
    auto attention = dyn_cast<graph::AttentionOp>(use.getOwner());
    if (!attention)
      return "'" + use.getOwner()->getName().getStringRef().str() +
             "' reads it, and attention alone widens what it reads";
    bool isKey = use.get() == attention.getKey();
    if ((!isKey && use.get() != attention.getValue()) ||
        use.get() == attention.getQuery())
      return "attention reads it as something else than keys or values";
    Value memory = use.get();
    while (Value narrow = narrower(memory))
      memory = narrow;
    std::optional<kernel::StridedView> view = kernel::stridedViewOf(memory);
    if (!view || !view->strides.back().isConstant(1))
      return "the elements of a key or value do not lie together in it";
    return "";
  }

  /// What a cast was made from.
  static Value narrower(Value value) {
    auto cast = value.getDefiningOp<graph::CastOp>();
    return cast ? cast.getInput() : Value();
  }

  /// Devices multiply numbers of one type: that of the cache, to which queries
  /// can be rounded if nothing else has been decided. Bytes become what queries
  /// are.
  LogicalResult checkOnCuda(graph::AppendOp cache) {
    Type type = graph::getElementType(cache.getResult());
    if (type == narrow)
      return success();
    if (!type.isF32())
      return refuseOnCuda(cache, "the model's attention multiplies ", type);
    SmallVector<Value> values = {cache.getResult()};
    while (!values.empty()) {
      Value value = values.pop_back_val();
      for (Operation *user : value.getUsers()) {
        if (kernel::isViewOp(user) || isa<graph::CastOp>(user))
          values.push_back(user->getResult(0));
        auto attention = dyn_cast<graph::AttentionOp>(user);
        if (!attention)
          continue;
        Type own = graph::getElementType(attention.getQuery());
        if (own == narrow)
          continue;
        if (!own.isF32())
          return refuseOnCuda(cache, "the model's attention multiplies ", own);
        readers.insert(attention);
        Value query = kernel::behindWidening(attention.getQuery());
        if (query && graph::getElementType(query) != narrow)
          return refuseOnCuda(cache, "--precision has its attention multiply ",
                              graph::getElementType(query));
      }
    }
    return success();
  }

  LogicalResult refuseOnCuda(graph::AppendOp cache, StringRef why, Type type) {
    return cache.emitError("cache ")
           << inputOf(cache) << " cannot be kept in " << nameOf(narrow)
           << " on CUDA, where keys are multiplied as they are: " << why
           << nameOf(type) << "; keep it in that";
  }

  void narrowCache(graph::AppendOp cache) {
    Type before = graph::getElementType(cache.getResult());
    if (before == narrow)
      return;
    if (narrow.isInteger(8))
      return keepInBytes(function, cache);
    auto past = cast<BlockArgument>(cache.getBuffer());
    retype(past);
    OpBuilder builder(cache);
    Value rows = cache.getRows();
    if (Value exact = narrower(rows); exact && isWider(exact, rows))
      rows = exact; // Rounded once.
    if (graph::getElementType(rows) != narrow)
      rows = castTo(builder, cache.getLoc(), rows, narrow);
    Operation *rounding = cache.getRows().getDefiningOp();
    cache.getRowsMutable().assign(rows);
    if (rounding)
      eraseUnused(rounding);
    retype(cache.getResult());
    widenReaders(cache.getResult(), before);
  }

  static bool isWider(Value exact, Value rows) {
    return graph::getElementType(exact).isF32() &&
           !graph::getElementType(rows).isF32();
  }

  void retype(Value value) {
    value.setType(graph::tensorOf(graph::getDims(value), narrow));
  }

  /// What only renames elements of a cache does so in fewer bits.
  void widenReaders(Value value, Type before) {
    Value wide;
    auto widened = [&](Type type) {
      OpBuilder builder(function.getContext());
      builder.setInsertionPointAfterValue(value);
      if (!wide || graph::getElementType(wide) != type)
        wide = castTo(builder, value.getLoc(), value, type);
      return wide;
    };
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      Operation *user = use.getOwner();
      if (isa<func::ReturnOp>(user))
        continue;
      if (kernel::isViewOp(user)) {
        retype(user->getResult(0));
        widenReaders(user->getResult(0), before);
      } else if (auto cast = dyn_cast<graph::CastOp>(user)) {
        if (graph::getElementType(cast.getResult()) == narrow) {
          cast.getResult().replaceAllUsesWith(value);
          cast.erase();
        } else if (!graph::getElementType(cast.getResult()).isF32()) {
          use.set(widened(Float32Type::get(function.getContext())));
        }
      } else {
        use.set(widened(before));
      }
    }
  }

  /// All that a device's attention multiplies becomes what its caches hold.
  void roundOperands(graph::AttentionOp attention) {
    for (OpOperand &operand : attention->getOpOperands().take_front(3)) {
      Value value = operand.get();
      if (kernel::behindWidening(value))
        continue;
      OpBuilder builder(attention);
      std::optional<kernel::StridedView> view = kernel::stridedViewOf(value);
      Value rounded;
      if (view && !isGiven(view->base)) {
        OpBuilder behind(attention);
        behind.setInsertionPointAfterValue(view->base);
        rounded = throughViews(
            builder, kernel::viewOpsOf(value, *view),
            castTo(behind, attention.getLoc(), view->base, narrow));
      } else {
        rounded = castTo(builder, attention.getLoc(), value, narrow);
      }
      operand.set(
          castTo(builder, attention.getLoc(), rounded, builder.getF32Type()));
      if (Operation *link = value.getDefiningOp())
        eraseUnused(link);
    }
  }

  func::FuncOp function;
  Type narrow;
  bool isCuda, explain;
  SmallVector<std::string> refusals;
  llvm::SetVector<graph::AttentionOp> readers; // On CUDA.
};

struct NarrowCaches : impl::NarrowCachesPassBase<NarrowCaches> {
  using NarrowCachesPassBase::NarrowCachesPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    MLIRContext *context = &getContext();
    Type narrow;
    if (type == "f32")
      narrow = Float32Type::get(context);
    else if (type == "f16")
      narrow = Float16Type::get(context);
    else if (type == "bf16")
      narrow = BFloat16Type::get(context);
    else if (type == "int8")
      narrow = IntegerType::get(context, 8);
    if (!narrow) {
      function.emitError("caches cannot be kept in '") << type << "'";
      return signalPassFailure();
    }
    if (failed(Narrowing(function, narrow, target == "cuda", explain).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace tenon
