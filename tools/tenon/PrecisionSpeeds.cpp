//===- PrecisionSpeeds.cpp - What precisions take, by a model -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/PrecisionSpeeds.h"

#include "compiler/Targets/Cpu/CpuLevel.h"
#include "compiler/Targets/Cuda/Prediction.h"
#include <algorithm>

namespace tenon {
namespace {

/// Bytes of an element of few bits, the scale of a block, a bf16, included.
double bytesOfBits(int64_t bits, const CompileOptions &options) {
  return double(bits) / 8 + 2 / double(options.blockSize);
}

/// Of a CPU level, as bench_matmul has them.
PrecisionSpeeds speedsOfCpu(const CompileOptions &options) {
  auto level = cpu::findCpuLevel(
      options.levels.empty() ? "native" : options.levels.back());
  bool hasPairs = level && level->pairDots != cpu::PairDots::None;
  bool addsF16 = level && level->f16Fma != cpu::F16Fma::None;
  bool hasQuads = level && level->quadDots;
  bool hasAmx = level && level->amx != cpu::Amx::None;
  auto speed = [&](double amx, double other, bool hasOther, double none) {
    return hasAmx ? amx : hasOther ? other : none;
  };
  // Pairs of bf16 become such of f16 where the level has no products of them.
  auto widened = [&](double speed) { return addsF16 ? 1.6 : speed; };
  return {"",
          {{Precision::Fp32, 1, 4},
           {Precision::Bf16, speed(4.5, 1.9, hasPairs, widened(0.95)), 2},
           {Precision::Fp16, addsF16 ? 1.7 : 0.98, 2},
           {Precision::Int8, speed(6, 2.8, hasQuads, 1.2), 1},
           {Precision::Int8Weights, speed(4, 1.7, hasPairs, widened(0.95)),
            bytesOfBits(8, options)},
           {Precision::Int4Weights, speed(4, 1.7, hasPairs, widened(0.9)),
            bytesOfBits(4, options)}},
          // Of a machine that both bounds matter on.
          /*flopsPerByte=*/10,
          /*least=*/0};
}

PrecisionSpeeds speedsOfGpu(const CompileOptions &options) {
  constexpr unsigned usual = 90;
  const cuda::Device *device = cuda::findDevice(usual);
  for (unsigned sm : options.sms)
    if (const cuda::Device *known = cuda::findDevice(sm))
      device = known;
  // Numbers of few bits become bf16 on the way, and sums take their scales.
  constexpr double ofFewBits = 0.9;
  double half = device->halfFlops / device->flops;
  return {
      device->name.str(),
      {{Precision::Fp32, 1, 4},
       {Precision::Bf16, half, 2, 2},
       {Precision::Fp16, half, 2, 2},
       {Precision::Int8, 2 * half, 1, 1},
       {Precision::Int8Weights, ofFewBits * half, bytesOfBits(8, options), 2},
       {Precision::Int4Weights, ofFewBits * half, bytesOfBits(4, options), 2}},
      device->flops / device->bytes,
      device->flops * cuda::launchSeconds,
      /*calibratesInt8=*/true};
}

} // namespace

double PrecisionSpeeds::timeOf(double flops, double weightElements,
                               double dataElements,
                               const PrecisionSpeed &speed) const {
  double bytes =
      weightElements * speed.weightBytes + dataElements * speed.dataBytes;
  return std::max({flops / speed.speed, bytes * flopsPerByte, least});
}

PrecisionSpeeds speedsOf(const CompileOptions &options) {
  return options.targets.front() == Target::Cuda ? speedsOfGpu(options)
                                                 : speedsOfCpu(options);
}

} // namespace tenon
