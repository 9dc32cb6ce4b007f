//===- Printable.h - Names from files, made safe to show ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A name in a model is any sequence of bytes. Every message, location and
// symbol goes through `printable`, so that none can move a terminal's cursor,
// break a line or fill a screen.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_WEIGHTS_PRINTABLE_H
#define TENON_COMPILER_WEIGHTS_PRINTABLE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace tenon {

/// `name` in visible ASCII: other bytes become \xNN, and what is longer than
/// `limit` ends in "...".
std::string printable(llvm::StringRef name, size_t limit = 120);

} // namespace tenon

#endif // TENON_COMPILER_WEIGHTS_PRINTABLE_H
