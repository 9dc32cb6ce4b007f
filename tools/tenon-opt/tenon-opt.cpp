//===- tenon-opt.cpp - Runs passes on the text form of the IR -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Lowering/Passes.h"
#include "compiler/Schedules/Passes.h"
#include "compiler/Targets/Cuda/Passes.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/WeightPasses.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Kernel/Kernel.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<tenon::exec::ExecDialect, mlir::func::FuncDialect,
                  tenon::graph::GraphDialect, tenon::kernel::KernelDialect,
                  mlir::LLVM::LLVMDialect, tenon::ptx::PtxDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  tenon::registerTransformsPasses();
  tenon::registerWeightPasses();
  tenon::registerSchedulesPasses();
  tenon::registerLoweringPasses();
  tenon::registerCudaPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Tenon's passes\n", registry));
}
