//===- NodeConverter.cpp - One ONNX node, as its converter sees it --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/NodeConverter.h"
#include "compiler/Import/CheckModel.h"
#include "compiler/Import/GraphImporter.h"
#include "compiler/Weights/Printable.h"

using namespace mlir;
using onnx::AttributeProto;

namespace tenon {

NodeConverter::NodeConverter(GraphImporter &importer, const NamedNode &node,
                             int64_t opset, Location loc)
    : Emitter(importer.state, importer.builder, loc, describe(*node.proto)),
      importer(importer), node(*node.proto), inputNames(node.inputs),
      opsetVersion(opset), outputs(node.outputs.size()) {}

std::string NodeConverter::name() const { return nodeName(node); }

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

bool NodeConverter::hasInput(unsigned i) const {
  return i < numInputs() &&
         importer.lookup(inputNames[i]).state != NamedValue::State::Absent;
}

NamedValue NodeConverter::anyInput(unsigned i) const {
  return i < numInputs() ? importer.lookup(inputNames[i]) : NamedValue();
}

const Sequence &NodeConverter::sequence(unsigned i, bool mayBeOpen) {
  static const Sequence none;
  NamedValue found = anyInput(i);
  if (found.sequence && found.sequence->stack && !mayBeOpen)
    (void)unsupported("how many tensors its sequence has is known only at run "
                      "time",
                      "join them with ConcatFromSequence in front of it");
  if (found.sequence && !failed())
    return *found.sequence;
  (void)invalid("its input " + Twine(i) + " is no sequence");
  return none;
}

Value NodeConverter::optionalInput(unsigned i) {
  NamedValue found = anyInput(i);
  if (found.sequence)
    (void)invalid("its input " + Twine(i) +
                  " is a sequence where the operator takes a tensor");
  return found.value;
}

Value NodeConverter::input(unsigned i) {
  Value value = optionalInput(i);
  if (!value)
    (void)invalid("its input " + Twine(i) + " is missing");
  return value;
}

SmallVector<Value> NodeConverter::inputs() {
  SmallVector<Value> values;
  for (unsigned i = 0; i < numInputs(); ++i)
    values.push_back(input(i));
  return failed() ? SmallVector<Value>() : values;
}

LogicalResult NodeConverter::expectInputs(unsigned lo, unsigned hi) {
  if (numInputs() >= lo && numInputs() <= hi)
    return success();
  return invalid("has " + Twine(numInputs()) + " inputs; the operator takes " +
                 (lo == hi ? Twine(lo) : Twine(lo) + " to " + Twine(hi)));
}

LogicalResult NodeConverter::expectRank(Value value, int64_t rank,
                                        StringRef what) {
  if (failed() || !value)
    return failure();
  if (graph::getRank(value) == rank)
    return success();
  return invalid(what + " has rank " + Twine(graph::getRank(value)) +
                 " but must have rank " + Twine(rank));
}

void NodeConverter::expectDims(Value value, ArrayRef<Expr> dims,
                               StringRef what) {
  if (failed() || !value ||
      mlir::failed(expectRank(value, int64_t(dims.size()), what)))
    return;
  for (auto [is, should] : llvm::zip(dimsOf(value), dims))
    require(is, graph::Relation::Equal, should,
            Twine(what) + " must fit the other operands");
}

/// Operators that take floats of 8 or 4 bits, and those of them that give them
/// on.
static constexpr StringLiteral movements[] = {
    "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
static constexpr StringLiteral takers[] = {
    "Cast", "CastLike", "DequantizeLinear", "QuantizeLinear", "Shape", "Size"};

LogicalResult NodeConverter::expectFewBits() {
  if (llvm::is_contained(movements, op()) || llvm::is_contained(takers, op()))
    return success();
  for (unsigned i = 0; i < numInputs(); ++i)
    if (FloatType type = fewBitsOf(anyInput(i).value)) {
      std::string name;
      llvm::raw_string_ostream(name) << type;
      return invalid("its input " + Twine(i) + " is of floats in " +
                     Twine(type.getWidth()) + " bits (" + name +
                     "), which the operator does not take; dequantize or cast "
                     "it first");
    }
  return success();
}

void NodeConverter::giveFewBits() {
  FloatType type = numInputs() ? fewBitsOf(anyInput(0).value) : FloatType();
  if (type && !failed() && llvm::is_contained(movements, op()) && outputs[0])
    ofFewBits(outputs[0]->value, type);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const AttributeProto *NodeConverter::attribute(StringRef name) const {
  return importer.attribute(node, name);
}

const AttributeProto *NodeConverter::typed(StringRef name,
                                           AttributeProto::AttributeType type) {
  const AttributeProto *found = attribute(name);
  if (!found || attributeType(*found) == type)
    return found;
  // An empty list may come without a type of its own.
  (void)invalid("its attribute '" + name +
                "' has a type that the operator "
                "does not allow");
  return nullptr;
}

int64_t NodeConverter::intAttr(StringRef name, int64_t missing) {
  const AttributeProto *found = typed(name, AttributeProto::INT);
  return found ? found->i() : missing;
}

int64_t NodeConverter::intAttr(StringRef name) {
  if (!hasAttr(name))
    (void)invalid("its required attribute '" + name + "' is missing");
  return intAttr(name, 0);
}

double NodeConverter::floatAttr(StringRef name, double missing) {
  const AttributeProto *found = typed(name, AttributeProto::FLOAT);
  return found ? found->f() : missing;
}

std::string NodeConverter::stringAttr(StringRef name, StringRef missing) {
  const AttributeProto *found = typed(name, AttributeProto::STRING);
  return found ? found->s() : missing.str();
}

SmallVector<int64_t> NodeConverter::intsAttr(StringRef name) {
  const AttributeProto *found = typed(name, AttributeProto::INTS);
  if (!found)
    return {};
  return {found->ints().begin(), found->ints().end()};
}

SmallVector<double> NodeConverter::floatsAttr(StringRef name) {
  const AttributeProto *found = typed(name, AttributeProto::FLOATS);
  if (!found)
    return {};
  return {found->floats().begin(), found->floats().end()};
}

SmallVector<std::string> NodeConverter::stringsAttr(StringRef name) {
  const AttributeProto *found = typed(name, AttributeProto::STRINGS);
  if (!found)
    return {};
  return {found->strings().begin(), found->strings().end()};
}

Type NodeConverter::typeAttr(StringRef name, Type missing) {
  if (!hasAttr(name) && missing)
    return missing;
  int64_t number = intAttr(name);
  if (failed())
    return {};
  Type type = number == int32_t(number)
                  ? elementType(context(), int32_t(number))
                  : Type();
  if (!type)
    (void)unsupported("asks for the element type " +
                      elementTypeName(int32_t(number)) +
                      ", which is not supported yet");
  return type;
}

FloatType NodeConverter::fewBitsAttr(StringRef name) {
  int64_t number = intAttr(name, 0);
  return number == int32_t(number) ? fewBitFloat(context(), int32_t(number))
                                   : FloatType();
}

const onnx::TensorProto *NodeConverter::tensorAttr(StringRef name) {
  const AttributeProto *found = typed(name, AttributeProto::TENSOR);
  return found ? &found->t() : nullptr;
}

const onnx::GraphProto *NodeConverter::graphAttr(StringRef name) {
  const AttributeProto *found = typed(name, AttributeProto::GRAPH);
  return found ? &found->g() : nullptr;
}

int64_t NodeConverter::normalizeAxis(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  (void)invalid("its axis " + Twine(axis) + " lies outside a tensor of rank " +
                Twine(rank));
  return 0;
}

int64_t NodeConverter::axisAttr(StringRef name, int64_t missing, int64_t rank) {
  int64_t axis = intAttr(name, missing);
  return failed() ? 0 : normalizeAxis(axis, rank);
}

SmallVector<int64_t> NodeConverter::normalizeAxes(ArrayRef<int64_t> axes,
                                                  int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    result.push_back(normalizeAxis(axis, rank));
    if (failed())
      return {};
  }
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) {
    (void)invalid("names one axis twice");
    return {};
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Outputs and bodies
//===----------------------------------------------------------------------===//

bool NodeConverter::wantsOutput(unsigned i) const {
  return i < numOutputs() && !node.output(i).empty();
}

void NodeConverter::setOutput(unsigned i, NamedValue value) {
  if (i < outputs.size())
    outputs[i] = std::move(value);
}

void NodeConverter::setOutput(unsigned i, Value value) {
  if (value)
    setOutput(i, NamedValue::of(value));
}

NamedValue NodeConverter::sequenceOf(Sequence sequence) {
  state.sequenceElements += sequence.values.size();
  if (state.sequenceElements > kMaxSequenceElements)
    (void)unsupported("the model's sequences come to more than " +
                          Twine(kMaxSequenceElements) + " elements",
                      "join the tensors with Concat instead");
  if (failed())
    return NamedValue();
  return {NamedValue::State::Sequence, Value(),
          std::make_shared<Sequence>(std::move(sequence))};
}

SmallVector<NamedValue> NodeConverter::importBody(const onnx::GraphProto &body,
                                                  ArrayRef<NamedValue> inputs) {
  // Of an If with two bad branches, both are to be reported.
  if (failed() && !getProblem()->reason.empty())
    return {};
  if (size_t(body.input_size()) != inputs.size()) {
    (void)invalid("has a body of " + Twine(body.input_size()) +
                  " inputs where the operator gives " + Twine(inputs.size()));
    return {};
  }
  auto values = importer.importBody(body, inputs);
  if (values)
    return *values;
  // The nodes of the body have reported themselves.
  (void)unsupported("");
  return {};
}

SmallVector<NamedValue> NodeConverter::importStep(const onnx::GraphProto &body,
                                                  ArrayRef<NamedValue> inputs) {
  if (failed())
    return {};
  if (!mayRepeat(importer.sizeOf(body) + 1))
    return {};
  ++state.loops;
  SmallVector<NamedValue> values = importBody(body, inputs);
  --state.loops;
  return values;
}

bool NodeConverter::mayRepeat(uint64_t nodes) {
  if (importer.mayRepeat(nodes))
    return true;
  Problem problem = GraphImporter::repeatsTooMuch();
  (void)unsupported(problem.reason, problem.fix);
  return false;
}

bool NodeConverter::isCounted(const onnx::GraphProto &body, Expr steps) const {
  std::optional<int64_t> count = steps.asConstant();
  if (!count || *count > kMaxCountedSteps)
    return !count;
  uint64_t nodes =
      llvm::SaturatingMultiply(importer.sizeOf(body) + 1, uint64_t(*count));
  return llvm::SaturatingAdd(state.repeatedNodes, nodes) > kMaxRepeatedNodes;
}

SmallVector<RankedTensorType>
NodeConverter::stepTypes(const onnx::GraphProto &body,
                         ArrayRef<NamedValue> inputs) {
  Region scratch;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&scratch.emplaceBlock());
  ImportState::Notes before = state.notes();
  SmallVector<RankedTensorType> types;
  for (const NamedValue &made : importStep(body, inputs))
    types.push_back(made.value ? cast<RankedTensorType>(made.value.getType())
                               : RankedTensorType());
  state.goBack(std::move(before));
  return types;
}

Value NodeConverter::tensorOf(const NamedValue &value, const Twine &what) {
  if (!value.value)
    (void)invalid(what + " of its body is no tensor");
  return value.value;
}

} // namespace tenon
