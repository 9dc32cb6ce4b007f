//===- PrecisionMeasurement.h - What precisions do to a model -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_PRECISIONMEASUREMENT_H
#define TENON_TOOLS_TENON_PRECISIONMEASUREMENT_H

#include "tools/tenon/Commands.h"
#include "tools/tenon/CompiledModel.h"

namespace tenon {

/// An op, what it has to do and what other precisions do to its result.
struct MeasuredOp {
  std::string op, kind;
  std::optional<StaticLhs> lhs; // For int8, where it was calibrated.
  double flops = 0, weightElements = 0, dataElements = 0;
  /// Squares, relative to the result's; of the precisions that it takes.
  std::vector<std::pair<Precision, double>> errors;
  /// What it is in where all ops are asked to be in one: first that.
  std::vector<std::pair<Precision, Precision>> made;
};

/// The model in f32, its inputs and what it gives, and the program that has all
/// ops in all precisions.
class Measurement {
public:
  Measurement(const std::string &path, const CompileOptions &options,
              const PrecisionRequest &request);

  /// Reads inputs, or makes them, runs the model in f32 and compiles the other
  /// program.
  llvm::Error prepare(llvm::ArrayRef<Precision> candidates);

  /// What ops have to do, and their own errors; outputs' errors are left 0.
  llvm::Expected<std::vector<MeasuredOp>> ops();
  /// The largest error of any output for the inputs to calibrate by, with ops
  /// in these precisions; infinite when one differs in more than rounding.
  llvm::Expected<double> errorOf(llvm::ArrayRef<Precision> ofOps);
  /// The same of the compiled plan, for all inputs.
  llvm::Expected<double> errorOf(const PrecisionPlan &plan);

  /// What weights alone are cut into.
  int64_t blockSize() const { return options.blockSize; }
  /// Of the model in f32, or of the plan that was compiled last.
  uint64_t weightBytes() const { return lastWeightBytes; }
  size_t setCount() const { return sets.size(); }
  /// One set is not used but for errorOf(plan).
  bool keepsSetApart() const { return keptApart.has_value(); }
  bool isSeeded() const { return seeded; }

private:
  llvm::Error readSets(Session &session);
  llvm::Error calibrate();
  std::optional<StaticLhs> calibratedLhs(const ProbedOp &op) const;
  llvm::Error seedSets(Session &session);
  llvm::Error add(Session &session, std::vector<Tensor> inputs);
  double worst(llvm::ArrayRef<Tensor> actual, size_t set) const;
  const PrecisionProbes &probes() const { return probing->compilation.probes; }
  llvm::Expected<std::vector<Tensor>>
  runProbes(size_t set, llvm::ArrayRef<Precision> ofOps);
  void keepSetApart();
  bool chooses(size_t set) const { return set != keptApart; }

  std::string path;
  CompileOptions options;
  const PrecisionRequest &request;
  PrecisionPlan calibrated; // How int8 is made of what each op reads.
  std::vector<std::vector<Tensor>> sets, expected;
  /// The last set of which another one has the shapes: a prompt says nothing
  /// of a decoder's steps, so what is the only one of its kind has to choose.
  std::optional<size_t> keptApart;
  std::shared_ptr<CompiledModel> probing;
  bool seeded = false;
  uint64_t lastWeightBytes = 0;
};

} // namespace tenon

#endif // TENON_TOOLS_TENON_PRECISIONMEASUREMENT_H
