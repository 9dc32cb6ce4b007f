//===- Check.cpp - tenon check --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Commands.h"

#include "compiler/Import/Import.h"
#include "compiler/Weights/WeightStore.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon;
namespace json = llvm::json;

namespace {

json::Value toJson(const ImportReport &report, int code) {
  json::Array nodes;
  for (const NodeIssue &issue : report.issues)
    nodes.push_back(
        json::Object{{"node", issue.node},
                     {"op", issue.op},
                     {"domain", issue.domain},
                     {"opset", issue.opset},
                     {"valid", issue.kind == NodeIssue::Kind::Unsupported},
                     {"reason", issue.reason},
                     {"fix", issue.fix}});
  static const char *const statuses[] = {"supported", "unsupported", "invalid"};
  return json::Object{{"status", statuses[code]},
                      {"reason", report.invalid},
                      {"nodes", std::move(nodes)}};
}

} // namespace

int tenon::runCheck(const CheckCommand &command) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  mlir::ScopedDiagnosticHandler silence(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  WeightStore weights;
  ImportReport report;
  auto module = importModel(&context, command.model, weights, {}, report);
  int code = report.ok()               ? kSuccess
             : report.isInvalidModel() ? kInvalid
                                       : kFailure;
  if (command.json)
    llvm::outs() << toJson(report, code) << '\n';
  else if (code == kSuccess)
    llvm::outs() << command.model << ": supported\n";
  else
    llvm::errs() << llvm::StringRef(report.str()).rtrim() << '\n';
  return code;
}
