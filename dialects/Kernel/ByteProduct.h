//===- ByteProduct.h - Products of 8-bit numbers on devices ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of the products of IntegerMatmulView.h, those that devices' matrix
// instructions take as they are: bytes by a weight of i8, without zero points.
// A lhs of ui8 less 128 is such once one bit is turned.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECTS_KERNEL_BYTEPRODUCT_H
#define TENON_DIALECTS_KERNEL_BYTEPRODUCT_H

#include "dialects/Kernel/MatmulView.h"

namespace tenon::kernel {

/// What a ui8 is counted from to fit an i8.
inline constexpr int64_t byteMiddle = 128;

/// Whether rows of bytes lie together by four, as copies to shared memory take
/// them.
bool liesByFours(const StridedView &rows);

/// The numbers of both sides as one matrix by another; nullopt where zero
/// points are others, a row of lhs does not lie together by four steps, or rhs
/// is not read as it is stored.
std::optional<MatmulView> byteProductOf(graph::MatmulOp op);

/// Whether the lhs of such a product is of ui8 less 128.
bool countsFromMiddle(graph::MatmulOp op);

} // namespace tenon::kernel

#endif // TENON_DIALECTS_KERNEL_BYTEPRODUCT_H
