//===- TensorCheck.h - How a TensorProto keeps its values -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_TENSORCHECK_H
#define TENON_COMPILER_IMPORT_TENSORCHECK_H

#include "compiler/Import/ModelFile.h"
#include "compiler/Weights/Printable.h"

#include <optional>

namespace tenon {

/// The repeated field that may hold the values beside raw_data.
enum class TensorField { Int32, Int64, Uint64, Float, Double, String };

struct TensorElement {
  int dataType;
  llvm::StringLiteral name;
  unsigned bits;
  TensorField field;
  /// How many elements one entry of the field holds, or how many entries one
  /// element takes (complex numbers).
  unsigned perEntry = 1, entries = 1;
};

/// Null for a number that ONNX does not define.
const TensorElement *findElement(int dataType);

/// What a valid TensorProto says about itself.
struct TensorLayout {
  const TensorElement *element;
  int64_t count; // Elements.
  int64_t bytes; // Of raw or external data.
};

/// Where external data lies.
struct ExternalRange {
  llvm::StringRef location;
  std::optional<uint64_t> offset, length;
};

/// The checks of one tensor; every refusal names it.
class TensorCheck {
public:
  explicit TensorCheck(const onnx::TensorProto &tensor) : tensor(tensor) {}

  llvm::Expected<TensorLayout> layout() const;
  llvm::Error data(const TensorLayout &layout, const ModelFile &file) const;
  llvm::Expected<ExternalRange> externalRange() const;
  llvm::Expected<llvm::ArrayRef<char>>
  externalBytes(const TensorLayout &layout, const ModelFile &file,
                std::shared_ptr<MappedFile> *owner = nullptr) const;

  llvm::Error refuse(const llvm::Twine &reason) const {
    return llvm::createStringError("tensor '" + printable(tensor.name()) +
                                   "' " + reason);
  }

private:
  const onnx::TensorProto &tensor;
};

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_TENSORCHECK_H
