//===- TensorFile.h - Tensors in files: ONNX .pb and NumPy .npy -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors are one sentence that names the file.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_TENSORFILE_H
#define TENON_TOOLS_TENON_TENSORFILE_H

#include "tools/tenon/Tensor.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tenon {

/// One sentence as an error.
llvm::Error sentence(const llvm::Twine &text);

struct NamedTensor {
  std::string name; // Empty when the file does not say.
  Tensor tensor;
};

/// Reads a serialized ONNX TensorProto.
llvm::Expected<NamedTensor> readTensorProto(llvm::StringRef path);

/// Reads a .npy file: little-endian, C order, of a type that Tenon knows.
llvm::Expected<Tensor> readNpy(llvm::StringRef path);

/// Writes a .npy file. NumPy lacks bf16: its values are written as float32.
llvm::Error writeNpy(llvm::StringRef path, const Tensor &tensor);

/// Reads `PREFIX_0.pb`, `PREFIX_1.pb`, ... (or .npy) of a folder, as many as
/// there are without a gap.
llvm::Expected<std::vector<NamedTensor>> readDataSet(llvm::StringRef folder,
                                                     llvm::StringRef prefix);

} // namespace tenon

#endif // TENON_TOOLS_TENON_TENSORFILE_H
