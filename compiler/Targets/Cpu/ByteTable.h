//===- ByteTable.h - What is computed of one byte -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_BYTETABLE_H
#define TENON_COMPILER_TARGETS_CPU_BYTETABLE_H

#include "dialects/Graph/Graph.h"
#include <optional>
#include <string>

namespace tenon::cpu {

/// Numbers of 8 bits that depend on nothing but one other of 8 bits, element by
/// element, such as an activation between two scales.
struct ByteTable {
  mlir::Value leaf;
  std::string numbers; // Of each byte, in the order of its bits.
};

/// nullopt where several values lead to the numbers, or a few steps do, which
/// take no longer than to look them up.
std::optional<ByteTable> byteTableOf(graph::QuantizeOp op);

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_BYTETABLE_H
