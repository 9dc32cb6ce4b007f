//===- AmxUnit.h - Matrices in registers ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_AMXUNIT_H
#define TENON_COMPILER_TARGETS_CPU_AMXUNIT_H

#include "compiler/Targets/Cpu/CpuLevel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tenon::cpu {

/// Emits instructions of AMX on registers 0 to 7, which LLVM does not allocate
/// then. Sums are in 0 to 5, the first three of which have as many rows as the
/// register of A, the others 16.
///
/// For levels that expand them, loops over memory on the stack of the function
/// take their place; so what surrounds them runs on machines without AMX.
class AmxUnit {
public:
  static constexpr int64_t a = 6, b = 7;
  /// Of a register. What is laid out for whole ones has such rows.
  static constexpr int64_t rows = 16, rowBytes = 64;
  /// Registers of sums side by side, and one below the other.
  static constexpr int64_t mostWidth = 3, mostHeight = 2;

  /// To multiply ui8 by i8, or else pairs of bf16. Rows of A's register and
  /// lines of B's are i64, and what they were shaped for; so are rows of the
  /// lower sums, 16 if null. At the entry of a function.
  AmxUnit(mlir::ImplicitLocOpBuilder &builder, const CpuLevel &level,
          bool isInt8, mlir::Value rowsOfA, mlir::Value linesOfB,
          mlir::Value rowsBelow = {});

  void zero(int64_t tile);
  /// Rows at `base`, which are `stride` bytes apart.
  void load(int64_t tile, mlir::Value base, mlir::Value stride);
  void store(int64_t tile, mlir::Value base, mlir::Value stride);
  /// sum += A * B
  void multiply(int64_t sum);

  /// The register of sums at a place of a tile.
  static int64_t sumAt(int64_t row, int64_t column) {
    return row * mostWidth + column;
  }
  /// A tile's products of a step: a register of A for each row of registers, by
  /// `width` registers of B beside each other. Strides are bytes. The tile's
  /// sums begin with those of column `first`.
  void multiplyAll(mlir::ValueRange rowsOfA, mlir::Value aStride, mlir::Value b,
                   mlir::Value bStride, int64_t width, int64_t first = 0);
  /// For each step of many: adds zeros for nobody. A CPU turns off what
  /// computes floats in vectors where it has had nothing to do for some 2,000
  /// cycles, and the next store of a register then waits for 800 more
  /// (docs/decisions/0028).
  void keepAwake();

  /// Registers for A of `rows` rows of `bytes`, B of bytes / 4 lines, and sums
  /// of rows of 64 bytes: all of them if `below`, else the lower ones of 16.
  /// What they held is lost.
  static void shape(mlir::ImplicitLocOpBuilder &builder, const CpuLevel &level,
                    mlir::Value rows, mlir::Value bytes, bool below = false);
  static void release(mlir::ImplicitLocOpBuilder &builder,
                      const CpuLevel &level);

private:
  using Value = mlir::Value;
  mlir::Value number(int64_t value);
  mlir::Value rowsOf(int64_t tile);
  mlir::Value wordsOf(int64_t tile);
  /// The address of a word of rows in memory.
  mlir::Value wordAt(mlir::Value base, mlir::Value stride, mlir::Value row,
                     mlir::Value column);
  /// The address of a word of an expanded register.
  mlir::Value word(int64_t tile, mlir::Value row, mlir::Value column);
  void forEachWord(
      int64_t tile,
      llvm::function_ref<void(mlir::Value row, mlir::Value column)> body);
  void loop(mlir::Value count, llvm::function_ref<void(mlir::Value)> body);
  mlir::Value product(mlir::Value x, mlir::Value y, mlir::Value sum);

  mlir::ImplicitLocOpBuilder &builder;
  bool isExpanded, isInt8;
  mlir::Value rowsOfA, linesOfB, rowsBelow;
  mlir::Value registers; // Expanded ones, of 1 KiB.
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_AMXUNIT_H
