//===- SerialTiles.h - Blocks for what is serial on one thread ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running sums, the best few of a row, scatters, what is not 0 and recurrent
// cells, as blocks of a device share them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_SERIALTILES_H
#define TENON_DIALECTS_KERNEL_SERIALTILES_H

#include "dialects/Kernel/Geometry.h"

namespace tenon::kernel {

constexpr llvm::StringLiteral blockScanSchedule = "BlockScan";
constexpr llvm::StringLiteral blockTopkSchedule = "BlockTopk";
constexpr llvm::StringLiteral rankTopkSchedule = "RankTopk";
constexpr llvm::StringLiteral blockNonzeroSchedule = "BlockNonzero";
constexpr llvm::StringLiteral blockRecurrentSchedule = "BlockRecurrent";
constexpr llvm::StringLiteral scatterFoldSchedule = "ScatterFold";

/// A block takes a row, of which a thread has `scanItems` neighbours at a time.
constexpr int64_t scanItems = 4, scanThreads = 256;
constexpr int64_t scanSharedBytes = 32 * 8;

/// Threads of a block that finds the best of a row, one after the other, and
/// the bytes of shared memory in which its warps tell each other.
constexpr int64_t topkThreads = 512, topkSharedBytes = 16 * 2 * 8;

/// Threads of a block each of which counts what is better than its element:
/// that is where it comes in the result.
constexpr int64_t rankThreads = 256;

/// Threads of a block each of which has an element of a scatter's result.
constexpr int64_t scatterThreads = 128;

/// Threads of a block that looks for what is not 0, and the bytes of shared
/// memory in which its warps tell each other how much there was.
constexpr int64_t nonzeroThreads = 512, nonzeroSharedBytes = 16 * 8;

/// Threads of a block that has a sequence, and the bytes of what it keeps in
/// shared memory, as cpu::Recurrence::State lists it: empty where the size of
/// the state is a symbol, or where it is too large.
int64_t recurrentThreads(graph::RecurrentOp op);
llvm::SmallVector<int64_t> recurrentAreas(graph::RecurrentOp op);

/// Whether a body yields nothing but results of its root.
bool yieldsRoot(mlir::Block &body, mlir::Operation *root);

/// Whether elements along an axis are neighbours.
bool isInnermost(mlir::Value tensor, int64_t axis);

/// Whether the best of rows are few against what is in them.
bool takesFew(graph::TopkOp op);

/// Dims of a tensor with 1 in the place of an axis.
llvm::SmallVector<Expr> dimsBut(mlir::Value tensor, int64_t axis);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_SERIALTILES_H
