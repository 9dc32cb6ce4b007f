//===- Numbers.h - Rounding and wrapping to element types -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on doubles and 64-bit integers becomes arithmetic of an element
// type by one rounding (floats: to nearest even, with subnormals, overflow to
// infinity) or one wrap (integers: modulo 2^width) at its end.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_REFERENCE_NUMBERS_H
#define TENON_COMPILER_REFERENCE_NUMBERS_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"

namespace tenon::reference {

/// To nearest even with `precision` bits, the lowest exponent of a normal
/// number being `minExponent`. What is then beyond the largest finite number
/// becomes an infinity.
double roundBits(double value, int precision, int minExponent, double largest);

/// The nearest value of the float type.
double roundTo(mlir::Type element, double value);
void roundAll(mlir::Type element, llvm::MutableArrayRef<double> values);

/// An integer type, or bool as one unsigned bit.
struct IntKind {
  unsigned width;
  bool isUnsigned;

  static IntKind of(mlir::Type element);
  bool isU64() const { return isUnsigned && width == 64; }
  int64_t wrap(int64_t value) const;
  int64_t lowest() const;
  int64_t highest() const;
  bool less(int64_t lhs, int64_t rhs) const;
  double toDouble(int64_t value) const;
  /// Truncates towards zero and saturates; NaN gives 0.
  int64_t fromDouble(double value) const;
};

// Products, sums and differences modulo 2^64, without undefined behaviour.
inline int64_t wrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}
inline int64_t wrapSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) -
                              static_cast<uint64_t>(b));
}
inline int64_t wrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) *
                              static_cast<uint64_t>(b));
}

} // namespace tenon::reference

#endif // TENON_COMPILER_REFERENCE_NUMBERS_H
