//===- Package.h - Writes the artifact file -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file is described in runtime/model_format.h. Equal inputs give equal
// bytes. It is written beside its final place and renamed when it is whole, so
// that no half file is ever seen.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_PACKAGE_PACKAGE_H
#define TENON_COMPILER_PACKAGE_PACKAGE_H

#include "dialects/Exec/Exec.h"
#include "dialects/Kernel/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/model_format.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tenon {

class WeightStore;

/// The code of all kernels for one CPU level.
struct LevelCode {
  std::string name;  // "x86-64-v3"
  uint64_t features; // TENON_CPU_*
  /// Relocatable ELF objects that define KERNEL.NAME for each kernel and leave
  /// nothing undefined.
  llvm::ArrayRef<char> archive;
};

/// The code of all kernels for a device.
struct DeviceImage {
  tenon_image_kind_t kind;
  uint32_t sm; // See tenon_image_t.
  std::string bytes;
  bool waits = false; // TENON_IMAGE_WAITS
};

/// What the artifact holds for one target: `levels` for CPUs, in order of
/// requirement, lowest first; `images` and `blocks` for devices.
struct TargetProgram {
  tenon_target_t target;
  exec::ProgramOp program;
  /// The kernel.func of each launch.
  mlir::ModuleOp kernels;
  llvm::ArrayRef<LevelCode> levels;
  llvm::ArrayRef<DeviceImage> images;
  /// Of each kernel, in the module's order.
  llvm::ArrayRef<tenon_block_t> blocks;
};

struct PackageOptions {
  std::string modelName, producer;
};

struct ArtifactSizes {
  uint64_t image = 0, metadata = 0, weights = 0, file = 0;
};

/// Writes the artifact of a model's `programs`, one for each target, to `path`.
/// They share the weights that lie alike. An error is one sentence.
llvm::Expected<ArtifactSizes>
writeArtifact(llvm::ArrayRef<TargetProgram> programs,
              const WeightStore &weights, llvm::StringRef path,
              const PackageOptions &options);

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_PACKAGE_H
