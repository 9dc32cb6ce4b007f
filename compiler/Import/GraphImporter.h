//===- GraphImporter.h - Walks the graphs of one model --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function is expanded by importing its body in a scope of its own, where
// the formal inputs name the values of the call: nothing is copied or renamed.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_GRAPHIMPORTER_H
#define TENON_COMPILER_IMPORT_GRAPHIMPORTER_H

#include "compiler/Import/Functions.h"
#include "compiler/Import/Import.h"
#include "compiler/Import/NodeConverter.h"

#include "llvm/ADT/DenseMap.h"

namespace tenon {

/// The node's name in printable form, or "Op:first_output".
std::string nodeName(const onnx::NodeProto &node);

class GraphImporter {
public:
  GraphImporter(mlir::MLIRContext *context, WeightStore &weights,
                std::shared_ptr<const ModelFile> file, ModelNames &names,
                const ImportOptions &options, ImportReport &report);

  mlir::OwningOpRef<mlir::ModuleOp> run();

  /// The value of a name in the innermost scope that has it.
  NamedValue lookup(NameId name) const;
  /// An attribute of a node, followed through calls where it is a reference.
  const onnx::AttributeProto *attribute(const onnx::NodeProto &node,
                                        llvm::StringRef name) const;
  /// Imports a body here, on these values for its inputs; nothing when a node
  /// of it has a problem.
  std::optional<llvm::SmallVector<NamedValue>>
  importBody(const onnx::GraphProto &graph, llvm::ArrayRef<NamedValue> inputs);

  /// Nodes of a body, with those of the bodies inside.
  uint64_t sizeOf(const onnx::GraphProto &body) {
    return names.body(body).size;
  }
  /// Counts nodes that loops or sequences make; false when that is too many.
  bool mayRepeat(uint64_t nodes);
  static Problem repeatsTooMuch();

  ImportState state;
  mlir::OpBuilder builder;

private:
  struct Scope {
    const Scope *outer = nullptr;
    llvm::DenseMap<NameId, NamedValue> values;
  };
  /// A call that is being expanded.
  struct Frame {
    const Frame *caller;
    const onnx::NodeProto *call;
    const onnx::FunctionProto *function;
    std::string prefix; // Of the names of its nodes.
  };

  void importMain(mlir::ModuleOp module);
  void importInitializers(const onnx::GraphProto &graph,
                          llvm::ArrayRef<int> live);
  void importNodes(const Body &body, llvm::ArrayRef<int> live);
  void importNode(const NamedNode &node);
  void importCall(const NamedNode &node, const onnx::FunctionProto &function);
  void convert(const NamedNode &node, const OpRow &row, int64_t opset);
  void define(NameId name, const NamedValue &value);
  void define(NameId name, mlir::Value value) {
    define(name, NamedValue::of(value));
  }
  void poison(const NamedNode &node);
  bool usesPoison(const NamedNode &node) const;
  void addIssue(const onnx::NodeProto &node, int64_t opset,
                const Problem &problem);
  mlir::Location locate(const onnx::NodeProto &node) const;
  const onnx::FunctionProto *currentFunction() const {
    return frame ? frame->function : nullptr;
  }

  const ModelFile &file;
  const ImportOptions &options;
  ImportReport &report;
  ModelNames &names;
  FunctionLibrary library;
  Scope *scope = nullptr;
  const Frame *frame = nullptr;
};

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_GRAPHIMPORTER_H
