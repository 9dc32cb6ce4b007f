//===- ConvCase.h - A convolution, as a kernel ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_TARGETS_CPU_CONVCASE_H
#define TENON_TEST_COMPILER_TARGETS_CPU_CONVCASE_H

#include "test/compiler/Targets/Cpu/KernelTest.h"
#include "test/compiler/Targets/Cpu/LevelTest.h"

namespace tenon::test {

using Numbers = std::vector<int64_t>;
using Dims = std::vector<std::string>;

/// How a filter goes over images. Pads are all lows, then all highs. Operands
/// of `element` other than f32 are widened before.
struct Sliding {
  Numbers strides, dilations, pads;
  int64_t groups = 1;
  std::string element = "f32";
  bool channelsLast = true;
};

/// What follows a convolution: ops on %sums that make %y of `element`, and
/// their further arguments. RESULT stands for the type of %sums. At the end,
/// channels may become the second axis.
struct Behind {
  std::string arguments, ops, element = "f32";
  bool isTurned = false;
};

/// A convolution in f32 of %a with %b, whose types have these dims.
KernelCase convCase(const std::string &schedule, const Sliding &sliding,
                    const Dims &input, const Dims &filter, const Dims &result,
                    const Behind &behind);

/// The dims of a convolution's operands and result.
struct AnyConv {
  Dims input, filter, result;

  /// Of images [n, h0.., channels] of any size and a filter of such taps.
  static AnyConv of(int64_t channels, int64_t groups, int64_t maps,
                    const Numbers &taps, const Sliding &sliding);
  /// The same with channels first.
  AnyConv planes() const;
};

/// Sizes n alone, for so many images.
std::vector<Symbols> countsOf(const Numbers &images);

/// Sizes n, h0.. of images for a case of such a convolution.
std::vector<Symbols> sizesOf(const std::vector<Numbers> &images);

/// A convolution of some images [h.., groups * channels], whose sizes are
/// numbers, with a weight.
struct FixedConv {
  int64_t groups, channels, maps; // The latter two of a group.
  Numbers image, taps, strides, dilations, pads;
  Behind behind = {};
  std::string element = "f32";

  AnyConv dims() const;
  /// Of so many images.
  KernelCase with(const std::string &schedule, const Numbers &images) const;
};

/// What networks have behind a convolution to `maps` channels: bias and
/// activation, alone or with a residual.
std::vector<Behind> commonEpilogues(int64_t maps);
/// The same with a bias of such dims.
std::vector<Behind> commonEpilogues(const Dims &bias);

/// A cast of the result to another type of float.
Behind castTo(const std::string &element, const Dims &result);

/// A convolution with a cast to each such type behind it.
std::vector<FixedConv> withCasts(FixedConv conv);

/// Tests of convolutions by one schedule.
class FixedConvTest : public LevelTest {
protected:
  explicit FixedConvTest(std::string schedule)
      : schedule(std::move(schedule)) {}

  using LevelTest::run;
  void run(const std::vector<FixedConv> &convs, const Numbers &images = {1, 2});

  const std::string schedule;
};

} // namespace tenon::test

#endif // TENON_TEST_COMPILER_TARGETS_CPU_CONVCASE_H
