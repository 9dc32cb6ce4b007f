//===- AttentionDeviceSchedules.cpp - Schedules of attention on devices ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/AttentionDeviceSchedules.h"
#include "dialects/Kernel/DeviceAttention.h"

using namespace mlir;

namespace tenon {
namespace {

std::optional<std::string> refusal(const KernelView &view, StringRef schedule) {
  std::string why;
  if (kernel::deviceAttentionOf(view.body, schedule, why))
    return std::nullopt;
  return why;
}

/// Of what the schedule does not refuse.
kernel::DeviceAttention seenBy(const KernelView &view, StringRef schedule) {
  std::string why;
  return *kernel::deviceAttentionOf(view.body, schedule, why);
}

kernel::Geometry geometry(const KernelView &view, StringRef schedule) {
  return seenBy(view, schedule).geometry();
}

SmallVector<std::string> rowMajor(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

} // namespace

std::optional<std::string> refusalAttentionMma(const KernelView &view) {
  return refusal(view, kernel::attentionMmaSchedule);
}
kernel::Geometry geometryAttentionMma(const KernelView &view) {
  return geometry(view, kernel::attentionMmaSchedule);
}
SmallVector<std::string> layoutsAttentionMma(const KernelView &view) {
  return rowMajor(view);
}

std::optional<std::string> refusalAttentionMmaTall(const KernelView &view) {
  return refusal(view, kernel::attentionMmaTallSchedule);
}
kernel::Expr whenAttentionMmaTall(const KernelView &view) {
  return seenBy(view, kernel::attentionMmaTallSchedule).hasManyTiles();
}
kernel::Geometry geometryAttentionMmaTall(const KernelView &view) {
  return geometry(view, kernel::attentionMmaTallSchedule);
}
SmallVector<std::string> layoutsAttentionMmaTall(const KernelView &view) {
  return rowMajor(view);
}

std::optional<std::string> refusalAttentionRows(const KernelView &view) {
  return refusal(view, kernel::attentionRowsSchedule);
}
kernel::Expr whenAttentionRows(const KernelView &view) {
  return seenBy(view, kernel::attentionRowsSchedule).hasFewRows();
}
kernel::Geometry geometryAttentionRows(const KernelView &view) {
  return geometry(view, kernel::attentionRowsSchedule);
}
SmallVector<std::string> layoutsAttentionRows(const KernelView &view) {
  return rowMajor(view);
}

std::optional<std::string> refusalAttentionSimt(const KernelView &view) {
  return refusal(view, kernel::attentionSimtSchedule);
}
kernel::Geometry geometryAttentionSimt(const KernelView &view) {
  return geometry(view, kernel::attentionSimtSchedule);
}
SmallVector<std::string> layoutsAttentionSimt(const KernelView &view) {
  return rowMajor(view);
}

} // namespace tenon
