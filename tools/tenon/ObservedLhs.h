//===- ObservedLhs.h - What 8 bits make of a product's left operand ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_OBSERVEDLHS_H
#define TENON_TOOLS_TENON_OBSERVEDLHS_H

#include "compiler/PrecisionPlan.h"
#include "compiler/Weights/WeightStore.h"
#include "tools/tenon/LhsHistogram.h"

namespace tenon {

/// One left operand, of channels of f32, of products or convolutions by
/// weights. It sees all rows of all sets of inputs three times: for the largest
/// magnitude of each channel, which says what moves to the weights; for a
/// histogram of what that leaves, which says the range; and for the errors that
/// the range makes of results, beside those of scales made at run time.
class ObservedLhs {
public:
  using Row = llvm::ArrayRef<float>;

  /// Of fewer rows than that a product stays dynamic: the ends of so few, and
  /// the channels that stand out in them, say nothing of those to come.
  static constexpr int64_t fewestRows = 16;

  /// `weights` are matrices [channels, columns] of f32, or all filters
  /// [maps, channels, taps...]. Those that others read too, `areShared`, would
  /// be stored twice if channels moved to them.
  ObservedLhs(std::vector<const Weight *> weights, bool areShared, size_t sets);

  size_t channels() const { return most.size(); }

  void seeMagnitudes(Row row);
  void chooseShifts();
  void count(Row row);
  void chooseRanges(RangeChoice choice);
  void measure(Row row, size_t set);

  /// Convolutions read it: there are no dynamic scales.
  bool isImage() const { return weights.front()->shape.size() > 2; }
  /// It had rows enough to say something of others.
  bool isKnown() const;
  /// Static scales err little enough in each set of inputs.
  bool isStatic() const;
  /// The better way to make it static.
  const StaticLhs &best() const { return bestCandidate().lhs; }
  /// The most of any set that it errs with that, over what dynamic scales do,
  /// or, of an image, over the whole result.
  double timesWorse() const { return timesWorse(bestCandidate()); }

private:
  /// What products make of errors of their lhs and of the weights' own
  /// rounding; for several products, their sum.
  struct WeightErrors {
    std::vector<double> rows; // Squares of each row, summed.
    double steps = 0;         // Squares of columns' scales, over 12.
  };

  /// A way to quantize, and the squares of errors that it makes of results.
  struct Candidate {
    StaticLhs lhs;
    LhsHistogram histogram;
    WeightErrors weights;
    std::vector<float> factors; // Of the channels.
    std::vector<double> errors; // Of each set of inputs.

    void measure(Row row, size_t set);
  };

  WeightErrors weightErrors(llvm::ArrayRef<int8_t> shifts) const;
  std::vector<int8_t> smoothing() const;
  void addCandidate(std::vector<int8_t> shifts);
  void measureWhole(Row row, size_t set);
  void measureDynamic(Row row, size_t set);
  double timesWorse(const Candidate &candidate) const;
  const Candidate &bestCandidate() const;

  std::vector<const Weight *> weights;
  bool mayShift;
  std::vector<float> most; // Of each channel.
  std::vector<Candidate> candidates;
  /// What errors are held against, of each set of inputs.
  std::vector<double> references;
  int64_t rows = 0; // That were measured.
};

} // namespace tenon

#endif // TENON_TOOLS_TENON_OBSERVEDLHS_H
