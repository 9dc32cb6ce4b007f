//===- CheckModel.h - Is this a well-formed ONNX model? -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that can be said about a model without knowing its operators:
// versions, names with one producer, no cycles, bounded nesting, attributes of
// their stated type, tensors with exactly their bytes, functions that end.
// Operators are the business of the importer's table.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_CHECKMODEL_H
#define TENON_COMPILER_IMPORT_CHECKMODEL_H

#include "compiler/Import/ModelFile.h"
#include "compiler/Import/ModelNames.h"

namespace tenon {

inline constexpr int64_t kMinIrVersion = 3, kMaxIrVersion = 14;
inline constexpr int64_t kMinOpset = 7, kMaxOpset = 28;

/// How deep model-local functions may call each other.
inline constexpr int kMaxCallDepth = 100;

/// An error is one sentence. `names` are those of the model.
llvm::Error checkModel(const ModelFile &file, ModelNames &names);

/// "node 'name' (Op)", or "the Op node that makes 'output'".
std::string describe(const onnx::NodeProto &node);

/// The type that an attribute states or, in old files, shows.
onnx::AttributeProto::AttributeType
attributeType(const onnx::AttributeProto &attribute);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_CHECKMODEL_H
