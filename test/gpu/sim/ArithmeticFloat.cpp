//===- ArithmeticFloat.cpp - add, mul, fma, ... on floats -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Arithmetic.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/FloatFormats.h"
#include "test/gpu/sim/Lanes.h"

#include <cfenv>
#include <cmath>
#include <limits>

namespace tenon::sim {

namespace {

// Every functor has one definition for f32 and f64. f16 and bf16 compute in
// double, where these operations leave one correct rounding to do.
struct Add {
  template <typename T> static T apply(T a, T b) { return a + b; }
  static double narrow(double a, double b) { return oddSum(a, b); }
};
struct Subtract {
  template <typename T> static T apply(T a, T b) { return a - b; }
  static double narrow(double a, double b) { return oddSum(a, -b); }
};
struct Multiply {
  template <typename T> static T apply(T a, T b) { return a * b; }
  static double narrow(double a, double b) { return a * b; }
};
struct Divide {
  template <typename T> static T apply(T a, T b) { return a / b; }
};
struct MultiplyAdd {
  static float apply(float a, float b, float c) { return std::fma(a, b, c); }
  static double apply(double a, double b, double c) {
    return std::fma(a, b, c);
  }
  static double narrow(double a, double b, double c) {
    return oddSum(a * b, c);
  }
};

template <bool kNan, bool kLeast> struct Extreme {
  template <typename T> static T apply(T a, T b) {
    if (a != a)
      return kNan ? a : b;
    if (b != b)
      return kNan ? b : a;
    if (a == b) // Zeros differ by their signs.
      return std::signbit(a) == kLeast ? a : b;
    return (a < b) == kLeast ? a : b;
  }
  static double narrow(double a, double b) { return apply(a, b); }
};

struct Negate {
  template <typename T> static T apply(T a) { return -a; }
};
struct Absolute {
  template <typename T> static T apply(T a) { return std::fabs(a); }
};
struct Reciprocal {
  template <typename T> static T apply(T a) { return 1 / a; }
};
struct Root {
  template <typename T> static T apply(T a) { return std::sqrt(a); }
};
struct ReciprocalRoot {
  static float apply(float a) { return float(1 / std::sqrt(double(a))); }
  static double apply(double a) { return 1 / std::sqrt(a); }
};
struct Sine {
  template <typename T> static T apply(T a) { return std::sin(a); }
};
struct Cosine {
  template <typename T> static T apply(T a) { return std::cos(a); }
};
struct Logarithm {
  template <typename T> static T apply(T a) { return std::log2(a); }
};
struct Exponential {
  template <typename T> static T apply(T a) { return std::exp2(a); }
};
struct Tangent {
  template <typename T> static T apply(T a) { return std::tanh(a); }
};

template <typename T> T flushed(T value) {
  return std::fabs(value) < std::numeric_limits<T>::min()
             ? std::copysign(T(0), value)
             : value;
}
template <typename T> T saturated(T value) {
  return value > 0 ? (value < 1 ? value : T(1)) : T(0); // NaN becomes 0.
}

/// Directed rounding while it lives.
class RoundingScope {
public:
  explicit RoundingScope(Rounding rounding) : old(fegetround()) {
    static constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                     FE_UPWARD, FE_TONEAREST};
    fesetround(kModes[static_cast<int>(rounding)]);
  }
  ~RoundingScope() { fesetround(old); }

private:
  int old;
};

/// target = F(sources...), the plain way: to nearest, nothing flushed.
template <typename F, typename T, int kCount>
Step plain(Warp &warp, const Instruction &instruction) {
  const T *a = warp.lanes<T>(instruction.operands[1]);
  const T *b = warp.lanes<T>(instruction.operands[kCount > 1 ? 2 : 1]);
  const T *c = warp.lanes<T>(instruction.operands[kCount > 2 ? 3 : 1]);
  forLanes<T>(warp, instruction.operands[0], [&](int lane) {
    if constexpr (kCount == 1)
      return canonical(F::apply(a[lane]));
    else if constexpr (kCount == 2)
      return canonical(F::apply(a[lane], b[lane]));
    else
      return canonical(F::apply(a[lane], b[lane], c[lane]));
  });
  return Step::Next;
}

/// The same with a rounding mode, .ftz and .sat.
template <typename F, typename T, int kCount>
Step careful(Warp &warp, const Instruction &instruction) {
  RoundingScope scope(instruction.rounding);
  const T *in[3] = {};
  for (int i = 0; i < kCount; ++i)
    in[i] = warp.lanes<T>(instruction.operands[i + 1]);
  forLanes<T>(warp, instruction.operands[0], [&](int lane) {
    T values[3] = {};
    for (int i = 0; i < kCount; ++i)
      values[i] = instruction.flush ? flushed(in[i][lane]) : in[i][lane];
    T result;
    if constexpr (kCount == 1)
      result = F::apply(values[0]);
    else if constexpr (kCount == 2)
      result = F::apply(values[0], values[1]);
    else
      result = F::apply(values[0], values[1], values[2]);
    result = instruction.flush ? flushed(result) : result;
    return instruction.saturate ? saturated(result) : canonical(result);
  });
  return Step::Next;
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void
fusedLanes(float *out, const float *a, const float *b, const float *c) {
#pragma clang loop vectorize(assume_safety)
  for (int lane = 0; lane < kLanes; ++lane)
    out[lane] = canonical(__builtin_fmaf(a[lane], b[lane], c[lane]));
}

/// fma.rn.f32 with all lanes active, where the host has the instruction.
Step fusedMultiplyAdd(Warp &warp, const Instruction &instruction) {
  const Operand *operands = instruction.operands;
  static const bool kHas =
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  if (!kHas || warp.active != kAllLanes || operands[0].sink)
    return plain<MultiplyAdd, float, 3>(warp, instruction);
  fusedLanes(warp.lanes<float>(operands[0]), warp.lanes<float>(operands[1]),
             warp.lanes<float>(operands[2]), warp.lanes<float>(operands[3]));
  return Step::Next;
}
#else
constexpr Execute fusedMultiplyAdd = plain<MultiplyAdd, float, 3>;
#endif

template <bool kBrain> float widen(uint16_t bits) {
  return kBrain ? brainToFloat(bits) : halfToFloat(bits);
}

template <typename F, bool kBrain, int kCount>
uint16_t narrowLane(const Instruction &instruction, const uint16_t (&in)[3]) {
  double values[3] = {}, least = kBrain ? 0x1p-126 : 0x1p-14;
  for (int i = 0; i < kCount; ++i) {
    values[i] = widen<kBrain>(in[i]);
    if (instruction.flush && std::fabs(values[i]) < least)
      values[i] = std::copysign(0.0, values[i]);
  }
  double result;
  if constexpr (kCount == 1)
    result = F::apply(values[0]);
  else if constexpr (kCount == 2)
    result = F::narrow(values[0], values[1]);
  else
    result = F::narrow(values[0], values[1], values[2]);
  if (instruction.saturate)
    result = saturated(result);
  if (instruction.relu && result < 0)
    result = 0;
  uint16_t bits = doubleToNarrow(kBrain, result);
  if (instruction.flush && std::fabs(widen<kBrain>(bits)) < least)
    bits &= 0x8000;
  return bits;
}

template <typename F, bool kBrain, int kCount, bool kPair>
Step narrow(Warp &warp, const Instruction &instruction) {
  using Lane = std::conditional_t<kPair, uint32_t, uint16_t>;
  const Lane *in[3] = {};
  for (int i = 0; i < kCount; ++i)
    in[i] = warp.lanes<Lane>(instruction.operands[i + 1]);
  forLanes<Lane>(warp, instruction.operands[0], [&](int lane) {
    Lane result = 0;
    for (int half = 0; half <= int(kPair); ++half) {
      uint16_t values[3] = {};
      for (int i = 0; i < kCount; ++i)
        values[i] = uint16_t(in[i][lane] >> 16 * half);
      result |= Lane(narrowLane<F, kBrain, kCount>(instruction, values))
                << 16 * half;
    }
    return result;
  });
  return Step::Next;
}

/// neg and abs on narrow floats touch the sign alone.
template <bool kNegate, typename Lane>
Step signOnly(Warp &warp, const Instruction &instruction) {
  const Lane *a = warp.lanes<Lane>(instruction.operands[1]);
  const Lane mask = sizeof(Lane) == 4 ? Lane(0x80008000u) : Lane(0x8000);
  forLanes<Lane>(warp, instruction.operands[0], [&](int lane) {
    return Lane(kNegate ? a[lane] ^ mask : a[lane] & ~mask);
  });
  return Step::Next;
}

template <typename F, int kCount> Execute wideExecute(const Instruction &line) {
  bool simple = line.rounding == Rounding::Even && !line.flush &&
                !line.saturate && !line.relu;
  if (line.type == Type{Type::Float, 32, 1, 8})
    return simple ? plain<F, float, kCount> : careful<F, float, kCount>;
  if (line.type == Type{Type::Float, 64, 1, 11})
    return simple ? plain<F, double, kCount> : careful<F, double, kCount>;
  return nullptr;
}

template <typename F, int kCount>
Execute narrowExecute(const Instruction &line) {
  Type type = line.type;
  if (type.bits != 16 || line.rounding != Rounding::Even)
    return nullptr;
  if (type.kind == Type::BFloat)
    return type.values == 2 ? narrow<F, true, kCount, true>
                            : narrow<F, true, kCount, false>;
  return type.values == 2 ? narrow<F, false, kCount, true>
                          : narrow<F, false, kCount, false>;
}

template <typename F, int kCount> Execute anyExecute(const Instruction &line) {
  return line.type.bits == 16 ? narrowExecute<F, kCount>(line)
                              : wideExecute<F, kCount>(line);
}

/// Modifiers and operands of `count` sources; the type is taken already.
bool prepare(Line &line, int count) {
  line.takeRounding(line.out.rounding);
  line.out.flush = line.take("ftz");
  line.out.saturate = line.take("sat");
  line.out.relu = line.take("relu");
  if (line.out.relu && line.out.type.bits != 16)
    return line.fail(".relu is for f16 and bf16");
  if (!line.expect(count + 1) || !line.target(0, line.out.type))
    return false;
  for (int i = 1; i <= count; ++i)
    if (!line.source(i, line.out.type))
      return false;
  return true;
}

bool decodeSign(Line &line, bool negate) {
  Type type = line.out.type;
  if (!prepare(line, 1))
    return false;
  if (type.bits != 16)
    return line.finish(negate ? wideExecute<Negate, 1>(line.out)
                              : wideExecute<Absolute, 1>(line.out));
  if (type.values == 2)
    return line.finish(negate ? signOnly<true, uint32_t>
                              : signOnly<false, uint32_t>);
  return line.finish(negate ? signOnly<true, uint16_t>
                            : signOnly<false, uint16_t>);
}

bool decodeExtreme(Line &line, bool least) {
  bool nan = line.take("NaN");
  if (!prepare(line, 2))
    return false;
  if (least)
    return line.finish(nan ? anyExecute<Extreme<true, true>, 2>(line.out)
                           : anyExecute<Extreme<false, true>, 2>(line.out));
  return line.finish(nan ? anyExecute<Extreme<true, false>, 2>(line.out)
                         : anyExecute<Extreme<false, false>, 2>(line.out));
}

bool decodeFused(Line &line) {
  if (!prepare(line, 3))
    return false;
  Execute execute = anyExecute<MultiplyAdd, 3>(line.out);
  if (execute == plain<MultiplyAdd, float, 3>)
    execute = fusedMultiplyAdd;
  return line.finish(execute);
}

/// add, sub, ...: floats here, integers in their own file.
bool decodeArithmetic(Line &line) {
  if (!line.takeType(line.out.type))
    return false;
  if (!line.out.type.isFloat())
    return decodeIntegerArithmetic(line);
  std::string_view opcode = line.opcode();
  if (opcode == "add")
    return prepare(line, 2) && line.finish(anyExecute<Add, 2>(line.out));
  if (opcode == "sub")
    return prepare(line, 2) && line.finish(anyExecute<Subtract, 2>(line.out));
  if (opcode == "mul")
    return prepare(line, 2) && line.finish(anyExecute<Multiply, 2>(line.out));
  if (opcode == "div") {
    line.takeOneOf({"full", "approx"});
    return prepare(line, 2) && line.finish(wideExecute<Divide, 2>(line.out));
  }
  if (opcode == "fma" || opcode == "mad")
    return decodeFused(line);
  if (opcode == "min" || opcode == "max")
    return decodeExtreme(line, opcode == "min");
  if (opcode == "neg" || opcode == "abs")
    return decodeSign(line, opcode == "neg");
  return line.fail("not an instruction on floats");
}

/// rcp, sqrt, ...: the hardware's approximations are exact here.
template <typename F> bool decodeFunction(Line &line) {
  line.take("approx");
  if (!line.takeType(line.out.type) || !prepare(line, 1))
    return false;
  return line.finish(anyExecute<F, 1>(line.out));
}

template <typename Bits>
Step copySign(Warp &warp, const Instruction &instruction) {
  const Bits *a = warp.lanes<Bits>(instruction.operands[1]);
  const Bits *b = warp.lanes<Bits>(instruction.operands[2]);
  constexpr Bits kSign = Bits(1) << (8 * sizeof(Bits) - 1);
  forLanes<Bits>(warp, instruction.operands[0], [&](int lane) {
    return Bits((a[lane] & kSign) | (b[lane] & ~kSign));
  });
  return Step::Next;
}

bool decodeCopySign(Line &line) {
  return line.takeType(line.out.type) && prepare(line, 2) &&
         line.finish(line.out.type.bits == 64 ? copySign<uint64_t>
                                              : copySign<uint32_t>);
}

template <typename T>
Step testProperty(Warp &warp, const Instruction &instruction) {
  const T *a = warp.lanes<T>(instruction.operands[1]);
  uint32_t bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    int kind = std::fpclassify(a[lane]);
    bool finite = kind != FP_NAN && kind != FP_INFINITE;
    bool answers[] = {
        finite,         kind == FP_INFINITE, kind != FP_NAN,
        kind == FP_NAN, kind == FP_NORMAL,   kind == FP_SUBNORMAL};
    bits |= uint32_t(answers[instruction.option]) << lane;
  }
  warp.setPredicate(instruction.operands[0], bits);
  return Step::Next;
}

bool decodeTestProperty(Line &line) {
  if (!line.takeType(line.out.type))
    return false;
  int property = line.takeOneOf(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  if (property < 0)
    return line.fail("unknown property");
  line.out.option = property;
  return line.expect(2) && line.target(0, {Type::Predicate, 1}) &&
         line.source(1, line.out.type) &&
         line.finish(line.out.type.bits == 64 ? testProperty<double>
                                              : testProperty<float>);
}

} // namespace

void addFloatInstructions(DecodeTable &table) {
  for (const char *opcode : {"abs", "add", "div", "fma", "mad", "max", "min",
                             "mul", "neg", "rem", "sub"})
    table[opcode] = decodeArithmetic;
  table["copysign"] = decodeCopySign;
  table["cos"] = decodeFunction<Cosine>;
  table["ex2"] = decodeFunction<Exponential>;
  table["lg2"] = decodeFunction<Logarithm>;
  table["rcp"] = decodeFunction<Reciprocal>;
  table["rsqrt"] = decodeFunction<ReciprocalRoot>;
  table["sin"] = decodeFunction<Sine>;
  table["sqrt"] = decodeFunction<Root>;
  table["tanh"] = decodeFunction<Tangent>;
  table["testp"] = decodeTestProperty;
}

} // namespace tenon::sim
