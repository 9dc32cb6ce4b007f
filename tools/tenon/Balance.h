//===- Balance.h - How evenly threads would share work --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A machine with few cores can tell what many would have to wait for: launches
// are cut for that many threads, one thread runs the pieces one by one, and
// their times are dealt out as the runtime deals out pieces. What threads take
// from each other, memory and clock, is not in it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_BALANCE_H
#define TENON_TOOLS_TENON_BALANCE_H

#include "tools/tenon/Session.h"
#include "llvm/Support/JSON.h"

namespace tenon {

/// Times of a run.
struct SharedWork {
  double work = 0;    // Of all pieces,
  double seconds = 0; // and until the last thread is done.

  double speedup() const { return seconds > 0 ? work / seconds : 1; }
  /// What threads wait for each other.
  double waiting(int threads) const { return seconds - work / threads; }
};

struct SharedKernel {
  std::string name;
  int launches = 0, pieces = 0; // The pieces of one of them.
  SharedWork time;
};

struct Balance {
  int threads = 0;
  SharedWork time;
  std::vector<SharedKernel> kernels; // What is waited for longest first.
};

/// When the last of so many threads is done: each takes the pieces of its part
/// in order, then those that others have not begun (see runtime/Launch.cpp).
double secondsOf(llvm::ArrayRef<double> pieces, int threads);

/// Of each piece, the shortest of its times in several runs.
llvm::Expected<Balance> measureBalance(const Session &session,
                                       const std::vector<Tensor> &inputs,
                                       int threads, double seconds);

/// A line for the run and one for each kernel that costs a hundredth of it.
void printBalance(llvm::raw_ostream &os, const Balance &balance);
llvm::json::Object jsonOf(const Balance &balance);

} // namespace tenon

#endif // TENON_TOOLS_TENON_BALANCE_H
