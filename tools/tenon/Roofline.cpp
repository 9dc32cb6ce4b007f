//===- Roofline.cpp - How fast work could be on this machine --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Roofline.h"

#include "tools/limits/FmaLoop.h"
#include "tools/limits/ReadLoop.h"
#include "llvm/Support/Format.h"

#include <algorithm>

using namespace tenon;

// Beyond what caches hold; reading more would only take longer.
static constexpr uint64_t mostBytes = uint64_t(256) << 20;
static constexpr uint64_t fewestBytes = uint64_t(64) << 10;

Work &Work::operator+=(const Work &other) {
  flops += other.flops;
  bf16Flops += other.bf16Flops;
  f16Flops += other.f16Flops;
  int8Ops += other.int8Ops;
  weightBytes += other.weightBytes;
  bytes += other.bytes;
  known &= other.known;
  return *this;
}

MachineLimits MachineLimits::measure(int threads, uint64_t weightBytes,
                                     uint64_t dataBytes) {
  MachineLimits limits;
  limits.threads = threads;
  limits.f32 = limits::fmaLoopSpeed(threads);
  limits.f16 = std::max(limits::f16LoopSpeed(threads), limits.f32);
  limits.bf16 = std::max(limits::bf16LoopSpeed(threads), limits.f16);
  limits.int8 = std::max(limits::int8LoopSpeed(threads), limits.f32);
  limits.weightBytes = std::clamp(weightBytes, fewestBytes, mostBytes);
  limits.dataBytes = std::clamp(dataBytes, fewestBytes, mostBytes);
  limits.weights = limits::readLoopSpeed(limits.weightBytes, threads);
  limits.data = limits::readLoopSpeed(limits.dataBytes, threads);
  return limits;
}

void MachineLimits::improve(const MachineLimits &other) {
  threads = std::max(threads, other.threads);
  f32 = std::max(f32, other.f32);
  bf16 = std::max(bf16, other.bf16);
  f16 = std::max(f16, other.f16);
  int8 = std::max(int8, other.int8);
  weights = std::max(weights, other.weights);
  data = std::max(data, other.data);
}

llvm::json::Object MachineLimits::json() const {
  return llvm::json::Object{{"threads", threads},
                            {"f32_gflops", f32 / 1e9},
                            {"bf16_gflops", bf16 / 1e9},
                            {"f16_gflops", f16 / 1e9},
                            {"int8_gops", int8 / 1e9},
                            {"weights_gbs", weights / 1e9},
                            {"weights_read_bytes", weightBytes},
                            {"data_gbs", data / 1e9},
                            {"data_read_bytes", dataBytes}};
}

llvm::raw_ostream &tenon::operator<<(llvm::raw_ostream &os,
                                     const MachineLimits &limits) {
  os << llvm::format("limits   %.1f GF/s f32, ", limits.f32 / 1e9);
  if (limits.bf16 > limits.f32)
    os << llvm::format("%.1f GF/s bf16, ", limits.bf16 / 1e9);
  if (limits.f16 > limits.f32)
    os << llvm::format("%.1f GF/s f16, ", limits.f16 / 1e9);
  if (limits.int8 > limits.f32)
    os << llvm::format("%.1f Gop/s int8, ", limits.int8 / 1e9);
  return os << llvm::format(
             "weights %.1f GB/s (reading %.1f MB), data %.1f GB/s (%.1f MB), "
             "%d threads\n",
             limits.weights / 1e9, double(limits.weightBytes) / 1e6,
             limits.data / 1e9, double(limits.dataBytes) / 1e6, limits.threads);
}

Roofline::Roofline(const Work &work, const MachineLimits &limits) {
  auto time = [](double amount, double speed) {
    return amount > 0 && speed > 0 ? amount / speed : 0;
  };
  double flops =
      time(work.flops, limits.f32) + time(work.bf16Flops, limits.bf16) +
      time(work.f16Flops, limits.f16) + time(work.int8Ops, limits.int8);
  double weights = time(work.weightBytes, limits.weights);
  double data = time(work.bytes, limits.data);
  seconds = std::max(flops, weights + data);
  if (seconds == 0)
    return;
  limit = flops >= weights + data ? "flops"
          : weights >= data       ? "weights"
                                  : "data";
}
