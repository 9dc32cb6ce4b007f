//===- PtxPatterns.h - What the patterns that lower Ptx are built of ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CUDA_PTXPATTERNS_H
#define TENON_COMPILER_TARGETS_CUDA_PTXPATTERNS_H

#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace tenon::cuda {

using mlir::Value;

/// Writes intrinsics and assembly, whose results are values or, of several, a
/// struct of them.
class PtxBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  /// The elements of a vector, and a vector of elements.
  llvm::SmallVector<Value> elements(Value vector);
  Value vector(llvm::ArrayRef<Value> elements, mlir::Type type);
  static llvm::SmallVector<mlir::Type> elementTypes(mlir::Type vector);

  /// A constant register.
  Value word(int64_t value);
  /// A pointer to shared memory as PTX takes it: 32 bits.
  Value sharedAddress(Value pointer);

  llvm::SmallVector<Value> intrinsic(llvm::StringRef name,
                                     mlir::ValueRange operands,
                                     mlir::TypeRange results = {});
  /// Assembly that reads and writes memory. The first results.size() of the
  /// operands are in the registers of the results, which the text counts
  /// first: the others are $(2 * results) and on.
  llvm::SmallVector<Value> assembly(llvm::StringRef text,
                                    mlir::ValueRange operands,
                                    mlir::TypeRange results = {});

private:
  llvm::SmallVector<Value> unpack(Value made, mlir::TypeRange types);
  mlir::Type packed(mlir::TypeRange types);
};

/// The patterns for the ops of sm_90a.
void populateHopperPatterns(mlir::RewritePatternSet &patterns);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_PTXPATTERNS_H
