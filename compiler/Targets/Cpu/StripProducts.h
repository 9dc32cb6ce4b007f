//===- StripProducts.h - Products of a strip in vector registers ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_STRIPPRODUCTS_H
#define TENON_COMPILER_TARGETS_CPU_STRIPPRODUCTS_H

#include "compiler/Targets/Cpu/PackedMatmulStrip.h"

namespace tenon::cpu {

/// Multiplies and adds vectors of a strip's kind by what a level has for it.
class StripProducts {
public:
  /// `vector` is that of the sums.
  StripProducts(mlir::ImplicitLocOpBuilder &b, const CpuLevel &level,
                StripKind kind, mlir::VectorType vector)
      : b(b), level(level), kind(kind), vector(vector) {}

  /// x * y + sum, of pairs and quads all of their products; of pairs of f16
  /// those of even and of odd k apart, to a sum of such pairs.
  mlir::Value add(mlir::Value x, mlir::Value y, mlir::Value sum);
  /// Of pairs of f16, what sums begin with.
  mlir::Value zeroPairs();
  /// Of such sums those of even and odd k together, still in f16: of each two
  /// vectors, one in even and one in odd places. A last one is beside itself.
  llvm::SmallVector<mlir::Value> inTurn(llvm::ArrayRef<mlir::Value> sums);
  /// The lower half of a vector of f16, as f32, or the upper one.
  mlir::Value widened(mlir::Value sums, int64_t half);
  /// The even or the odd places of two vectors that lie one behind the other.
  mlir::Value everySecond(mlir::Value low, mlir::Value high, int64_t first);
  /// The same sums, as vectors of f32.
  llvm::SmallVector<mlir::Value> widened(llvm::ArrayRef<mlir::Value> sums);
  /// The elements of even k of vectors of pairs as f32, or those of odd k.
  llvm::SmallVector<mlir::Value> halfOf(llvm::ArrayRef<mlir::Value> pairs,
                                        int64_t half);

private:
  mlir::Value together(mlir::Value x, mlir::Value y);
  mlir::Value addPairs(mlir::Value x, mlir::Value y, mlir::Value sum);
  mlir::Value addF16(mlir::Value x, mlir::Value y, mlir::Value sum);
  mlir::VectorType pairsOfF16();
  mlir::Value addQuads(mlir::Value x, mlir::Value y, mlir::Value sum);
  mlir::Value addWidenedQuads(mlir::Value x, mlir::Value y, mlir::Value sum);
  mlir::Value timesWords(mlir::Value x, mlir::Value y);
  mlir::Value bitcast(mlir::Type type, mlir::Value value);
  mlir::Value callIntrinsic(llvm::StringRef name,
                            llvm::ArrayRef<mlir::Value> operands);

  mlir::ImplicitLocOpBuilder &b;
  const CpuLevel &level;
  StripKind kind;
  mlir::VectorType vector;
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_STRIPPRODUCTS_H
