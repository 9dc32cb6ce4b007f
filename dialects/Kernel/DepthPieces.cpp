//===- DepthPieces.cpp - Several blocks share the steps of k --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/DepthPieces.h"

namespace tenon::kernel {

Expr depthPieces(Expr parts, int64_t wantedBlocks, Expr most) {
  if (!parts || !most)
    return {};
  auto number = [&](int64_t value) {
    return Expr::constant(parts.getContext(), value);
  };
  Expr share = number(wantedBlocks).ceilDiv(parts.max(number(1))).min(most);
  Expr spare = number(countedParts + 1) - parts;
  Expr isCounted = spare.max(number(0)).min(number(1));
  Expr pieces = share * isCounted;
  return pieces ? pieces.max(number(1)) : Expr();
}

Expr pieceBytes(Expr parts, Expr pieces, int64_t partBytes) {
  Expr count = parts * pieces;
  Expr bytes = count ? count * partBytes : Expr();
  return bytes ? bytes + counterBytes : Expr();
}

} // namespace tenon::kernel
