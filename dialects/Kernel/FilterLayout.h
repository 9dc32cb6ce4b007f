//===- FilterLayout.h - How packed filters lie ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A filter [M, C, taps..] of some groups is packed by panels of `width` maps of
// one group each,
//
//   [group][ceil(M / groups / width)][taps..][C][width]
//
// with zeros past a group's last map. The layout's name is "convWIDTH", or
// "convWIDTH/GROUPS" where there are several.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_FILTERLAYOUT_H
#define TENON_DIALECTS_KERNEL_FILTERLAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace tenon::kernel {

struct FilterLayout {
  int64_t width, groups = 1;

  /// nullopt for any other layout.
  static std::optional<FilterLayout> parse(llvm::StringRef name);
  std::string name() const;

  /// Elements of a packed filter; nullopt where a filter of that shape has not
  /// such groups.
  std::optional<int64_t> elements(llvm::ArrayRef<int64_t> shape) const;
};

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_FILTERLAYOUT_H
