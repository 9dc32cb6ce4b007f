//===- DataSet.h - Models in ONNX's test layout ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder holds `model.onnx` and `test_data_set_N/{input,output}_I.pb`.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_DATASET_H
#define TENON_TOOLS_TENON_DATASET_H

#include "tools/tenon/TensorFile.h"

namespace tenon {

/// The model file of a folder; `path` itself when it is a file.
std::string modelFileOf(const std::string &path);

/// The folders `test_data_set_*` beside the model, by number.
std::vector<std::string> dataSetsOf(const std::string &path);

/// Puts tensors in the order of `names`: by their own names when each has one
/// and they are the same names, else as they are. Fails when their number
/// differs.
llvm::Expected<std::vector<Tensor>>
arrange(std::vector<NamedTensor> tensors, const std::vector<std::string> &names,
        const std::string &what);

} // namespace tenon

#endif // TENON_TOOLS_TENON_DATASET_H
