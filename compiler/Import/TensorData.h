//===- TensorData.h - The values of a TensorProto -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A TensorProto keeps its values in one of seven fields or in another file.
// `checkTensor` accepts exactly one of them, of exactly the right length;
// `readTensor` gives its bytes as the WeightStore wants them, without a copy
// wherever they already lie so.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_TENSORDATA_H
#define TENON_COMPILER_IMPORT_TENSORDATA_H

#include "compiler/Import/ModelFile.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"

namespace tenon {

/// No tensor of Tenon has more dims.
inline constexpr int kMaxRank = 32;

/// ONNX's name of an element type; "number 99" for one it does not define.
std::string elementTypeName(int dataType);

/// The type that stores an ONNX element type; null when Tenon has none.
/// Integers of 2 and 4 bits are stored as i8 or ui8: null here, see
/// `storageType`.
mlir::Type elementType(mlir::MLIRContext *context, int dataType);

/// A float type of 8 or 4 bits; null for others. Its tensors are bf16, which
/// has all of their numbers.
mlir::FloatType fewBitFloat(mlir::MLIRContext *context, int dataType);

/// `elementType`, or the type that holds a constant of fewer bits: one of 8 for
/// 2- and 4-bit integers, bf16 for the floats of `fewBitFloat`.
mlir::Type storageType(mlir::MLIRContext *context, int dataType);

/// Fails with a sentence that names the tensor.
llvm::Error checkTensor(const onnx::TensorProto &tensor, const ModelFile &file);

struct TensorData {
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  llvm::ArrayRef<char> bytes;
  std::shared_ptr<const void> owner;
  /// The bytes hold integers of 2 or 4 bits, see `storageType`.
  bool isNarrow = false;
  mlir::FloatType fewBits; // What floats of 8 or 4 bits are, else null.
};

/// The values of a tensor that `checkTensor` has accepted. `file` must own
/// `tensor`. Fails for strings and for types that Tenon does not store.
llvm::Expected<TensorData> readTensor(const onnx::TensorProto &tensor,
                                      std::shared_ptr<const ModelFile> file,
                                      mlir::MLIRContext *context);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_TENSORDATA_H
