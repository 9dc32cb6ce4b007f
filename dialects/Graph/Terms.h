//===- Terms.h - How much ops multiply --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_GRAPH_TERMS_H
#define TENON_DIALECTS_GRAPH_TERMS_H

#include "dialects/Graph/Graph.h"

namespace tenon::graph {

/// Terms of all sums that a product, convolution, attention or recurrent cell
/// computes, masked or not: each is a multiplication and an addition. 0 for
/// other ops.
Expr termsOf(mlir::Operation *op);

} // namespace tenon::graph

#endif // TENON_DIALECTS_GRAPH_TERMS_H
