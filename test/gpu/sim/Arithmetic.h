//===- Arithmetic.h - Opcodes shared by integers and floats ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_ARITHMETIC_H
#define TENON_TEST_GPU_SIM_ARITHMETIC_H

namespace tenon::sim {

class Line;

/// Finishes add, sub, mul, ... once their type is taken.
bool decodeIntegerArithmetic(Line &line);

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_ARITHMETIC_H
