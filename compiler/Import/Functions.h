//===- Functions.h - What an operator means: a row or a function ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A node is, in this order: a call of a function of the model, an operator with
// a row in the importer's table, or an operator that ONNX defines by a body of
// other operators.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_FUNCTIONS_H
#define TENON_COMPILER_IMPORT_FUNCTIONS_H

#include "compiler/Import/ImportReport.h"
#include "compiler/Import/ModelFile.h"
#include "compiler/Import/NodeOrder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace tenon {

struct OpRow;
struct Problem;

/// What a node is; at most one of `row` and `function` is set.
struct Callee {
  const OpRow *row = nullptr;
  const onnx::FunctionProto *function = nullptr;
  int64_t opset = 0; // Of the node's domain; 0 when it is not imported.
};

class FunctionLibrary {
public:
  FunctionLibrary(const onnx::ModelProto &model, ModelNames &names);

  /// What `node` is inside `function` (null: inside the model's graph).
  Callee resolve(const onnx::NodeProto &node,
                 const onnx::FunctionProto *function);

  /// Why nothing resolves `node`.
  static Problem explain(const onnx::NodeProto &node, int64_t opset);

  /// Nodes of a graph once all is expanded, at most UINT64_MAX. Reports every
  /// live node that is neither a row nor a function, each once.
  uint64_t countNodes(const onnx::GraphProto &graph, ImportReport &report);

private:
  using Function = const onnx::FunctionProto *;

  Function standardBody(llvm::StringRef domain, llvm::StringRef op,
                        int64_t opset);
  uint64_t count(const Body &body, Function inside, ImportReport &report);
  uint64_t countNode(const NamedNode &node, Function inside,
                     ImportReport &report);
  uint64_t countFunction(Function function, ImportReport &report);

  const onnx::ModelProto &model;
  ModelNames &names;
  llvm::DenseMap<llvm::StringRef, llvm::SmallVector<Function, 1>> byName;
  /// Bodies that ONNX defines, parsed at first use.
  llvm::DenseMap<const void *, std::unique_ptr<onnx::FunctionProto>> bodies;
  llvm::DenseMap<Function, uint64_t> counts;
};

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_FUNCTIONS_H
