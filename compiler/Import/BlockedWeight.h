//===- BlockedWeight.h - Weights of a scale per block ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_IMPORT_BLOCKEDWEIGHT_H
#define TENON_COMPILER_IMPORT_BLOCKEDWEIGHT_H

#include "compiler/Import/NodeConverter.h"

namespace tenon {

/// How the weights of MatMulNBits and QMoE lie: rows of numbers of `bits` bits,
/// low bits first, cut into blocks along `columns`.
struct BlockedWeight {
  int64_t rows, columns, bits, block, blocks;
};

/// (numbers - zero point) * scale, [rows, blocks * block], of a weight's bytes
/// and its scales, one per row and block. Zero points are numbers like the
/// scales, or packed like the weight with each row padded to a byte; without
/// them, the middle of the numbers.
mlir::Value blockedRows(NodeConverter &node, const BlockedWeight &shape,
                        mlir::Value packed, mlir::Value scale,
                        mlir::Value zeroPoint);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_BLOCKEDWEIGHT_H
