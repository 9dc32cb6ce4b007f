//===- Refusals.h - Operators that are known and not supported ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_REFUSALS_H
#define TENON_COMPILER_IMPORT_REFUSALS_H

#include "llvm/ADT/StringRef.h"

namespace tenon {

struct Refusal {
  llvm::StringRef reason;
  llvm::StringRef fix; // Empty when there is none.
};

/// Why an operator is refused for what it is; a null reason when it is not.
Refusal findRefusal(llvm::StringRef domain, llvm::StringRef op);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_REFUSALS_H
