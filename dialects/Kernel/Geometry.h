//===- Geometry.h - How a kernel's work is cut into rows ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel computes rows [begin, end) of [0, rows): a row is the unit of work
// that threads share. What a row is follows from the body alone:
//
// - without a root: the last axis of what is yielded, or a block of
//   `flatBlock` elements when there is one axis only;
// - matmul, convolutions, pools, resize, reduce, arg_reduce: the last axis of
//   the result;
// - attention: one query of one head;
// - softmax, log_softmax, cumulative, topk: the elements along the axis;
// - layer_norm, rms_norm: all elements from the axis on;
// - append: the elements behind the axis, of rows that are there or added;
// - scatters, nonzero, recurrent: everything is one row.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_GEOMETRY_H
#define TENON_DIALECTS_KERNEL_GEOMETRY_H

#include "dialects/Kernel/Kernel.h"

namespace tenon::kernel {

/// Elements in a row of a kernel without root over a single axis.
constexpr int64_t flatBlock = 256;

/// Rows of a launch, rows that one piece should have at least unless threads
/// would have none, and bytes of scratch memory per thread. An expression that
/// overflowed is null. Where pieces give something to each other, `shared`
/// bytes are for that.
struct Geometry {
  Expr rows, grain, scratch;
  std::optional<Expr> shared;
  explicit operator bool() const {
    return rows && grain && scratch && (!shared || *shared);
  }
  llvm::SmallVector<Expr> exprs() const {
    llvm::SmallVector<Expr> all = {rows, grain, scratch};
    if (shared)
      all.push_back(*shared);
    return all;
  }
};

/// The geometry of the Generic schedule for the body of a region or function.
Geometry geometryOf(mlir::Block &body);

/// How the Generic schedule of devices shares a kernel. Where elements of the
/// results can be computed one by one, each is a row of the launch. Else the
/// rows are those above, each of a thread or of a block, whose threads share
/// its columns.
enum class DeviceRows { Elements, OfThreads, OfBlocks };

DeviceRows deviceRowsOf(mlir::Block &body);
Geometry deviceGeometryOf(mlir::Block &body);

/// Threads in a block; those that share a row are one warp.
int64_t deviceThreads(mlir::Block &body);

/// What a yielded value is before reshapes, which do not move elements.
mlir::Value behindReshapes(mlir::Value value);

/// The dims over which a body without root runs; of several yields that are
/// equal in number of elements, the first one's.
llvm::SmallVector<Expr> iterationDims(mlir::Block &body);

/// Values of a byte of a key, by which the best of a row are dealt: there is a
/// counter for each, of each byte.
constexpr int64_t topkDigits = 256;

/// Bytes of an element while it is being computed: f16 and bf16 take four.
int64_t computeWidth(mlir::Type element);

/// Sizes in bytes, each a multiple of 64, of the areas in scratch memory that
/// the root's emission uses, in order.
llvm::SmallVector<Expr> scratchAreas(mlir::Operation *root);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_GEOMETRY_H
