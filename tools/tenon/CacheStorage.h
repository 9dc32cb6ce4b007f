//===- CacheStorage.h - Caches as an artifact keeps them ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With --kv-cache an artifact's caches have another type than the model's, in
// which data for the model comes; those of bytes have scales beside them, which
// the model does not know.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_CACHESTORAGE_H
#define TENON_TOOLS_TENON_CACHESTORAGE_H

#include "tools/tenon/Session.h"

namespace tenon {

/// The inputs, or outputs, that the model itself has.
std::vector<std::string> modelInputNames(const Session &session);
std::vector<std::string> modelOutputNames(const Session &session);

/// Rounds what comes for caches of the artifact to what they hold; other
/// tensors, and those that have the type already, stay. `inputs` are the
/// model's in its order, and get scales behind them; or all of the artifact's,
/// of which those that are not given have no type.
void storeCaches(const Session &session, std::vector<Tensor> &inputs);

/// Of an artifact's outputs those that the model has: caches of bytes as f32.
void readCaches(const Session &session, std::vector<Tensor> &outputs);

/// Two tensors of floats of which one is kept in fewer bits than the other, as
/// f32, to be compared; false where they are of one type, or no such tensors.
bool widenToCompare(Tensor &actual, Tensor &expected);

} // namespace tenon

#endif // TENON_TOOLS_TENON_CACHESTORAGE_H
