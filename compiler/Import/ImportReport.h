//===- ImportReport.h - What an import found wrong ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_IMPORTREPORT_H
#define TENON_COMPILER_IMPORT_IMPORTREPORT_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

/// A node that cannot be imported. All texts are printable.
struct NodeIssue {
  enum class Kind {
    Unsupported, // Valid ONNX, as far as was looked, that Tenon does not do.
    Invalid,     // Against the operator's specification.
  };
  Kind kind = Kind::Unsupported;
  std::string node; // Its name, or `Op:first_output` when it has none.
  std::string op;
  std::string domain; // "ai.onnx" for the default domain.
  int64_t opset = 0;
  std::string reason;
  std::string fix; // Empty when there is none.

  /// One line: node, operator, reason, fix.
  std::string str() const;
};

/// The outcome of an import. It succeeded when `ok`.
struct ImportReport {
  /// One sentence when the file as a whole is not a model.
  std::string invalid;
  /// In the order of the nodes.
  std::vector<NodeIssue> issues;
  /// Whether nodes draw random numbers by the model's seed.
  bool drawsNumbers = false;

  bool ok() const { return invalid.empty() && issues.empty(); }
  /// True when the model breaks ONNX's rules, rather than Tenon's limits.
  bool isInvalidModel() const;
  /// All of it, one line per problem.
  std::string str() const;
};

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_IMPORTREPORT_H
