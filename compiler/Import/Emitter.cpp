//===- Emitter.cpp - Builds graph ops, and notices when they cannot be ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Emitter.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tenon {

std::string ImportState::uniqueSymbol(StringRef hint) {
  std::string base;
  for (char c : hint.take_front(64))
    base += llvm::isAlnum(c) ? c : '_';
  if (base.empty() || llvm::isDigit(base.front()))
    base.insert(base.begin(), 'd');
  unsigned &count = symbols[base];
  std::string name = base;
  while (count++ > 0) {
    name = base + "_" + std::to_string(count);
    if (!symbols.contains(name))
      break;
  }
  symbols.try_emplace(name, 1);
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
  if (succeeded(builder.tryFold(op, folded)) && !folded.empty()) {
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
  auto key =
      builder.getArrayAttr({graph::DimsAttr::get(context(), {lhs, rhs}),
                            graph::RelationAttr::get(context(), relation)});
  return state.known.required.insert(key).second;
}

//===----------------------------------------------------------------------===//
// Values known at build time
//===----------------------------------------------------------------------===//

namespace {

/// The most elements of a weight that importing looks at.
constexpr size_t maxKnownElements = 1024;

template <typename T> T load(ArrayRef<char> bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

llvm::APInt loadInteger(const Weight &weight, size_t i) {
  unsigned width = weight.elementType.getIntOrFloatBitWidth();
  switch (width) {
  case 1:
  case 8:
    return {width, uint64_t(load<uint8_t>(weight.bytes(), i)), false, true};
  case 16:
    return {width, load<uint16_t>(weight.bytes(), i)};
  case 32:
    return {width, load<uint32_t>(weight.bytes(), i)};
  default:
    return {width, load<uint64_t>(weight.bytes(), i)};
  }
}

/// The bits of each element of a small constant or weight.
std::optional<SmallVector<llvm::APInt>> constantBits(Value value,
                                                     const WeightStore &store) {
  SmallVector<llvm::APInt> bits;
  if (auto constant = value.getDefiningOp<graph::ConstantOp>()) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements || elements.getNumElements() > int64_t(maxKnownElements))
      return std::nullopt;
    if (isa<FloatType>(elements.getElementType()))
      for (llvm::APFloat number : elements.getValues<llvm::APFloat>())
        bits.push_back(number.bitcastToAPInt());
    else
      llvm::append_range(bits, elements.getValues<llvm::APInt>());
    return bits;
  }
  auto op = value.getDefiningOp<graph::WeightOp>();
  const Weight *weight = op ? store.lookup(op.getName()) : nullptr;
  if (!weight)
    return std::nullopt;
  size_t count = elementCount(weight->shape).value_or(SIZE_MAX);
  if (count > maxKnownElements)
    return std::nullopt;
  for (size_t i = 0; i < count; ++i)
    bits.push_back(loadInteger(*weight, i));
  return bits;
}

bool isSignedInteger(Type type) {
  return !type.isUnsignedInteger() && !type.isInteger(1);
}

} // namespace

std::optional<SmallVector<int64_t>> Emitter::constantInts(Value value) {
  if (!value || failed())
    return std::nullopt;
  if (auto known = graph::getIndexValues(value)) {
    SmallVector<int64_t> numbers;
    for (Expr expr : *known) {
      if (!expr || !expr.asConstant())
        return std::nullopt;
      numbers.push_back(*expr.asConstant());
    }
    return numbers;
  }
  Type element = elementOf(value);
  if (!isa<IntegerType>(element))
    return std::nullopt;
  auto bits = constantBits(value, state.weights);
  if (!bits)
    return std::nullopt;
  return llvm::map_to_vector(*bits, [&](const llvm::APInt &number) {
    return isSignedInteger(element) ? number.getSExtValue()
                                    : int64_t(number.getZExtValue());
  });
}

std::optional<Emitter::Exprs> Emitter::knownSizes(Value value) {
  if (!value || failed())
    return std::nullopt;
  if (auto known = graph::getIndexValues(value))
    return known;
  if (auto numbers = constantInts(value))
    return sizes(*numbers);
  return std::nullopt;
}

std::optional<SmallVector<double>> Emitter::constantFloats(Value value) {
  if (!value || failed())
    return std::nullopt;
  auto type = dyn_cast<FloatType>(elementOf(value));
  if (!type) {
    auto integers = constantInts(value);
    if (!integers)
      return std::nullopt;
    return SmallVector<double>(integers->begin(), integers->end());
  }
  auto bits = constantBits(value, state.weights);
  if (!bits)
    return std::nullopt;
  return llvm::map_to_vector(*bits, [&](const llvm::APInt &number) {
    llvm::APFloat parsed(type.getFloatSemantics(), number);
    bool losesInfo;
    parsed.convert(llvm::APFloat::IEEEdouble(),
                   llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return parsed.convertToDouble();
  });
}

Emitter::Exprs Emitter::readSizes(Value value, int64_t lo, int64_t hi) {
  if (auto known = knownSizes(value))
    return *known;
  if (failed())
    return {};
  if (!value || !isa<IntegerType>(elementOf(value))) {
    (void)invalid("sizes must be given as a tensor of integers");
    return {};
  }
  auto found = state.known.bound.find(value);
  if (found != state.known.bound.end())
    return found->second;
  Expr count = graph::elementCount(value);
  std::optional<int64_t> number = count ? count.asConstant() : std::nullopt;
  if (!number || *number > int64_t(graph::Expr::maxTerms)) {
    StringRef why = number ? "too large" : "not known before the run";
    (void)unsupported("depends on a list of sizes whose length is " + why,
                      "export the model with a fixed rank");
    return {};
  }
  Type element = elementOf(value);
  Value index = element.isSignlessInteger(32) || element.isSignlessInteger(64)
                    ? value
                    : cast(value, integer(64));
  Exprs symbols;
  SmallVector<StringRef> names;
  for (int64_t i = 0; i < *number; ++i) {
    symbols.push_back(freshSymbol("value", lo < 0));
    names.push_back(symbols.back().name());
  }
  emitAll<graph::BindOp>(index,
                         {texts("symbols", names),
                          i64s("lo", SmallVector<int64_t>(*number, lo)),
                          i64s("hi", SmallVector<int64_t>(*number, hi))},
                         {});
  state.known.bound[value] = symbols;
  return symbols;
}

} // namespace tenon
