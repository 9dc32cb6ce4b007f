//===- FmaLoop.h - What the multiply-add units can do ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_LIMITS_FMALOOP_H
#define TENON_TOOLS_LIMITS_FMALOOP_H

namespace tenon::limits {

/// Floating point operations per second of `threads` threads that do nothing
/// but independent f32 multiply-adds in the widest registers, the best of a few
/// tries of about a millisecond.
double fmaLoopSpeed(int threads);

/// The same of dot products of pairs of bf16, 4 operations per lane of 32 bits,
/// by AMX where there is that; 0 where the machine has none.
double bf16LoopSpeed(int threads);

/// The same of multiply-adds of f16, which sums are of, too.
double f16LoopSpeed(int threads);

/// The same of dot products of four pairs of bytes, 8 operations per lane of 32
/// bits, by AMX too.
double int8LoopSpeed(int threads);

} // namespace tenon::limits

#endif // TENON_TOOLS_LIMITS_FMALOOP_H
