//===- Constants.h - What constants hold ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_GRAPH_CONSTANTS_H
#define TENON_DIALECTS_GRAPH_CONSTANTS_H

#include "mlir/IR/Value.h"

#include <optional>

namespace tenon::graph {

/// The number that every element of a float constant is; none for other ops.
std::optional<double> splatOf(mlir::Value value);

} // namespace tenon::graph

#endif // TENON_DIALECTS_GRAPH_CONSTANTS_H
