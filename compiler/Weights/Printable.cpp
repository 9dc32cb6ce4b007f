//===- Printable.cpp - Names from files, made safe to show ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Weights/Printable.h"

#include "llvm/ADT/StringExtras.h"

namespace tenon {

std::string printable(llvm::StringRef name, size_t limit) {
  std::string text;
  for (char byte : name) {
    if (text.size() >= limit)
      return text + "...";
    if (llvm::isPrint(byte)) {
      text += byte;
      continue;
    }
    unsigned char value = byte;
    text += "\\x";
    text += llvm::hexdigit(value >> 4);
    text += llvm::hexdigit(value & 15);
  }
  return text;
}

} // namespace tenon
