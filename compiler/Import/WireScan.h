//===- WireScan.h - Where a protobuf file is damaged ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_WIRESCAN_H
#define TENON_COMPILER_IMPORT_WIRESCAN_H

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace tenon {

/// Part of a sentence: the first byte of a ModelProto that cannot be right.
/// For files that protobuf has refused.
std::string explainDamage(llvm::ArrayRef<char> bytes);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_WIRESCAN_H
