//===- LinearAttentionView.cpp - Columns of states that are attended ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/LinearAttentionView.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;

namespace tenon::kernel {

LinearAttentionView::LinearAttentionView(graph::LinearAttentionOp op) {
  SmallVector<graph::Expr> query = graph::getDims(op.getQuery());
  SmallVector<graph::Expr> value = graph::getDims(op.getValue());
  states = *value[2].asConstant();
  group = *query[2].asConstant() / states;
  depth = query[3].asConstant();
  width = value[3].asConstant();
}

int64_t LinearAttentionView::columns() const {
  // A state's rows and what they meet fit the nearest cache.
  constexpr int64_t maxBytes = 24 << 10;
  if (!depth || !width || *width < 1 || *depth < 1)
    return 0;
  for (int64_t count : {32, 16})
    if (*width % count == 0 && (count == 16 || 4 * count * *depth <= maxBytes))
      return count;
  return 0;
}

int64_t LinearAttentionView::threads() const {
  return std::clamp<int64_t>(llvm::alignTo(width.value_or(128), 32), 32, 256);
}

} // namespace tenon::kernel
