//===- OnnxFamilies.h - The families of the importer's table --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_ONNXFAMILIES_H
#define TENON_COMPILER_IMPORT_ONNXFAMILIES_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

#define TENON_FAMILY(NAME) llvm::ArrayRef<OpRow> rowsOf##NAME();
#include "compiler/Import/OnnxFamilies.def"

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_ONNXFAMILIES_H
