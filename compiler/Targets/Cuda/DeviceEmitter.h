//===- DeviceEmitter.h - Writes one kernel as a function for devices ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop nests are the Generic ones of CPUs; around them is an entry that
// walks the pieces of its block and gives their rows to threads: row
// first + t, and every `threads`-th after it, are thread t's. Or all threads,
// which are then one warp, compute each row, and thread t has its columns t,
// t + 32 and so on.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CUDA_DEVICEEMITTER_H
#define TENON_COMPILER_TARGETS_CUDA_DEVICEEMITTER_H

#include "compiler/Targets/Cpu/Emitter.h"
#include "dialects/Kernel/DeviceTiles.h"
#include "dialects/Kernel/Geometry.h"

namespace tenon::cuda {

using cpu::Indices;
using kernel::Expr;
using mlir::Value;

class DeviceEmitter : public cpu::Emitter {
public:
  /// The function is added to the end of `module`.
  DeviceEmitter(kernel::FuncOp kernel, mlir::ModuleOp module);

  Value callMath(int function, mlir::ValueRange operands) override;
  bool hasPower2() const override { return true; }
  Value power2(Value x) override;
  void fault(Value bad, int code, mlir::Operation *op) override;

  Value joinThreads(Value mine, Join join) override;
  Value firstColumn() override;
  int64_t columnStep() override;

  Value threadOrdinal() { return thread; } // In its block.
  /// The value of the thread whose ordinal in its warp differs in one bit.
  Value exchange(Value mine, int64_t distance);
  /// The value of the thread so far below in the warp; of the first ones
  /// their own.
  Value fromBelow(Value mine, int64_t distance);

  /// The thread's number in its block, read here: what is computed of it does
  /// not take registers elsewhere.
  Value threadHere();
  /// An i64 as it is, which nothing that was computed of it before is.
  Value again(Value number);

  /// The dynamic shared memory of the block, aligned to 16 bytes.
  Value sharedMemory();
  /// Waits for all threads of the block.
  void barrier();
  /// The thread's number in its block, as i64.
  Value threadNumber() { return thread; }

  /// Whether a tile asks for its weights before it waits for the launch before;
  /// everything else of a kernel does so behind that.
  bool readsWeightsFirst() const { return weightsFirst; }
  /// Waits for the end of the launch before, where there may be one.
  void waitForLaunch();

  /// Runs `body` where a number is a multiple of a power of two.
  void whereMultiple(Value number, int64_t power,
                     llvm::function_ref<void()> body);
  /// A power of two that a number is known to be a multiple of.
  int64_t knownPower(Value number, unsigned depth = 0);

  /// Threads per block and bytes of dynamic shared memory, by the kernel's
  /// schedule.
  const unsigned threads, sharedBytes;

protected:
  void startFunctions() override;
  void finishFunctions() override;
  mlir::LogicalResult emitRows() override;
  Value symbolValue(unsigned ordinal) override;
  Value scratchBase() override;
  Value sharedBase() override;
  int64_t laneAlignment(Value base, mlir::Type element, Value offset) override;

private:
  mlir::LogicalResult emitRow();
  Value special(llvm::StringRef name);
  Value shuffle(llvm::StringRef kind, Value mine, int64_t distance,
                int64_t end);
  void reportFault(Value piece);

  const kernel::DeviceRows share;
  const bool weightsFirst;

  bool mayFault = false;
  // Parameters of the entry; and what its thread is.
  llvm::SmallVector<Value> symbols;
  Value rows, grain, scratchStart, scratchStride, sharedStart, faultWord;
  Value thread, block, blocks;
  llvm::SmallVector<std::pair<Value, int64_t>> multiples; // That are assumed.
};

/// How the kernel of a schedule by tiles runs; nothing for others.
std::optional<kernel::DeviceTile> tileOf(kernel::FuncOp kernel);

/// Whether tiles of a kernel copy panels of a weight.
bool copiesWeights(kernel::FuncOp kernel);

/// Tile `ordinal` of such a kernel, by all threads of a block.
mlir::LogicalResult emitTile(DeviceEmitter &e, Value ordinal);

/// Computes row-major element `position` of what a kernel loops over whose
/// elements do not need each other, and stores the results there.
mlir::LogicalResult emitElement(cpu::Emitter &e, Value position);

/// What thread `position` of a depthwise convolution has.
mlir::LogicalResult emitDepthwise(cpu::Emitter &e, Value position);

/// The name that a tenon_math_t function has in the module of device/Math.cpp.
std::string mathFunctionName(int function, bool isBinary, bool isDouble);

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_DEVICEEMITTER_H
