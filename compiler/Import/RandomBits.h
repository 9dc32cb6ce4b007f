//===- RandomBits.h - Bits that look random, by place ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threefry-2x32 of 20 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", 2011), which JAX draws by, too: two words that
// are a function of two words of a key and two of a counter. It is additions,
// rotations and exclusive ors of 32 bits, so graph ops of vectors do it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_RANDOMBITS_H
#define TENON_COMPILER_IMPORT_RANDOMBITS_H

#include "compiler/Import/Emitter.h"

#include <utility>

namespace tenon {

/// Two tensors of ui32: of a key of rank 0, of what is drawn of rank 1.
using RandomBits = std::pair<mlir::Value, mlir::Value>;

RandomBits constantKey(Emitter &emitter, uint32_t low, uint32_t high);

/// The key of the next node that draws, made of the model's seed.
RandomBits nextKey(Emitter &emitter);

/// Words of a key and the counter (i, steps), for i < count: `steps` counts
/// those of the loops around that only a run counts. From 2^32 on they repeat.
RandomBits randomBits(Emitter &emitter, RandomBits key, graph::Expr count);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_RANDOMBITS_H
