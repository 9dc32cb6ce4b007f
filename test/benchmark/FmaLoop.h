//===- FmaLoop.h - What the multiply-add units can do ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_BENCHMARK_FMALOOP_H
#define TENON_TEST_BENCHMARK_FMALOOP_H

namespace tenon::bench {

/// Floating point operations per second of `threads` threads that do nothing
/// but independent f32 multiply-adds in the widest registers, the best of a few
/// tries of about a millisecond.
double fmaLoopSpeed(int threads);

} // namespace tenon::bench

#endif // TENON_TEST_BENCHMARK_FMALOOP_H
