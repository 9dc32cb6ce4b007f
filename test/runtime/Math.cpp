//===- Math.cpp - Functions that kernels call -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace {

void expectRemainder(float x, float y) {
  float got = tenon::runtime::binaryMathF32[TENON_MATH_FMOD](x, y),
        wanted = std::fmod(x, y);
  if (std::isnan(wanted))
    EXPECT_TRUE(std::isnan(got)) << x << " by " << y << ": " << got;
  else
    EXPECT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(wanted))
        << x << " by " << y << ": " << got << ", want " << wanted;
}

TEST(Math, RemaindersAreExact) {
  std::mt19937 random;
  for (int i = 0; i < 200'000; ++i) {
    auto bits = [&] { return std::bit_cast<float>(uint32_t(random())); };
    expectRemainder(bits(), bits());
    // Near a multiple, at quotients of all sizes up to where they get too long.
    float y = std::ldexp(1.0f + float(random() % 99999) / 99999, i % 40 - 20);
    float x = y * float(random() >> (i % 31));
    for (float near : {x, std::nextafter(x, 0.0f), std::nextafter(x, 1e30f)})
      expectRemainder(i % 2 ? near : -near, i % 3 ? y : -y);
  }
}

TEST(Math, RemaindersOfSpecialNumbers) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float least = std::numeric_limits<float>::denorm_min();
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (float x : {0.0f, -0.0f, 1.0f, -7.5f, least, 3 * least, 3e38f, infinity,
                  -infinity, nan})
    for (float y : {0.0f, -0.0f, 2.5f, -1.0f, least, 3e38f, infinity, nan})
      expectRemainder(x, y);
}

} // namespace
