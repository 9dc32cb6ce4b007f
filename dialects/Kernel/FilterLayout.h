//===- FilterLayout.h - How packed filters lie ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A filter [M, C, taps..] of some groups is packed by panels of `width` maps of
// one group each,
//
//   [group][ceil(M / groups / width)][taps..][C][width]
//
// with zeros past a group's last map. The layout's name is "convWIDTH", or
// "convWIDTH/GROUPS" where there are several. "convWIDTH/GROUPSxMERGED" makes
// one group of so many that follow each other: of the maps and the channels of
// all of them, with zeros where those are of two. "convWIDTH_pairs" has two
// channels, of an even number, where that has one: [..][C / 2][width][2]. With
// "_even" behind it, the last two panels of 48 are those of PanelCut.h.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_FILTERLAYOUT_H
#define TENON_DIALECTS_KERNEL_FILTERLAYOUT_H

#include "dialects/Kernel/PanelCut.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace tenon::kernel {

struct FilterLayout {
  int64_t width, groups = 1;
  int64_t steps = 1; // Channels that lie together.
  bool isEven = false;
  int64_t merged = 1; // Groups that are one.

  /// nullopt for any other layout.
  static std::optional<FilterLayout> parse(llvm::StringRef name);
  std::string name() const;

  /// Elements of a packed filter; nullopt where a filter of that shape has not
  /// such groups.
  std::optional<int64_t> elements(llvm::ArrayRef<int64_t> shape) const;

  /// Groups, where merged ones are one; and of each of them, the maps and the
  /// channels of a filter of that shape.
  int64_t blocks() const { return groups / merged; }
  int64_t mapsOf(llvm::ArrayRef<int64_t> shape) const {
    return shape[0] / blocks();
  }
  int64_t channelsOf(llvm::ArrayRef<int64_t> shape) const {
    return shape[1] * merged;
  }
  /// Of those channels, the first one of the group of a block's map.
  int64_t firstChannel(llvm::ArrayRef<int64_t> shape, int64_t map) const {
    return map / (shape[0] / groups) * shape[1];
  }

  /// Panels of the maps of a group.
  int64_t panels(int64_t maps) const { return llvm::divideCeil(maps, width); }
  /// The first map of one of them, or one behind all, and the one with a map.
  int64_t firstMap(int64_t maps, int64_t panel) const {
    return isEven ? PanelCut{maps, true}.first(panel)
                  : std::min(panel * width, maps);
  }
  int64_t panelOf(int64_t maps, int64_t map) const {
    return isEven ? PanelCut{maps, true}.panelOf(map) : map / width;
  }

  /// Where an element lies behind a panel's begin: of its tap and channel, of
  /// so many, and its map in the panel.
  int64_t placeInPanel(int64_t tap, int64_t channel, int64_t channels,
                       int64_t map) const {
    int64_t row = tap * channels + channel;
    return (row / steps * width + map) * steps + row % steps;
  }
};

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_FILTERLAYOUT_H
