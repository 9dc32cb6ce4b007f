//===- CellPanels.cpp - Recurrences of cells by tiles of units ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/CellPanels.h"
#include "dialects/Kernel/RecurrentView.h"
#include "mlir/IR/BuiltinTypes.h"

#include <cstring>

namespace tenon {
namespace {

using kernel::RecurrentView;

template <typename T>
llvm::ArrayRef<char> bytesOf(const std::vector<T> &elements) {
  return {reinterpret_cast<const char *>(elements.data()),
          elements.size() * sizeof(T)};
}

/// The recurrence of a cell by tiles of units, a direction at a time.
void packFloats(const PlacedWeight &placed, const RecurrentView &view,
                ByteSink sink) {
  int64_t steps = view.hidden, all = view.units() * steps;
  std::vector<float> tiles(all);
  for (int64_t d = 0; d < view.directions; ++d) {
    const char *from = placed.weight->bytes().data() + d * all * sizeof(float);
    for (int64_t unit = 0; unit < view.units(); ++unit)
      for (int64_t step = 0; step < steps; ++step)
        std::memcpy(&tiles[view.placeOf(0, unit, step)],
                    from + (unit * steps + step) * sizeof(float),
                    sizeof(float));
    sink(bytesOf(tiles));
  }
}

/// The same of pairs of bf16, with zeros behind the last step.
void packPairs(const PlacedWeight &placed, const RecurrentView &view,
               ByteSink sink) {
  int64_t steps = view.hidden, all = view.units() * steps;
  const char *from = placed.weight->bytes().data();
  for (int64_t d = 0; d < view.directions; ++d, from += all * 2) {
    std::vector<uint16_t> tiles(view.recurrenceBytes() / 2);
    for (int64_t unit = 0; unit < view.units(); ++unit)
      for (int64_t step = 0; step < steps; ++step)
        std::memcpy(&tiles[view.pairPlaceOf(0, unit, step)],
                    from + (unit * steps + step) * 2, 2);
    sink(bytesOf(tiles));
  }
}

/// The same of bytes, four steps together, and their sums.
void packQuads(const PlacedWeight &placed, const RecurrentView &view,
               ByteSink sink) {
  int64_t all = view.units() * view.hidden;
  char shift = placed.weight->elementType.isUnsignedInteger() ? char(-128) : 0;
  std::vector<char> quads(all);
  std::vector<int32_t> sums(view.units());
  const char *from = placed.weight->bytes().data();
  for (int64_t d = 0; d < view.directions; ++d) {
    for (int64_t unit = 0; unit < view.units(); ++unit) {
      int32_t sum = 0;
      for (int64_t step = 0; step < view.hidden; ++step) {
        auto number = static_cast<signed char>(*from++ ^ shift);
        quads[view.quadPlaceOf(unit, step)] = number;
        sum += number;
      }
      sums[view.sumPlaceOf(unit)] = sum;
    }
    sink(quads);
    sink(bytesOf(sums));
  }
}

} // namespace

static std::optional<RecurrentView> viewOf(const Weight &weight,
                                           llvm::StringRef layout) {
  mlir::Type element = weight.elementType;
  bool suits = layout == kernel::cellsLayout       ? element.isF32()
               : layout == kernel::cellQuadsLayout ? element.isInteger(8)
               : layout == kernel::cellPairsLayout ? element.isBF16()
                                                   : false;
  auto view = suits ? RecurrentView::of(weight.shape) : std::nullopt;
  if (view) {
    view->hasBytes = layout == kernel::cellQuadsLayout;
    view->hasPairs = layout == kernel::cellPairsLayout;
  }
  return view;
}

std::optional<uint64_t> cellBytes(const Weight &weight,
                                  llvm::StringRef layout) {
  std::optional<RecurrentView> view = viewOf(weight, layout);
  if (!view)
    return std::nullopt;
  return uint64_t(view->directions) *
         (view->hasBytes ? view->quadsBytes() : view->recurrenceBytes());
}

void packCells(const PlacedWeight &placed, ByteSink sink) {
  RecurrentView view = *viewOf(*placed.weight, placed.layout);
  if (view.hasBytes)
    packQuads(placed, view, sink);
  else if (view.hasPairs)
    packPairs(placed, view, sink);
  else
    packFloats(placed, view, sink);
}

} // namespace tenon
