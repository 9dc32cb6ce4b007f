//===- PassLog.h - A line per pass ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_PASSLOG_H
#define TENON_COMPILER_PASSLOG_H

#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

namespace tenon {

/// Prints each pass with its milliseconds and whether it changed the IR.
class PassLog : public mlir::PassInstrumentation {
public:
  void runBeforePass(mlir::Pass *, mlir::Operation *op) override {
    before.emplace_back(mlir::OperationFingerPrint(op),
                        std::chrono::steady_clock::now());
  }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    auto [print, start] = before.pop_back_val();
    std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    if (pass->getArgument().empty())
      return; // An adaptor: its passes have their own lines.
    llvm::errs() << llvm::format("%8.1f ms  ", time.count())
                 << pass->getArgument()
                 << (mlir::OperationFingerPrint(op) != print ? ""
                                                             : "  (no change)")
                 << "\n";
  }

private:
  using Clock = std::chrono::steady_clock;
  llvm::SmallVector<std::pair<mlir::OperationFingerPrint, Clock::time_point>>
      before;
};

} // namespace tenon

#endif // TENON_COMPILER_PASSLOG_H
