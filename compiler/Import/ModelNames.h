//===- ModelNames.h - Numbers for the names of values ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A name of a value is read once: after that it is a number, the same wherever
// in the model the name is, and a graph is a list of nodes over such numbers.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_MODELNAMES_H
#define TENON_COMPILER_IMPORT_MODELNAMES_H

#include "onnx-ml.pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"

#include <memory>

namespace tenon {

using NameId = unsigned;

/// The empty name, which stands for an input or output that is left out.
inline constexpr NameId kNoName = 0;

struct Body;

/// A node and what its names are. Its bodies are the graphs among its
/// attributes, in their order.
struct NamedNode {
  const onnx::NodeProto *proto;
  llvm::ArrayRef<NameId> inputs, outputs;
  llvm::ArrayRef<const Body *> bodies;
};

/// A graph or a function. Each list is parallel to that of the model.
struct Body {
  llvm::ArrayRef<NamedNode> nodes;
  llvm::ArrayRef<NameId> inputs, initializers, outputs;
  /// All names that are defined here: what else is read, is read from outside.
  llvm::DenseSet<NameId> own;
  /// How many nodes it has, with those of the bodies among their attributes.
  uint64_t size = 0;
};

/// The names of one model, which must outlive it.
class ModelNames {
public:
  NameId id(llvm::StringRef name);

  /// Numbers the names of a graph and of all graphs inside it, or of a
  /// function; at first use only.
  const Body &body(const onnx::GraphProto &graph);
  const Body &body(const onnx::FunctionProto &function);

private:
  using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  template <typename List, typename GetName>
  llvm::ArrayRef<NameId> ids(const List &list, GetName getName);
  llvm::ArrayRef<NameId>
  ids(const google::protobuf::RepeatedPtrField<std::string> &list);
  llvm::ArrayRef<NamedNode> nodes(const NodeList &list);
  llvm::ArrayRef<const Body *> bodiesOf(const onnx::NodeProto &node);

  llvm::BumpPtrAllocator memory; // Of all lists.
  llvm::DenseMap<llvm::StringRef, NameId> numbers;
  llvm::DenseMap<const void *, std::unique_ptr<Body>> bodies;
};

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_MODELNAMES_H
