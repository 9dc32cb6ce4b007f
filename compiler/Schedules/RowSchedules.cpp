//===- RowSchedules.cpp - Norms, softmax, reductions, pools, resampling ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/RowSchedules.h"
#include "dialects/Kernel/PoolView.h"
#include "dialects/Kernel/ResizeView.h"
#include "dialects/Kernel/RowView.h"

using namespace mlir;

namespace tenon {

std::optional<std::string> refusalRowProgram(const KernelView &view) {
  std::string why;
  std::optional<kernel::RowView> rows = kernel::rowViewOf(view.body, why);
  if (!rows)
    return why;
  if (!rows->geometry(view.body))
    return "the number of its rows is beyond what an expression holds";
  return std::nullopt;
}

kernel::Geometry geometryRowProgram(const KernelView &view) {
  std::string why;
  return kernel::rowViewOf(view.body, why)->geometry(view.body);
}

SmallVector<std::string> layoutsRowProgram(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

std::optional<std::string> refusalPoolRows(const KernelView &view) {
  std::string why;
  if (kernel::poolViewOf(view.body, why))
    return std::nullopt;
  return why;
}

kernel::Geometry geometryPoolRows(const KernelView &view) {
  std::string why;
  return kernel::poolViewOf(view.body, why)->geometry(view.body);
}

SmallVector<std::string> layoutsPoolRows(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

std::optional<std::string> refusalResizeRows(const KernelView &view) {
  std::string why;
  if (kernel::resizeViewOf(view.body, why))
    return std::nullopt;
  return why;
}

kernel::Geometry geometryResizeRows(const KernelView &view) {
  std::string why;
  return kernel::resizeViewOf(view.body, why)->geometry(view.body);
}

SmallVector<std::string> layoutsResizeRows(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

} // namespace tenon
