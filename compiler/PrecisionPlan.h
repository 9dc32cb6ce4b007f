//===- PrecisionPlan.h - Which op multiplies in which precision -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file is JSON, with a line for each op, which a person can edit:
//
//   {"format": 1, "ops": [
//   {"op":"/layer.0/MatMul","kind":"matmul","precision":"bf16","error":0.002}
//   ]}
//
// `op` is the ONNX node; where several ops of a kind come from one node, or
// nodes share a name, later ones end in #2, #3 and so on. `error`, which may be
// missing, is what the op alone adds to the outputs, relative to their largest
// magnitude. Ops that are not named are computed in fp32. An int8 product whose
// lhs was calibrated also has the members of StaticLhs, by their names. Where a
// weight of 8 or 4 bits has other blocks than by default, `block` says so, and
// `compensated` that it was rounded by inputs, which are needed again.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_PRECISIONPLAN_H
#define TENON_COMPILER_PRECISIONPLAN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace tenon {

/// What products multiply; their sums are f32 in any case, or exact.
enum class Precision {
  Fp32,
  Bf16,
  Fp16,
  Int8,        // Weights, and activations by row at run time, or calibrated.
  Int8Weights, // Weights alone, by blocks; they multiply as f32.
  Int4Weights,
};

/// As the command line and plans have it: "fp32", "int8-weights".
llvm::StringRef nameOf(Precision precision);
/// Whether weights alone are in fewer bits, by blocks.
bool isOfFewBits(Precision precision);
std::optional<Precision> findPrecision(llvm::StringRef name);
/// All names, comma-separated.
std::string precisionNames();

/// What caches hold (see narrow-caches): by default what the model says.
enum class CacheType { AsGiven, F32, F16, Bf16, Int8 };

/// As the command line has it: "bf16"; "" is AsGiven.
llvm::StringRef nameOf(CacheType type);
std::optional<CacheType> findCacheType(llvm::StringRef name);

/// How the lhs x of an int8 product becomes numbers from 0 to 255, the same for
/// all inputs: round(x / 2^shift / scale) + zero, clamped. The weight's row for
/// a channel of x is multiplied by 2^shift, which takes what is large in few
/// channels from x to the weight.
struct StaticLhs {
  float scale = 1;
  int64_t zero = 0;
  std::vector<int8_t> shifts; // Of each channel, the last axis; empty: 0.

  bool operator==(const StaticLhs &) const = default;
};

/// A shift's largest magnitude.
constexpr int64_t mostShift = 31;

/// Steps of k of a weight in few bits that share a scale: a multiple of the
/// step, so that kernels can cut k where blocks begin.
constexpr int64_t blockStep = 16, largestBlock = 256, defaultBlock = 32;

constexpr bool isBlock(int64_t steps) {
  return steps >= blockStep && steps <= largestBlock && steps % blockStep == 0;
}

struct OpPrecision {
  /// Kind: "matmul", "attention", "conv", "gather" or "recurrent".
  std::string op, kind;
  Precision precision = Precision::Fp32;
  std::optional<double> error;
  std::optional<StaticLhs> lhs = std::nullopt; // Of int8: none is by row.
  int64_t block = defaultBlock;                // Of weights alone.
  bool compensated = false; // The same: errors make up for one another.
};

struct PrecisionPlan {
  std::vector<OpPrecision> ops;

  bool uses(Precision precision) const;
  size_t countCompensated() const;
};

/// Errors name the file, the line's op and what is wrong with it.
llvm::Expected<PrecisionPlan> readPrecisionPlan(const std::string &path);
llvm::Error writePrecisionPlan(const PrecisionPlan &plan,
                               const std::string &path);

} // namespace tenon

#endif // TENON_COMPILER_PRECISIONPLAN_H
