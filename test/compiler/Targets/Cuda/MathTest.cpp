//===- MathTest.cpp - Functions of floats for devices against libm --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same source as devices get, compiled for this machine.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/device/Math.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace {

/// Distance in units of the last place of `want`; libm itself may be half of
/// one off.
double distance(double got, double want) {
  if (std::isnan(want) || std::isinf(want) || std::isinf(got))
    return got == want || (std::isnan(got) && std::isnan(want)) ? 0 : INFINITY;
  int exponent;
  std::frexp(want, &exponent);
  double unit = std::ldexp(1, std::max(exponent - 53, -1074));
  return std::fabs(got - want) / unit;
}

constexpr double most = 5;

const double special[] = {0.0,  -0.0,   1,      -1,       INFINITY, -INFINITY,
                          NAN,  1e-310, 5e-324, 1e308,    -1e308,   0.5,
                          -0.5, 2,      709.7,  710.4,    711,      -745,
                          -746, 1e-20,  1e16,   1.5,      -1.5,     3,
                          -3,   M_PI,   M_PI_2, 1 + 1e-9, 22,       -22.5};

/// Arguments of every size, and more of those where functions change.
class Arguments {
public:
  double any() {
    uint64_t bits = random();
    double x;
    std::memcpy(&x, &bits, 8);
    return x;
  }
  double within(double size) { return unit() * 2 * size - size; }
  double unit() { return (random() >> 11) * 0x1p-53; }

private:
  std::mt19937_64 random{1};
};

template <typename Own, typename Library>
void compare(const char *name, Own own, Library library) {
  Arguments arguments;
  double worst = 0, where = 0;
  auto check = [&](double x) {
    double got = own(x), want = library(x);
    double far = distance(got, want);
    if (far > worst)
      worst = far, where = x;
    if (got == 0 && want == 0) {
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << name << " " << x;
    }
  };
  for (double x : special)
    check(x);
  for (int i = 0; i < 20000; ++i) {
    check(arguments.any());
    for (double size : {1.0, 6.0, 20.0, 750.0, 1e6})
      check(arguments.within(size));
    check(std::exp2(arguments.within(50)));
    check(1 + std::exp2(-50 * arguments.unit()));
  }
  EXPECT_LT(worst, most) << name << "(" << where << ")";
}

template <typename Own, typename Library>
void comparePairs(const char *name, Own own, Library library) {
  Arguments arguments;
  double worst = 0, atX = 0, atY = 0;
  auto check = [&](double x, double y) {
    double far = distance(own(x, y), library(x, y));
    if (far > worst)
      worst = far, atX = x, atY = y;
  };
  for (double x : special)
    for (double y : special)
      check(x, y);
  for (int i = 0; i < 20000; ++i) {
    check(arguments.any(), arguments.any());
    check(4 * arguments.unit(), arguments.within(10));
    check(1000 * arguments.unit(), arguments.within(100));
    check(1 + arguments.within(0.05), arguments.within(4000));
    check(-10 * arguments.unit(), std::floor(arguments.within(10)));
    check(1e10 * arguments.unit(), arguments.unit());
  }
  EXPECT_LT(worst, most) << name << "(" << atX << ", " << atY << ")";
}

} // namespace

#define COMPARE(NAME)                                                          \
  compare(#NAME, tenon_##NAME, [](double x) { return std::NAME(x); });
TEST(DeviceMath, FunctionsOfOneArgument){TENON_UNARY_FUNCTIONS(COMPARE)}
#undef COMPARE

#define COMPARE(NAME)                                                          \
  comparePairs(#NAME, tenon_##NAME,                                            \
               [](double x, double y) { return std::NAME(x, y); });
TEST(DeviceMath, FunctionsOfTwoArguments){TENON_BINARY_FUNCTIONS(COMPARE)}
#undef COMPARE

TEST(DeviceMath, F32IsRoundedF64) {
  for (float x : {0.3f, -2.5f, 1e-30f, 88.0f}) {
    EXPECT_EQ(tenon_expm1f(x), float(std::expm1(double(x))));
    EXPECT_EQ(tenon_fmodf(x, 0.7f), std::fmod(x, 0.7f));
  }
}
