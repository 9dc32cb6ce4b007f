//===- MatmulCase.h - Cases of products with packed weights ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_TARGETS_CPU_MATMULCASE_H
#define TENON_TEST_COMPILER_TARGETS_CPU_MATMULCASE_H

#include "test/compiler/Targets/Cpu/KernelTest.h"

namespace tenon::test {

using Dims = std::vector<std::string>;

/// A product of lhs [lead, depth] and a weight; `behind` holds ops on %sums,
/// of type RESULT; what they call %y is yielded, or else %sums itself.
KernelCase product(Dims lead, int64_t depth, int64_t columns,
                   std::vector<Symbols> sizes, const std::string &operands = "",
                   std::string behind = "", const std::string &element = "f32");

/// Products of which more is computed in the kernel, a sum with a row among it,
/// to f32 and to bf16: of one block of k, and of several with more than one
/// chunk of panels.
std::vector<KernelCase> withMoreBehind();

/// A product of lhs [3, m, depth] and a matrix of a weight for each batch.
KernelCase batches(const std::string &depth, const std::string &columns,
                   std::vector<Symbols> sizes);

/// A product of lhs [t, m, depth] and for each batch one of the matrices
/// [5, depth, columns] of `element`, by indices that may count from the end.
KernelCase picked(const std::string &depth, const std::string &columns,
                  std::vector<Symbols> sizes,
                  const std::string &element = "f32");

/// A product of lhs [lead, depth] and a weight whose two halves of `columns`
/// meet; %l and %h of type HALF become %y.
KernelCase gated(Dims lead, int64_t depth, int64_t columns,
                 std::vector<Symbols> sizes, std::string meeting,
                 const std::string &element = "f32",
                 const std::string &operands = "");

/// %l * sigmoid(%l) * %h
extern const char *const silu;

/// Sizes of `m`.
std::vector<Symbols> rows(std::initializer_list<int64_t> counts);

/// The case with its weight, %b, and if so lhs, %a, in bf16 and widened.
KernelCase inPairs(KernelCase test, bool lhsToo = true);
/// The case with its weight, %b, in f16 and widened.
KernelCase ofF16(KernelCase test);
/// The same with its lhs, %a, of f32, rounded to f16, and what follows.
KernelCase roundedToF16(KernelCase test);
/// The case whose product may be added up in f16.
KernelCase addingF16(KernelCase test);
/// The case with its lhs alone, %a, in bf16.
KernelCase withHalfLhs(KernelCase test);

/// How a weight is quantized: blocks of `block` steps of k, the last one of
/// which may reach beyond it; 0: one for all.
struct Quantized {
  int64_t bits = 4, block = 32;
  std::string number = "i8", scale = "f32";
  bool hasZeros = false; // For each block and column; else `zero` for all.
  int64_t zero = 0;
  bool hasCodebook = false; // What its numbers stand for, without zero points.
};

/// The case with its weight, %b, [depth, columns] or [3, depth, columns],
/// quantized so.
KernelCase quantized(KernelCase test, const Quantized &form);

} // namespace tenon::test

#endif // TENON_TEST_COMPILER_TARGETS_CPU_MATMULCASE_H
