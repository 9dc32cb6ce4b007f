//===- Compositions.cpp - The words that converters are written in --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/Emitter.h"

#include "llvm/ADT/APSInt.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace tenon {
namespace {

/// Larger tensors are weights. Integers may shape others and stay in the IR.
constexpr size_t maxConstantBytes = 256, maxIntegerElements = 1024;

Attribute numberAttr(Type element, double value) {
  if (auto type = dyn_cast<FloatType>(element)) {
    llvm::APFloat number(value);
    bool losesInfo;
    number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return FloatAttr::get(type, number);
  }
  auto type = cast<IntegerType>(element);
  // Infinities of a model's own numbers have no integer: take the nearest.
  llvm::APSInt integer(64, /*isUnsigned=*/value >= 0);
  bool isExact;
  llvm::APFloat(value).convertToInteger(integer, llvm::APFloat::rmTowardZero,
                                        &isExact);
  uint64_t bits = integer.getZExtValue();
  return IntegerAttr::get(type,
                          llvm::APInt(type.getWidth(), bits, /*isSigned=*/false,
                                      /*implicitTrunc=*/true));
}

/// MLIR's own packing of these bytes; bool is not stored by the byte there.
DenseElementsAttr denseOf(const TensorData &data) {
  auto type = RankedTensorType::get(data.shape, data.elementType);
  if (!data.elementType.isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, data.bytes);
  SmallVector<bool> values;
  for (char byte : data.bytes)
    values.push_back(byte != 0);
  return DenseElementsAttr::get(type, values);
}

} // namespace

Type Emitter::elementOf(Value value) {
  return value ? graph::getElementType(value) : Type();
}

Type Emitter::typeOf(ArrayRef<Expr> dims, Type element) {
  if (failed() || !element)
    return {};
  if (dims.size() > size_t(kMaxRank)) {
    (void)unsupported("makes a tensor of rank " + Twine(dims.size()));
    return {};
  }
  Type type = graph::tensorOf(dims, element);
  if (!type)
    (void)invalid("a size is negative or overflows");
  return type;
}

Value Emitter::constant(Type element, ArrayRef<int64_t> shape,
                        ArrayRef<double> values) {
  if (failed() || !element)
    return {};
  SmallVector<Attribute> numbers;
  for (double value : values)
    numbers.push_back(numberAttr(element, value));
  auto type = RankedTensorType::get(shape, element);
  return emit<graph::ConstantOp>(
      {}, attr("value", DenseElementsAttr::get(type, numbers)), type);
}

Value Emitter::scalar(Type element, double value) {
  return constant(element, {}, value);
}

/// The type of numbers of 4 bits whose tensor has `wide`.
static Type narrowed(Type wide) {
  return IntegerType::get(wide.getContext(), 4,
                          cast<IntegerType>(wide).getSignedness());
}

/// Numbers of 4 bits, a byte each, in half as many bytes.
static std::vector<char> inNibbles(ArrayRef<char> numbers) {
  std::vector<char> packed((numbers.size() + 1) / 2);
  for (size_t i = 0; i < numbers.size(); ++i)
    packed[i / 2] |= char((numbers[i] & 15) << (i % 2 * 4));
  return packed;
}

/// Notes of a constant what its type does not say.
static Value noted(Emitter &emitter, Value value, bool isNarrow,
                   FloatType fewBits) {
  if (isNarrow && value)
    emitter.state.narrow.insert(value);
  return emitter.ofFewBits(value, fewBits);
}

Value Emitter::tensor(const onnx::TensorProto &proto, StringRef name) {
  if (failed())
    return {};
  auto known = state.stored.find(&proto);
  if (known != state.stored.end()) {
    const ImportState::Stored &stored = known->second;
    Value value =
        emit<graph::WeightOp>({}, text("name", stored.weight), stored.type);
    return noted(*this, value, stored.isNarrow, stored.fewBits);
  }
  auto data = readTensor(proto, state.file, context());
  if (!data) {
    (void)unsupported(llvm::toString(data.takeError()));
    return {};
  }
  Value value = tensor(*data, name);
  if (auto weight = value ? value.getDefiningOp<graph::WeightOp>() : nullptr)
    state.stored[&proto] = {weight.getName().str(), weight.getType(),
                            data->isNarrow, data->fewBits};
  return value;
}

Value Emitter::tensor(const TensorData &data, StringRef name) {
  if (failed())
    return {};
  auto type = RankedTensorType::get(data.shape, data.elementType);
  bool isSmall = data.bytes.size() <= maxConstantBytes ||
                 (isa<IntegerType>(data.elementType) &&
                  size_t(type.getNumElements()) <= maxIntegerElements);
  if (isSmall)
    return noted(
        *this, emit<graph::ConstantOp>({}, attr("value", denseOf(data)), type),
        data.isNarrow, data.fewBits);
  auto added = data.isNarrow
                   ? state.weights.addOwned(name, narrowed(data.elementType),
                                            data.shape, inNibbles(data.bytes))
                   : state.weights.add(name, data.elementType, data.shape,
                                       data.bytes, data.owner);
  return noted(*this, weight(std::move(added), type), data.isNarrow,
               data.fewBits);
}

Value Emitter::weight(llvm::Expected<const Weight *> added,
                      RankedTensorType type) {
  if (!added) {
    (void)invalid(llvm::toString(added.takeError()));
    return {};
  }
  return emit<graph::WeightOp>({}, text("name", (*added)->name), type);
}

const Weight *Emitter::weightOf(Value value) const {
  auto op = value ? value.getDefiningOp<graph::WeightOp>() : graph::WeightOp();
  return op ? state.weights.lookup(op.getName()) : nullptr;
}

Value Emitter::sizeScalar(Expr value, Type element) {
  Value scalar = reshape(sizesVector(value), {});
  return element ? cast(scalar, element) : scalar;
}

Value Emitter::sizesVector(ArrayRef<Expr> values, Type element) {
  if (!element)
    element = integer(64);
  Type type = typeOf(size(values.size()), element);
  SmallVector<llvm::APInt> numbers;
  for (Expr value : values)
    if (value && value.asConstant())
      numbers.push_back({element.getIntOrFloatBitWidth(),
                         uint64_t(*value.asConstant()), /*isSigned=*/true,
                         /*implicitTrunc=*/true});
  if (type && numbers.size() == values.size())
    return emit<graph::ConstantOp>(
        {},
        attr("value",
             DenseElementsAttr::get(cast<RankedTensorType>(type), numbers)),
        type);
  return type ? emit<graph::SizesOp>({}, dims("value", values), type) : Value();
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

Value Emitter::reshape(Value value, ArrayRef<Expr> dims) {
  Type type = typeOf(dims, elementOf(value));
  if (!type || value.getType() == type)
    return type ? value : Value();
  return emit<graph::ReshapeOp>(value, {}, type);
}

Value Emitter::broadcast(Value value, ArrayRef<Expr> dims) {
  Type type = typeOf(dims, elementOf(value));
  if (!type || value.getType() == type)
    return type ? value : Value();
  return emit<graph::BroadcastOp>(value, {}, type);
}

Value Emitter::transpose(Value value, ArrayRef<int64_t> permutation) {
  bool isIdentity = true;
  for (auto [i, axis] : llvm::enumerate(permutation))
    isIdentity &= axis == int64_t(i);
  if (value && isIdentity &&
      int64_t(permutation.size()) == graph::getRank(value))
    return value;
  return emit<graph::TransposeOp>(value, i64s("permutation", permutation));
}

Value Emitter::unsqueeze(Value value, ArrayRef<int64_t> axes) {
  Exprs from = dimsOf(value), to;
  size_t rank = from.size() + axes.size();
  auto next = from.begin();
  for (size_t i = 0; i < rank && !failed(); ++i) {
    if (llvm::is_contained(axes, int64_t(i)))
      to.push_back(size(1));
    else if (next != from.end())
      to.push_back(*next++);
    else
      (void)invalid("axes to insert lie outside the result or repeat");
  }
  return reshape(value, to);
}

Value Emitter::squeeze(Value value, ArrayRef<int64_t> axes) {
  Exprs to;
  for (auto [i, dim] : llvm::enumerate(dimsOf(value))) {
    if (llvm::is_contained(axes, int64_t(i)))
      require(dim, graph::Relation::Equal, size(1),
              "the size of a squeezed axis must be 1");
    else
      to.push_back(dim);
  }
  return reshape(value, to);
}

Value Emitter::cast(Value value, Type element) {
  if (!value || !element || elementOf(value) == element)
    return value;
  return emit<graph::CastOp>(value, {}, typeOf(dimsOf(value), element));
}

Value Emitter::slice(Value value, int64_t axis, Expr start, Expr length) {
  Exprs to = dimsOf(value);
  if (failed() || axis < 0 || axis >= int64_t(to.size()))
    return {};
  require(start + length, graph::Relation::LessEqual, to[axis],
          "a slice must lie inside its axis");
  Exprs starts(to.size(), size(0)), steps(to.size(), size(1));
  to[axis] = length;
  starts[axis] = start;
  Type type = typeOf(to, elementOf(value));
  if (!type)
    return {};
  return emit<graph::SliceOp>(
      value, {dims("starts", starts), dims("steps", steps)}, type);
}

Value Emitter::concat(ArrayRef<Value> values, int64_t axis) {
  Expr all = size(0);
  for (Value value : values)
    all = all + dimOf(value, axis);
  if (failed())
    return {};
  if (all || values.size() < 3)
    return emit<graph::ConcatOp>(values, i64("axis", axis));
  // A sum of more sizes than an expression holds: of two halves each gets a
  // name.
  size_t half = values.size() / 2;
  Value parts[] = {concat(values.take_front(half), axis),
                   concat(values.drop_front(half), axis)};
  for (Value &part : parts)
    part = named(part, axis);
  return concat(parts, axis);
}

Value Emitter::gather(Value value, Value places, int64_t axis) {
  return emit<graph::GatherOp>({value, places}, i64("axis", axis));
}

Value Emitter::iota(Expr length, Type element) {
  Type type = typeOf(length, element);
  return type ? emit<graph::IotaOp>({}, {}, type) : Value();
}

Value Emitter::nonzero(Value value) {
  Exprs dims = dimsOf(value);
  if (failed())
    return {};
  Value flags = cast(cast(value, boolean()), integer(64));
  Value flat = reshape(flags, graph::elementCount(value));
  Exprs count = readSizes(reduce(flat, 0, graph::ReduceKind::Sum));
  if (failed())
    return {};
  // A scalar has the coordinates of its only element in one axis.
  Type type =
      typeOf({size(std::max<size_t>(dims.size(), 1)), count[0]}, integer(64));
  return type ? emit<graph::NonzeroOp>(dims.empty() ? flat : value, {}, type)
              : Value();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value Emitter::reduce(Value value, ArrayRef<int64_t> axes,
                      graph::ReduceKind kind, bool keepDims) {
  using graph::ReduceKind;
  if (value && elementOf(value).isInteger(1) &&
      (kind == ReduceKind::Max || kind == ReduceKind::Min)) {
    Value bytes = cast(value, unsignedInteger(8));
    return cast(reduce(bytes, axes, kind, keepDims), boolean());
  }
  auto kindAttr = graph::ReduceKindAttr::get(context(), kind);
  Value reduced = emit<graph::ReduceOp>(
      value, {i64s("axes", axes), attr("kind", kindAttr)});
  if (keepDims || !reduced)
    return reduced;
  Exprs to;
  for (auto [i, dim] : llvm::enumerate(dimsOf(reduced)))
    if (!llvm::is_contained(axes, int64_t(i)))
      to.push_back(dim);
  return reshape(reduced, to);
}

Value Emitter::softmax(Value value, int64_t axis) {
  return emit<graph::SoftmaxOp>(value, i64("axis", axis));
}

Emitter::Sorted Emitter::topk(Value value, int64_t axis, Expr count,
                              bool largest) {
  Exprs dims = dimsOf(value);
  if (failed())
    return {};
  dims[axis] = count;
  Type values = typeOf(dims, elementOf(value)),
       places = typeOf(dims, integer(64));
  if (failed())
    return {};
  auto sorted = emitAll<graph::TopkOp>(
      {value}, {i64("axis", axis), flag("largest", largest)}, {values, places});
  return sorted.size() == 2 ? Sorted{sorted[0], sorted[1]} : Sorted();
}

Value Emitter::select(Value condition, Value lhs, Value rhs) {
  return emit<graph::SelectOp>({condition, lhs, rhs});
}

Value Emitter::matmul(Value lhs, Value rhs) {
  return emit<graph::MatmulOp>({lhs, rhs});
}

#define TENON_BINARY(NAME, OP)                                                 \
  Value Emitter::NAME(Value lhs, Value rhs) {                                  \
    return emit<graph::OP>({lhs, rhs});                                        \
  }                                                                            \
  Value Emitter::NAME(Value lhs, double rhs) {                                 \
    return NAME(lhs, scalar(elementOf(lhs), rhs));                             \
  }
TENON_BINARY(add, AddOp)
TENON_BINARY(sub, SubOp)
TENON_BINARY(mul, MulOp)
TENON_BINARY(div, DivOp)
TENON_BINARY(maximum, MaxOp)
TENON_BINARY(minimum, MinOp)
#undef TENON_BINARY

} // namespace tenon
