//===- FilterLayout.cpp - How packed filters lie --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/FilterLayout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace tenon::kernel {

std::optional<FilterLayout> FilterLayout::parse(llvm::StringRef name) {
  FilterLayout layout;
  layout.isEven = name.consume_back("_even");
  if (name.consume_back("_pairs"))
    layout.steps = 2;
  if (!name.consume_front("conv") || name.consumeInteger(10, layout.width) ||
      layout.width < 1 || (layout.isEven && layout.width != panelColumns))
    return std::nullopt;
  if (name.empty())
    return layout;
  if (!name.consume_front("/") || name.consumeInteger(10, layout.groups) ||
      layout.groups < 2)
    return std::nullopt;
  if (name.empty())
    return layout;
  if (!name.consume_front("x") || name.getAsInteger(10, layout.merged) ||
      layout.merged < 2 || layout.groups % layout.merged != 0)
    return std::nullopt;
  return layout;
}

std::string FilterLayout::name() const {
  std::string name = "conv" + std::to_string(width);
  if (groups > 1)
    name += "/" + std::to_string(groups);
  if (merged > 1)
    name += "x" + std::to_string(merged);
  if (steps > 1)
    name += "_pairs";
  return isEven ? name + "_even" : name;
}

std::optional<int64_t>
FilterLayout::elements(llvm::ArrayRef<int64_t> shape) const {
  if (shape.size() < 3 || shape[0] % groups != 0 ||
      channelsOf(shape) % steps != 0)
    return std::nullopt;
  int64_t depth = channelsOf(shape);
  for (int64_t size : shape.drop_front(2))
    depth *= size;
  return blocks() * panels(mapsOf(shape)) * width * depth;
}

} // namespace tenon::kernel
