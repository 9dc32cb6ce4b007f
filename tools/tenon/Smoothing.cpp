//===- Smoothing.cpp - Large channels move to the weights -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Smoothing.h"
#include "compiler/PrecisionPlan.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace tenon;

std::vector<int8_t> tenon::smoothingShifts(llvm::ArrayRef<float> channels,
                                           llvm::ArrayRef<float> rows) {
  auto isUsed = [&](size_t k) {
    return std::isnormal(channels[k]) && std::isnormal(rows[k]);
  };
  // Half of what a channel exceeds its row by, in powers of two.
  std::vector<double> wanted(channels.size(), 0), used;
  for (size_t k = 0; k < wanted.size(); ++k)
    if (isUsed(k))
      used.push_back(wanted[k] = std::log2(double(channels[k]) / rows[k]) / 2);
  if (used.empty())
    return {};
  auto middle = used.begin() + ptrdiff_t(used.size() / 2);
  std::nth_element(used.begin(), middle, used.end());
  std::vector<int8_t> shifts(wanted.size(), 0);
  for (size_t k = 0; k < shifts.size(); ++k)
    if (isUsed(k))
      shifts[k] = int8_t(std::clamp(std::nearbyint(wanted[k] - *middle),
                                    -double(mostShift), double(mostShift)));
  bool isFlat = llvm::all_of(shifts, [](int8_t shift) { return shift == 0; });
  return isFlat ? std::vector<int8_t>() : shifts;
}
