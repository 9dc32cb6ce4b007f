//===- PrecisionSpeeds.cpp - What precisions take, by a model -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/PrecisionSpeeds.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace tenon;

namespace {

PrecisionSpeeds speedsOfCuda(std::vector<unsigned> sms = {}) {
  CompileOptions options;
  options.targets = {Target::Cuda};
  options.sms = std::move(sms);
  return speedsOf(options);
}

double timeIn(const PrecisionSpeeds &machine, Precision precision, double flops,
              double weightElements) {
  for (const PrecisionSpeed &speed : machine.speeds)
    if (speed.precision == precision)
      return machine.timeOf(flops, weightElements, 1, speed);
  return 0;
}

TEST(PrecisionSpeeds, GpusCalibrateInt8) {
  PrecisionSpeeds machine = speedsOfCuda();
  EXPECT_EQ(machine.machine, "H200");
  EXPECT_EQ(machine.speeds.front().precision, Precision::Fp32);
  EXPECT_TRUE(machine.calibratesInt8);
  double elements = 1 << 24;
  EXPECT_LT(timeIn(machine, Precision::Int8, 8192 * elements, elements),
            timeIn(machine, Precision::Bf16, 8192 * elements, elements));
  EXPECT_EQ(speedsOfCuda({90, 80}).machine, "A100");
  // One that no model is of.
  EXPECT_EQ(speedsOfCuda({86}).machine, "H200");
}

TEST(PrecisionSpeeds, BytesBindFewRowsAndOperationsMany) {
  PrecisionSpeeds machine = speedsOfCuda();
  double elements = 1 << 28;
  auto time = [&](Precision precision, double rows) {
    return timeIn(machine, precision, 2 * rows * elements, elements);
  };
  EXPECT_LT(time(Precision::Int4Weights, 1), time(Precision::Int8Weights, 1));
  EXPECT_LT(time(Precision::Int8Weights, 1), time(Precision::Bf16, 1));
  EXPECT_EQ(time(Precision::Fp16, 1), time(Precision::Bf16, 1));
  EXPECT_LT(time(Precision::Bf16, 4096), time(Precision::Int4Weights, 4096));
  EXPECT_LT(time(Precision::Bf16, 4096), time(Precision::Fp32, 4096));
}

TEST(PrecisionSpeeds, NothingIsShorterThanALaunch) {
  PrecisionSpeeds machine = speedsOfCuda();
  EXPECT_EQ(timeIn(machine, Precision::Fp32, 100, 100), machine.least);
  EXPECT_EQ(timeIn(machine, Precision::Int4Weights, 100, 100), machine.least);
}

} // namespace
