//===- FragmentPanels.cpp - Weights of few bits for devices ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/FragmentPanels.h"
#include "compiler/Package/MatrixSource.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace tenon;
using kernel::fragmentColumns;
using kernel::FragmentLayout;

namespace {

/// Elements of the matrix [taps.. * C, M] that a filter of bytes is.
class FilterSource {
public:
  explicit FilterSource(const Weight &weight)
      : channels(weight.shape[1]), bytes(weight.bytes()) {
    for (int64_t size : llvm::drop_begin(weight.shape, 2))
      taps *= size;
  }

  char read(int64_t k, int64_t map) const {
    int64_t channel = map * channels + k % channels;
    return bytes[size_t(channel * taps + k / channels)];
  }

private:
  int64_t channels, taps = 1;
  llvm::ArrayRef<char> bytes;
};

class Packer {
public:
  Packer(const Weight &weight, const FragmentLayout &layout)
      : source(weight), layout(layout),
        depth(layout.matrixOf(weight.shape)->rows),
        width(*MatrixSource::widthOf(weight)), rowsOfBlock(layout.steps()),
        bias(source.type.isUnsignedInteger() ? 0 : 8) {
    if (weight.shape.size() > 2)
      filter.emplace(weight);
  }

  /// A panel of the columns from `first` on, `count` of which are there.
  void pack(int64_t first, int64_t count, ByteSink sink) const {
    int64_t blocks = layout.blocks(depth);
    size_t each = size_t(layout.blockBytes(width));
    std::vector<char> panel(size_t(blocks) * each);
    for (int64_t k = 0; k < depth; ++k) {
      char *block = panel.data() + size_t(k / rowsOfBlock) * each;
      for (int64_t n = 0; n < count; ++n)
        put(k, first + n, layout.placeInBlock(k % rowsOfBlock, n, width),
            block);
    }
    sink(panel);
  }

  /// The sums of a filter's columns.
  void packSums(int64_t columns, ByteSink sink) const {
    std::vector<int32_t> sums(llvm::alignTo(columns, fragmentColumns), 0);
    for (int64_t n = 0; n < columns; ++n)
      for (int64_t k = 0; k < depth; ++k)
        sums[size_t(n)] += filter->read(k, n);
    sink({reinterpret_cast<const char *>(sums.data()),
          sums.size() * sizeof sums[0]});
  }

private:
  void put(int64_t k, int64_t n, int64_t bit, char *block) const {
    if (filter) {
      block[bit / 8] = filter->read(k, n);
      return;
    }
    if (layout.bits != 4)
      return source.read(k, n, width, block + bit / 8);
    uint32_t number = (source.nibble(k, n) + bias) & 15;
    block[bit / 8] = char(block[bit / 8] | int(number << bit % 8));
  }

  const MatrixSource source;
  std::optional<FilterSource> filter; // Instead, of more than two axes.
  const FragmentLayout &layout;
  const int64_t depth, width, rowsOfBlock;
  const uint32_t bias;
};

} // namespace

std::optional<uint64_t> tenon::fragmentBytes(const Weight &weight,
                                             const FragmentLayout &layout) {
  std::optional<int64_t> width = MatrixSource::widthOf(weight);
  if (!width || (layout.bits != 0 && *width != 1))
    return std::nullopt;
  return layout.bytesOf(weight.shape, *width);
}

void tenon::packFragments(const PlacedWeight &placed,
                          const FragmentLayout &layout, ByteSink sink) {
  Packer packer(*placed.weight, layout);
  int64_t columns =
      layout.matrixOf(placed.weight->shape)->columns / layout.parts;
  for (int64_t n = 0; n < columns; n += fragmentColumns)
    for (int64_t part = 0; part < layout.parts; ++part)
      packer.pack(part * columns + n, std::min(fragmentColumns, columns - n),
                  sink);
  if (placed.weight->shape.size() > 2)
    packer.packSums(columns, sink);
}
