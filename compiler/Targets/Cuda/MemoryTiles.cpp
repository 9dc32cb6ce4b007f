//===- MemoryTiles.cpp - Schedules of what memory bounds ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "dialects/Kernel/LinearAttentionView.h"
#include "dialects/Kernel/PointwiseView.h"
#include "dialects/Kernel/RowTile.h"
#include "dialects/Kernel/SerialTiles.h"

using namespace mlir;

namespace tenon::cuda {

std::optional<kernel::DeviceTile> memoryTileOf(kernel::FuncOp kernel) {
  kernel::DeviceTile tile = {};
  std::string why;
  Block &body = kernel.getBlock();
  if (kernel.getSchedule() == kernel::blockRowsSchedule) {
    std::optional<kernel::RowView> view = kernel::rowViewOf(body, why);
    if (!view)
      return std::nullopt;
    kernel::RowTile rows = kernel::rowTileOf(body, *view);
    tile.threads = rows.threads;
    tile.sharedBytes = rows.sharedBytes;
    return tile;
  }
  if (kernel.getSchedule() == kernel::blockColumnsSchedule) {
    std::optional<kernel::RowView> view = kernel::rowViewOf(body, why);
    if (!view)
      return std::nullopt;
    kernel::ColumnTile columns = kernel::columnTileOf(body, *view);
    tile.threads = columns.threads;
    tile.sharedBytes = columns.sharedBytes;
    return tile;
  }
  if (kernel.getSchedule() == kernel::blockScanSchedule) {
    tile.threads = kernel::scanThreads;
    tile.sharedBytes = kernel::scanSharedBytes;
    return tile;
  }
  if (kernel.getSchedule() == kernel::blockTopkSchedule) {
    tile.threads = kernel::topkThreads;
    tile.sharedBytes = kernel::topkSharedBytes;
    return tile;
  }
  if (kernel.getSchedule() == kernel::rankTopkSchedule) {
    tile.threads = kernel::rankThreads;
    tile.sharedBytes = kernel::rankThreads * 8;
    return tile;
  }
  if (kernel.getSchedule() == kernel::blockNonzeroSchedule) {
    tile.threads = kernel::nonzeroThreads;
    tile.sharedBytes = kernel::nonzeroSharedBytes;
    return tile;
  }
  if (kernel.getSchedule() == kernel::blockRecurrentSchedule) {
    auto op = cast<graph::RecurrentOp>(kernel::findRoot(body));
    tile.threads = kernel::recurrentThreads(op);
    for (int64_t bytes : kernel::recurrentAreas(op))
      tile.sharedBytes += bytes;
    return tile;
  }
  if (kernel.getSchedule() == kernel::blockStateSchedule) {
    auto op = cast<graph::LinearAttentionOp>(kernel::findRoot(body));
    tile.threads = kernel::LinearAttentionView(op).threads();
    return tile;
  }
  if (kernel.getSchedule() == kernel::scatterFoldSchedule) {
    tile.threads = kernel::scatterThreads;
    return tile;
  }
  if (kernel.getSchedule() == kernel::vectorMapSchedule) {
    kernel::PointwiseView view = kernel::pointwiseViewOf(body);
    tile.threads = kernel::vectorTileOf(body, view).threads;
    return tile;
  }
  if (kernel.getSchedule() == kernel::turnedMapSchedule) {
    kernel::PointwiseView view = kernel::pointwiseViewOf(body);
    std::optional<kernel::TurnedPlane> plane =
        kernel::turnedPlaneOf(body, view);
    if (!plane)
      return std::nullopt;
    Type element = graph::getElementType(plane->op.getResult());
    tile.threads = kernel::turnedThreads;
    tile.sharedBytes = kernel::turnedSide * (kernel::turnedSide + 1) *
                       kernel::computeWidth(element);
    return tile;
  }
  return std::nullopt;
}

std::optional<LogicalResult> emitMemoryTile(DeviceEmitter &e, Value ordinal) {
  StringRef schedule = e.kernel.getSchedule();
  if (schedule == kernel::blockColumnsSchedule)
    return emitBlockColumns(e, ordinal);
  if (schedule == kernel::blockRowsSchedule)
    return emitBlockRows(e, ordinal);
  if (schedule == kernel::blockScanSchedule)
    return emitBlockScan(e, ordinal), success();
  if (schedule == kernel::blockTopkSchedule)
    return emitBlockTopk(e, ordinal), success();
  if (schedule == kernel::rankTopkSchedule)
    return emitRankTopk(e, ordinal), success();
  if (schedule == kernel::blockNonzeroSchedule)
    return emitBlockNonzero(e), success();
  if (schedule == kernel::blockRecurrentSchedule)
    return emitBlockRecurrent(e, ordinal), success();
  if (schedule == kernel::blockStateSchedule)
    return emitBlockState(e, ordinal), success();
  if (schedule == kernel::scatterFoldSchedule)
    return emitScatterFold(e, ordinal), success();
  if (schedule == kernel::vectorMapSchedule)
    return emitVectorMap(e, ordinal), success();
  if (schedule == kernel::turnedMapSchedule)
    return emitTurnedMap(e, ordinal), success();
  return std::nullopt;
}

} // namespace tenon::cuda
