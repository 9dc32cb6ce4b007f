//===- ArithmeticInteger.cpp - add, mul, div, ... on integers -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Arithmetic.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Lanes.h"

#include <limits>
#include <type_traits>

namespace tenon::sim {

namespace {

// Sums and products wrap: they are done without signs.
template <typename T>
using Wrapping =
    std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

struct Add {
  template <typename T> static T apply(T a, T b, const Instruction &) {
    return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
  }
};
struct Subtract {
  template <typename T> static T apply(T a, T b, const Instruction &) {
    return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b));
  }
};
struct SaturatingAdd {
  static int32_t apply(int32_t a, int32_t b, const Instruction &) {
    int32_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
      return sum;
    return a < 0 ? std::numeric_limits<int32_t>::min()
                 : std::numeric_limits<int32_t>::max();
  }
};
struct SaturatingSubtract {
  static int32_t apply(int32_t a, int32_t b, const Instruction &) {
    int32_t difference;
    if (!__builtin_sub_overflow(a, b, &difference))
      return difference;
    return a < 0 ? std::numeric_limits<int32_t>::min()
                 : std::numeric_limits<int32_t>::max();
  }
};
struct Multiply {
  template <typename T> static T apply(T a, T b, const Instruction &) {
    return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
  }
};

template <typename T> T highHalf(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    using Wide =
        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>(Wide(a) * Wide(b) >> 64);
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    return static_cast<T>(Wide(a) * Wide(b) >> 8 * sizeof(T));
  }
}

struct MultiplyHigh {
  template <typename T> static T apply(T a, T b, const Instruction &) {
    return highHalf(a, b);
  }
};
struct MultiplyAdd {
  template <typename T> static T apply(T a, T b, T c, const Instruction &) {
    return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b) + Wrapping<T>(c));
  }
};
struct MultiplyHighAdd {
  template <typename T> static T apply(T a, T b, T c, const Instruction &) {
    return static_cast<T>(Wrapping<T>(highHalf(a, b)) + Wrapping<T>(c));
  }
};

template <typename Wide> struct WideMultiply {
  template <typename T> static Wide apply(T a, T b, const Instruction &) {
    return static_cast<Wide>(Wide(a) * Wide(b));
  }
};
template <typename Wide> struct WideMultiplyAdd {
  template <typename T>
  static Wide apply(T a, T b, Wide c, const Instruction &) {
    return static_cast<Wide>(Wrapping<Wide>(Wide(a) * Wide(b)) +
                             Wrapping<Wide>(c));
  }
};

struct Divide {
  template <typename T> static T apply(T a, T b, const Instruction &) {
    if (b == 0) // Unspecified in PTX; this is what GPUs give.
      return static_cast<T>(-1);
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      return static_cast<T>(-Wrapping<T>(a));
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <typename T> static T apply(T a, T b, const Instruction &) {
    if (b == 0)
      return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      return 0;
    return static_cast<T>(a % b);
  }
};
struct Least {
  template <typename T> static T apply(T a, T b, const Instruction &) {
    return b < a ? b : a;
  }
};
struct Greatest {
  template <typename T> static T apply(T a, T b, const Instruction &) {
    return a < b ? b : a;
  }
};
struct Negate {
  template <typename T> static T apply(T a, const Instruction &) {
    return static_cast<T>(-Wrapping<T>(a));
  }
};
struct Absolute {
  template <typename T> static T apply(T a, const Instruction &) {
    return a < 0 ? static_cast<T>(-Wrapping<T>(a)) : a;
  }
};
struct AbsoluteDifference { // sad
  template <typename T> static T apply(T a, T b, T c, const Instruction &) {
    Wrapping<T> difference = a < b ? Wrapping<T>(b) - Wrapping<T>(a)
                                   : Wrapping<T>(a) - Wrapping<T>(b);
    return static_cast<T>(Wrapping<T>(c) + difference);
  }
};

template <typename T> T low24(T value) {
  return static_cast<T>(static_cast<T>(Wrapping<T>(value) << 8) >> 8);
}
struct Multiply24 {
  template <typename T> static T apply(T a, T b, const Instruction &line) {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    Wide product = Wide(low24(a)) * Wide(low24(b));
    return static_cast<T>(line.option ? product >> 16 : product);
  }
};
struct MultiplyAdd24 {
  template <typename T> static T apply(T a, T b, T c, const Instruction &line) {
    return Add::apply(Multiply24::apply(a, b, line), c, line);
  }
};

bool sources(Line &line, int count) {
  if (!line.expect(count + 1) || !line.target(0, line.out.type))
    return false;
  for (int i = 1; i <= count; ++i)
    if (!line.source(i, line.out.type))
      return false;
  return true;
}

template <typename F> bool decodeUnary(Line &line) {
  return sources(line, 1) && line.finish(integerUnary<F>(line.out.type));
}
template <typename F> bool decodeBinary(Line &line) {
  return sources(line, 2) && line.finish(integerBinary<F>(line.out.type));
}

template <typename F, typename Saturating> bool decodeSum(Line &line) {
  if (!line.take("sat"))
    return decodeBinary<F>(line);
  if (line.out.type != Type{Type::Signed, 32})
    return line.fail(".sat is for .s32");
  return sources(line, 2) &&
         line.finish(binary<Saturating, int32_t, int32_t, int32_t>);
}

template <template <typename> class F> Execute wideBinary(Type type) {
  bool isSigned = type.kind == Type::Signed;
  if (type.bits == 16)
    return isSigned ? binary<F<int32_t>, int32_t, int16_t, int16_t>
                    : binary<F<uint32_t>, uint32_t, uint16_t, uint16_t>;
  if (type.bits == 32)
    return isSigned ? binary<F<int64_t>, int64_t, int32_t, int32_t>
                    : binary<F<uint64_t>, uint64_t, uint32_t, uint32_t>;
  return nullptr;
}

Execute wideMultiplyAdd(Type type) {
  bool isSigned = type.kind == Type::Signed;
  if (type.bits == 16)
    return isSigned ? ternary<WideMultiplyAdd<int32_t>, int32_t, int16_t,
                              int16_t, int32_t>
                    : ternary<WideMultiplyAdd<uint32_t>, uint32_t, uint16_t,
                              uint16_t, uint32_t>;
  if (type.bits == 32)
    return isSigned ? ternary<WideMultiplyAdd<int64_t>, int64_t, int32_t,
                              int32_t, int64_t>
                    : ternary<WideMultiplyAdd<uint64_t>, uint64_t, uint32_t,
                              uint32_t, uint64_t>;
  return nullptr;
}

bool decodeMultiply(Line &line) {
  Type type = line.out.type;
  if (line.take("wide")) {
    Type wide = {type.kind, uint8_t(type.bits * 2)};
    return line.expect(3) && line.target(0, wide) && line.source(1, type) &&
           line.source(2, type) && line.finish(wideBinary<WideMultiply>(type));
  }
  if (line.take("hi"))
    return decodeBinary<MultiplyHigh>(line);
  if (!line.take("lo"))
    return line.fail("one of .lo .hi .wide is missing");
  return decodeBinary<Multiply>(line);
}

bool decodeMultiplyAdd(Line &line) {
  Type type = line.out.type;
  if (line.take("wide")) {
    Type wide = {type.kind, uint8_t(type.bits * 2)};
    return line.expect(4) && line.target(0, wide) && line.source(1, type) &&
           line.source(2, type) && line.source(3, wide) &&
           line.finish(wideMultiplyAdd(type));
  }
  bool high = line.take("hi");
  if (!high && !line.take("lo"))
    return line.fail("one of .lo .hi .wide is missing");
  return sources(line, 3) &&
         line.finish(high ? integerTernary<MultiplyHighAdd>(type)
                          : integerTernary<MultiplyAdd>(type));
}

bool decode24(Line &line) {
  Type &type = line.out.type;
  if (!line.takeType(type))
    return false;
  line.out.option = line.take("hi");
  if (!line.out.option && !line.take("lo"))
    return line.fail("one of .lo .hi is missing");
  bool isSigned = type.kind == Type::Signed;
  if (type.bits != 32)
    return line.fail("not a type of 32 bits");
  if (line.opcode() == "mul24")
    return sources(line, 2) &&
           line.finish(isSigned
                           ? binary<Multiply24, int32_t, int32_t, int32_t>
                           : binary<Multiply24, uint32_t, uint32_t, uint32_t>);
  return sources(line, 3) &&
         line.finish(
             isSigned
                 ? ternary<MultiplyAdd24, int32_t, int32_t, int32_t, int32_t>
                 : ternary<MultiplyAdd24, uint32_t, uint32_t, uint32_t,
                           uint32_t>);
}

bool decodeAbsoluteDifference(Line &line) {
  return line.takeType(line.out.type) && sources(line, 3) &&
         line.finish(integerTernary<AbsoluteDifference>(line.out.type));
}

} // namespace

bool decodeIntegerArithmetic(Line &line) {
  std::string_view opcode = line.opcode();
  if (opcode == "add")
    return decodeSum<Add, SaturatingAdd>(line);
  if (opcode == "sub")
    return decodeSum<Subtract, SaturatingSubtract>(line);
  if (opcode == "mul")
    return decodeMultiply(line);
  if (opcode == "mad")
    return decodeMultiplyAdd(line);
  if (opcode == "div")
    return decodeBinary<Divide>(line);
  if (opcode == "rem")
    return decodeBinary<Remainder>(line);
  if (opcode == "min")
    return decodeBinary<Least>(line);
  if (opcode == "max")
    return decodeBinary<Greatest>(line);
  if (opcode == "neg")
    return decodeUnary<Negate>(line);
  if (opcode == "abs")
    return decodeUnary<Absolute>(line);
  return line.fail("not an instruction on integers");
}

void addIntegerInstructions(DecodeTable &table) {
  table["mul24"] = table["mad24"] = decode24;
  table["sad"] = decodeAbsoluteDifference;
}

} // namespace tenon::sim
