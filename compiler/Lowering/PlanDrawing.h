//===- PlanDrawing.h - A picture of the memory plan -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_LOWERING_PLANDRAWING_H
#define TENON_COMPILER_LOWERING_PLANDRAWING_H

#include "compiler/Lowering/MemoryPlan.h"
#include "dialects/Exec/Exec.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tenon {

/// A value of the program: bytes [offset, offset + bytes) of a segment from the
/// step that writes it to the last one that reads it.
struct PlannedBuffer {
  int64_t segment = 0, offset = 0, bytes = 0;
  int64_t firstStep = 0, lastStep = 0;
  std::string name; // The nodes that made it.
};

struct DrawnPlan {
  std::vector<PlannedBuffer> buffers;
  std::vector<int64_t> segments; // Bytes.
  int64_t steps = 0;
};

/// The value of a symbol for which a plan is drawn: its only one, else the
/// usual one or what of its range is nearest.
int64_t drawnSize(int64_t lo, int64_t hi);

/// The plan of a program with drawnSize for each symbol; an error when a
/// formula overflows there.
llvm::Expected<DrawnPlan> planOf(exec::ProgramOp program);

/// An SVG document: steps from left to right, addresses from top to bottom, a
/// box per buffer with its nodes, bytes and steps as its tooltip.
std::string drawPlan(const DrawnPlan &plan);

} // namespace tenon

#endif // TENON_COMPILER_LOWERING_PLANDRAWING_H
