//===- RecurrentCases.h - Cases of recurrent cells ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_TARGETS_CPU_RECURRENTCASES_H
#define TENON_TEST_COMPILER_TARGETS_CPU_RECURRENTCASES_H

#include "test/compiler/Targets/Cpu/KernelTest.h"

namespace tenon::test {

/// What cells of a suite have in common.
struct Cells {
  int64_t hidden = 0;        // Numbers of the state; 0: a symbol.
  bool isProjected = false;  // The input is multiplied already.
  std::string schedule = ""; // One for f32 alone; empty: Generic.
  std::string bytes = "";    // The type of a recurrence that is not of f32.
  bool perUnit = false;      // Its units have scales and zero points.
  std::string batch = "b";   // Its size: a symbol, or a number.
};

/// Cells of each kind, direction and type, with all operands and with few, and
/// with each activation.
std::vector<KernelCase> recurrentCells(const Cells &cells);

/// Cells of RecurrentTiles so large that threads compute sequences together;
/// of bytes or bf16, where they are of a type.
std::vector<KernelCase> recurrentTogether(const std::string &bytes = "");

/// The same, of batches whose sizes are numbers.
std::vector<KernelCase> recurrentBatches(const std::string &bytes = "",
                                         int64_t hidden = 400);

/// A cell with the lengths of its sequences, which are right or too large.
std::vector<KernelCase> recurrentLengths(const Cells &cells);

} // namespace tenon::test

#endif // TENON_TEST_COMPILER_TARGETS_CPU_RECURRENTCASES_H
