//===- RandomBits.h - Bits that look random, by place ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threefry-2x32 of 20 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", 2011), which JAX draws by, too: 64 bits that
// are a function of a key and a counter, of 64 bits each.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_IMPORT_RANDOMBITS_H
#define TENON_COMPILER_IMPORT_RANDOMBITS_H

#include "compiler/Import/Emitter.h"

namespace tenon {

/// A key, a ui64 of rank 0.
mlir::Value constantKey(Emitter &emitter, uint64_t key);

/// The key of the next node that draws, made of the model's seed.
mlir::Value nextKey(Emitter &emitter);

/// The bits of i < count, ui64 [count]. The first half of the counter is i, the
/// second counts steps of the loops around that only a run counts.
mlir::Value randomBits(Emitter &emitter, mlir::Value key, graph::Expr count);

} // namespace tenon

#endif // TENON_COMPILER_IMPORT_RANDOMBITS_H
