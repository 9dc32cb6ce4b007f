//===- ProductCases.h - Matrix products as models have them ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_TARGETS_CUDA_PRODUCTCASES_H
#define TENON_TEST_COMPILER_TARGETS_CUDA_PRODUCTCASES_H

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include <initializer_list>

namespace tenon::test {

using Dims = std::vector<std::string>;

/// An operand: the dims of the argument, and an op on %NAME that makes %NAMEv
/// of dims `seen`, if any.
struct Operand {
  Dims dims;
  std::string view = "";
  Dims seen = {};
};

struct Product {
  Operand a, b;
  Dims result;
  std::vector<Symbols> sizes = {{}};
  std::string behind = "";   // Of %sums, of type RESULT, to %y.
  std::string operands = ""; // More arguments.
  Dims yielded = {};         // Unless it is the result's.
  std::string element = "";  // Of what is yielded, unless that of the sums.
  bool isWidened = true;     // bf16 operands become f32 before.
};

/// %y = behind(%a * %b) with operands of type `in`.
KernelCase product(const std::string &schedule, const std::string &in,
                   const Product &of);
std::vector<KernelCase> products(const std::string &schedule,
                                 const std::string &in,
                                 const std::vector<Product> &products);

std::string transpose(const std::string &axes);

/// Sizes of "m".
std::vector<Symbols> rows(std::initializer_list<int64_t> counts);

/// What models have behind a product: bias, activation and residual.
Product withEpilogue(const std::string &depth, const std::string &columns,
                     std::vector<Symbols> sizes);

/// Both halves of the columns meet: low * sigmoid(high).
Product gated(const std::string &depth, int64_t columns,
              std::vector<Symbols> sizes);

/// Batches as attention has them: of the columns of [b, m, h * k], and of a
/// rhs whose columns lie apart.
Product perHead(const std::string &depth, std::vector<Symbols> sizes);

/// The result is the product's transpose.
Product turned(const std::string &depth, const std::string &columns,
               std::vector<Symbols> sizes);

} // namespace tenon::test

#endif // TENON_TEST_COMPILER_TARGETS_CUDA_PRODUCTCASES_H
