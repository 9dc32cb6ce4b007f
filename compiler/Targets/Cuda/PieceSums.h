//===- PieceSums.h - Sums of pieces of k meet in memory -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See dialects/Kernel/DepthPieces.h. A block stores its sums, asks whether it
// is the last of its part, and adds those of all pieces if it is.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CUDA_PIECESUMS_H
#define TENON_COMPILER_TARGETS_CUDA_PIECESUMS_H

#include "compiler/Targets/Cuda/DeviceEmitter.h"

namespace tenon::cuda {

/// Calls `body` with `together` of 0 ... pieces - 1 at a time, so that what it
/// loads of them is on its way together: behind the last one that comes again,
/// and is not there.
llvm::SmallVector<Value> overPieces(
    DeviceEmitter &e, Value pieces, int64_t together, mlir::ValueRange initial,
    llvm::function_ref<llvm::SmallVector<Value>(llvm::ArrayRef<Value> pieces,
                                                llvm::ArrayRef<Value> areThere,
                                                mlir::ValueRange before)>
        body);

class PieceSums {
public:
  /// Each piece of a part has `elements` sums of f32. The threads of a block
  /// share 4 bytes of shared memory at `flag`.
  PieceSums(DeviceEmitter &e, Value pieces, int64_t elements, Value flag)
      : e(e), pieces(pieces), elements(elements), flag(flag) {}

  /// The address of sum `i` of a piece.
  Value addressOf(Value part, Value piece, Value i);

  /// Whether all other blocks of the part have stored their sums, which this
  /// one then sees: the same for all threads, all of which ask.
  Value isLast(Value part, Value thread);

  /// Sum `i` of all pieces, in their order.
  Value total(Value part, Value i);

private:
  DeviceEmitter &e;
  Value pieces;
  const int64_t elements;
  Value flag;
};

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_PIECESUMS_H
