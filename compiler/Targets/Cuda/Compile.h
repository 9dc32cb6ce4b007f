//===- Compile.h - Kernels become PTX for CUDA devices --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_COMPILE_H
#define TENON_COMPILER_TARGETS_CUDA_COMPILE_H

#include "compiler/CodeCache.h"
#include "compiler/Targets/Cuda/Assemble.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace tenon::cuda {

/// How a kernel runs: an entry of the PTX, its threads per block and bytes of
/// dynamic shared memory.
struct CudaKernel {
  std::string name;
  unsigned threads;
  unsigned sharedBytes;
};

struct CudaCode {
  std::string ptx;
  std::string waitingPtx;          // For sm_90: the same, which may overlap.
  std::vector<CudaKernel> kernels; // In the order of the module.
};

/// What `CudaCode::ptx` and `CudaCode::waitingPtx` are for.
inline constexpr unsigned ptxSm = 80, waitingSm = 90;

/// On a kernel: which arguments are weights wherever it is launched, which no
/// launch writes. `compilePtx` puts it there where programs launch kernels.
inline constexpr llvm::StringLiteral weightsAttribute = "cuda.weights";

/// One PTX module (ISA 8.0, sm_80) from all kernel.func ops of `module`, and
/// one whose kernels wait for the launch before (TENON_IMAGE_WAITS). Kernel
/// NAME is `.visible .entry NAME` with the parameters that
/// runtime/model_format.h lists; it calls nothing that the text does not hold.
/// The text is the same for the same input. What cannot be compiled is reported
/// at the kernel.
mlir::FailureOr<CudaCode> compilePtx(mlir::ModuleOp module, CodeCache &cache);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_COMPILE_H
