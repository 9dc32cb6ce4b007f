//===- BlockRows.h - The BlockRows schedule -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_BLOCKROWS_H
#define TENON_COMPILER_TARGETS_CUDA_BLOCKROWS_H

#include "compiler/Targets/Cpu/RowProgram.h"
#include "compiler/Targets/Cuda/RowThreads.h"
#include "dialects/Kernel/RowTile.h"

namespace tenon::cuda {

/// The vectors of a row that are a thread's, in passes over them.
class RowPasses {
public:
  using Values = RowThreads::Values;

  /// One vector; its number where they are held. Of one that is not there
  /// (where `isThere` is false; null: it is) the lanes are those of another.
  struct Step {
    cpu::Lanes lanes;
    Value isThere;
    int64_t ordinal = -1;
  };
  using Body = llvm::function_ref<Values(const Step &, mlir::ValueRange)>;

  RowPasses(RowThreads &threads, Value length, kernel::RowTile tile);

  /// Of a row that is not held: this part of it alone, which begins with a
  /// whole vector.
  void narrow(Value from, Value to);

  bool isHeld() const { return tile.held > 0; }

  /// Runs `body`, in the lanes of a vector, for all of them, those that are
  /// not there included, carrying values.
  Values pass(mlir::ValueRange start, Body body);
  /// The same for its effects, of vectors that are there.
  void forEach(llvm::function_ref<void(const Step &)> body);

  /// A vector, or `neutral` where it is not there.
  Value alive(const Step &step, Value value, Value neutral) const;

  const int64_t width;

private:
  Values run(const Step &step, mlir::ValueRange carried, Body body);
  /// Vector `i` behind `first`, which itself is there unless it is held.
  Step stepAt(Value first, int64_t i);

  DeviceEmitter &e;
  kernel::RowTile tile;
  Value length, start;
};

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_BLOCKROWS_H
