//===- ImportReport.cpp - What an import found wrong ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/ImportReport.h"

#include "llvm/ADT/STLExtras.h"

namespace tenon {

std::string NodeIssue::str() const {
  std::string text = "node '" + node + "' (" + domain + "." + op + ", opset " +
                     std::to_string(opset) + "): " + reason;
  if (!fix.empty())
    text += "; " + fix;
  return text;
}

bool ImportReport::isInvalidModel() const {
  return !invalid.empty() || llvm::any_of(issues, [](const NodeIssue &issue) {
    return issue.kind == NodeIssue::Kind::Invalid;
  });
}

std::string ImportReport::str() const {
  std::string text = invalid;
  for (const NodeIssue &issue : issues) {
    if (!text.empty())
      text += '\n';
    text += issue.str();
  }
  return text;
}

} // namespace tenon
