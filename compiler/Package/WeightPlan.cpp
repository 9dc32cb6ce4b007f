//===- WeightPlan.cpp - Which weights go into the file, where and how -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/WeightPlan.h"

#include "compiler/Package/CellPanels.h"
#include "compiler/Package/FragmentPanels.h"
#include "compiler/Package/NarrowPanels.h"
#include "compiler/Package/RowMajor.h"
#include "compiler/Weights/WeightBlock.h"
#include "dialects/Kernel/FilterLayout.h"
#include "dialects/Kernel/IntegerConvView.h"
#include "dialects/Kernel/Packing.h"
#include "dialects/Kernel/WinogradView.h"
#include "mlir/IR/BuiltinTypes.h"
#include "runtime/model_format.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace tenon;

namespace {

using kernel::panelColumns;

/// Channels times taps of a filter.
int64_t filterDepth(const Weight &weight) {
  int64_t depth = 1;
  for (int64_t size : llvm::drop_begin(weight.shape))
    depth *= size;
  return depth;
}

int64_t elementBytes(const Weight &weight) {
  return weight.elementType.getIntOrFloatBitWidth() / 8;
}

llvm::Expected<uint64_t> layoutBytes(const Weight &weight,
                                     llvm::StringRef layout) {
  if (layout.empty() && hasNibbles(weight.elementType))
    return uint64_t(elementCount(weight.shape).value_or(0));
  int64_t ownBytes = tensorBytes(weight.elementType, weight.shape).value_or(0);
  if (layout.empty())
    return uint64_t(ownBytes);
  if (isNarrowLayout(layout, weight))
    if (std::optional<uint64_t> bytes = narrowBytes(weight, layout))
      return *bytes;
  if (auto fragments = kernel::FragmentLayout::parse(layout))
    if (std::optional<uint64_t> bytes = fragmentBytes(weight, *fragments))
      return *bytes;
  bool isFilter = weight.shape.size() > 2 && weight.elementType.isF32();
  if (isFilter && layout == "taps_first")
    return uint64_t(ownBytes);
  if (auto filter = kernel::FilterLayout::parse(layout);
      weight.shape.size() > 2 && weight.elementType.isFloat() && filter)
    if (std::optional<int64_t> count = filter->elements(weight.shape))
      return uint64_t(*count) * elementBytes(weight);
  if (auto winograd = kernel::WinogradLayout::parse(layout);
      isFilter && winograd)
    if (std::optional<int64_t> count = winograd->elements(weight.shape))
      return uint64_t(*count) * sizeof(float);
  if (std::optional<uint64_t> bytes = cellBytes(weight, layout))
    return *bytes;
  if (layout == kernel::quadsLayout && weight.shape.size() == 2 &&
      weight.elementType.isInteger(8))
    return uint64_t(kernel::quadsBytes(weight.shape[0], weight.shape[1]));
  if (auto quads = kernel::QuadFilter::parse(layout);
      quads && weight.shape.size() > 2 && weight.elementType.isInteger(8))
    return uint64_t(quads->bytes(weight.shape));
  bool isRows = layout == "rows48", isHalves = layout == "packed48_halves";
  bool isBatch = layout == "packed48" && weight.shape.size() == 3;
  bool isPairs = weight.elementType.isBF16();
  bool isF16 = weight.elementType.isF16();
  if ((!isRows && !isHalves && layout != "packed48") ||
      (weight.shape.size() != 2 && !isBatch) ||
      (!weight.elementType.isF32() && !isPairs && !isF16) ||
      (isHalves && weight.shape[1] % 2 != 0))
    return llvm::createStringError("internal error: weight '" + weight.name +
                                   "' cannot have the layout '" + layout +
                                   "'; please report this");
  llvm::ArrayRef<int64_t> matrix = llvm::ArrayRef(weight.shape).take_back(2);
  int64_t depth = matrix[isRows ? 1 : 0], parts = isHalves ? 2 : 1;
  int64_t columns = matrix[isRows ? 0 : 1] / parts;
  if (isPairs)
    depth = llvm::divideCeil(depth, 2); // A pair takes as much as one f32.
  return uint64_t(llvm::divideCeil(columns, panelColumns)) * parts * depth *
         (isBatch ? weight.shape[0] : 1) * panelColumns *
         (isF16 ? sizeof(uint16_t) : sizeof(float));
}

template <typename T>
llvm::ArrayRef<char> bytesOf(const T *elements, size_t count) {
  return {reinterpret_cast<const char *>(elements), count * sizeof(T)};
}

/// Rows of a panel as bf16, in pairs of rows.
void packPairs(const float *rows, int64_t count, std::vector<uint32_t> &out) {
  out.resize(size_t(llvm::divideCeil(count, 2) * panelColumns));
  uint32_t *to = out.data();
  for (; count > 0; count -= 2, rows += 2 * panelColumns, to += panelColumns)
    for (int64_t column = 0; column < panelColumns; ++column) {
      uint32_t even = roundToBf16(rows[column]);
      uint32_t odd =
          count > 1 ? roundToBf16(rows[panelColumns + column]) : uint16_t(0);
      to[column] = even | odd << 16;
    }
}

/// Rows of a panel as f16.
void packHalves(const float *rows, int64_t count, std::vector<uint16_t> &out) {
  out.resize(size_t(count * panelColumns));
  std::transform(rows, rows + out.size(), out.begin(), roundToF16);
}

/// `parts` equal ranges of columns, their panels in turn.
void packPanels(const PlacedWeight &placed, int64_t parts, ByteSink sink) {
  bool isRows = placed.layout == "rows48";
  llvm::ArrayRef<int64_t> shape = placed.weight->shape;
  int64_t depth = shape.take_back(2)[isRows ? 1 : 0];
  int64_t columns = shape.take_back(2)[isRows ? 0 : 1] / parts;
  int64_t batches = shape.size() == 3 ? shape[0] : 1;
  // Some rows at a time: a few dozen KiB whatever the matrix.
  constexpr int64_t rowsAtOnce = 256;
  std::vector<float> chunk(rowsAtOnce * panelColumns);
  std::vector<uint32_t> pairs;
  std::vector<uint16_t> halves;
  auto packPanel = [&](int64_t batch, int64_t part, int64_t column) {
    for (int64_t row = 0; row < depth; row += rowsAtOnce) {
      MatrixBlock block = {batch * depth + row,
                           std::min(rowsAtOnce, depth - row),
                           part * columns + column,
                           std::min(panelColumns, columns - column), isRows};
      if (block.columns < panelColumns)
        std::fill(chunk.begin(), chunk.end(), 0.0f);
      readBlock(*placed.weight, block, chunk.data(), panelColumns);
      if (placed.weight->elementType.isBF16()) {
        packPairs(chunk.data(), block.rows, pairs);
        sink(bytesOf(pairs.data(), pairs.size()));
      } else if (placed.weight->elementType.isF16()) {
        packHalves(chunk.data(), block.rows, halves);
        sink(bytesOf(halves.data(), halves.size()));
      } else {
        sink(bytesOf(chunk.data(), size_t(block.rows * panelColumns)));
      }
    }
  };
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t column = 0; column < columns; column += panelColumns)
      for (int64_t part = 0; part < parts; ++part)
        packPanel(batch, part, column);
}

/// A matrix of ui8 or i8 by panels of quads, with the sums of their columns.
void packQuads(const PlacedWeight &placed, ByteSink sink) {
  constexpr int64_t rowsAtOnce = 256, lineBytes = panelColumns * 4;
  const Weight &weight = *placed.weight;
  int64_t depth = weight.shape[0], columns = weight.shape[1];
  int offset = weight.elementType.isUnsignedInteger() ? 128 : 0;
  std::vector<float> rows(rowsAtOnce * panelColumns);
  std::vector<char> quads(rowsAtOnce / 4 * lineBytes);
  for (int64_t column = 0; column < columns; column += panelColumns) {
    std::vector<int32_t> sums(panelColumns);
    int64_t width = std::min(panelColumns, columns - column);
    for (int64_t row = 0; row < depth; row += rowsAtOnce) {
      int64_t height = std::min(rowsAtOnce, depth - row);
      readBlock(weight, {row, height, column, width, false}, rows.data(),
                panelColumns);
      std::fill(quads.begin(), quads.end(), 0);
      for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < width; ++j) {
          int number = int(rows[i * panelColumns + j]) - offset;
          quads[i / 4 * lineBytes + j * 4 + i % 4] = char(number);
          sums[j] += number;
        }
      sink({quads.data(), size_t(llvm::divideCeil(height, 4) * lineBytes)});
    }
    sink({reinterpret_cast<const char *>(sums.data()), size_t(lineBytes)});
  }
}

/// A filter of ui8 or i8 by panels of quads, with the sums of their maps.
void packQuadFilter(const PlacedWeight &placed,
                    const kernel::QuadFilter &layout, ByteSink sink) {
  const Weight &weight = *placed.weight;
  llvm::ArrayRef<int64_t> shape = weight.shape;
  int64_t channels = shape[1], depth = filterDepth(weight);
  int64_t taps = depth / std::max<int64_t>(channels, 1);
  int offset = weight.elementType.isUnsignedInteger() ? 128 : 0;
  std::vector<char> panel(
      size_t(layout.depth(shape) * panelColumns * kernel::quadSteps));
  const char *source = weight.bytes().data();
  auto numberOf = [&](int64_t at) {
    return offset ? int(uint8_t(source[at])) - offset : int(int8_t(source[at]));
  };
  kernel::PanelCut cut = layout.panelsOf(shape[0]);
  for (int64_t number = 0; number < cut.count(); ++number) {
    std::fill(panel.begin(), panel.end(), 0);
    std::vector<int32_t> sums(panelColumns);
    int64_t first = cut.first(number), width = cut.width(number);
    for (int64_t map = 0; map < width; ++map)
      for (int64_t channel = 0; channel < channels; ++channel)
        for (int64_t tap = 0; tap < taps; ++tap) {
          int number = numberOf((first + map) * depth + channel * taps + tap);
          panel[layout.placeInPanel(shape, channel, tap, map)] = char(number);
          sums[map] += number;
        }
    sink(panel);
    sink(bytesOf(sums.data(), sums.size()));
  }
}

void packFilter(const PlacedWeight &placed, const kernel::FilterLayout &layout,
                ByteSink sink) {
  llvm::ArrayRef<int64_t> shape = placed.weight->shape;
  int64_t maps = layout.mapsOf(shape), width = layout.width;
  int64_t own = shape[1], channels = layout.channelsOf(shape);
  int64_t depth = filterDepth(*placed.weight);
  int64_t taps = depth / std::max<int64_t>(own, 1);
  int64_t bytes = elementBytes(*placed.weight);
  std::vector<char> chunk(channels * width * bytes);
  auto packPanel = [&](int64_t block, int64_t first, int64_t count) {
    const char *source =
        placed.weight->bytes().data() + (block * maps + first) * depth * bytes;
    std::fill(chunk.begin(), chunk.end(), 0);
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t c = 0; c < own; ++c)
        for (int64_t m = 0; m < count; ++m) {
          int64_t channel = layout.firstChannel(shape, first + m) + c;
          int64_t place = layout.placeInPanel(0, channel, channels, m);
          std::memcpy(&chunk[place * bytes],
                      source + (m * depth + c * taps + tap) * bytes, bytes);
        }
      sink(chunk);
    }
  };
  for (int64_t block = 0; block < layout.blocks(); ++block)
    for (int64_t panel = 0; panel < layout.panels(maps); ++panel) {
      int64_t first = layout.firstMap(maps, panel);
      packPanel(block, first, layout.firstMap(maps, panel + 1) - first);
    }
}

/// A filter of 3x3 taps, each map and channel of it transformed in f64.
void transformFilter(const PlacedWeight &placed,
                     const kernel::WinogradLayout &layout, ByteSink sink) {
  constexpr int64_t width = kernel::winogradColumns;
  int64_t maps = placed.weight->shape[0], channels = placed.weight->shape[1];
  int64_t side = layout.outputs + 2, positions = layout.positions();
  auto matrix = kernel::WinogradMatrices::of(layout.outputs).filter;
  const char *source = placed.weight->bytes().data();
  std::vector<float> panel(positions * channels * width);
  auto transform = [&](int64_t map, int64_t channel, int64_t column) {
    float taps[9];
    std::memcpy(taps,
                source + (map * channels + channel) * int64_t(sizeof taps),
                sizeof taps);
    for (int64_t y = 0; y < side; ++y) {
      double line[3] = {};
      for (int64_t tap = 0; tap < 9; ++tap)
        line[tap % 3] += matrix[y][tap / 3] * taps[tap];
      for (int64_t x = 0; x < side; ++x)
        panel[((y * side + x) * channels + channel) * width + column] =
            float(matrix[x][0] * line[0] + matrix[x][1] * line[1] +
                  matrix[x][2] * line[2]);
    }
  };
  for (int64_t first = 0; first < maps; first += width) {
    std::fill(panel.begin(), panel.end(), 0.0f);
    for (int64_t channel = 0; channel < channels; ++channel)
      for (int64_t map = first; map < std::min(first + width, maps); ++map)
        transform(map, channel, map - first);
    sink({reinterpret_cast<const char *>(panel.data()),
          panel.size() * sizeof(float)});
  }
}

/// Of the bytes, without making those of weights that are made of others.
XXH128_hash_t contentOf(const Weight &weight) {
  if (!weight.isMade())
    return XXH3_128bits(weight.bytes().data(), weight.bytes().size());
  struct Part {
    XXH128_hash_t sum;
    uint64_t rows, columns;
  };
  std::vector<Part> parts;
  auto add = [&](const Weight &part) {
    parts.push_back({contentOf(part), uint64_t(part.shape[0]),
                     uint64_t(part.shape.back())});
  };
  if (weight.transposed)
    add(*weight.transposed);
  if (const Weight *source = weight.rounded ? weight.rounded : weight.widened)
    add(*source);
  for (const Weight *part : weight.joined)
    add(*part);
  return XXH3_128bits_withSeed(parts.data(), parts.size() * sizeof(Part),
                               weight.transposed             ? 1
                               : !weight.joined.empty()      ? 2
                               : weight.widened              ? 5
                               : weight.elementType.isBF16() ? 3
                                                             : 4);
}

} // namespace

llvm::Expected<PlacedWeight> WeightPlan::place(llvm::StringRef name,
                                               llvm::StringRef layout) {
  if (layout == "row-major")
    layout = "";
  std::pair<std::string, std::string> key = {name.str(), layout.str()};
  if (auto known = byName.find(key); known != byName.end())
    return unique[known->second];
  const Weight *weight = store.lookup(name);
  if (!weight)
    return llvm::createStringError("internal error: there is no weight '" +
                                   name + "'; please report this");
  bool areBytes =
      layout == kernel::linesLayout && weight->elementType.isInteger(8);
  if (weight->transposed && (layout == "packed48" || areBytes)) {
    weight = weight->transposed;
    layout = "rows48";
  }
  auto bytes = layoutBytes(*weight, layout);
  if (!bytes)
    return bytes.takeError();
  XXH128_hash_t sum = contentOf(*weight);
  // In a layout of its own the same bytes differ by the shape, and numbers of 4
  // bits by their sign.
  std::string form = layout.str();
  if (hasNibbles(weight->elementType) &&
      weight->elementType.isUnsignedInteger())
    form += " unsigned";
  if (!layout.empty())
    for (int64_t size : weight->shape)
      form += ' ' + std::to_string(size);
  auto [same, isFirst] = byContent.try_emplace(
      Content{sum.low64, sum.high64, *bytes, form}, unique.size());
  byName.emplace(std::move(key), same->second);
  if (isFirst) {
    end = llvm::alignTo(end, TENON_BUFFER_ALIGN);
    unique.push_back({weight, layout.str(), end, *bytes});
    end += *bytes;
  }
  return unique[same->second];
}

void tenon::layOut(const PlacedWeight &placed, ByteSink sink) {
  if (placed.layout.empty() && hasNibbles(placed.weight->elementType))
    widenNibbles(*placed.weight, sink);
  else if (placed.layout.empty())
    layRows(*placed.weight, sink);
  else if (placed.layout == kernel::quadsLayout)
    packQuads(placed, sink);
  else if (auto quads = kernel::QuadFilter::parse(placed.layout))
    packQuadFilter(placed, *quads, sink);
  else if (cellBytes(*placed.weight, placed.layout))
    packCells(placed, sink);
  else if (auto filter = kernel::FilterLayout::parse(placed.layout))
    packFilter(placed, *filter, sink);
  else if (auto winograd = kernel::WinogradLayout::parse(placed.layout))
    transformFilter(placed, *winograd, sink);
  else if (isNarrowLayout(placed.layout, *placed.weight))
    packNarrow(placed, sink);
  else if (auto fragments = kernel::FragmentLayout::parse(placed.layout))
    packFragments(placed, *fragments, sink);
  else if (placed.layout == "taps_first")
    packFilter(placed, {std::max<int64_t>(placed.weight->shape[0], 1)}, sink);
  else
    packPanels(placed, placed.layout == "packed48_halves" ? 2 : 1, sink);
}
