//===- WeightPlan.cpp - Which weights go into the file, where and how -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/WeightPlan.h"

#include "mlir/IR/BuiltinTypes.h"
#include "runtime/model_format.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace tenon;

namespace {

constexpr int64_t panelColumns = 48;

/// Channels times taps of a filter.
int64_t filterDepth(const Weight &weight) {
  int64_t depth = 1;
  for (int64_t size : llvm::drop_begin(weight.shape))
    depth *= size;
  return depth;
}

llvm::Expected<uint64_t> layoutBytes(const Weight &weight,
                                     llvm::StringRef layout) {
  if (layout.empty())
    return weight.bytes().size();
  bool isFilter = weight.shape.size() > 2 && weight.elementType.isF32();
  if (isFilter && layout == "taps_first")
    return weight.bytes().size();
  if (isFilter && layout == "conv48")
    return uint64_t(llvm::divideCeil(weight.shape[0], panelColumns)) *
           filterDepth(weight) * panelColumns * sizeof(float);
  bool isRows = layout == "rows48";
  if ((!isRows && layout != "packed48") || weight.shape.size() != 2 ||
      !weight.elementType.isF32())
    return llvm::createStringError("internal error: weight '" + weight.name +
                                   "' cannot have the layout '" + layout +
                                   "'; please report this");
  return uint64_t(
             llvm::divideCeil(weight.shape[isRows ? 0 : 1], panelColumns)) *
         weight.shape[isRows ? 1 : 0] * panelColumns * sizeof(float);
}

/// A matrix [K, N], or [N, K] if it `isTransposed`.
void packPanels(const PlacedWeight &placed, bool isTransposed, ByteSink sink) {
  int64_t rows = placed.weight->shape[0], columns = placed.weight->shape[1];
  if (isTransposed)
    std::swap(rows, columns);
  const char *source = placed.weight->bytes().data();
  // Some rows at a time: a few dozen KiB whatever the matrix.
  constexpr int64_t rowsAtOnce = 256;
  std::vector<float> chunk(rowsAtOnce * panelColumns);
  for (int64_t column = 0; column < columns; column += panelColumns) {
    int64_t width = std::min(panelColumns, columns - column);
    for (int64_t row = 0; row < rows; row += rowsAtOnce) {
      int64_t height = std::min(rowsAtOnce, rows - row);
      if (width < panelColumns)
        std::fill(chunk.begin(), chunk.end(), 0.0f);
      for (int64_t i = 0; i < height && !isTransposed; ++i)
        std::memcpy(chunk.data() + i * panelColumns,
                    source + ((row + i) * columns + column) * sizeof(float),
                    size_t(width) * sizeof(float));
      for (int64_t j = 0; j < width && isTransposed; ++j)
        for (int64_t i = 0; i < height; ++i)
          std::memcpy(&chunk[i * panelColumns + j],
                      source + ((column + j) * rows + row + i) * sizeof(float),
                      sizeof(float));
      sink({reinterpret_cast<const char *>(chunk.data()),
            size_t(height * panelColumns) * sizeof(float)});
    }
  }
}

/// A filter [M, C, taps..] as [ceil(M / width)][taps..][C][width].
void packFilter(const PlacedWeight &placed, int64_t width, ByteSink sink) {
  int64_t maps = placed.weight->shape[0], channels = placed.weight->shape[1];
  int64_t depth = filterDepth(*placed.weight);
  int64_t taps = depth / std::max<int64_t>(channels, 1);
  const char *source = placed.weight->bytes().data();
  std::vector<float> chunk(channels * width);
  for (int64_t map = 0; map < maps; map += width) {
    int64_t count = std::min(width, maps - map);
    std::fill(chunk.begin(), chunk.end(), 0.0f);
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t m = 0; m < count; ++m)
          std::memcpy(&chunk[c * width + m],
                      source + ((map + m) * depth + c * taps + tap) *
                                   int64_t(sizeof(float)),
                      sizeof(float));
      sink({reinterpret_cast<const char *>(chunk.data()),
            chunk.size() * sizeof(float)});
    }
  }
}

} // namespace

llvm::Expected<PlacedWeight> WeightPlan::place(llvm::StringRef name,
                                               llvm::StringRef layout) {
  if (layout == "row-major")
    layout = "";
  auto [known, isNew] =
      byName.try_emplace({name.str(), layout.str()}, unique.size());
  if (!isNew)
    return unique[known->second];
  const Weight *weight = store.lookup(name);
  if (!weight)
    return llvm::createStringError("internal error: there is no weight '" +
                                   name + "'; please report this");
  if (weight->transposed && layout == "packed48") {
    weight = weight->transposed;
    layout = "rows48";
  }
  auto bytes = layoutBytes(*weight, layout);
  if (!bytes)
    return bytes.takeError();
  XXH128_hash_t sum =
      XXH3_128bits(weight->bytes().data(), weight->bytes().size());
  // In a layout of its own the same bytes differ by the shape.
  std::string form = layout.str();
  if (!layout.empty())
    for (int64_t size : weight->shape)
      form += ' ' + std::to_string(size);
  auto [same, isFirst] = byContent.try_emplace(
      Content{sum.low64, sum.high64, weight->bytes().size(), form},
      unique.size());
  known->second = same->second;
  if (isFirst) {
    end = llvm::alignTo(end, TENON_BUFFER_ALIGN);
    unique.push_back({weight, layout.str(), end, *bytes});
    end += *bytes;
  }
  return unique[same->second];
}

void tenon::layOut(const PlacedWeight &placed, ByteSink sink) {
  if (placed.layout.empty())
    sink(placed.weight->bytes());
  else if (placed.layout == "conv48")
    packFilter(placed, panelColumns, sink);
  else if (placed.layout == "taps_first")
    packFilter(placed, std::max<int64_t>(placed.weight->shape[0], 1), sink);
  else
    packPanels(placed, placed.layout == "rows48", sink);
}
