//===- Exec.h - The Exec dialect: when and where --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_DIALECTS_EXEC_EXEC_H
#define TENON_DIALECTS_EXEC_EXEC_H

#include "dialects/Graph/Graph.h"

#include "dialects/Exec/ExecDialect.h.inc"
#include "dialects/Exec/ExecEnums.h.inc"

namespace tenon::exec {
using graph::DimsAttr;
using graph::Expr;
using graph::Relation;
using graph::RelationAttr;
} // namespace tenon::exec

#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.h.inc"

namespace tenon::exec {

/// The weights that a launch reads in layouts of their own, each once, all of
/// them: less those in the layout `rows`, which are tables of which a few rows
/// are read, and what a product picks its matrices from.
llvm::SmallVector<BufferAttr> packedWeightsOf(LaunchOp launch,
                                              llvm::StringRef rows);

} // namespace tenon::exec

#endif // TENON_DIALECTS_EXEC_EXEC_H
