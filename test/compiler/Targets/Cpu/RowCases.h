//===- RowCases.h - Kernels of ops that work along axes -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_TARGETS_CPU_ROWCASES_H
#define TENON_TEST_COMPILER_TARGETS_CPU_ROWCASES_H

#include "test/compiler/Targets/Cpu/KernelTest.h"

namespace tenon::test {

/// graph.reduce of kind sum, mean, max, min or prod along axes ("0, 2").
/// Products are of numbers near 1.
KernelCase reduceOf(const std::string &kind, const std::string &axes,
                    const std::string &operand, const std::string &result,
                    const std::vector<Symbols> &sizes);

/// graph.arg_reduce of kind max or min.
KernelCase argReduceOf(const std::string &kind, bool last, int axis,
                       const std::string &operand, const std::string &result,
                       const std::vector<Symbols> &sizes);

/// The four running sums and products of a tensor along an axis: inclusive or
/// not, forwards or backwards.
std::vector<KernelCase> cumulativesOf(int axis, const std::string &whole,
                                      const std::vector<Symbols> &sizes,
                                      bool backwardsToo = true);

/// Puts `op`, which makes %s of the first result %r#0 and has its type, behind
/// a kernel of one op, and yields both.
KernelCase followedBy(KernelCase test, const std::string &op,
                      const std::string &type);

/// What follows a root is yielded too: pointwise with an operand per column,
/// and the root's own result.
KernelCase withEpilogue(KernelCase test, const std::string &type,
                        const std::string &columns);

/// The root's operand is a sum that is yielded too.
KernelCase withPrologue(KernelCase test, const std::string &type);

/// Norms and softmax of the last axis of `whole`, alone and with company.
void addRowRoots(std::vector<KernelCase> &cases, const std::string &whole,
                 const std::string &columns, const std::string &axis,
                 const std::vector<Symbols> &sizes);

/// graph.quantize_rows of an operand, of a sum of two, and of what two norms
/// give, which others read or not; `length` is the last of `dims`.
std::vector<KernelCase> rowsAsBytes(std::vector<std::string> dims,
                                    const std::vector<Symbols> &sizes);

} // namespace tenon::test

#endif // TENON_TEST_COMPILER_TARGETS_CPU_ROWCASES_H
