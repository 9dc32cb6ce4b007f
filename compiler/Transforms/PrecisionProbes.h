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

/// An op that is also computed in another precision, where the program's last
/// input asks for that: then the program's last output, f32[number of probes],
/// has the square of how much the results differ, over the square of the op's
/// result.
struct PrecisionProbe {
  size_t op; // Index in `ops`.
  Precision precision;
  /// What passes have lowered the copy to: another one when the op does not
  /// take the precision, nothing before they have run.
  std::optional<Precision> made = std::nullopt;

  bool isTaken() const { return made == precision; }
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

/// The program's last input, bool[..]: which probes run, then in which ops any
/// does, and last whether ops' own results stay, so that errors are of exact
/// inputs. Else that of the last probe that runs takes the place of an op's.
struct PrecisionMask {
  /// None runs.
  explicit PrecisionMask(const PrecisionProbes &probes);
  static PrecisionMask ofErrors(const PrecisionProbes &probes); // Of all.
  /// Ops in these precisions; what an op does not take stays f32.
  static PrecisionMask ofChoice(const PrecisionProbes &probes,
                                llvm::ArrayRef<Precision> ofOps);
  static size_t ofOp(const PrecisionProbes &probes, size_t op);
  static size_t measures(const PrecisionProbes &probes);

  std::vector<bool> bits;
};

/// How the copies are named in plans, before the number of the probe.
inline constexpr llvm::StringLiteral probeName = "probe ";

/// Sets `made`, by what record-precision says.
void markTaken(PrecisionProbes &probes, const PrecisionPlan &lowered);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_PRECISIONPROBES_H
