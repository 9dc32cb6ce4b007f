//===- WeightStore.h - The weights of a model, outside its IR -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `graph.weight @name` refers to an entry of the store. An entry is a name, an
// element type, a static shape and its bytes: row-major, little-endian, of
// any alignment (read them with memcpy). The bytes lie in a mapped file, in a
// parsed model or in a buffer of their own; the entry keeps that owner alive.
// An entry may also be the transpose of another, others side by side, or
// another rounded to 16 bits or widened to f32; its bytes are made when
// somebody asks for them.
//
// Element types: f16, bf16, f32, f64, i1 (a byte, 0 or 1), signless i8..i64
// (signed) and ui8..ui64; i4 and ui4, two in a byte, low bits first, which
// `graph.weight` shows as i8 and ui8.
//
// Entries are never changed or removed, and their addresses are stable. Any
// number of threads may read while none adds.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_COMPILER_WEIGHTS_WEIGHTSTORE_H
#define TENON_COMPILER_WEIGHTS_WEIGHTSTORE_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Error.h"

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tenon {

/// Whether elements have 4 bits each in the store, where tensors have bytes.
bool hasNibbles(mlir::Type type);

/// Bytes of one stored element; nothing when no tensor may hold the type.
std::optional<int64_t> elementBytes(mlir::Type type);

/// The product of `shape`, nothing when a dim is negative or it overflows.
std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> shape);

/// Bytes of a tensor, nothing when its type or shape does not allow a number.
std::optional<int64_t> tensorBytes(mlir::Type type,
                                   llvm::ArrayRef<int64_t> shape);

/// The bf16 that is nearest to an f32, as bits: ties to even, a NaN stays one.
inline uint16_t roundToBf16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  uint32_t quiet = bits >> 16 | 0x40; // Whatever its low bits were.
  return uint16_t((bits & 0x7fffffff) > 0x7f800000 ? quiet : nearest);
}

/// The f16 that is nearest to an f32, as bits: ties to even, infinity from
/// 65520 on, a NaN stays one.
inline uint16_t roundToF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size > 0x7f800000)
    return uint16_t(sign | 0x7e00 | (size >> 13 & 0x3ff));
  if (size >= 0x477ff000)
    return uint16_t(sign | 0x7c00);
  // Below 2^-14 its steps are those of f32 between 0.5 and 1.
  if (size < 0x38800000)
    return uint16_t(
        sign | (llvm::bit_cast<uint32_t>(llvm::bit_cast<float>(size) + 0.5f) -
                0x3f000000));
  return uint16_t(sign |
                  ((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13));
}

/// The largest finite number of f16.
constexpr float largestF16 = 65504;

/// What a bf16 is, exactly.
inline float widenBf16(uint16_t bits) {
  return llvm::bit_cast<float>(uint32_t(bits) << 16);
}

/// What an f16 is, exactly.
inline float widenF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t size = uint32_t(bits & 0x7fff) << 13;
  // Infinities and NaN keep all bits of the exponent; others are 2^112 times
  // as large as with f32's bias.
  if (size >= 0x0f800000)
    return llvm::bit_cast<float>(sign | size | 0x7f800000);
  uint32_t wide =
      llvm::bit_cast<uint32_t>(llvm::bit_cast<float>(size) * 0x1p112f);
  return llvm::bit_cast<float>(sign | wide);
}

class Weight {
public:
  std::string name;
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  /// The matrix whose transpose it is, null for one of bytes of its own.
  const Weight *transposed = nullptr;
  /// The matrices that it consists of, side by side; empty for one of bytes of
  /// its own.
  std::vector<const Weight *> joined;
  /// The f32 weight that it holds rounded to its own type, bf16 or f16; null
  /// for one of bytes of its own.
  const Weight *rounded = nullptr;
  /// The bf16 or f16 weight that it holds as f32; null for others.
  const Weight *widened = nullptr;

  /// As the shape says; made at the first call where they are not its own.
  llvm::ArrayRef<char> bytes() const;
  std::shared_ptr<const void> owner() const;

  /// Whether its bytes come from other entries.
  bool isMade() const {
    return transposed || rounded || widened || !joined.empty();
  }

  /// The type of 16 bits from which it was widened, through transposes; null
  /// for others.
  mlir::Type widenedFrom() const;

  /// The largest magnitude of the finite elements of an f32 weight, 0 without
  /// any; makes no bytes.
  float largestFinite() const;

private:
  friend class WeightStore;
  std::vector<char> makeBytes() const;

  mutable std::once_flag once;
  mutable llvm::ArrayRef<char> data;
  mutable std::shared_ptr<const void> dataOwner;
};

class WeightStore {
public:
  using Entries = std::deque<Weight>;

  /// Adds a weight under `uniqueName(hint)`. Fails with a sentence when
  /// `bytes` is not exactly what type and shape ask for.
  llvm::Expected<const Weight *> add(llvm::StringRef hint, mlir::Type type,
                                     llvm::ArrayRef<int64_t> shape,
                                     llvm::ArrayRef<char> bytes,
                                     std::shared_ptr<const void> owner);

  /// The same for bytes that the store shall own.
  llvm::Expected<const Weight *> addOwned(llvm::StringRef hint, mlir::Type type,
                                          llvm::ArrayRef<int64_t> shape,
                                          std::vector<char> bytes);

  /// The transpose of an entry, a matrix: under `uniqueName(hint)`, if it is
  /// not itself the transpose of one.
  const Weight *addTransposed(llvm::StringRef hint, const Weight &matrix);

  /// Matrices of equally many rows and one type, side by side.
  const Weight *addJoined(llvm::StringRef hint,
                          std::vector<const Weight *> parts);

  /// An f32 entry rounded to `type`, bf16 or f16, ties to even; the same entry
  /// at each call. That of a transpose is the transpose of what is rounded, and
  /// that of what was widened from `type` is what it was.
  const Weight *addRounded(const Weight &source, mlir::Type type);

  /// A bf16 or f16 entry as f32, the same entry at each call.
  const Weight *addWidened(const Weight &source);

  /// Null when there is no such weight.
  const Weight *lookup(llvm::StringRef name) const;

  /// The bytes of a weight; empty when there is none of that name.
  llvm::ArrayRef<char> bytes(llvm::StringRef name) const;

  /// `hint` in printable form, made different from every name in the store.
  std::string uniqueName(llvm::StringRef hint) const;

  /// In the order in which they were added.
  Entries::const_iterator begin() const { return entries.begin(); }
  Entries::const_iterator end() const { return entries.end(); }
  size_t size() const { return entries.size(); }

  /// The sum of all entries.
  uint64_t totalBytes() const { return total; }

private:
  const Weight *addConverted(const Weight &source, mlir::Type type,
                             llvm::StringRef suffix,
                             const Weight *Weight::*from);
  Weight &addEntry(llvm::StringRef hint, mlir::Type type,
                   llvm::ArrayRef<int64_t> shape, uint64_t bytes);

  Entries entries;
  /// What an entry is as another float type.
  llvm::DenseMap<std::pair<const Weight *, mlir::Type>, const Weight *>
      convertedOf;
  llvm::StringMap<const Weight *> byName;
  mutable llvm::StringMap<unsigned> nextSuffix;
  uint64_t total = 0;
};

} // namespace tenon

#endif // TENON_COMPILER_WEIGHTS_WEIGHTSTORE_H
