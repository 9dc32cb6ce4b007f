//===- Matrix.h - Fragments of matrices in registers ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_GPU_SIM_MATRIX_H
#define TENON_TEST_GPU_SIM_MATRIX_H

#include "test/gpu/sim/Warp.h"

#include <type_traits>

namespace tenon::sim {

class Line;

/// Element `index` of a register, of a type that products take.
float floatElement(Type type, uint32_t word, int index);
int32_t integerElement(Type type, uint32_t word, int index);

template <typename T> T matrixElement(Type type, uint32_t word, int index) {
  if constexpr (std::is_same_v<T, float>)
    return floatElement(type, word, index);
  else
    return integerElement(type, word, index);
}

/// All 32 lanes must perform it together.
Step meetWarp(Warp &warp, const Instruction &line);

bool decodeLoadMatrix(Line &line);
bool decodeStoreMatrix(Line &line);
bool decodeMoveMatrix(Line &line);

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_MATRIX_H
