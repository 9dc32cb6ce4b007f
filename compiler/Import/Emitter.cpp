//===- Emitter.cpp - Builds graph ops, and notices when they cannot be ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Emitter.h"
#include "compiler/Import/Import.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tenon {

std::string ImportState::uniqueSymbol(StringRef hint) {
  std::string base = symbolNameOf(hint);
  unsigned &count = symbols[base];
  std::string name = base;
  while (count++ > 0) {
    name = base + "_" + std::to_string(count);
    if (!symbols.contains(name))
      break;
  }
  symbols.try_emplace(name, 1);
  symbolsMade.push_back(name);
  return name;
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

LogicalResult Emitter::unsupported(const Twine &reason, const Twine &fix) {
  if (!problem)
    problem = Problem{NodeIssue::Kind::Unsupported, reason.str(), fix.str()};
  return failure();
}

LogicalResult Emitter::invalid(const Twine &reason) {
  if (!problem)
    problem = Problem{NodeIssue::Kind::Invalid, reason.str(), ""};
  return failure();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

NamedAttribute Emitter::attr(StringRef name, Attribute value) {
  return builder.getNamedAttr(name, value);
}
NamedAttribute Emitter::i64(StringRef name, int64_t value) {
  return attr(name, builder.getI64IntegerAttr(value));
}
NamedAttribute Emitter::i64s(StringRef name, ArrayRef<int64_t> values) {
  return attr(name, builder.getDenseI64ArrayAttr(values));
}
NamedAttribute Emitter::f64(StringRef name, double value) {
  return attr(name, builder.getF64FloatAttr(value));
}
NamedAttribute Emitter::f64s(StringRef name, ArrayRef<double> values) {
  return attr(name, builder.getDenseF64ArrayAttr(values));
}
NamedAttribute Emitter::flag(StringRef name, bool value) {
  return attr(name, builder.getBoolAttr(value));
}
NamedAttribute Emitter::text(StringRef name, StringRef value) {
  return attr(name, builder.getStringAttr(value));
}
NamedAttribute Emitter::texts(StringRef name, ArrayRef<StringRef> values) {
  return attr(name, builder.getStrArrayAttr(values));
}
NamedAttribute Emitter::dims(StringRef name, ArrayRef<Expr> values) {
  // A null size has been, or now is, a problem; the op is not built then.
  if (llvm::all_of(values, [](Expr value) { return bool(value); }))
    return attr(name, graph::DimsAttr::get(context(), values));
  (void)invalid("a size overflows or is too complex");
  return attr(name, graph::DimsAttr::get(context(), ArrayRef<Expr>()));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

SmallVector<Value> Emitter::emitOp(StringRef name, ValueRange operands,
                                   Attrs attrs, TypeRange types, bool infer) {
  if (failed())
    return {};
  if (llvm::any_of(operands, [](Value value) { return !value; })) {
    (void)invalid("a required input is missing");
    return {};
  }
  auto refuse = [&](Operation *op) -> SmallVector<Value> {
    op->erase();
    // MLIR starts with "'graph.matmul' op ", which is not the model's word.
    StringRef reason = state.lastError;
    if (reason.starts_with("'") && reason.contains("' op "))
      reason = reason.split("' op ").second;
    (void)invalid(reason.empty() ? "breaks a rule of its operator" : reason);
    return {};
  };
  state.lastError.clear();
  OperationState opState(loc, name);
  opState.addOperands(operands);
  opState.addAttributes(attrs);
  opState.addTypes(types);
  // Inference reads the properties of the op, so the op comes first.
  if (infer)
    opState.addTypes(builder.getNoneType());
  Operation *op = builder.create(opState);
  if (infer) {
    auto interface = dyn_cast<InferTypeOpInterface>(op);
    SmallVector<Type> inferred;
    if (interface &&
        succeeded(interface.inferReturnTypes(context(), loc, op->getOperands(),
                                             op->getDiscardableAttrDictionary(),
                                             op->getPropertiesStorage(),
                                             op->getRegions(), inferred)) &&
        inferred.size() == 1) {
      op->getResult(0).setType(inferred.front());
    } else if (!interface && operands.size() && op->getNumResults() == 1) {
      // SameOperandsAndResultType: the operand's type.
      op->getResult(0).setType(operands.front().getType());
    } else {
      return refuse(op);
    }
  }
  if (mlir::failed(verify(op, /*verifyRecursively=*/false)))
    return refuse(op);
  for (Type type : op->getResultTypes())
    checkSize(cast<RankedTensorType>(type));
  requireSizes(*this, op);
  if (failed()) {
    op->erase();
    return {};
  }
  SmallVector<Value> folded;
  // Exporters compute sizes in floats, and whoever reads them wants to know
  // them; steps of loops want all that they can.
  if (mlir::failed(builder.tryFold(op, folded)) &&
      (state.loops || graph::isPointwise(op)))
    computeNow(op, folded);
  if (!folded.empty()) {
    op->erase();
    return folded;
  }
  return llvm::to_vector_of<Value>(op->getResults());
}

void Emitter::checkSize(RankedTensorType type) {
  if (type.getRank() > kMaxRank)
    (void)unsupported("makes a tensor of rank " + Twine(type.getRank()));
  // Dims that are not numbers are looked at by the run.
  SmallVector<int64_t> numbers;
  for (int64_t dim : type.getShape())
    if (!ShapedType::isDynamic(dim))
      numbers.push_back(dim);
  auto bytes = tensorBytes(type.getElementType(), numbers);
  if (!bytes || *bytes > maxTensorBytes)
    (void)invalid("makes a tensor of more than " + Twine(maxTensorBytes >> 30) +
                  " GiB");
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Emitter::Exprs Emitter::sizes(ArrayRef<int64_t> values) {
  return llvm::map_to_vector(values,
                             [&](int64_t value) { return size(value); });
}

Emitter::Expr Emitter::freshSymbol(StringRef hint, bool maybeNegative) {
  return Expr::symbol(context(), state.uniqueSymbol(hint), maybeNegative);
}

Emitter::Exprs Emitter::dimsOf(Value value) {
  return value && !failed() ? graph::getDims(value) : Exprs();
}

Emitter::Expr Emitter::dimOf(Value value, size_t axis) {
  Exprs dims = dimsOf(value);
  return axis < dims.size() ? dims[axis] : Expr();
}

namespace {

/// Whether `lhs RELATION rhs` holds for sure (true), fails for sure (false).
std::optional<bool> prove(graph::Expr lhs, graph::Relation relation,
                          graph::Expr rhs) {
  std::optional<int64_t> a = lhs.asConstant(), b = rhs.asConstant();
  switch (relation) {
  case graph::Relation::Equal:
    if (lhs == rhs)
      return true;
    if (a && b)
      return *a == *b;
    break;
  case graph::Relation::LessEqual:
    if (a && b)
      return *a <= *b;
    if ((rhs - lhs).isNonNegative())
      return true;
    break;
  case graph::Relation::Broadcasts:
    if (lhs == rhs || a == 1 || b == 1)
      return true;
    if (a && b)
      return *a == *b;
    break;
  case graph::Relation::Divides:
    if (a && b)
      return *a != 0 ? *b % *a == 0 : *b == 0;
    // With a quotient, both are zero where the divisor is.
    if (lhs == rhs || rhs.exactDiv(lhs))
      return true;
    break;
  }
  return std::nullopt;
}

/// A fact as a key. Of an order, what its sides differ by is all that counts.
Attribute keyOf(graph::Expr lhs, graph::Relation relation, graph::Expr rhs) {
  MLIRContext *context = lhs.getContext();
  if (relation == graph::Relation::LessEqual)
    if (graph::Expr room = rhs - lhs)
      lhs = graph::Expr::constant(context, 0), rhs = room;
  return ArrayAttr::get(context, {graph::DimsAttr::get(context, {lhs, rhs}),
                                  graph::RelationAttr::get(context, relation)});
}

} // namespace

void Emitter::require(Expr lhs, graph::Relation relation, Expr rhs,
                      const Twine &what) {
  if (failed())
    return;
  if (!lhs || !rhs) {
    (void)invalid("a size overflows or is too complex");
    return;
  }
  if (std::optional<bool> known = prove(lhs, relation, rhs)) {
    if (!*known)
      (void)invalid(what + " (" + lhs.str() + " and " + rhs.str() + ")");
    return;
  }
  if (!assume(lhs, relation, rhs))
    return;
  graph::RequireOp::create(builder, loc,
                           graph::DimsAttr::get(context(), {lhs, rhs}),
                           graph::RelationAttr::get(context(), relation),
                           builder.getStringAttr(who + ": " + what));
}

bool Emitter::assume(Expr lhs, graph::Relation relation, Expr rhs) {
  if (!lhs || !rhs)
    return false;
  return state.known.required.insert(keyOf(lhs, relation, rhs)).second;
}

bool Emitter::holds(Expr lhs, graph::Relation relation, Expr rhs) const {
  if (!lhs || !rhs)
    return false;
  return prove(lhs, relation, rhs).value_or(false) ||
         state.known.required.contains(keyOf(lhs, relation, rhs));
}

} // namespace tenon
