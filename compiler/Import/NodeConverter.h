//===- NodeConverter.h - One ONNX node, as its converter sees it ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A converter reads inputs and attributes, emits graph ops (Emitter.h) and sets
// the outputs:
//
//   LogicalResult convertGemm(NodeConverter &node) {
//     Value product = node.matmul(node.input(0), node.input(1));
//     double alpha = node.floatAttr("alpha", 1.0);
//     ...
//     return node.output(product);
//   }
//
// An attribute of another type, an axis outside its tensor, a missing required
// input: each is recorded as the node's problem and a harmless value comes
// back, so that a converter can go straight on. See Emitter.h for the rest.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_NODECONVERTER_H
#define TENON_COMPILER_IMPORT_NODECONVERTER_H

#include "compiler/Import/Emitter.h"
#include "compiler/Import/ModelNames.h"
#include "compiler/Import/NamedValue.h"

namespace tenon {

class GraphImporter;

class NodeConverter : public Emitter {
public:
  NodeConverter(GraphImporter &importer, const NamedNode &node, int64_t opset,
                mlir::Location loc);

  //===--- The node ---===//

  llvm::StringRef op() const { return node.op_type(); }
  /// The opset of the node's domain that the model (or function) imports.
  int64_t opset() const { return opsetVersion; }
  /// Its name in printable form, or "Op:first_output".
  std::string name() const;

  //===--- Inputs ---===//

  unsigned numInputs() const { return node.input_size(); }
  /// True when input i is there and is not the empty name.
  bool hasInput(unsigned i) const;
  /// Input i, which must be there.
  mlir::Value input(unsigned i);
  /// Input i, null when it is left out.
  mlir::Value optionalInput(unsigned i);
  /// Input i, whatever it is.
  NamedValue anyInput(unsigned i) const;
  /// Input i, which must be a sequence; empty after a problem. One of as many
  /// tensors as a run decides is a problem unless it `mayBeOpen`.
  const Sequence &sequence(unsigned i, bool mayBeOpen = false);
  /// All inputs; each must be there.
  llvm::SmallVector<mlir::Value> inputs();
  /// A problem unless lo <= number of inputs <= hi.
  mlir::LogicalResult expectInputs(unsigned lo, unsigned hi);
  /// A problem unless the value has this rank.
  mlir::LogicalResult expectRank(mlir::Value value, int64_t rank,
                                 llvm::StringRef what);
  /// A problem unless it has these dims; states what only a run knows. Null, an
  /// input that is left out, has any.
  void expectDims(mlir::Value value, llvm::ArrayRef<Expr> dims,
                  llvm::StringRef what);

  //===--- Attributes ---===//

  bool hasAttr(llvm::StringRef name) const { return attribute(name); }
  int64_t intAttr(llvm::StringRef name, int64_t missing);
  /// An attribute that the operator requires.
  int64_t intAttr(llvm::StringRef name);
  double floatAttr(llvm::StringRef name, double missing);
  std::string stringAttr(llvm::StringRef name, llvm::StringRef missing);
  /// Empty when missing.
  llvm::SmallVector<int64_t> intsAttr(llvm::StringRef name);
  llvm::SmallVector<double> floatsAttr(llvm::StringRef name);
  llvm::SmallVector<std::string> stringsAttr(llvm::StringRef name);
  bool flagAttr(llvm::StringRef name, bool missing) {
    return intAttr(name, missing) != 0;
  }
  /// The element type that an attribute names (`to`, `dtype`); null, and a
  /// problem, for one that Tenon does not compute with.
  mlir::Type typeAttr(llvm::StringRef name, mlir::Type missing = {});
  /// The float type of 8 or 4 bits that an attribute names; null for others.
  mlir::FloatType fewBitsAttr(llvm::StringRef name);
  const onnx::TensorProto *tensorAttr(llvm::StringRef name);
  const onnx::GraphProto *graphAttr(llvm::StringRef name);
  /// Any attribute, references to those of a function resolved; null when
  /// missing.
  const onnx::AttributeProto *attribute(llvm::StringRef name) const;

  /// `axis` counted from the front; a problem (and 0) when it lies outside.
  int64_t normalizeAxis(int64_t axis, int64_t rank);
  /// An integer attribute as an axis of a tensor of that rank.
  int64_t axisAttr(llvm::StringRef name, int64_t missing, int64_t rank);
  /// Axes counted from the front, sorted; a problem when one repeats.
  llvm::SmallVector<int64_t> normalizeAxes(llvm::ArrayRef<int64_t> axes,
                                           int64_t rank);

  //===--- Outputs ---===//

  unsigned numOutputs() const { return node.output_size(); }
  /// True when something may use output i.
  bool wantsOutput(unsigned i) const;
  /// Sets output i; a null value after a problem is accepted.
  void setOutput(unsigned i, mlir::Value value);
  void setOutput(unsigned i, NamedValue value);
  /// A sequence, of which a model may not have too many; empty after a problem.
  NamedValue sequenceOf(Sequence sequence);
  /// Sets the only output and ends the converter.
  mlir::LogicalResult output(mlir::Value value) {
    setOutput(0, value);
    return result();
  }

  //===--- Bodies ---===//

  /// Imports a body at the builder's place, on these values for its inputs
  /// (none for those of If), and gives its outputs; empty after a problem.
  llvm::SmallVector<NamedValue>
  importBody(const onnx::GraphProto &body,
             llvm::ArrayRef<NamedValue> inputs = {});
  /// The same for one step of a loop; a problem when all loops of the model
  /// come to too many nodes.
  llvm::SmallVector<NamedValue> importStep(const onnx::GraphProto &body,
                                           llvm::ArrayRef<NamedValue> inputs);
  /// Counts what a node makes so often that it may be too much; false, with a
  /// problem, where it is.
  bool mayRepeat(uint64_t nodes);
  /// Whether steps of a body are to be one op that a run repeats: it alone
  /// knows how many there are, or they would be too many nodes.
  bool isCounted(const onnx::GraphProto &body, Expr steps) const;
  /// The types of what a step would give, which does not join the model; null
  /// for what is no tensor.
  llvm::SmallVector<mlir::RankedTensorType>
  stepTypes(const onnx::GraphProto &body, llvm::ArrayRef<NamedValue> inputs);
  /// The tensor that a body gives as `what`; a problem when it is none.
  mlir::Value tensorOf(const NamedValue &value, const llvm::Twine &what);

private:
  friend class GraphImporter;

  /// A problem where an input is of floats of 8 or 4 bits, and the operator has
  /// none.
  mlir::LogicalResult expectFewBits();
  /// Notes what only moves such, or renames it, as such.
  void giveFewBits();

  /// The attribute when it has this type; a problem when it has another.
  const onnx::AttributeProto *typed(llvm::StringRef name,
                                    onnx::AttributeProto::AttributeType type);

  GraphImporter &importer;
  const onnx::NodeProto &node;
  llvm::ArrayRef<NameId> inputNames;
  int64_t opsetVersion;
  llvm::SmallVector<std::optional<NamedValue>> outputs;
};

/// One row of the importer's table.
struct OpRow {
  llvm::StringLiteral domain; // "" for ai.onnx.
  llvm::StringLiteral op;
  /// Each version of the operator that the converter knows, oldest first; the
  /// rest is zero. The oldest is the one in force at opset 7, if there is one.
  int versions[12];
  mlir::LogicalResult (*convert)(NodeConverter &);
};

/// The row for an operator of a domain at an opset; null when there is none.
const OpRow *findRow(llvm::StringRef domain, llvm::StringRef op, int64_t opset);

/// All rows, family by family (OpTable.cpp lists the families).
llvm::ArrayRef<llvm::ArrayRef<OpRow>> allRows();

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_NODECONVERTER_H
