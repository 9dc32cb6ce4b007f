//===- OnnxSequence.cpp - Sequences and optionals -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Their lengths are known while importing, but for what the steps of a loop put
// behind one (RunTimeLoop.h), and so is whether an optional holds something:
// none of these operators computes anything but SplitToSequence,
// ConcatFromSequence and the body of SequenceMap.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/LoopSteps.h"
#include "compiler/Import/OpFamilies.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon {
namespace {

using graph::Expr;
using Exprs = SmallVector<Expr>;

/// Sets the only output to a sequence.
LogicalResult give(NodeConverter &node, Type element, ArrayRef<Value> values) {
  if (!node.failed())
    node.setOutput(0, node.sequenceOf({element, llvm::to_vector(values), {}}));
  return node.result();
}

/// A problem unless tensors of this element type may join the sequence.
void expectElement(NodeConverter &node, Type element, Value value) {
  if (!node.failed() && graph::getElementType(value) != element)
    (void)node.invalid("puts tensors of different element types into one "
                       "sequence");
}

/// The place that input i names, from the front, or `missing`; it must lie
/// before `end`. A problem (and 0) where it is not known.
int64_t placeOf(NodeConverter &node, unsigned i, int64_t length, int64_t end,
                int64_t missing) {
  std::optional<int64_t> place = missing;
  if (node.hasInput(i)) {
    place = node.computedInt(node.input(i));
    if (!place)
      (void)node.unsupported("its position is known only at run time",
                             "make it a constant");
    if (place && *place < 0 && *place >= -length)
      *place += length;
  }
  if (!node.failed() && (*place < 0 || *place >= end))
    (void)node.invalid("its position lies outside a sequence of " +
                       Twine(length) + " tensors");
  return node.failed() ? 0 : *place;
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

LogicalResult convertConstruct(NodeConverter &node) {
  SmallVector<Value> values = node.inputs();
  if (values.empty())
    return node.failed() ? failure() : node.invalid("has no inputs");
  Type element = graph::getElementType(values[0]);
  for (Value value : values)
    expectElement(node, element, value);
  return give(node, element, values);
}

LogicalResult convertEmpty(NodeConverter &node) {
  return give(node, node.typeAttr("dtype", node.f32()), {});
}

LogicalResult convertInsert(NodeConverter &node) {
  const Sequence &sequence = node.sequence(0);
  Value value = node.input(1);
  expectElement(node, sequence.element, value);
  int64_t length = int64_t(sequence.values.size());
  int64_t place = placeOf(node, 2, length, length + 1, length);
  SmallVector<Value> values = sequence.values;
  values.insert(values.begin() + place, value);
  return give(node, sequence.element, values);
}

LogicalResult convertErase(NodeConverter &node) {
  const Sequence &sequence = node.sequence(0);
  int64_t length = int64_t(sequence.values.size());
  int64_t place = placeOf(node, 1, length, length, length - 1);
  if (node.failed())
    return failure();
  SmallVector<Value> values = sequence.values;
  values.erase(values.begin() + place);
  return give(node, sequence.element, values);
}

/// Whether tensors of one type stand in all places.
bool isUniform(const Sequence &sequence) {
  return !sequence.values.empty() &&
         llvm::all_equal(llvm::map_range(
             sequence.values, [](Value value) { return value.getType(); }));
}

LogicalResult convertAt(NodeConverter &node) {
  const Sequence &sequence = node.sequence(0, /*mayBeOpen=*/true);
  Value place = node.input(1);
  if (!node.failed() && sequence.stack)
    return node.output(node.emit<graph::GatherOp>(
        {joined(node, sequence.values, sequence.stack),
         node.reshape(place, {})},
        {node.i64("axis", 0)}));
  if (!node.failed() && !node.computedInt(place) && isUniform(sequence))
    return node.output(node.emit<graph::GatherOp>(
        {stacked(node, sequence.values, 0), node.reshape(place, {})},
        {node.i64("axis", 0)}));
  int64_t length = int64_t(sequence.values.size());
  int64_t at = placeOf(node, 1, length, length, 0);
  return node.failed() ? failure() : node.output(sequence.values[at]);
}

LogicalResult convertLength(NodeConverter &node) {
  const Sequence &sequence = node.sequence(0, /*mayBeOpen=*/true);
  Expr length = node.size(int64_t(sequence.values.size()));
  if (sequence.stack)
    length = length + node.dimOf(sequence.stack, 0);
  return node.output(node.sizeScalar(length));
}

//===----------------------------------------------------------------------===//
// From a tensor and to one
//===----------------------------------------------------------------------===//

/// The sizes of the parts that an axis is split into.
Exprs partsOf(NodeConverter &node, Expr axis) {
  bool isList = node.hasInput(1) && !node.dimsOf(node.input(1)).empty();
  if (isList)
    return node.readSizes(node.input(1));
  auto size = node.hasInput(1) ? node.computedInt(node.input(1)) : 1;
  std::optional<int64_t> whole = node.failed() ? 0 : axis.asConstant();
  if (!size || !whole)
    (void)node.unsupported("how many tensors it makes is known only at run "
                           "time",
                           "fix the size of its axis with --dim NAME=N, or "
                           "list the sizes of the parts");
  else if (*size <= 0 && !node.failed())
    (void)node.invalid("makes parts of size " + Twine(*size));
  if (node.failed() || !node.mayRepeat(llvm::divideCeil(*whole, *size)))
    return {};
  Exprs parts;
  for (int64_t left = *whole; left > 0; left -= *size)
    parts.push_back(node.size(std::min(left, *size)));
  return parts;
}

LogicalResult convertSplitToSequence(NodeConverter &node) {
  Value input = node.input(0);
  int64_t axis = node.axisAttr("axis", 0, int64_t(node.dimsOf(input).size()));
  if (node.failed())
    return failure();
  Expr whole = node.dimOf(input, axis), start = node.size(0);
  bool squeezes = !node.hasInput(1) && !node.flagAttr("keepdims", true);
  SmallVector<Value> values;
  for (Expr part : partsOf(node, whole)) {
    if (part && part.asConstant().value_or(0) < 0)
      return node.invalid("has a part of negative size");
    Value value = node.slice(input, axis, start, part);
    values.push_back(squeezes ? node.squeeze(value, axis) : value);
    start = start + part;
  }
  node.require(start, graph::Relation::Equal, whole,
               "the parts of a split must add up to the axis");
  return give(node, graph::getElementType(input), values);
}

/// Joins a sequence of as many tensors as a run decides.
LogicalResult joinOpen(NodeConverter &node, const Sequence &sequence,
                       bool stacks) {
  Exprs dims = node.dimsOf(sequence.stack);
  int64_t axis =
      node.normalizeAxis(node.intAttr("axis"), int64_t(dims.size()) - !stacks);
  if (node.failed())
    return failure();
  if (stacks)
    return node.output(stackedAlong(
        node, joined(node, sequence.values, sequence.stack), axis));
  // One behind the other along one of their own axes.
  Exprs merged(llvm::drop_begin(dims));
  merged[axis] = merged[axis] * dims[0];
  SmallVector<Value> parts = sequence.values;
  parts.push_back(
      node.reshape(stackedAlong(node, sequence.stack, axis), merged));
  return node.output(parts.size() == 1 ? parts[0] : node.concat(parts, axis));
}

LogicalResult convertConcatFromSequence(NodeConverter &node) {
  const Sequence &sequence = node.sequence(0, /*mayBeOpen=*/true);
  bool stacks = node.flagAttr("new_axis", false);
  if (!node.failed() && sequence.stack)
    return joinOpen(node, sequence, stacks);
  if (!node.failed() && sequence.values.empty())
    return node.unsupported("joins no tensors, so that its shape is not known",
                            "leave it out");
  if (node.failed())
    return failure();
  int64_t rank = graph::getRank(sequence.values[0]) + stacks;
  int64_t axis = node.normalizeAxis(node.intAttr("axis"), rank);
  if (node.failed())
    return failure();
  return node.output(stacks ? stacked(node, sequence.values, axis)
                            : node.concat(sequence.values, axis));
}

//===----------------------------------------------------------------------===//
// SequenceMap
//===----------------------------------------------------------------------===//

/// What the body is given at a place: of sequences the tensor there.
SmallVector<NamedValue> mapInputs(NodeConverter &node, size_t place,
                                  size_t length) {
  SmallVector<NamedValue> given;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    given.push_back(node.anyInput(i));
    if (const auto &sequence = given.back().sequence) {
      if (sequence->stack || sequence->values.size() != length)
        (void)node.invalid("its sequences have different lengths");
      else
        given.back() = NamedValue::of(sequence->values[place]);
    }
  }
  return given;
}

LogicalResult convertMap(NodeConverter &node) {
  const onnx::GraphProto *body = bodyOf(node);
  size_t length = node.sequence(0).values.size();
  if (node.failed())
    return failure();
  if (int64_t(node.numOutputs()) > body->output_size())
    return node.invalid("has more outputs than its body");
  Collected collected(body->output_size());
  for (size_t place = 0; place < length && !node.failed(); ++place) {
    SmallVector<NamedValue> made =
        node.importStep(*body, mapInputs(node, place, length));
    if (!node.failed())
      take(node, made, {}, collected);
  }
  for (auto [i, values] : llvm::enumerate(collected)) {
    if (node.failed())
      return failure();
    // Nothing but the body's declaration tells of tensors that are not there.
    const auto &declared = body->output(int(i)).type().tensor_type();
    Type element = values.empty()
                       ? elementType(node.context(), declared.elem_type())
                       : graph::getElementType(values[0]);
    if (!element)
      return node.unsupported("maps no tensors, and its body does not declare "
                              "the type of its output " +
                                  Twine(i),
                              "leave it out");
    for (Value value : values)
      expectElement(node, element, value);
    if (!node.failed())
      node.setOutput(i, node.sequenceOf({element, values, {}}));
  }
  return node.result();
}

//===----------------------------------------------------------------------===//
// Optionals
//===----------------------------------------------------------------------===//

LogicalResult convertOptional(NodeConverter &node) {
  node.setOutput(0, node.anyInput(0));
  return node.result();
}

LogicalResult convertHasElement(NodeConverter &node) {
  return node.output(node.scalar(node.boolean(), node.hasInput(0)));
}

LogicalResult convertGetElement(NodeConverter &node) {
  if (!node.hasInput(0))
    return node.invalid("its optional is empty");
  return convertOptional(node);
}

} // namespace

ArrayRef<OpRow> sequenceRows() {
  static constexpr OpRow rows[] = {
      {"", "ConcatFromSequence", {11}, convertConcatFromSequence},
      {"", "Optional", {15, 28}, convertOptional},
      {"", "OptionalGetElement", {15, 18, 28}, convertGetElement},
      {"", "OptionalHasElement", {15, 18, 28}, convertHasElement},
      {"", "SequenceAt", {11}, convertAt},
      {"", "SequenceConstruct", {11}, convertConstruct},
      {"", "SequenceEmpty", {11}, convertEmpty},
      {"", "SequenceErase", {11}, convertErase},
      {"", "SequenceInsert", {11}, convertInsert},
      {"", "SequenceLength", {11}, convertLength},
      {"", "SequenceMap", {17}, convertMap},
      {"", "SplitToSequence", {11, 24}, convertSplitToSequence},
  };
  return rows;
}

} // namespace tenon
