//===- Bits.cpp - and, shl, lop3, prmt, bfe, popc, ... --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Lanes.h"

#include <bit>

namespace tenon::sim {

namespace {

struct And {
  template <typename T> static T apply(T a, T b, const Instruction &) {
    return a & b;
  }
};
struct Or {
  template <typename T> static T apply(T a, T b, const Instruction &) {
    return a | b;
  }
};
struct Xor {
  template <typename T> static T apply(T a, T b, const Instruction &) {
    return a ^ b;
  }
};
struct Not {
  template <typename T> static T apply(T a, const Instruction &) {
    return static_cast<T>(~a);
  }
};
struct LogicalNot {
  template <typename T> static T apply(T a, const Instruction &) {
    return a == 0;
  }
};
struct ShiftLeft {
  template <typename T> static T apply(T a, uint32_t b, const Instruction &) {
    using Unsigned = std::make_unsigned_t<T>;
    return b < 8 * sizeof(T) ? static_cast<T>(Unsigned(a) << b) : T(0);
  }
};
struct ShiftRight {
  template <typename T> static T apply(T a, uint32_t b, const Instruction &) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    if (b >= kBits) // A signed value's sign fills.
      return static_cast<T>(a < 0 ? -1 : 0);
    return static_cast<T>(a >> b);
  }
};
template <bool kLeft> struct Funnel {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c,
                        const Instruction &line) {
    uint32_t shift = line.option ? c & 31 : (c < 32 ? c : 32);
    uint64_t both = uint64_t(b) << 32 | a;
    if (kLeft)
      return uint32_t(shift ? both >> (32 - shift) : b);
    return uint32_t(both >> shift);
  }
};
struct ThreeInputs { // lop3: the table is the immediate.
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c,
                        const Instruction &line) {
    uint32_t result = 0;
    for (int row = 0; row < 8; ++row)
      if (line.immediate >> row & 1)
        result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return result;
  }
};
struct Permute { // prmt: the mode is the option.
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c,
                        const Instruction &line) {
    static constexpr uint16_t kModes[7][4] = {
        {0, 0, 0, 0},                     // Given by c.
        {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
        {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
        {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
        {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
        {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
        {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
    };
    uint32_t selector = line.option ? kModes[line.option][c & 3] : c;
    uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; ++i) {
      uint32_t choice = selector >> 4 * i & 15;
      uint32_t byte = bytes >> 8 * (choice & 7) & 0xff;
      if (choice & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= byte << 8 * i;
    }
    return result;
  }
};

struct ExtractField { // bfe
  template <typename T>
  static T apply(T a, uint32_t b, uint32_t c, const Instruction &) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    using Unsigned = std::make_unsigned_t<T>;
    uint32_t position = b & 255, length = c & 255;
    if (length == 0)
      return 0;
    Unsigned field =
        position < kBits ? Unsigned(Unsigned(a) >> position) : Unsigned(0);
    bool isSigned = std::is_signed_v<T>;
    uint64_t end = uint64_t(position) + length - 1;
    bool sign =
        isSigned && (Unsigned(a) >> (end < kBits - 1 ? end : kBits - 1) & 1);
    if (position >= kBits)
      return static_cast<T>(sign ? ~Unsigned(0) : Unsigned(0));
    uint32_t kept = length < kBits - position ? length : kBits - position;
    Unsigned mask = kept < kBits ? (Unsigned(1) << kept) - 1 : ~Unsigned(0);
    return static_cast<T>((field & mask) | (sign ? ~mask : Unsigned(0)));
  }
};
struct InsertField { // bfi: a into b.
  template <typename T>
  static T insert(T a, T b, uint32_t position, uint32_t length) {
    constexpr uint32_t kBits = 8 * sizeof(T);
    position &= 255;
    length &= 255;
    if (position >= kBits || length == 0)
      return b;
    T mask = length < kBits ? (T(1) << length) - 1 : ~T(0);
    mask <<= position;
    return (b & ~mask) | (a << position & mask);
  }
};
struct CountBits {
  template <typename T> static int apply(T a, const Instruction &) {
    return std::popcount(a);
  }
};
struct LeadingZeros {
  template <typename T> static int apply(T a, const Instruction &) {
    return std::countl_zero(a);
  }
};
struct ReverseBits {
  template <typename T> static T apply(T a, const Instruction &) {
    T result = 0;
    for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit)
      result |= (a >> bit & 1) << (8 * sizeof(T) - 1 - bit);
    return result;
  }
};
struct FindLeading { // bfind
  template <typename T> static uint32_t apply(T a, const Instruction &line) {
    using Unsigned = std::make_unsigned_t<T>;
    Unsigned bits = a < 0 ? Unsigned(~a) : Unsigned(a);
    if (bits == 0)
      return ~0u;
    uint32_t at = 8 * sizeof(T) - 1 - std::countl_zero(bits);
    return line.option ? 8 * sizeof(T) - 1 - at : at;
  }
};
template <bool kSignedA, bool kSignedB> struct DotFour { // dp4a
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c,
                        const Instruction &) {
    for (int i = 0; i < 32; i += 8) {
      int left = kSignedA ? int8_t(a >> i) : uint8_t(a >> i);
      int right = kSignedB ? int8_t(b >> i) : uint8_t(b >> i);
      c += uint32_t(left * right);
    }
    return c;
  }
};

template <typename F, bool kInvert = false>
Step predicateLogic(Warp &warp, const Instruction &line) {
  uint32_t a = warp.predicate(line.operands[1]);
  uint32_t b = line.operandCount > 2 ? warp.predicate(line.operands[2]) : 0;
  uint32_t result = kInvert ? ~a : F::apply(a, b, line);
  warp.setPredicate(line.operands[0], result);
  return Step::Next;
}

template <typename F> bool decodeLogic(Line &line) {
  Type &type = line.out.type;
  return line.takeType(type) && line.expect(3) && line.target(0, type) &&
         line.source(1, type) && line.source(2, type) &&
         line.finish(type.kind == Type::Predicate ? predicateLogic<F>
                                                  : integerBinary<F>(type));
}

template <typename F> bool decodeNot(Line &line) {
  Type &type = line.out.type;
  return line.takeType(type) && line.expect(2) && line.target(0, type) &&
         line.source(1, type) &&
         line.finish(type.kind == Type::Predicate ? predicateLogic<And, true>
                                                  : integerUnary<F>(type));
}

template <typename F> Execute shiftExecute(Type type) {
  bool isSigned = type.kind == Type::Signed;
  switch (type.bits) {
  case 16:
    return isSigned ? binary<F, int16_t, int16_t, uint32_t>
                    : binary<F, uint16_t, uint16_t, uint32_t>;
  case 32:
    return isSigned ? binary<F, int32_t, int32_t, uint32_t>
                    : binary<F, uint32_t, uint32_t, uint32_t>;
  case 64:
    return isSigned ? binary<F, int64_t, int64_t, uint32_t>
                    : binary<F, uint64_t, uint64_t, uint32_t>;
  default:
    return nullptr;
  }
}

constexpr Type kB32{Type::Bits, 32};

template <typename F> bool decodeShift(Line &line) {
  Type &type = line.out.type;
  return line.takeType(type) && line.expect(3) && line.target(0, type) &&
         line.source(1, type) && line.source(2, kB32) &&
         line.finish(shiftExecute<F>(type));
}

bool fourWords(Line &line) {
  return line.target(0, kB32) && line.source(1, kB32) && line.source(2, kB32) &&
         line.source(3, kB32);
}

bool decodeFunnel(Line &line) {
  bool left = line.take("l");
  if (!left && !line.take("r"))
    return line.fail("one of .l .r is missing");
  line.out.option = line.take("wrap");
  if (!line.out.option && !line.take("clamp"))
    return line.fail("one of .wrap .clamp is missing");
  using U = uint32_t;
  return line.take("b32") && line.expect(4) && fourWords(line) &&
         line.finish(left ? ternary<Funnel<true>, U, U, U, U>
                          : ternary<Funnel<false>, U, U, U, U>);
}

bool decodeThreeInputs(Line &line) {
  using U = uint32_t;
  return line.take("b32") && line.expect(5) && fourWords(line) &&
         line.integer(4, line.out.immediate) &&
         line.finish(ternary<ThreeInputs, U, U, U, U>);
}

bool decodePermute(Line &line) {
  using U = uint32_t;
  if (!line.take("b32"))
    return line.fail("the type must be .b32");
  line.out.option =
      line.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}) + 1;
  return line.expect(4) && fourWords(line) &&
         line.finish(ternary<Permute, U, U, U, U>);
}

bool decodeExtract(Line &line) {
  Type &type = line.out.type;
  if (!line.takeType(type) || !line.expect(4) || !line.target(0, type) ||
      !line.source(1, type) || !line.source(2, kB32) || !line.source(3, kB32))
    return false;
  using U = uint32_t;
  bool isSigned = type.kind == Type::Signed;
  if (type.bits == 64)
    return line.finish(isSigned
                           ? ternary<ExtractField, int64_t, int64_t, U, U>
                           : ternary<ExtractField, uint64_t, uint64_t, U, U>);
  return line.finish(isSigned ? ternary<ExtractField, int32_t, int32_t, U, U>
                              : ternary<ExtractField, U, U, U, U>);
}

template <typename T> Step insertField(Warp &warp, const Instruction &line) {
  const T *a = warp.lanes<T>(line.operands[1]);
  const T *b = warp.lanes<T>(line.operands[2]);
  const uint32_t *position = warp.lanes<uint32_t>(line.operands[3]);
  const uint32_t *length = warp.lanes<uint32_t>(line.operands[4]);
  forLanes<T>(warp, line.operands[0], [&](int lane) {
    return InsertField::insert(a[lane], b[lane], position[lane], length[lane]);
  });
  return Step::Next;
}

bool decodeInsert(Line &line) {
  Type &type = line.out.type;
  return line.takeType(type) && line.expect(5) && line.target(0, type) &&
         line.source(1, type) && line.source(2, type) && line.source(3, kB32) &&
         line.source(4, kB32) &&
         line.finish(type.bits == 64 ? insertField<uint64_t>
                                     : insertField<uint32_t>);
}

/// popc and clz give 32 bits whatever they count.
template <typename F> bool decodeCount(Line &line) {
  Type &type = line.out.type;
  return line.takeType(type) && line.expect(2) && line.target(0, kB32) &&
         line.source(1, type) &&
         line.finish(type.bits == 64 ? unary<F, uint32_t, uint64_t>
                                     : unary<F, uint32_t, uint32_t>);
}

bool decodeReverse(Line &line) {
  Type &type = line.out.type;
  return line.takeType(type) && line.expect(2) && line.target(0, type) &&
         line.source(1, type) &&
         line.finish(type.bits == 64 ? unary<ReverseBits, uint64_t, uint64_t>
                                     : unary<ReverseBits, uint32_t, uint32_t>);
}

bool decodeFindLeading(Line &line) {
  Type &type = line.out.type;
  line.out.option = line.take("shiftamt");
  if (!line.takeType(type) || !line.expect(2) || !line.target(0, kB32) ||
      !line.source(1, type))
    return false;
  bool isSigned = type.kind == Type::Signed;
  if (type.bits == 64)
    return line.finish(isSigned ? unary<FindLeading, uint32_t, int64_t>
                                : unary<FindLeading, uint32_t, uint64_t>);
  return line.finish(isSigned ? unary<FindLeading, uint32_t, int32_t>
                              : unary<FindLeading, uint32_t, uint32_t>);
}

bool decodeDotFour(Line &line) {
  Type b, a;
  if (!line.takeType(b) || !line.takeType(a) || !line.expect(4) ||
      !fourWords(line))
    return false;
  using U = uint32_t;
  bool signedA = a.kind == Type::Signed, signedB = b.kind == Type::Signed;
  if (signedA)
    return line.finish(signedB ? ternary<DotFour<true, true>, U, U, U, U>
                               : ternary<DotFour<true, false>, U, U, U, U>);
  return line.finish(signedB ? ternary<DotFour<false, true>, U, U, U, U>
                             : ternary<DotFour<false, false>, U, U, U, U>);
}

} // namespace

void addBitInstructions(DecodeTable &table) {
  table["and"] = decodeLogic<And>;
  table["bfe"] = decodeExtract;
  table["bfi"] = decodeInsert;
  table["bfind"] = decodeFindLeading;
  table["brev"] = decodeReverse;
  table["clz"] = decodeCount<LeadingZeros>;
  table["cnot"] = decodeNot<LogicalNot>;
  table["dp4a"] = decodeDotFour;
  table["lop3"] = decodeThreeInputs;
  table["not"] = decodeNot<Not>;
  table["or"] = decodeLogic<Or>;
  table["popc"] = decodeCount<CountBits>;
  table["prmt"] = decodePermute;
  table["shf"] = decodeFunnel;
  table["shl"] = decodeShift<ShiftLeft>;
  table["shr"] = decodeShift<ShiftRight>;
  table["xor"] = decodeLogic<Xor>;
}

} // namespace tenon::sim
