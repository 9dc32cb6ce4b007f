//===- AttentionDeviceSchedules.cpp - Schedules of attention on devices ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules/AttentionDeviceSchedules.h"
#include "dialects/Kernel/DeviceAttention.h"

using namespace mlir;

namespace tenon {
namespace {

std::optional<std::string> refusal(const KernelView &view, bool isMma) {
  std::string why;
  if (kernel::deviceAttentionOf(view.body, isMma, why))
    return std::nullopt;
  return why;
}

kernel::Geometry geometry(const KernelView &view, bool isMma) {
  std::string why;
  return kernel::deviceAttentionOf(view.body, isMma, why)->geometry();
}

SmallVector<std::string> rowMajor(const KernelView &view) {
  return SmallVector<std::string>(view.body.getNumArguments());
}

} // namespace

std::optional<std::string> refusalAttentionMma(const KernelView &view) {
  return refusal(view, /*isMma=*/true);
}
kernel::Geometry geometryAttentionMma(const KernelView &view) {
  return geometry(view, /*isMma=*/true);
}
SmallVector<std::string> layoutsAttentionMma(const KernelView &view) {
  return rowMajor(view);
}

std::optional<std::string> refusalAttentionSimt(const KernelView &view) {
  return refusal(view, /*isMma=*/false);
}
kernel::Geometry geometryAttentionSimt(const KernelView &view) {
  return geometry(view, /*isMma=*/false);
}
SmallVector<std::string> layoutsAttentionSimt(const KernelView &view) {
  return rowMajor(view);
}

} // namespace tenon
