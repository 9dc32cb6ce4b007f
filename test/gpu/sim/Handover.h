//===- Handover.h - What a cluster may know of the stores of others -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As PTX's memory model orders clusters: what a thread has seen when it fences
// for the whole device, and changes a word behind that by an atom or red of the
// device's scope, is over for a thread that finds this change by an atom on the
// word and fences behind it, and for all to whom barriers hand that on. The
// fence and the change must be the same thread's, on either side; .release and
// .acquire are fences of the atom's own. Words are handed over by nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_SIM_HANDOVER_H
#define TENON_TEST_GPU_SIM_HANDOVER_H

#include "test/gpu/sim/Races.h"

namespace tenon::sim {

/// What a thread had seen when it fenced.
struct Release {
  uint32_t cluster;
  uint16_t warp;
  uint32_t lanes; // That fenced together.
  Clock clock;

  bool covers(const Access &access) const;
};

/// What an atom or red says of order.
struct AtomicOrder {
  bool release = false, acquire = false;
  bool finds = false; // It has a result.
};

/// A warp's side.
class Handover {
public:
  /// A fence of the device's scope.
  void fence(Clock &clock, const Agent &agent, uint32_t lanes);
  /// An atomic change of a word to which others have handed `word`.
  void change(Clock &clock, const Agent &agent, AtomicOrder order,
              Releases &word);

private:
  void acquire(Clock &clock, uint32_t lanes);

  std::shared_ptr<const Release> released[32]; // By lane, at its last fence.
  Releases found;                              // Not fenced for yet.
  uint32_t finders = 0;                        // Lanes.
};

/// Whether an access of another cluster is over for whoever knows these.
bool isOrdered(const Releases &known, const Access &access);
std::shared_ptr<const Releases>
joinReleases(const std::shared_ptr<const Releases> &a,
             const std::shared_ptr<const Releases> &b);

} // namespace tenon::sim

#endif // TENON_TEST_GPU_SIM_HANDOVER_H
