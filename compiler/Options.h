//===- Options.h - Every knob of a compilation ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_OPTIONS_H
#define TENON_COMPILER_OPTIONS_H

#include "compiler/PrecisionPlan.h"
#include "compiler/Weights/LhsSquares.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tenon {

class CodeCache;

/// Where compilation stops.
enum class EmitStage {
  Graph,    // after import and simplification
  Regions,  // which ops share a kernel
  Kernels,  // each kernel with its schedule
  Exec,     // the host program
  Llvm,     // LLVM IR of the first level
  Object,   // object code of the first level
  Ptx,      // PTX of all kernels, for CUDA
  Artifact, // all of it, to a file
};

/// How products and convolutions of f32 run on CUDA: exactly, with factors
/// rounded to the 11 bits of tf32, or with factors split into two parts of
/// that.
enum class Tf32 { Off, On, Split };

/// Products to calibrate: those in int8, or those of weights alone in few bits.
enum class Observed { None, Int8, Weights };

/// What kernels run on.
enum class Target { Cpu, Cuda };

struct DimRange {
  std::string name;
  int64_t lo = 0, hi = INT32_MAX;
  std::string same; // Another dim that it always equals, in place of a range.
};

struct CompileOptions {

  /// The file holds a program for each; stages before it show the first one's.
  std::vector<Target> targets = {Target::Cpu};
  /// Compute capabilities, as 10 * major + minor, that machine code is added
  /// for to the PTX that all GPUs can run.
  std::vector<unsigned> sms;
  /// CPU levels, lowest first; "native" is the best of this machine. Empty:
  /// all that make a difference to the precision.
  std::vector<std::string> levels;
  /// Code for the highest of the levels that this machine runs, alone: for
  /// programs that run here at once and are not kept.
  bool isForThisMachine = false;
  /// Whether one of the levels multiplies pairs of bf16; compiling sets it.
  bool hasPairDots = true;
  /// The same of products that are added up in f16.
  bool hasF16Fma = true;
  /// Whether the model rounds to floats of 8 or 4 bits; set with the model.
  bool hasFewBitFloats = false;
  /// Whether it rounds what some product multiplies to bf16; the same.
  bool hasRoundedLhs = false;
  /// Of all products; or, if given, what the plan says of each.
  Precision precision = Precision::Fp32;
  std::optional<PrecisionPlan> precisionPlan;
  /// Steps of k of a weight in few bits that share a scale; without a plan,
  /// which says so itself.
  int64_t blockSize = defaultBlock;
  /// Of caches that attention reads.
  CacheType kvCache = CacheType::AsGiven;
  /// Compute each product in these, too, and return how much they differ, to
  /// choose a plan by.
  std::vector<Precision> probes;
  /// Return the left operands of these products, which are computed in f32, to
  /// calibrate by.
  Observed observe = Observed::None;
  /// What products of weights in few bits read: without a plan all of them are
  /// rounded by it, with one those that it names as compensated.
  std::shared_ptr<const SquaresByWeight> squares;
  /// What the graph is lowered for, where that is not what its kernels run on:
  /// programs that show on CPUs what is rounded on another target.
  std::optional<Target> graphTarget;
  /// Ranges of symbolic dims; lo == hi makes the dim a number.
  std::vector<DimRange> dims;
  /// What random numbers are drawn by; none: the model's input `seed`.
  std::optional<uint64_t> seed = 0;
  EmitStage stage = EmitStage::Artifact;
  /// Every kernel by the Generic schedule: what the others are compared with.
  bool generic = false;
  /// Schedules that no kernel may run by: to see what the next best takes.
  std::vector<std::string> without;
  /// Outputs of a side of the Winograd tiles of 3x3 convolutions: 2, up to 4,
  /// or 0 for none.
  int64_t winograd = 2;
  Tf32 tf32 = Tf32::Off;
  /// Items of a batch that a CPU runs at a time, if they are independent; 0: as
  /// many as have their values in caches.
  int64_t itemsAtOnce = 0;
  static constexpr int64_t allItems = -1;
  /// Collect why kernels end where they do and run as they do.
  bool explain = false;
  /// Patterns that must be fused or the compilation fails: attention, norm,
  /// activation, rotary.
  std::vector<std::string> requireFused;
  /// Code of functions that other compilations with this cache may share; none:
  /// this compilation's are its own.
  std::shared_ptr<CodeCache> codeCache;
  /// A line per pass on stderr: name, milliseconds, whether it changed the IR.
  bool log = false;

  bool usesPrecision(Precision each) const {
    for (Precision probe : probes)
      if (probe == each)
        return true;
    return precisionPlan ? precisionPlan->uses(each) : precision == each;
  }
};

/// What `tenon compile` prints.
struct CompileSummary {
  uint64_t nodes = 0;    // of the ONNX graph, without those inside of them
  uint64_t ops = 0;      // graph ops
  uint64_t kernels = 0;  // distinct
  uint64_t launches = 0; // steps that run one
  uint64_t weightBytes = 0, imageBytes = 0, fileBytes = 0;
  std::string arena;       // How many bytes, for people to read.
  bool isInPieces = false; // A batch runs some items at a time.
};

} // namespace tenon

#endif // TENON_COMPILER_OPTIONS_H
