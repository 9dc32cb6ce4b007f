//===- NarrowPanels.cpp - Panels of numbers that are not f32 --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/NarrowPanels.h"
#include "compiler/Package/MatrixSource.h"
#include "dialects/Kernel/Packing.h"
#include <cstring>

using namespace tenon;

namespace {

using kernel::panelColumns;
using kernel::stepsOfWord;

struct Layout {
  bool nibbles;
  int64_t parts;
  bool isOfRows = false; // Of the matrix whose transpose lies in panels.
};

std::optional<Layout> parse(llvm::StringRef name) {
  int64_t parts = name.consume_back("_halves") ? 2 : 1;
  if (name == kernel::linesLayout)
    return Layout{false, parts};
  if (name == kernel::nibblesLayout)
    return Layout{true, parts};
  if (name == kernel::rowsLayout && parts == 1)
    return Layout{false, parts, /*isOfRows=*/true};
  return std::nullopt;
}

/// Lines of a panel, some dozen KiB at a time.
class Lines {
public:
  Lines(int64_t lineBytes, ByteSink sink)
      : lineBytes(size_t(lineBytes)), sink(sink) {}

  char *next() {
    if (bytes.size() >= linesAtOnce * lineBytes)
      flush();
    bytes.resize(bytes.size() + lineBytes);
    return bytes.data() + bytes.size() - lineBytes;
  }
  void flush() {
    sink(bytes);
    bytes.clear();
  }

private:
  static constexpr size_t linesAtOnce = 256;
  size_t lineBytes;
  ByteSink sink;
  std::vector<char> bytes;
};

void packNibbles(const MatrixSource &source, int64_t first, int64_t width,
                 Lines &lines) {
  for (int64_t k = 0; k < source.depth; k += stepsOfWord) {
    char *line = lines.next();
    int64_t steps = std::min(stepsOfWord, source.depth - k);
    for (int64_t n = 0; n < width; ++n) {
      uint32_t word = 0;
      for (int64_t i = 0; i < steps; ++i)
        word |= source.nibble(k + i, first + n) << (4 * i);
      std::memcpy(line + n * int64_t(sizeof word), &word, sizeof word);
    }
  }
}

void packLines(const MatrixSource &source, int64_t first, int64_t width,
               int64_t bytes, Lines &lines) {
  for (int64_t k = 0; k < source.depth; ++k) {
    char *line = lines.next();
    for (int64_t n = 0; n < width; ++n)
      source.read(k, first + n, bytes, line + n * bytes);
  }
}

} // namespace

void tenon::widenNibbles(const Weight &weight, ByteSink sink) {
  constexpr int64_t atOnce = int64_t(1) << 16;
  int64_t count = elementCount(weight.shape).value_or(0);
  llvm::ArrayRef<char> bytes = weight.bytes();
  std::vector<char> chunk;
  for (int64_t first = 0; first < count; first += atOnce) {
    chunk.resize(size_t(std::min(atOnce, count - first)));
    for (size_t i = 0; i < chunk.size(); ++i) {
      size_t at = size_t(first) + i;
      chunk[i] = widenedNibble(uint32_t(bytes[at / 2] >> (at % 2 * 4)) & 15,
                               weight.elementType);
    }
    sink(chunk);
  }
}

bool tenon::isNarrowLayout(llvm::StringRef layout, const Weight &weight) {
  std::optional<Layout> parsed = parse(layout);
  return parsed && (!parsed->isOfRows || weight.elementType.isInteger(8));
}

std::optional<uint64_t> tenon::narrowBytes(const Weight &weight,
                                           llvm::StringRef layout) {
  std::optional<Layout> parsed = parse(layout);
  std::optional<int64_t> width = MatrixSource::widthOf(weight);
  if (!parsed || !width || weight.shape.size() != 2 ||
      weight.shape[1] % parsed->parts != 0 || (parsed->nibbles && *width != 1))
    return std::nullopt;
  int64_t columns = weight.shape[parsed->isOfRows ? 0 : 1];
  uint64_t panels = llvm::divideCeil(columns / parsed->parts, panelColumns) *
                    uint64_t(parsed->parts);
  uint64_t depth = uint64_t(weight.shape[parsed->isOfRows ? 1 : 0]);
  return parsed->nibbles
             ? panels * llvm::divideCeil(depth, stepsOfWord) * panelColumns * 4
             : panels * depth * panelColumns * *width;
}

void tenon::packNarrow(const PlacedWeight &placed, ByteSink sink) {
  Layout layout = *parse(placed.layout);
  MatrixSource source(*placed.weight, layout.isOfRows);
  int64_t bytes = *MatrixSource::widthOf(*placed.weight);
  int64_t columns = source.columns / layout.parts;
  Lines lines(panelColumns * (layout.nibbles ? 4 : bytes), sink);
  for (int64_t n = 0; n < columns; n += panelColumns)
    for (int64_t part = 0; part < layout.parts; ++part) {
      int64_t first = part * columns + n;
      int64_t width = std::min(panelColumns, columns - n);
      if (layout.nibbles)
        packNibbles(source, first, width, lines);
      else
        packLines(source, first, width, bytes, lines);
    }
  lines.flush();
}
