//===- KnownValues.cpp - Values that are known at build time --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Emitter.h"
#include "compiler/Import/PartialSizes.h"
#include "compiler/Reference/Evaluate.h"
#include "mlir/IR/Matchers.h"

#include <cstring>

using namespace mlir;

namespace tenon {
namespace {

/// The most elements of a weight that importing looks at.
constexpr size_t maxKnownElements = 1024;
/// The most elements of what importing computes, and the most ops it does so
/// for one number.
constexpr int64_t maxComputedElements = 64;
constexpr int maxComputedOps = 64;

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
  if (weight && !elementBytes(weight->elementType))
    return std::nullopt; // Numbers of 4 bits, which are no sizes.
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

/// The value of what at most `budget` ops make of small constants; null
/// otherwise.
Attribute valueOf(Value value, int &budget) {
  Attribute known;
  Operation *op = value.getDefiningOp();
  if (!op || matchPattern(value, m_Constant(&known)))
    return known;
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    if (--budget < 0)
      return {};
    operands.push_back(valueOf(operand, budget));
    if (!operands.back())
      return {};
  }
  auto computed = reference::foldToAttr(op, operands, maxComputedElements);
  return computed ? *computed : Attribute();
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

Emitter::Exprs Emitter::partlyKnownSizes(Value value) {
  auto ofLeaf = [&](Value leaf) { return knownSizes(leaf); };
  return PartialSizes(ofLeaf).of(value);
}

void Emitter::computeNow(Operation *op, SmallVector<Value> &folded) {
  SmallVector<Attribute> operands(op->getNumOperands());
  for (auto [attr, operand] : llvm::zip_equal(operands, op->getOperands()))
    if (!matchPattern(operand, m_Constant(&attr)))
      return;
  if (operands.empty())
    return;
  if (auto value = reference::foldToAttr(op, operands, maxComputedElements))
    folded.push_back(graph::ConstantOp::create(
        builder, loc, op->getResult(0).getType(), *value));
}

std::optional<int64_t> Emitter::computedInt(Value value) {
  if (!value || failed() || !isa<IntegerType>(elementOf(value)))
    return std::nullopt;
  if (auto known = constantInts(value))
    return known->size() == 1 ? std::optional(known->front()) : std::nullopt;
  int budget = maxComputedOps;
  auto elements =
      dyn_cast_if_present<DenseIntElementsAttr>(valueOf(value, budget));
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  llvm::APInt number = *elements.value_begin<llvm::APInt>();
  return isSignedInteger(elementOf(value)) ? number.getSExtValue()
                                           : int64_t(number.getZExtValue());
}

Emitter::Expr Emitter::readSize(Value value, const Twine &what) {
  Exprs sizes = readSizes(value);
  if (!failed() && sizes.size() != 1)
    (void)invalid(what + " must be one number");
  return failed() ? Expr() : sizes[0];
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
  Exprs known = partlyKnownSizes(value); // Empty for bools.
  if (!known.empty() &&
      llvm::all_of(known, [](Expr expr) { return bool(expr); }))
    return known;
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
  for (auto [symbol, expr] : llvm::zip(symbols, known))
    if (expr)
      symbol = expr;
  state.known.bound[value] = symbols;
  return symbols;
}

Value Emitter::named(Value value, int64_t axis) {
  Exprs dims = dimsOf(value);
  if (failed() || size_t(axis) >= dims.size() || dims[axis].asConstant())
    return value;
  Expr symbol = freshSymbol("size");
  emitAll<graph::BindOp>(sizesVector(dims[axis]),
                         {texts("symbols", symbol.name()), i64s("lo", 0),
                          i64s("hi", std::numeric_limits<int64_t>::max())},
                         {});
  dims[axis] = symbol;
  return reshape(value, dims);
}

} // namespace tenon
