//===- QuantizedReader.h - Numbers of quantized weights as f32 ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_TARGETS_CPU_QUANTIZEDREADER_H
#define TENON_COMPILER_TARGETS_CPU_QUANTIZEDREADER_H

#include "compiler/Targets/Cpu/CpuLevel.h"
#include "dialects/Kernel/QuantizedRhs.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tenon::cpu {

/// Writes code that reads the columns of a panel, as many as fit the registers
/// of a tile, block after block of steps of k with scales in common.
///
/// Numbers of 4 bits: with vectors of 16 elements a table in a register says
/// what each is, its zero point included where all have one; a codebook's with
/// vectors of 8 elements are in two. Elsewhere they are shifted into place and
/// converted; tiles convert whole words of them in place.
class QuantizedReader {
public:
  /// Of columns for so many vectors at a time.
  QuantizedReader(mlir::MLIRContext *context, const kernel::QuantizedRhs &rhs,
                  const CpuLevel &level, int64_t vectors);

  int64_t getColumns() const { return columns; }

protected:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;

  /// Steps of k that have scales in common.
  struct Block {
    Value index;        // Of its scales.
    Value first, count; // Steps; a whole block has `known` many.
    int64_t known;      // 0: `count` says.
  };
  /// Scales and what is subtracted, or times the scales added.
  struct Sides {
    Values scales, zeros, offsets;
  };

  /// Begins tile(a, aStride, numbers, depth, scales, zeros, c, cStride, out,
  /// outStride, accumulate).
  mlir::LLVM::LLVMFuncOp startTile(mlir::ModuleOp module, llvm::StringRef name);
  /// Where a panel's columns begin.
  void begin(Value numbers, Value scales, Value zeros);

  using Carry = llvm::function_ref<Values(Value, mlir::ValueRange)>;
  Values loop(Value from, Value to, mlir::ValueRange carried, Carry body);

  using OnBlock =
      llvm::function_ref<Values(const Block &of, mlir::ValueRange carried)>;
  Values forEachBlock(Value depth, mlir::ValueRange carried, OnBlock body);

  using OnStep = llvm::function_ref<Values(
      Value k, llvm::ArrayRef<Value> numbers, mlir::ValueRange carried)>;
  /// Steps of a block, `unit` at a time, then one by one.
  Values forEachStep(const Block &of, mlir::ValueRange carried, OnStep body);

  using OnUnit =
      llvm::function_ref<Values(Value k, Value line, mlir::ValueRange carried)>;
  /// So many lines of a block, each of `unit` steps from k on.
  Values forEachLine(const Block &of, Value lines, mlir::ValueRange carried,
                     OnUnit body);
  /// Steps of a block where `unit` of them are one, whose line it is.
  Values forEachUnit(const Block &of, mlir::ValueRange carried, OnUnit onUnit,
                     OnStep onStep);

  /// What a line of numbers of 4 bits is read as; empty for those of 8.
  Values wordsOf(Value line);
  /// The numbers of step j of a line as f32, `read` are its words.
  Values numbersAt(Value line, llvm::ArrayRef<Value> read, int64_t j);

  /// Words whose numbers stay where they are: number j is 16^j times as large,
  /// which spares shifts. The last one has a sign, the others have none: bits
  /// are turned over, which adds 8 to those that should have one and takes 8
  /// off where that should not. The lift is what makes up for it.
  Value turned(Value words);
  Value numberInPlace(Value turned, int64_t j);
  int64_t liftOf(int64_t j) const;

  Sides sidesOf(Value index);
  /// Vector v of numbers as what they stand for.
  Value scaled(Value numbers, const Sides &sides, int64_t v);

  Value number(int64_t value);
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, int64_t y);
  Value splat(float value);
  Value word(uint32_t value);
  /// All lanes of a vector combined, in each.
  Value inEachLane(Value value,
                   llvm::function_ref<Value(Value, Value)> combine);
  Value at(Value base, mlir::Type type, mlir::LLVM::GEPArg offset);
  Value load(mlir::Type element, Value base, int64_t offset);
  void storeVector(Value value, Value base, int64_t offset);
  /// Stores each row's vectors of sums, plus what `c` holds if `accumulate`.
  void storeSums(llvm::ArrayRef<Value> out, llvm::ArrayRef<Value> c,
                 Value accumulate, mlir::ValueRange sums);

private:
  Value byte(Value base, mlir::LLVM::GEPArg offset);
  void prefetch(Value base, int64_t offset);

  void keepOrder(llvm::MutableArrayRef<Value> words,
                 llvm::MutableArrayRef<Value> sums);
  int64_t lineBytes() const;
  Value lineAt(Value k);
  Values numberAt(Value k, Value j);
  Value fromByte(Value bytes);
  Value lookedUp(Value table, Value indices);
  Value fromWord(Value value, int64_t j);
  Value widened(Value value);

  int64_t zeroPoint;
  bool hasZeros; // For each block and column.

protected:
  int64_t block; // 0 where there is one.
  bool isSigned;
  int64_t bits;
  int64_t lanes, vectors, columns;
  mlir::ImplicitLocOpBuilder b;
  mlir::Type pointer, i64, f32, i32;
  mlir::VectorType vector, words;
  bool hasTable, hasOffset; // What no table takes in must come off.

  int64_t unit; // Steps of an iteration.

private:
  llvm::SmallVector<float, 16> codebook;
  mlir::Type scaleType;
  // Of the function.
  Value numbers, scales, zeros;
  Values tables; // Of a vector's elements each.
};

} // namespace tenon::cpu

#endif // TENON_COMPILER_TARGETS_CPU_QUANTIZEDREADER_H
