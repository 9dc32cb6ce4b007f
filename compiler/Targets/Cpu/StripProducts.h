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

  /// x * y + sum, of pairs and quads all of their products.
  mlir::Value add(mlir::Value x, mlir::Value y, mlir::Value sum);
  /// The elements of even k of vectors of pairs as f32, or those of odd k.
  llvm::SmallVector<mlir::Value> halfOf(llvm::ArrayRef<mlir::Value> pairs,
                                        int64_t half);

private:
  mlir::Value addPairs(mlir::Value x, mlir::Value y, mlir::Value sum);
  mlir::Value addQuads(mlir::Value x, mlir::Value y, mlir::Value sum);
  mlir::Value addWidenedQuads(mlir::Value x, mlir::Value y, mlir::Value sum);
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
