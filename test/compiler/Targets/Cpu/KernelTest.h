//===- KernelTest.h - Runs compiled kernels against the evaluator ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A case is the body of a kernel and the sizes to run it at. All cases of a
// suite are compiled into one shared object for this machine's level; each is
// run on seeded data, whole and in pieces, with a guard page behind every
// buffer, and must agree with compiler/Reference on the same body; with a
// schedule of its own, also over an argument where that may be.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_COMPILER_TARGETS_CPU_KERNELTEST_H
#define TENON_TEST_COMPILER_TARGETS_CPU_KERNELTEST_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenon::test {

/// Values of an input: uniform in [lo, hi]; `special` mixes in NaN, infinities,
/// zeros and extremes of the type.
struct Values {
  double lo = -4, hi = 4;
  bool special = false;
};

using Symbols = std::map<std::string, int64_t>;

struct KernelCase {
  std::string name;
  std::string arguments; // "%a: tensor<4xf32>, ..."
  std::string body;      // Ops and the kernel.yield.
  std::vector<Symbols> sizes = {{}};
  std::vector<Values> values; // Per argument; the last one goes on.
  double tolerance = 0;       // 0: by the type of the result.
  int32_t fault = 0;          // The status that every run must give.
  std::string schedule = "Generic";
};

/// The level x86-64-v4 with multiply-adds in the place of the instruction for
/// pairs of bf16: all that surrounds it runs where that is missing.
inline constexpr const char *expandedPairs = "x86-64-v4-pairs";
/// The same with loops in the place of AMX.
inline constexpr const char *expandedAmx = "x86-64-v4-matrices";

/// The same with multiply-adds of f32, rounded, in the place of those of f16.
inline constexpr const char *expandedF16 = "x86-64-v4-halves";

/// Compiles and runs all; failures are reported to GoogleTest by case name.
/// The level must be one that canRun holds for, "native" or an expanded one.
void runCases(const std::vector<KernelCase> &cases,
              const char *levelName = "native");

/// Whether this machine has what a level needs.
bool canRun(const char *levelName);

/// `tensor<?x8xf32, #graph.dims<d0, 8>>` from {"d0", "8"} and "f32".
std::string tensor(const std::vector<std::string> &dims,
                   const std::string &element);

/// A kernel of one op on %a, %b, ... of the given types; it yields all results.
KernelCase one(const std::string &op, const std::string &attributes,
               const std::vector<std::string> &operands,
               const std::vector<std::string> &results,
               std::vector<Symbols> sizes = {{}});

} // namespace tenon::test

#endif // TENON_TEST_COMPILER_TARGETS_CPU_KERNELTEST_H
