//===- RecurrentCases.h - Cases of recurrent cells ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_TARGETS_CPU_RECURRENTCASES_H
#define TENON_TEST_COMPILER_TARGETS_CPU_RECURRENTCASES_H

#include "test/compiler/Targets/Cpu/KernelTest.h"

namespace tenon::test {

/// Cells of each kind, direction and type, with all operands and with few, and
/// with each activation. The state has so many numbers, of 0 a symbol of them.
std::vector<KernelCase> recurrentCells(int64_t hidden);

/// A cell with the lengths of its sequences, which are right or too large.
std::vector<KernelCase> recurrentLengths(int64_t hidden);

} // namespace tenon::test

#endif // TENON_TEST_COMPILER_TARGETS_CPU_RECURRENTCASES_H
