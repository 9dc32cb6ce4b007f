//===- UnpackWeight.cpp - Weights as they were before packing -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/UnpackWeight.h"

#include "dialects/Kernel/FilterLayout.h"
#include "dialects/Kernel/FragmentLayout.h"
#include "dialects/Kernel/IntegerConvView.h"
#include "dialects/Kernel/Packing.h"
#include "dialects/Kernel/RecurrentView.h"
#include "dialects/Kernel/WinogradView.h"

#include <array>
#include <cstring>

using namespace mlir;
using namespace tenon;

namespace {

using kernel::panelColumns;

/// Elements of a packed weight: their bytes, and the rows of a panel that lie
/// together.
struct Packed {
  int64_t bytes, together;

  static Packed of(Type element) {
    return {int64_t(graph::byteWidth(element)), element.isBF16() ? 2 : 1};
  }
};

/// Where a panel has the element of a row and a lane, in bytes.
int64_t placeInPanels(int64_t panel, int64_t rows, int64_t row, int64_t lane,
                      Packed form) {
  int64_t line =
      panel * llvm::divideCeil(rows, form.together) + row / form.together;
  return ((line * panelColumns + lane) * form.together + row % form.together) *
         form.bytes;
}

/// A packed48 weight as the matrix that it is, of `parts` ranges of columns.
TensorBytes unpack(const char *packed, int64_t rows, int64_t columns,
                   Packed form, int64_t parts = 1) {
  TensorBytes matrix(size_t(rows * columns * form.bytes));
  int64_t width = columns / parts;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t lane = column % width % panelColumns;
      int64_t panel = column % width / panelColumns * parts + column / width;
      std::memcpy(matrix.data() + (row * columns + column) * form.bytes,
                  packed + placeInPanels(panel, rows, row, lane, form),
                  size_t(form.bytes));
    }
  return matrix;
}

/// A matrix that lies in lines of panels, or its numbers of 4 bits, of `parts`
/// ranges of columns.
TensorBytes unpackNarrow(const char *packed, int64_t rows, int64_t columns,
                         int64_t bytes, bool isNibbles, bool isSigned,
                         int64_t parts) {
  TensorBytes matrix(size_t(rows * columns * bytes));
  int64_t width = columns / parts;
  int64_t lines =
      isNibbles ? llvm::divideCeil(rows, kernel::stepsOfWord) : rows;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t lane = column % width % panelColumns;
      int64_t panel = column % width / panelColumns * parts + column / width;
      char *to = matrix.data() + (row * columns + column) * bytes;
      if (!isNibbles) {
        int64_t line = (panel * lines + row) * panelColumns;
        std::memcpy(to, packed + (line + lane) * bytes, size_t(bytes));
        continue;
      }
      int64_t line = panel * lines + row / kernel::stepsOfWord;
      int64_t step = row % kernel::stepsOfWord;
      char pair = packed[(line * panelColumns + lane) * 4 + step / 2];
      int number = pair >> (step % 2 * 4) & 15;
      *to = char(isSigned && number > 7 ? number - 16 : number);
    }
  return matrix;
}

/// A matrix as devices' warps read it, of elements of so many bytes.
TensorBytes unpackFragments(const char *packed,
                            const kernel::FragmentLayout &layout, int64_t rows,
                            int64_t columns, int64_t bytes, bool isSigned) {
  TensorBytes matrix(size_t(rows * columns * bytes));
  int64_t width = columns / layout.parts, ofBlock = layout.blockBytes(bytes);
  int64_t steps = layout.steps();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t inPart = column % width;
      int64_t panel =
          inPart / kernel::fragmentColumns * layout.parts + column / width;
      int64_t block = panel * layout.blocks(rows) + row / steps;
      int64_t bit = layout.placeInBlock(
          row % steps, inPart % kernel::fragmentColumns, bytes);
      const char *from = packed + block * ofBlock + bit / 8;
      char *to = matrix.data() + (row * columns + column) * bytes;
      if (layout.bits == 4)
        *to = char((*from >> bit % 8 & 15) - (isSigned ? 8 : 0));
      else
        std::memcpy(to, from, size_t(bytes));
    }
  return matrix;
}

/// The filter [M, C, taps..] of bytes that a matrix [taps.. * C, M] is.
TensorBytes filterOf(const TensorBytes &matrix, ArrayRef<int64_t> shape) {
  size_t maps = shape[0], channels = shape[1];
  size_t taps = matrix.size() / std::max<size_t>(maps * channels, 1);
  TensorBytes filter(matrix.size());
  for (size_t m = 0; m < maps; ++m)
    for (size_t c = 0; c < channels; ++c)
      for (size_t tap = 0; tap < taps; ++tap)
        filter[(m * channels + c) * taps + tap] =
            matrix[(tap * channels + c) * maps + m];
  return filter;
}

/// A packed48 weight as the matrices [B, K, N] that it is.
TensorBytes unpackBatch(const char *packed, ArrayRef<int64_t> shape,
                        Packed form) {
  TensorBytes matrices;
  int64_t panels = llvm::divideCeil(shape[2], panelColumns);
  for (int64_t batch = 0; batch < shape[0]; ++batch) {
    TensorBytes matrix =
        unpack(packed + placeInPanels(batch * panels, shape[1], 0, 0, form),
               shape[1], shape[2], form);
    matrices.insert(matrices.end(), matrix.begin(), matrix.end());
  }
  return matrices;
}

/// A packed48_quads weight as the matrix that it is.
TensorBytes unpackQuads(const char *packed, int64_t rows, int64_t columns,
                        bool isUnsigned) {
  TensorBytes matrix(size_t(rows * columns));
  int64_t lines = llvm::divideCeil(rows, 4) + 1;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t line = column / panelColumns * lines + row / 4;
      int64_t quad = line * panelColumns + column % panelColumns;
      matrix[size_t(row * columns + column)] =
          char(packed[quad * 4 + row % 4] + (isUnsigned ? 128 : 0));
    }
  return matrix;
}

/// A filter that lies in quads of its lines as it was: [M, C, taps..].
TensorBytes unpackQuadFilter(const char *packed, ArrayRef<int64_t> shape,
                             const kernel::QuadFilter &layout,
                             bool isUnsigned) {
  int64_t taps = 1, channels = shape[1];
  for (int64_t size : shape.drop_front(2))
    taps *= size;
  int64_t panelBytes = (layout.depth(shape) + 1) * panelColumns * 4;
  kernel::PanelCut cut = layout.panelsOf(shape[0]);
  TensorBytes filter(size_t(shape[0] * channels * taps));
  for (int64_t m = 0; m < shape[0]; ++m)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t panel = cut.panelOf(m);
        int64_t at = panel * panelBytes +
                     layout.placeInPanel(shape, c, tap, m - cut.first(panel));
        filter[size_t((m * channels + c) * taps + tap)] =
            char(packed[at] + (isUnsigned ? 128 : 0));
      }
  return filter;
}

/// A rows48 weight as the matrix that it is.
TensorBytes unpackRows(const char *packed, int64_t rows, int64_t columns,
                       Packed form) {
  TensorBytes matrix(size_t(rows * columns * form.bytes));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      std::memcpy(matrix.data() + (row * columns + column) * form.bytes,
                  packed + placeInPanels(row / panelColumns, columns, column,
                                         row % panelColumns, form),
                  size_t(form.bytes));
  return matrix;
}

/// A packed filter as it was: [M, C, taps..].
TensorBytes unpackFilter(const char *packed, ArrayRef<int64_t> shape,
                         const kernel::FilterLayout &layout, int64_t bytes) {
  int64_t maps = shape[0], channels = shape[1], taps = 1, width = layout.width;
  int64_t own = std::max<int64_t>(layout.mapsOf(shape), 1);
  int64_t panels = layout.panels(own),
          packedChannels = layout.channelsOf(shape);
  for (int64_t size : shape.drop_front(2))
    taps *= size;
  TensorBytes filter(size_t(maps * channels * taps) * bytes);
  for (int64_t m = 0; m < maps; ++m)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t) {
        int64_t panel = layout.panelOf(own, m % own);
        int64_t lane = m % own - layout.firstMap(own, panel);
        int64_t channel = layout.firstChannel(shape, m % own) + c;
        int64_t place =
            (m / own * panels + panel) * taps * packedChannels * width +
            layout.placeInPanel(t, channel, packedChannels, lane);
        std::memcpy(filter.data() + ((m * channels + c) * taps + t) * bytes,
                    packed + place * bytes, bytes);
      }
  return filter;
}

/// The recurrence of a cell as it was: [D, G*H, H], of f32 or bf16.
TensorBytes unpackCells(const char *packed, const kernel::RecurrentView &view,
                        bool inPairs) {
  int64_t bytes = inPairs ? 2 : 4;
  TensorBytes recurrence(
      size_t(view.directions * view.units() * view.hidden * bytes));
  char *to = recurrence.data();
  for (int64_t d = 0; d < view.directions; ++d)
    for (int64_t unit = 0; unit < view.units(); ++unit)
      for (int64_t step = 0; step < view.hidden; ++step, to += bytes) {
        int64_t place = inPairs ? view.pairPlaceOf(d, unit, step)
                                : view.placeOf(d, unit, step);
        std::memcpy(to, packed + place * bytes, bytes);
      }
  return recurrence;
}

/// A filter of 3x3 taps back from its transform, up to rounding: an axis is
/// linear in three of its values.
TensorBytes unpackWinograd(const char *packed, ArrayRef<int64_t> shape,
                           const kernel::WinogradLayout &layout) {
  constexpr int64_t width = kernel::winogradColumns;
  int64_t channels = shape[1], side = layout.outputs + 2;
  double first = layout.outputs == 2 ? 1 : 4,
         middle = layout.outputs == 2 ? 1 : -3;
  auto axis = [&](function_ref<double(int64_t)> at) {
    return std::array<double, 3>{first * at(0), middle * (at(1) - at(2)),
                                 at(side - 1)};
  };
  TensorBytes filter(size_t(shape[0] * channels) * 9 * 4);
  for (int64_t m = 0; m < shape[0]; ++m)
    for (int64_t c = 0; c < channels; ++c) {
      auto line = [&](int64_t y) {
        return axis([&](int64_t x) {
          float value;
          int64_t position = (m / width * side + y) * side + x;
          std::memcpy(
              &value,
              packed + ((position * channels + c) * width + m % width) * 4, 4);
          return double(value);
        });
      };
      for (int64_t x = 0; x < 3; ++x) {
        auto column = axis([&](int64_t y) { return line(y)[x]; });
        for (int64_t y = 0; y < 3; ++y) {
          float tap = float(column[y]);
          std::memcpy(filter.data() + ((m * channels + c) * 9 + y * 3 + x) * 4,
                      &tap, 4);
        }
      }
    }
  return filter;
}

} // namespace

std::optional<TensorBytes> tenon::unpackWeight(StringRef layout,
                                               const char *data,
                                               ArrayRef<int64_t> shape,
                                               Type element) {
  Packed form = Packed::of(element);
  bool isUnsigned = element.isUnsignedInteger();
  int64_t width = form.bytes;
  StringRef narrow = layout;
  int64_t parts = narrow.consume_back("_halves") ? 2 : 1;
  if (narrow == kernel::linesLayout || narrow == kernel::nibblesLayout)
    return unpackNarrow(data, shape[0], shape[1], width,
                        narrow == kernel::nibblesLayout, !isUnsigned, parts);
  if (auto fragments = kernel::FragmentLayout::parse(layout)) {
    auto matrix = fragments->matrixOf(shape);
    if (!matrix)
      return std::nullopt;
    TensorBytes bytes = unpackFragments(data, *fragments, matrix->rows,
                                        matrix->columns, width, !isUnsigned);
    return shape.size() == 2 ? bytes : filterOf(bytes, shape);
  }
  if (layout == "packed48" && shape.size() == 3)
    return unpackBatch(data, shape, form);
  if (narrow == "packed48")
    return unpack(data, shape[0], shape[1], form, parts);
  if (layout == kernel::quadsLayout)
    return unpackQuads(data, shape[0], shape[1], isUnsigned);
  if (auto quads = kernel::QuadFilter::parse(layout))
    return unpackQuadFilter(data, shape, *quads, isUnsigned);
  if (auto cells = kernel::RecurrentView::of(shape);
      cells &&
      (layout == kernel::cellsLayout || layout == kernel::cellPairsLayout))
    return unpackCells(data, *cells, layout == kernel::cellPairsLayout);
  if (layout == "rows48")
    return unpackRows(data, shape[0], shape[1], form);
  if (auto filter = kernel::FilterLayout::parse(layout))
    return unpackFilter(data, shape, *filter, width);
  if (auto winograd = kernel::WinogradLayout::parse(layout))
    return unpackWinograd(data, shape, *winograd);
  if (layout == "taps_first")
    return unpackFilter(data, shape, {shape[0]}, width);
  return std::nullopt;
}
