//===- CacheStorage.h - Caches as an artifact keeps them ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With --kv-cache an artifact's caches have another type than the model's, in
// which data for the model comes.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_CACHESTORAGE_H
#define TENON_TOOLS_TENON_CACHESTORAGE_H

#include "tools/tenon/Session.h"

namespace tenon {

/// Rounds what comes for caches of the artifact to what they hold; other
/// tensors, and those that have the type already, stay. `inputs` are in the
/// model's order.
llvm::Error storeCaches(const Session &session, std::vector<Tensor> &inputs);

/// Two tensors of floats of which one is kept in fewer bits than the other, as
/// f32, to be compared; false where they are of one type, or no such tensors.
bool widenToCompare(Tensor &actual, Tensor &expected);

} // namespace tenon

#endif // TENON_TOOLS_TENON_CACHESTORAGE_H
