//===- Matrix.h - Fragments of matrices in registers ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_MATRIX_H
#define TENON_TEST_GPU_SIM_MATRIX_H

#include "test/gpu/sim/Warp.h"

namespace tenon::sim {

class Line;

/// All 32 lanes must perform it together.
Step meetWarp(Warp &warp, const Instruction &line);

bool decodeLoadMatrix(Line &line);
bool decodeStoreMatrix(Line &line);
bool decodeMoveMatrix(Line &line);

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_MATRIX_H
