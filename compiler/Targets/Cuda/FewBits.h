//===- FewBits.h - Weights of few bits become fragments -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of 8 or 4 bits as dialects/Kernel/FragmentLayout.h has them become
// bf16, two at a time and without a rounding: bits that are put behind those of
// 128 add as many ones to it, of which 128 and the zero point are taken off
// again. They are the lhs of matrix instructions, and rows of the product's lhs
// their rhs, of which a lane so has eight steps of k of one row, and sums of
// two columns. What a block of k sums is multiplied by its scale, in f32.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TARGETS_CUDA_FEWBITS_H
#define TENON_COMPILER_TARGETS_CUDA_FEWBITS_H

#include "compiler/Targets/Cuda/DeviceEmitter.h"
#include "dialects/Kernel/QuantizedRhs.h"
#include <array>

namespace tenon::cuda {

class FewBits {
public:
  /// Panels lie in turns of `parts`.
  FewBits(DeviceEmitter &e, const kernel::QuantizedRhs &rhs, int64_t parts)
      : rhs(rhs), parts(parts), e(e) {}

  /// Bytes of a block of a panel: of numbers, scales and zero points.
  int64_t numberBytes() const;
  int64_t scaleBytes() const;
  int64_t zeroBytes() const; // 0 where there is one for all.

  /// The panel that has columns [32 * i, + 32) of a part.
  Value panelOf(Value i, Value part);
  /// Addresses of what lies from a block of a panel on: `block` counts those of
  /// 32 steps.
  Value numbersAt(Value panel, Value block);
  Value scalesAt(Value panel, Value block);
  Value zerosAt(Value panel, Value block);

  /// A lane's words of a block, whose parts begin at these addresses: its
  /// numbers, and its columns' scales and zero points.
  struct Words {
    llvm::SmallVector<Value, 8> numbers;
    llvm::SmallVector<Value, 4> scales;
    Value zeros;
  };
  Words load(Value numbers, Value scales, Value zeros, Value lane);

  /// Of each of a lane's four columns four pairs of bf16, in the order of k,
  /// and the scale, an f32.
  struct Factors {
    std::array<std::array<Value, 4>, 4> pairs;
    std::array<Value, 4> scales;
  };
  Factors factorsOf(const Words &words);

  /// Adds the products of a block with eight rows, of which a lane has eight
  /// steps in pairs, to the two fragments of sums that a panel has of them. Sum
  /// i of fragment f of lane 4 * g + t is that of column 16 * f + g +
  /// 8 * (i / 2) and row 2 * t + i % 2.
  void multiply(const Factors &columns, llvm::ArrayRef<Value> row,
                llvm::MutableArrayRef<Value> sums);
  static constexpr int64_t groupRows = 8, groupSums = 2;
  /// A fragment of zeros.
  Value noSums();

  const kernel::QuantizedRhs rhs;
  const int64_t parts;

private:
  Value at(Value tensor, Value panel, Value block, int64_t blocks,
           int64_t bytes);
  Value scaleBlock(Value block);
  Value word(int64_t bits);
  Value asFloat(Value bits);
  std::array<Value, 2> floatsOf(Value word);
  bool hasWideScales() const;
  void setPairs(Factors &columns, const Words &words, int64_t column);
  Value behind128(Value bits, int64_t mask);
  Value minusOffset(const Words &words, int64_t column);
  Value add(Value x, Value y);

  DeviceEmitter &e;
};

} // namespace tenon::cuda

#endif // TENON_COMPILER_TARGETS_CUDA_FEWBITS_H
