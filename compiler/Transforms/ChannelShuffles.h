//===- ChannelShuffles.h - Channels that are dealt out --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters shuffle channels by a reshape that cuts their axis into g parts of
// c, a transpose of both and a reshape that merges them. No order of axes goes
// through that; a gather of the channels it does.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_TRANSFORMS_CHANNELSHUFFLES_H
#define TENON_COMPILER_TRANSFORMS_CHANNELSHUFFLES_H

#include "dialects/Graph/Graph.h"

namespace tenon {

/// reshape(transpose(reshape(x))) -> gather(x, (j % g) * c + j / g)
void gatherShuffledChannels(mlir::Operation *function);

/// The way back, which kernels move by vectors.
void shuffleGatheredChannels(mlir::Operation *function);

} // namespace tenon

#endif // TENON_COMPILER_TRANSFORMS_CHANNELSHUFFLES_H
