//===- StateCases.h - Cases of attention by a state -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_TARGETS_CPU_STATECASES_H
#define TENON_TEST_COMPILER_TARGETS_CPU_STATECASES_H

#include "test/compiler/Targets/Cpu/KernelTest.h"

namespace tenon::test {

/// Every rule, with and without a first state, decays of heads and of their
/// elements; `depth` numbers in a key and `width` in a value, by so many heads
/// of queries for each of two states.
std::vector<KernelCase> statesOf(int64_t depth, int64_t width, int64_t group,
                                 const std::string &schedule);

} // namespace tenon::test

#endif // TENON_TEST_COMPILER_TARGETS_CPU_STATECASES_H
