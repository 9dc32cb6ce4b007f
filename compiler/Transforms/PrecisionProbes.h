//===- PrecisionProbes.h - What each precision does to each op ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TRANSFORMS_PRECISIONPROBES_H
#define TENON_COMPILER_TRANSFORMS_PRECISIONPROBES_H

#include "compiler/PrecisionPlan.h"
#include "dialects/Graph/Graph.h"

namespace tenon {

/// An op that plans may name, and what it has to do.
struct ProbedOp {
  std::string op, kind;
  graph::Expr terms;          // Of its sums; see graph::termsOf.
  graph::Expr weightElements; // Of the operands that the model holds.
  graph::Expr dataElements;   // Of all else that it reads or writes.
};

/// An op that is also computed in another precision. The program's last output,
/// f32[number of probes], has the square of how much the results differ, each
/// over the square of the op's result. Where its last input, bool[number of
/// probes], is true, that result takes the place of the op's; of several, the
/// last does.
struct PrecisionProbe {
  size_t op; // Index in `ops`.
  Precision precision;
  /// False when the op does not take the precision, once passes have lowered.
  bool isTaken = false;
};

/// An int8 product whose lhs the program returns as well, in f32: behind the
/// model's own outputs, each lhs once.
struct ObservedProduct {
  std::string op, weight; // As plans and the weight store name them.
  size_t output;          // Among the added ones.
};

struct PrecisionProbes {
  std::vector<ProbedOp> ops;
  std::vector<PrecisionProbe> probes;
  std::vector<ObservedProduct> observed;
  /// The dims of the model's own inputs: what the symbols of `ops` are.
  std::vector<llvm::SmallVector<graph::Expr>> inputDims;
};

/// How the copies are named in plans, before the number of the probe.
inline constexpr llvm::StringLiteral probeName = "probe ";

/// Sets `isTaken`, by what record-precision says.
void markTaken(PrecisionProbes &probes, const PrecisionPlan &lowered);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_PRECISIONPROBES_H
