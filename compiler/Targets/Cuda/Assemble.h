//===- Assemble.h - PTX becomes machine code of chosen devices ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_ASSEMBLE_H
#define TENON_COMPILER_TARGETS_CUDA_ASSEMBLE_H

#include "compiler/Targets/Cuda/Device.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tenon::cuda {

/// Where NVIDIA's assembler is: on PATH, or where toolkits put it; empty when
/// it is not installed.
std::string findPtxas();

/// A text, and the compute capability (80, 90, ...) to assemble it for.
struct AssemblySource {
  unsigned sm;
  llvm::StringRef ptx;
  unsigned optimization = 3; ///< ptxas's -O; 0 takes half as long, to check it.
};

/// A cubin of each of `sources`. An error says what ptxas has against the text,
/// or that it is not installed. Works in a scratch folder of its own, which is
/// gone afterwards.
llvm::Expected<std::vector<std::string>>
assembleCubins(llvm::ArrayRef<AssemblySource> sources);

/// What each kernel of the text takes on a device of capability `sm`, as ptxas
/// says. The same errors.
llvm::Expected<llvm::StringMap<KernelResources>>
resourcesOf(llvm::StringRef ptx, unsigned sm);

/// The same from what ptxas prints.
llvm::StringMap<KernelResources> parseResources(llvm::StringRef log);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_ASSEMBLE_H
