//===- ArithmeticTest.cpp - Instructions against the host's arithmetic ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/TestKernels.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace tenon::sim;

namespace {

constexpr int kThreads = 256;

/// One instruction `text` of %a, %b, %c into %d, all of them registers of 64
/// bits that `types` narrows: "d=.b32 a=.b16 ...".
struct Case {
  std::string text;
  std::string d, a, b, c; // Types of registers; empty: not used.
  std::function<uint64_t(uint64_t, uint64_t, uint64_t)> host;
};

std::string kernelOf(const Case &each, int number) {
  std::string body = "  .reg .b64 %q<6>;\n  .reg .b32 %t;\n  .reg .pred %p;\n";
  const std::string *types[] = {&each.a, &each.b, &each.c};
  body += "  mov.u32 %t, %tid.x;\n";
  for (int i = 0; i < 3; ++i) {
    std::string name(1, char('a' + i));
    if (types[i]->empty())
      continue;
    std::string p = std::to_string(i);
    body += "  .reg ." + *types[i] + " %" + name + ";\n  ld.param.u64 %q" + p +
            ", [p" + p + "];\n  mad.wide.u32 %q" + p + ", %t, 8, %q" + p +
            ";\n  ld.global." + *types[i] + " %" + name + ", [%q" + p + "];\n";
  }
  body += "  .reg ." + each.d +
          " %d;\n  ld.param.u64 %q3, [p3];\n"
          "  mad.wide.u32 %q3, %t, 8, %q3;\n  " +
          each.text + "\n  st.global." + each.d + " [%q3], %d;\n";
  return entry("k" + std::to_string(number), 4, body);
}

/// Values that break things, then random bits, then small numbers.
std::vector<uint64_t> inputs(uint32_t seed, const std::string &type) {
  std::mt19937_64 random(seed);
  static constexpr uint64_t kSpecial[] = {0, 1, 2, 3, 31, 32, 33, 63, 64, 255};
  std::vector<uint64_t> out(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    out[i] = random();
    if (type[0] == 'f') {
      double value = std::ldexp(double(int64_t(random() % 2000001) - 1000000),
                                int(random() % 30) - 35);
      if (i % 16 == 0)
        value = i % 32 ? 0.0 : -1.0;
      out[i] = type == "f32" ? std::bit_cast<uint32_t>(float(value))
                             : std::bit_cast<uint64_t>(value);
    } else if (i % 3 == 0) {
      out[i] = kSpecial[random() % 10];
    } else if (i % 7 == 0) {
      out[i] = -kSpecial[random() % 10];
    } else if (i % 11 == 0) {
      out[i] = uint64_t(1) << (i % 2 ? 63 : type.ends_with("16") ? 15 : 31);
    }
  }
  return out;
}

uint64_t bytesOf(const std::string &type) {
  return std::stoi(type.substr(1)) / 8;
}

void check(const std::vector<Case> &cases) {
  std::string text;
  for (size_t i = 0; i < cases.size(); ++i)
    text += kernelOf(cases[i], i);
  TestRun run(text);
  ASSERT_TRUE(run.module);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case &each = cases[i];
    auto a = inputs(1, each.a.empty() ? "b64" : each.a);
    auto b = inputs(2, each.b.empty() ? "b64" : each.b);
    auto c = inputs(3, each.c.empty() ? "b64" : each.c);
    uint64_t d = run.upload(std::vector<uint64_t>(kThreads));
    std::string error = run({run.upload(a), run.upload(b), run.upload(c), d},
                            kThreads, ("k" + std::to_string(i)).c_str());
    ASSERT_EQ(error, "");
    std::vector<uint64_t> result = run.download<uint64_t>(d, kThreads);
    uint64_t mask = bytesOf(each.d) == 8
                        ? ~uint64_t(0)
                        : (uint64_t(1) << 8 * bytesOf(each.d)) - 1;
    for (int t = 0; t < kThreads; ++t)
      ASSERT_EQ(result[t] & mask, each.host(a[t], b[t], c[t]) & mask)
          << each.text << " of " << std::hex << a[t] << " " << b[t] << " "
          << c[t];
  }
}

template <typename F> auto on32(F f) {
  return [f](uint64_t a, uint64_t b, uint64_t c) -> uint64_t {
    return std::bit_cast<uint32_t>(f(std::bit_cast<float>(uint32_t(a)),
                                     std::bit_cast<float>(uint32_t(b)),
                                     std::bit_cast<float>(uint32_t(c))));
  };
}
template <typename F> auto on64(F f) {
  return [f](uint64_t a, uint64_t b, uint64_t c) -> uint64_t {
    return std::bit_cast<uint64_t>(f(std::bit_cast<double>(a),
                                     std::bit_cast<double>(b),
                                     std::bit_cast<double>(c)));
  };
}

using U = uint64_t;

float gpuNan(float value) {
  return value == value ? value : std::bit_cast<float>(0x7fffffffu);
}

TEST(Arithmetic, Sums) {
  check({
      {"add.s32 %d, %a, %b;", "b32", "b32", "b32", "",
       [](U a, U b, U) { return a + b; }},
      {"sub.s64 %d, %a, %b;", "b64", "b64", "b64", "",
       [](U a, U b, U) { return a - b; }},
      {"add.u16 %d, %a, %b;", "b16", "b16", "b16", "",
       [](U a, U b, U) { return a + b; }},
      {"add.s32 %d, %a, -7;", "b32", "b32", "", "",
       [](U a, U, U) { return a - 7; }},
      {"add.sat.s32 %d, %a, %b;", "b32", "b32", "b32", "",
       [](U a, U b, U) {
         int64_t sum = int64_t(int32_t(a)) + int32_t(b);
         return U(
             std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX));
       }},
      {"neg.s32 %d, %a;", "b32", "b32", "", "", [](U a, U, U) { return -a; }},
      {"abs.s64 %d, %a;", "b64", "b64", "", "",
       [](U a, U, U) { return int64_t(a) < 0 ? -a : a; }},
      {"min.s32 %d, %a, %b;", "b32", "b32", "b32", "",
       [](U a, U b, U) { return U(std::min(int32_t(a), int32_t(b))); }},
      {"max.u64 %d, %a, %b;", "b64", "b64", "b64", "",
       [](U a, U b, U) { return std::max(a, b); }},
      {"sad.s32 %d, %a, %b, %c;", "b32", "b32", "b32", "b32",
       [](U a, U b, U c) {
         int64_t x = int32_t(a), y = int32_t(b);
         return c + U(x < y ? y - x : x - y);
       }},
  });
}

TEST(Arithmetic, Products) {
  check({
      {"mul.lo.s32 %d, %a, %b;", "b32", "b32", "b32", "",
       [](U a, U b, U) { return a * b; }},
      {"mul.hi.s32 %d, %a, %b;", "b32", "b32", "b32", "",
       [](U a, U b, U) { return U(int64_t(int32_t(a)) * int32_t(b) >> 32); }},
      {"mul.hi.u64 %d, %a, %b;", "b64", "b64", "b64", "",
       [](U a, U b, U) { return U((unsigned __int128)a * b >> 64); }},
      {"mul.wide.s32 %d, %a, %b;", "b64", "b32", "b32", "",
       [](U a, U b, U) { return U(int64_t(int32_t(a)) * int32_t(b)); }},
      {"mul.wide.u16 %d, %a, %b;", "b32", "b16", "b16", "",
       [](U a, U b, U) { return U(uint16_t(a)) * uint16_t(b); }},
      {"mad.lo.s64 %d, %a, %b, %c;", "b64", "b64", "b64", "b64",
       [](U a, U b, U c) { return a * b + c; }},
      {"mad.hi.u32 %d, %a, %b, %c;", "b32", "b32", "b32", "b32",
       [](U a, U b, U c) { return (U(uint32_t(a)) * uint32_t(b) >> 32) + c; }},
      {"mad.wide.u32 %d, %a, %b, %c;", "b64", "b32", "b32", "b64",
       [](U a, U b, U c) { return U(uint32_t(a)) * uint32_t(b) + c; }},
      {"mul24.lo.u32 %d, %a, %b;", "b32", "b32", "b32", "",
       [](U a, U b, U) { return (a & 0xffffff) * (b & 0xffffff); }},
      {"dp4a.s32.u32 %d, %a, %b, %c;", "b32", "b32", "b32", "b32",
       [](U a, U b, U c) {
         for (int i = 0; i < 32; i += 8)
           c += int64_t(int8_t(a >> i)) * uint8_t(b >> i);
         return c;
       }},
      // Zero divisors are unspecified: or 1 away.
      {"or.b32 %b, %b, 1; div.s32 %d, %a, %b;", "b32", "b32", "b32", "",
       [](U a, U b, U) { return U(int64_t(int32_t(a)) / int32_t(b | 1)); }},
      {"or.b64 %b, %b, 1; rem.u64 %d, %a, %b;", "b64", "b64", "b64", "",
       [](U a, U b, U) { return a % (b | 1); }},
      {"or.b64 %b, %b, 1; rem.s64 %d, %a, %b;", "b64", "b64", "b64", "",
       [](U a, U b, U) { return U((__int128)(int64_t)a % (int64_t)(b | 1)); }},
  });
}

TEST(Arithmetic, Bits) {
  auto insert = [](U a, U b, U, int position, int length) {
    U mask = ((U(1) << length) - 1) << position;
    return (b & ~mask) | (a << position & mask);
  };
  check({
      {"lop3.b32 %d, %a, %b, %c, 0x6a;", "b32", "b32", "b32", "b32",
       [](U a, U b, U c) {
         U out = 0;
         for (int i = 0; i < 32; ++i)
           out |=
               U(0x6a >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) &
                 1)
               << i;
         return out;
       }},
      {"shl.b32 %d, %a, %b;", "b32", "b32", "b32", "",
       [](U a, U b, U) { return uint32_t(b) > 31 ? 0 : a << b; }},
      {"shr.s32 %d, %a, %b;", "b32", "b32", "b32", "",
       [](U a, U b, U) {
         return U(int32_t(a) >> std::min<uint32_t>(uint32_t(b), 31));
       }},
      {"shr.u64 %d, %a, %b;", "b64", "b64", "b32", "",
       [](U a, U b, U) { return uint32_t(b) > 63 ? 0 : a >> uint32_t(b); }},
      {"shf.l.wrap.b32 %d, %a, %b, %c;", "b32", "b32", "b32", "b32",
       [](U a, U b, U c) {
         U both = b << 32 | uint32_t(a);
         return both << (c & 31) >> 32;
       }},
      {"shf.r.clamp.b32 %d, %a, %b, %c;", "b32", "b32", "b32", "b32",
       [](U a, U b, U c) {
         U both = b << 32 | uint32_t(a);
         return both >> std::min<uint32_t>(uint32_t(c), 32);
       }},
      {"prmt.b32 %d, %a, %b, 0x5f40;", "b32", "b32", "b32", "",
       [](U a, U b, U) {
         U both = b << 32 | uint32_t(a);
         U sign = both >> 63 ? 0xff : 0;
         return (both & 0xff) | (both >> 32 & 0xff) << 8 | sign << 16 |
                (both >> 40 & 0xff) << 24;
       }},
      {"bfe.u32 %d, %a, 5, 9;", "b32", "b32", "", "",
       [](U a, U, U) { return a >> 5 & 511; }},
      {"bfe.s64 %d, %a, 40, 30;", "b64", "b64", "", "",
       [](U a, U, U) { return U(int64_t(a) >> 40); }},
      {"bfi.b32 %d, %a, %b, 3, 11;", "b32", "b32", "b32", "",
       [=](U a, U b, U c) { return insert(a, b, c, 3, 11); }},
      {"popc.b64 %d, %a;", "b32", "b64", "", "",
       [](U a, U, U) { return U(std::popcount(a)); }},
      {"clz.b32 %d, %a;", "b32", "b32", "", "",
       [](U a, U, U) { return U(std::countl_zero(uint32_t(a))); }},
      {"brev.b32 %d, %a;", "b32", "b32", "", "",
       [](U a, U, U) { return U(__builtin_bitreverse32(uint32_t(a))); }},
      {"not.b64 %d, %a;", "b64", "b64", "", "", [](U a, U, U) { return ~a; }},
  });
}

TEST(Arithmetic, Comparisons) {
  check({
      {"setp.lt.s32 %p, %a, %b; selp.b32 %d, %a, %b, %p;", "b32", "b32", "b32",
       "", [](U a, U b, U) { return int32_t(a) < int32_t(b) ? a : b; }},
      {"setp.hs.u64 %p, %a, %b; selp.b64 %d, %a, 5, %p;", "b64", "b64", "b64",
       "", [](U a, U b, U) { return a >= b ? a : 5; }},
      {".reg .pred %r; setp.eq.s32 %r, %c, 3;\n"
       "  setp.gtu.or.f32 %p, %a, %b, %r; selp.b32 %d, 1, 0, %p;",
       "b32", "f32", "f32", "b32",
       [](U a, U b, U c) {
         return !(std::bit_cast<float>(uint32_t(a)) <=
                  std::bit_cast<float>(uint32_t(b))) ||
                uint32_t(c) == 3;
       }},
      {".reg .pred %r; setp.ne.s16 %p|%r, %a, %b;\n  selp.b32 %d, 1, 0, %r;",
       "b32", "b16", "b16", "",
       [](U a, U b, U) { return uint16_t(a) == uint16_t(b); }},
      {"set.le.f32.f32 %d, %a, %b;", "f32", "f32", "f32", "",
       on32([](float a, float b, float) { return a <= b ? 1.0f : 0.0f; })},
      {"slct.b32.s32 %d, %a, %b, %c;", "b32", "b32", "b32", "b32",
       [](U a, U b, U c) { return int32_t(c) >= 0 ? a : b; }},
  });
}

TEST(Arithmetic, Floats) {
  auto least = [](float a, float b, float) {
    return gpuNan(a != a ? b : b != b ? a : a < b ? a : b);
  };
  check({
      {"add.f32 %d, %a, %b;", "f32", "f32", "f32", "",
       on32([](float a, float b, float) { return gpuNan(a + b); })},
      {"mul.rn.f32 %d, %a, %b;", "f32", "f32", "f32", "",
       on32([](float a, float b, float) { return gpuNan(a * b); })},
      {"fma.rn.f32 %d, %a, %b, %c;", "f32", "f32", "f32", "f32",
       on32([](float a, float b, float c) {
         return gpuNan(std::fma(a, b, c));
       })},
      {"fma.rz.f32 %d, %a, %b, %c;", "f32", "f32", "f32", "f32",
       on32([](float a, float b, float c) {
         double exact = double(a) * b + c; // Close enough to see the side.
         float near = float(exact);
         if (std::fabs(double(near)) > std::fabs(exact))
           near = std::nextafter(near, 0.0f);
         return near;
       })},
      {"div.rn.f32 %d, %a, %b;", "f32", "f32", "f32", "",
       on32([](float a, float b, float) { return gpuNan(a / b); })},
      {"sub.f64 %d, %a, %b;", "f64", "f64", "f64", "",
       on64([](double a, double b, double) { return a - b; })},
      {"fma.rn.f64 %d, %a, %b, %c;", "f64", "f64", "f64", "f64",
       on64([](double a, double b, double c) { return std::fma(a, b, c); })},
      {"min.f32 %d, %a, %b;", "f32", "f32", "f32", "", on32(least)},
      {"abs.f32 %d, %a;", "f32", "f32", "", "",
       on32([](float a, float, float) { return std::fabs(a); })},
      {"sqrt.rn.f32 %d, %a;", "f32", "f32", "", "",
       on32([](float a, float, float) { return gpuNan(std::sqrt(a)); })},
      {"rcp.rn.f64 %d, %a;", "f64", "f64", "", "",
       on64([](double a, double, double) { return 1 / a; })},
      {"ex2.approx.f32 %d, %a;", "f32", "f32", "", "",
       on32([](float a, float, float) { return std::exp2(a); })},
      {"tanh.approx.f32 %d, %a;", "f32", "f32", "", "",
       on32([](float a, float, float) { return std::tanh(a); })},
      {"copysign.f32 %d, %a, %b;", "f32", "f32", "f32", "",
       on32([](float a, float b, float) { return std::copysign(b, a); })},
      {"add.sat.f32 %d, %a, %b;", "f32", "f32", "f32", "",
       on32([](float a, float b, float) {
         float sum = a + b;
         return sum > 0 ? std::min(sum, 1.0f) : 0.0f;
       })},
      {"testp.normal.f32 %p, %a; selp.b32 %d, 1, 0, %p;", "b32", "f32", "", "",
       [](U a, U, U) {
         return std::isnormal(std::bit_cast<float>(uint32_t(a)));
       }},
  });
}

/// Of bits that no conversion of ours has touched.
double halfValue(uint64_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double sign = bits >> 15 & 1 ? -1 : 1;
  if (exponent == 31)
    return mantissa ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024 + mantissa, exponent - 25)
                          : std::ldexp(mantissa, -24));
}

/// The nearest f16 by trying all of them.
uint64_t nearestHalf(double value) {
  if (value != value)
    return 0x7fff;
  uint64_t sign = std::signbit(value) ? 0x8000 : 0, best = 0;
  value = std::fabs(value);
  if (value >= 65520)
    return sign | 0x7c00;
  for (uint64_t low = 0, high = 0x7bff; low <= high;) {
    uint64_t middle = (low + high) / 2;
    if (halfValue(middle) <= value) {
      best = middle;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  double below = value - halfValue(best), above = halfValue(best + 1) - value;
  if (above < below || (above == below && (best & 1)))
    ++best;
  return sign | best;
}

TEST(Arithmetic, Halves) {
  check({
      {"add.f16 %d, %a, %b;", "b16", "b16", "b16", "",
       [](U a, U b, U) {
         return nearestHalf(halfValue(a & 0xffff) + halfValue(b & 0xffff));
       }},
      {"fma.rn.f16x2 %d, %a, %b, %c;", "b32", "b32", "b32", "b32",
       [](U a, U b, U c) {
         U out = 0;
         for (int i = 0; i < 32; i += 16)
           out |= nearestHalf(halfValue(a >> i & 0xffff) *
                                  halfValue(b >> i & 0xffff) +
                              halfValue(c >> i & 0xffff))
                  << i;
         return out;
       }},
      {"neg.f16x2 %d, %a;", "b32", "b32", "", "",
       [](U a, U, U) { return a ^ 0x80008000u; }},
      {"max.bf16x2 %d, %a, %a;", "b32", "b32", "", "",
       [](U a, U, U) {
         for (int i = 0; i < 32; i += 16)
           if ((a >> i & 0x7fff) > 0x7f80)
             a = (a & ~(U(0xffff) << i)) | U(0x7fff) << i;
         return a;
       }},
  });
}

TEST(Arithmetic, Conversions) {
  check({
      {"cvt.u64.u32 %d, %a;", "b64", "b32", "", "",
       [](U a, U, U) { return U(uint32_t(a)); }},
      {"cvt.s64.s16 %d, %a;", "b64", "b16", "", "",
       [](U a, U, U) { return U(int64_t(int16_t(a))); }},
      {"cvt.s32.s8 %d, %a;", "b32", "b32", "", "",
       [](U a, U, U) { return U(int8_t(a)); }},
      {"cvt.sat.u8.s32 %d, %a;", "b32", "b32", "", "",
       [](U a, U, U) { return U(std::min(std::max(int32_t(a), 0), 255)); }},
      {"cvt.rn.f32.s32 %d, %a;", "f32", "b32", "", "",
       [](U a, U, U) { return U(std::bit_cast<uint32_t>(float(int32_t(a)))); }},
      {"cvt.rn.f32.u64 %d, %a;", "f32", "b64", "", "",
       [](U a, U, U) { return U(std::bit_cast<uint32_t>(float(a))); }},
      {"cvt.rn.f64.s64 %d, %a;", "f64", "b64", "", "",
       [](U a, U, U) { return std::bit_cast<U>(double(int64_t(a))); }},
      {"cvt.rzi.s32.f32 %d, %a;", "b32", "f32", "", "",
       [](U a, U, U) { return U(int64_t(std::bit_cast<float>(uint32_t(a)))); }},
      {"cvt.rni.s64.f64 %d, %a;", "b64", "f64", "", "",
       [](U a, U, U) { return U(std::llrint(std::bit_cast<double>(a))); }},
      {"cvt.rmi.f32.f32 %d, %a;", "f32", "f32", "", "",
       on32([](float a, float, float) { return std::floor(a); })},
      {"cvt.rn.f32.f64 %d, %a;", "f32", "f64", "", "",
       [](U a, U, U) {
         return U(std::bit_cast<uint32_t>(float(std::bit_cast<double>(a))));
       }},
      {"cvt.rn.f16.f32 %d, %a;", "b16", "f32", "", "",
       [](U a, U, U) {
         return nearestHalf(std::bit_cast<float>(uint32_t(a)));
       }},
      {"cvt.f32.f16 %d, %a;", "f32", "b16", "", "",
       [](U a, U, U) {
         return U(
             std::bit_cast<uint32_t>(gpuNan(float(halfValue(a & 0xffff)))));
       }},
      {"cvt.rn.bf16x2.f32 %d, %a, %b;", "b32", "f32", "f32", "",
       [](U a, U b, U) {
         auto brain = [](uint32_t x) {
           return (x + 0x7fff + (x >> 16 & 1)) >> 16;
         };
         return U(brain(uint32_t(a))) << 16 | brain(uint32_t(b));
       }},
      {"cvt.rna.tf32.f32 %d, %a;", "b32", "f32", "", "",
       [](U a, U, U) { return (a + 0x1000) & 0xffffe000u; }},
      {".reg .b32 %x, %y; mov.b64 {%x, %y}, %a; mov.b64 %d, {%y, %x};", "b64",
       "b64", "", "", [](U a, U, U) { return a >> 32 | a << 32; }},
  });
}

} // namespace
