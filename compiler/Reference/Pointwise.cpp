//===- Pointwise.cpp - Element by element ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line per op. Floats go through libm in float64; integer functions get
// operands in range of their type, and their result is wrapped to it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Reference/Call.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace tenon::reference {
namespace {

using FloatUnary = double (*)(double);
using IntUnary = int64_t (*)(int64_t, IntKind);
using FloatBinary = double (*)(double, double);
using IntBinary = int64_t (*)(int64_t, int64_t, IntKind);
using FloatRelation = bool (*)(double, double);
using IntRelation = bool (*)(int64_t, int64_t, IntKind);

struct Unary {
  llvm::StringLiteral name;
  FloatUnary onFloat;
  IntUnary onInt;
};
struct Binary {
  llvm::StringLiteral name;
  FloatBinary onFloat;
  IntBinary onInt;
};
struct Relation {
  llvm::StringLiteral name;
  FloatRelation onFloat;
  IntRelation onInt;
};

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double sign(double x) { return std::isnan(x) ? x : (x > 0) - (x < 0); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

constexpr Unary unaries[] = {
    {"graph.abs", [](double x) { return std::fabs(x); },
     [](int64_t x, IntKind k) { return k.less(x, 0) ? wrapSub(0, x) : x; }},
    {"graph.acos", [](double x) { return std::acos(x); }, nullptr},
    {"graph.acosh", [](double x) { return std::acosh(x); }, nullptr},
    {"graph.asin", [](double x) { return std::asin(x); }, nullptr},
    {"graph.asinh", [](double x) { return std::asinh(x); }, nullptr},
    {"graph.atan", [](double x) { return std::atan(x); }, nullptr},
    {"graph.atanh", [](double x) { return std::atanh(x); }, nullptr},
    {"graph.bit_not", nullptr, [](int64_t x, IntKind) { return ~x; }},
    {"graph.ceil", [](double x) { return std::ceil(x); }, nullptr},
    {"graph.cos", [](double x) { return std::cos(x); }, nullptr},
    {"graph.cosh", [](double x) { return std::cosh(x); }, nullptr},
    {"graph.erf", [](double x) { return std::erf(x); }, nullptr},
    {"graph.exp", [](double x) { return std::exp(x); }, nullptr},
    {"graph.floor", [](double x) { return std::floor(x); }, nullptr},
    {"graph.log", [](double x) { return std::log(x); }, nullptr},
    {"graph.neg", [](double x) { return -x; },
     [](int64_t x, IntKind) { return wrapSub(0, x); }},
    {"graph.not", nullptr, [](int64_t x, IntKind) { return 1 - x; }},
    {"graph.reciprocal", [](double x) { return 1 / x; }, nullptr},
    {"graph.round", [](double x) { return std::nearbyint(x); }, nullptr},
    {"graph.sigmoid", sigmoid, nullptr},
    {"graph.sign", sign,
     [](int64_t x, IntKind k) { return int64_t(k.less(0, x)) - k.less(x, 0); }},
    {"graph.sin", [](double x) { return std::sin(x); }, nullptr},
    {"graph.sinh", [](double x) { return std::sinh(x); }, nullptr},
    {"graph.softplus",
     [](double x) {
       return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
     },
     nullptr},
    {"graph.sqrt", [](double x) { return std::sqrt(x); }, nullptr},
    {"graph.tan", [](double x) { return std::tan(x); }, nullptr},
    {"graph.tanh", [](double x) { return std::tanh(x); }, nullptr},
};

double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? nan : a < b ? b : a;
}
double smaller(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? nan : b < a ? b : a;
}
/// The remainder of division towards minus infinity.
double modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0))
    rest += b;
  return rest;
}

// The divisor of the next three is not 0.
int64_t quotient(int64_t a, int64_t b, IntKind k) {
  if (k.isU64())
    return static_cast<int64_t>(static_cast<uint64_t>(a) /
                                static_cast<uint64_t>(b));
  return b == -1 ? wrapSub(0, a) : a / b;
}
int64_t remainder(int64_t a, int64_t b, IntKind k) {
  return wrapSub(a, wrapMul(quotient(a, b, k), b));
}
int64_t modulo(int64_t a, int64_t b, IntKind k) {
  int64_t rest = remainder(a, b, k);
  return rest != 0 && k.less(rest, 0) != k.less(b, 0) ? rest + b : rest;
}

int64_t power(int64_t base, int64_t exponent, IntKind k) {
  if (k.less(exponent, 0)) // Truncated; nothing sensible is left for 0.
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  int64_t result = 1;
  for (uint64_t e = exponent; e; e >>= 1, base = wrapMul(base, base))
    if (e & 1)
      result = wrapMul(result, base);
  return result;
}

/// The bits of x without those that sign extension added.
uint64_t bitsOf(int64_t x, IntKind k) {
  return static_cast<uint64_t>(IntKind{k.width, true}.wrap(x));
}
int64_t shiftLeft(int64_t a, int64_t b, IntKind k) {
  return bitsOf(b, k) >= k.width
             ? 0
             : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
}
int64_t shiftRight(int64_t a, int64_t b, IntKind k) {
  return bitsOf(b, k) >= k.width ? 0 : static_cast<int64_t>(bitsOf(a, k) >> b);
}

/// Threefry-2x32 (Salmon, Moraes, Dror and Shaw, 2011).
int64_t randomBits(int64_t counter, int64_t key, IntKind) {
  constexpr int rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
  uint32_t keys[3] = {uint32_t(key), uint32_t(uint64_t(key) >> 32)};
  keys[2] = keys[0] ^ keys[1] ^ 0x1bd11bda;
  uint32_t x = uint32_t(counter) + keys[0];
  uint32_t y = uint32_t(uint64_t(counter) >> 32) + keys[1];
  for (uint32_t round = 0; round < 20; ++round) {
    x += y;
    y = llvm::rotl(y, rotations[round % 8]) ^ x;
    if (round % 4 == 3) {
      x += keys[(round / 4 + 1) % 3];
      y += keys[(round / 4 + 2) % 3] + round / 4 + 1;
    }
  }
  return int64_t(uint64_t(y) << 32 | x);
}

constexpr Binary binaries[] = {
    {"graph.add", [](double a, double b) { return a + b; },
     [](int64_t a, int64_t b, IntKind) { return wrapAdd(a, b); }},
    {"graph.and", nullptr, [](int64_t a, int64_t b, IntKind) { return a & b; }},
    {"graph.bit_and", nullptr,
     [](int64_t a, int64_t b, IntKind) { return a & b; }},
    {"graph.bit_or", nullptr,
     [](int64_t a, int64_t b, IntKind) { return a | b; }},
    {"graph.bit_xor", nullptr,
     [](int64_t a, int64_t b, IntKind) { return a ^ b; }},
    {"graph.div", [](double a, double b) { return a / b; }, quotient},
    {"graph.fmod", [](double a, double b) { return std::fmod(a, b); },
     remainder},
    {"graph.max", larger,
     [](int64_t a, int64_t b, IntKind k) { return k.less(a, b) ? b : a; }},
    {"graph.min", smaller,
     [](int64_t a, int64_t b, IntKind k) { return k.less(b, a) ? b : a; }},
    {"graph.mod", modulo, modulo},
    {"graph.mul", [](double a, double b) { return a * b; },
     [](int64_t a, int64_t b, IntKind) { return wrapMul(a, b); }},
    {"graph.or", nullptr, [](int64_t a, int64_t b, IntKind) { return a | b; }},
    {"graph.pow", [](double a, double b) { return std::pow(a, b); }, power},
    {"graph.random_bits", nullptr, randomBits},
    {"graph.shift_left", nullptr, shiftLeft},
    {"graph.shift_right", nullptr, shiftRight},
    {"graph.sub", [](double a, double b) { return a - b; },
     [](int64_t a, int64_t b, IntKind) { return wrapSub(a, b); }},
    {"graph.xor", nullptr, [](int64_t a, int64_t b, IntKind) { return a ^ b; }},
};

constexpr Relation relations[] = {
    {"graph.equal", [](double a, double b) { return a == b; },
     [](int64_t a, int64_t b, IntKind) { return a == b; }},
    {"graph.less", [](double a, double b) { return a < b; },
     [](int64_t a, int64_t b, IntKind k) { return k.less(a, b); }},
    {"graph.less_equal", [](double a, double b) { return a <= b; },
     [](int64_t a, int64_t b, IntKind k) { return !k.less(b, a); }},
};

template <typename Row, size_t size>
const Row *find(const Row (&rows)[size], StringRef name) {
  for (const Row &row : rows)
    if (row.name == name)
      return &row;
  return nullptr;
}

template <typename From, typename To, typename Function>
void mapOne(ArrayRef<From> from, MutableArrayRef<To> to, Function function) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = function(from[i]);
}

template <typename From, typename To, typename Function>
llvm::Error mapTwo(Call &call, ArrayRef<From> lhs, ArrayRef<From> rhs,
                   MutableArrayRef<To> to, Function function) {
  const Shape &shape = call.results[0].shape;
  auto left = broadcastStrides(call.operands[0].shape, shape);
  if (!left)
    return left.takeError();
  auto right = broadcastStrides(call.operands[1].shape, shape);
  if (!right)
    return right.takeError();
  int64_t length = rowLength(shape);
  int64_t stepLeft = rowStride(*left), stepRight = rowStride(*right);
  forEachRow(shape, {*left, *right}, [&](int64_t at, ArrayRef<int64_t> from) {
    const From *a = lhs.data() + from[0], *b = rhs.data() + from[1];
    for (int64_t i = 0; i < length; ++i)
      to[at + i] = function(a[i * stepLeft], b[i * stepRight]);
  });
  return llvm::Error::success();
}

llvm::Error evaluateUnary(Call &call, const Unary &row) {
  const Tensor &input = call.operands[0];
  Tensor &result = call.make();
  if (input.shape != result.shape)
    return fault("the input has shape " + str(input.shape) +
                 " but the result " + str(result.shape));
  if (input.isFloat()) {
    mapOne(input.floats(), result.writeFloats(), row.onFloat);
    call.round();
    return llvm::Error::success();
  }
  IntKind kind = IntKind::of(input.element);
  mapOne(input.ints(), result.writeInts(),
         [&](int64_t x) { return kind.wrap(row.onInt(x, kind)); });
  return llvm::Error::success();
}

llvm::Error evaluateBinary(Call &call, const Binary &row) {
  const Tensor &lhs = call.operands[0], &rhs = call.operands[1];
  Tensor &result = call.make();
  if (lhs.isFloat()) {
    if (auto error = mapTwo(call, lhs.floats(), rhs.floats(),
                            result.writeFloats(), row.onFloat))
      return error;
    call.round();
    return llvm::Error::success();
  }
  bool divides = isa<graph::DivOp, graph::FmodOp, graph::ModOp>(call.op);
  if (divides && result.count() && llvm::is_contained(rhs.ints(), 0))
    return fault("division of an integer by zero");
  IntKind kind = IntKind::of(lhs.element);
  return mapTwo(
      call, lhs.ints(), rhs.ints(), result.writeInts(),
      [&](int64_t a, int64_t b) { return kind.wrap(row.onInt(a, b, kind)); });
}

llvm::Error evaluateRelation(Call &call, const Relation &row) {
  const Tensor &lhs = call.operands[0], &rhs = call.operands[1];
  MutableArrayRef<int64_t> to = call.make().writeInts();
  if (lhs.isFloat())
    return mapTwo(call, lhs.floats(), rhs.floats(), to, row.onFloat);
  IntKind kind = IntKind::of(lhs.element);
  return mapTwo(call, lhs.ints(), rhs.ints(), to,
                [&](int64_t a, int64_t b) { return row.onInt(a, b, kind); });
}

llvm::Error evaluateSelect(Call &call) {
  Tensor &result = call.make();
  SmallVector<Shape> strides;
  for (const Tensor &operand : call.operands) {
    auto one = broadcastStrides(operand.shape, result.shape);
    if (!one)
      return one.takeError();
    strides.push_back(*one);
  }
  ArrayRef<int64_t> condition = call.operands[0].ints();
  int64_t length = rowLength(result.shape);
  forEachRow(result.shape, strides, [&](int64_t at, ArrayRef<int64_t> from) {
    for (int64_t i = 0; i < length; ++i) {
      unsigned pick = condition[from[0] + i * rowStride(strides[0])] ? 1 : 2;
      copyWords(result, at + i, call.operands[pick],
                from[pick] + i * rowStride(strides[pick]));
    }
  });
  return llvm::Error::success();
}

double gelu(graph::GeluKind kind, double x) {
  switch (kind) {
  case graph::GeluKind::Erf: // By erfc, which keeps digits far below zero.
    return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
  case graph::GeluKind::Tanh:
    return x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
  case graph::GeluKind::Quick:
    return x * sigmoid(1.702 * x);
  }
  return nan;
}

} // namespace

llvm::Error evaluatePointwise(Call &call) {
  StringRef name = call.op->getName().getStringRef();
  if (const Unary *row = find(unaries, name))
    return evaluateUnary(call, *row);
  if (const Binary *row = find(binaries, name))
    return evaluateBinary(call, *row);
  if (const Relation *row = find(relations, name))
    return evaluateRelation(call, *row);
  if (isa<graph::SelectOp>(call.op))
    return evaluateSelect(call);
  if (auto op = dyn_cast<graph::GeluOp>(call.op))
    return evaluateUnary(
        call, {"graph.gelu",
               op.getKind() == graph::GeluKind::Erf
                   ? [](double x) { return gelu(graph::GeluKind::Erf, x); }
               : op.getKind() == graph::GeluKind::Tanh
                   ? [](double x) { return gelu(graph::GeluKind::Tanh, x); }
                   : [](double x) { return gelu(graph::GeluKind::Quick, x); },
               nullptr});
  ArrayRef<double> input = call.operands[0].floats();
  if (isa<graph::IsNanOp>(call.op)) {
    mapOne(input, call.make().writeInts(),
           [](double x) { return std::isnan(x); });
    return llvm::Error::success();
  }
  if (auto op = dyn_cast<graph::IsInfOp>(call.op)) {
    mapOne(input, call.make().writeInts(), [&](double x) {
      return std::isinf(x) && (x < 0 ? op.getNegative() : op.getPositive());
    });
    return llvm::Error::success();
  }
  return fault("the evaluator has no formula for " + name);
}

} // namespace tenon::reference
