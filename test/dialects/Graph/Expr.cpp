//===- Expr.cpp - Canonical forms, ranges and soundness of Expr -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Graph/Expr.h"
#include "dialects/Graph/Graph.h"
#include "mlir/AsmParser/AsmParser.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace tenon::graph;

namespace {

struct LoadedContext : MLIRContext {
  LoadedContext() : MLIRContext(Threading::DISABLED) {
    loadDialect<GraphDialect>();
  }
};

struct ExprTest : testing::Test {
  Expr number(int64_t value) { return Expr::constant(&context, value); }
  Expr symbol(StringRef name) { return Expr::symbol(&context, name); }
  Expr parse(StringRef text) {
    auto attr = parseAttribute(("#graph.expr<" + text + ">").str(), &context);
    return attr ? Expr(attr) : Expr();
  }
  std::optional<int64_t> at(Expr expr, int64_t x, int64_t y = 0) {
    return expr.evaluate([&](StringRef name) -> std::optional<int64_t> {
      if (name == "x" || name == "i")
        return x;
      return name == "y" ? std::optional<int64_t>(y) : std::nullopt;
    });
  }

  LoadedContext context;
  Expr x = symbol("x"), y = symbol("y"), z = symbol("z");
  Expr i = Expr::symbol(&context, "i", /*maybeNegative=*/true);
};

TEST_F(ExprTest, PolynomialsHaveOneForm) {
  EXPECT_EQ(x + y, y + x);
  EXPECT_EQ((x + y) * (x - y), x * x - y * y);
  EXPECT_EQ((x + 1) * 2 - x * 2, number(2));
  EXPECT_EQ(x - x, number(0));
  EXPECT_EQ(x * 0, number(0));
  EXPECT_NE(x, i);
  EXPECT_NE(x + 1, x);
  EXPECT_EQ((x * y + z * 2 + 7).str(), "x * y + 2 * z + 7");
  EXPECT_EQ((x - y).str(), "x + -1 * y");
}

TEST_F(ExprTest, ExactDivision) {
  EXPECT_EQ((x * y * 6).exactDiv(x * 2), y * 3);
  EXPECT_EQ((x * 6 + 4).exactDiv(number(2)), x * 3 + 2);
  EXPECT_EQ((x + y).exactDiv(x + y), number(1));
  EXPECT_EQ((x * -4).exactDiv(number(-2)), x * 2);
  EXPECT_FALSE((x * 3).exactDiv(number(2)));
  EXPECT_FALSE((x + 1).exactDiv(x));
  EXPECT_EQ((x * x + x * y).exactDiv(x + y), x);
  EXPECT_EQ((x * z * 896 + y * z * 896).exactDiv(x * 64 + y * 64), z * 14);
  EXPECT_EQ((x * x - y * y).exactDiv(x + y), x - y);
  EXPECT_FALSE((x * x + y * y).exactDiv(x + y));
  EXPECT_FALSE((x * 3 + y * 2).exactDiv(x + y));
  EXPECT_FALSE((x + y).exactDiv(x * 2 + y * 2));
  EXPECT_FALSE(x.exactDiv(number(0)));
  EXPECT_FALSE(number(0).exactDiv(number(0)));
  EXPECT_FALSE(number(INT64_MIN).exactDiv(number(-1)));
}

TEST_F(ExprTest, FloorDivision) {
  EXPECT_EQ((x * 4 + 7).floorDiv(number(4)),
            x + (number(7).floorDiv(number(4))));
  EXPECT_EQ((x * 4 - 1).floorDiv(number(4)), x - 1);
  EXPECT_EQ((x * y + 3).floorDiv(y).str(), "x + floordiv(3, y)");
  EXPECT_EQ(x.floorDiv(number(1)), x);
  EXPECT_EQ(x.floorDiv(number(-1)), x * -1);
  EXPECT_EQ(x.ceilDiv(number(4)).str(), "floordiv(x + 3, 4)");
  EXPECT_EQ((x * 64).ceilDiv(number(64)), x);
  // What both sides have in common cancels; numbers are less than the divisor.
  EXPECT_EQ((x * y * 6 + y * 4).floorDiv(y * 8),
            (x * 3 + 2).floorDiv(number(4)));
  EXPECT_EQ((x - 1).floorDiv(number(2)), (x + 1).floorDiv(number(2)) - 1);
  // Convolutions one after another are one division.
  EXPECT_EQ((x.floorDiv(number(5)) - 3).floorDiv(number(2)),
            (x - 15).floorDiv(number(10)));
  EXPECT_NE(i.floorDiv(number(-5)).floorDiv(number(2)),
            i.floorDiv(number(-10)));
  EXPECT_FALSE(x.floorDiv(number(0)));
  EXPECT_EQ(at(i.floorDiv(number(4)), -1), -1);
  EXPECT_EQ(at(i.floorDiv(number(-4)), 1), -1);
  EXPECT_EQ(at((i * 4 + 1).floorDiv(number(-4)), -3), 2);
  EXPECT_EQ(at(x.floorDiv(y), 7, 0), std::nullopt);
}

TEST_F(ExprTest, Modulus) {
  EXPECT_EQ((x * 6).mod(number(3)), number(0));
  EXPECT_EQ(x.mod(number(1)), number(0));
  EXPECT_EQ(x.mod(number(4)).str(), "mod(x, 4)");
  EXPECT_FALSE(x.mod(number(0)));
  EXPECT_EQ(at(i.mod(number(4)), -1), 3);
  EXPECT_EQ(at(i.mod(number(-4)), 1), -3);
  EXPECT_EQ(floorModulo(INT64_MIN, -1), 0);
  EXPECT_EQ(floorDivide(INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(floorDivide(-7, 2), -4);
  EXPECT_EQ(floorModulo(-7, 2), 1);
}

TEST_F(ExprTest, MinimumAndMaximum) {
  EXPECT_EQ(x.min(x + 3), x);
  EXPECT_EQ(x.max(x + 3), x + 3);
  EXPECT_EQ(x.max(number(-2)), x);
  EXPECT_EQ(x.min(number(0)), number(0));
  EXPECT_EQ(x.min(y), y.min(x));
  EXPECT_EQ(x.max(y), y.max(x));
  EXPECT_EQ(number(3).max(number(5)), number(5));
  // Nothing is known of a symbol that may be negative.
  EXPECT_EQ(i.max(number(0)).kind(), ExprKind::Max);
  EXPECT_EQ(x.min(x + i).kind(), ExprKind::Min);
}

TEST_F(ExprTest, Broadcasting) {
  EXPECT_EQ(x.broadcast(x), x);
  EXPECT_EQ(x.broadcast(number(1)), x);
  EXPECT_EQ(number(1).broadcast(x), x);
  EXPECT_EQ(x.broadcast(number(5)), number(5));
  EXPECT_EQ(number(5).broadcast(x), number(5));
  EXPECT_EQ(x.broadcast(number(0)), number(0));
  EXPECT_EQ(number(0).broadcast(number(1)), number(0));
  Expr cut = x.min(number(128));
  EXPECT_EQ(x.broadcast(cut), x);
  EXPECT_EQ(cut.broadcast(x), x);
  EXPECT_NE(x.broadcast(x.min(number(1))), x);
  Expr both = x.broadcast(y);
  EXPECT_EQ(x.broadcast(both), both);
  EXPECT_EQ(y.broadcast(both), both);
  EXPECT_EQ(both.broadcast(x), both);
  EXPECT_EQ(both.str(), "broadcast(x, y)");
  Expr half = x.floorDiv(number(2));
  EXPECT_EQ(x.broadcast(half).broadcast(y), half.broadcast(y.broadcast(x)));
  EXPECT_EQ(half.broadcast((half - 3).max(number(0))).str(),
            "broadcast(floordiv(x, 2), max(0, floordiv(x, 2) + -3))");
  EXPECT_EQ((i - 3).broadcast((i - 3).max(number(0))), i - 3);
  EXPECT_NE((i - 3).broadcast((i - 3).max(number(1))), i - 3);
  EXPECT_EQ(at(both, 1, 0), 0);
  EXPECT_EQ(at(both, 0, 1), 0);
  EXPECT_EQ(at(both, 4, 1), 4);
  EXPECT_EQ(at(both, 1, 4), 4);
}

TEST_F(ExprTest, RangesClaimOnlyWhatHolds) {
  EXPECT_TRUE(x.isNonNegative());
  EXPECT_FALSE(x.isPositive());
  EXPECT_FALSE(i.isNonNegative());
  EXPECT_TRUE((x * y + 1).isPositive());
  EXPECT_FALSE((x * y).isPositive());
  EXPECT_FALSE((x - y).isNonNegative());
  EXPECT_FALSE((x - 1).isNonNegative());
  EXPECT_FALSE((x * -1).isNonNegative());
  EXPECT_FALSE((x * i).isNonNegative());
  EXPECT_TRUE(i.mod(number(4)).isNonNegative());
  EXPECT_FALSE(x.mod(number(-4)).isNonNegative());
  EXPECT_FALSE(i.floorDiv(number(4)).isNonNegative());
  EXPECT_TRUE(x.floorDiv(number(4)).isNonNegative());
  EXPECT_FALSE(x.floorDiv(number(4)).isPositive());
  EXPECT_TRUE(i.max(number(1)).isPositive());
  EXPECT_FALSE(i.min(number(1)).isNonNegative());
  EXPECT_FALSE(Expr().isNonNegative());
  EXPECT_FALSE(Expr().isPositive());
}

TEST_F(ExprTest, OverflowAndNullGiveNull) {
  EXPECT_FALSE(number(INT64_MAX) + 1);
  EXPECT_FALSE(number(INT64_MIN) * -1);
  EXPECT_FALSE(number(INT64_MIN) - 1);
  EXPECT_FALSE(x * INT64_MAX * 2);
  EXPECT_FALSE(number(INT64_MIN).floorDiv(number(-1)));
  EXPECT_EQ(number(INT64_MIN) + INT64_MAX, number(-1));
  Expr null;
  for (Expr expr : {null + x, x + null, null * x, x - null, null.floorDiv(x),
                    x.floorDiv(null), x.ceilDiv(null), null.mod(x), x.min(null),
                    null.max(x), x.broadcast(null), null.exactDiv(x),
                    null.substitute([](Expr) { return Expr(); })})
    EXPECT_FALSE(expr);
  EXPECT_EQ(null.str(), "<overflow>");
  EXPECT_EQ(null.asConstant(), std::nullopt);
}

TEST_F(ExprTest, GrowthIsBounded) {
  Expr sum = number(0);
  for (size_t n = 0; n < Expr::maxTerms; ++n)
    sum = sum + symbol("s" + std::to_string(n));
  EXPECT_TRUE(sum);
  EXPECT_FALSE(sum + x);
  EXPECT_FALSE(sum * sum);

  Expr deep = x;
  for (unsigned n = 0; n < Expr::maxDepth; ++n)
    deep = deep.mod(number(100 - n));
  EXPECT_TRUE(deep);
  EXPECT_FALSE(deep.mod(number(7)));

  Expr power = x;
  for (int n = 0; n < 20; ++n)
    power = power * x;
  EXPECT_FALSE(power);

  // A small graph may be a tree without end.
  Expr wide = x;
  for (unsigned n = 0; n < Expr::maxDepth; ++n) {
    Expr next = number(0);
    for (int64_t k = 2; k < 20; ++k)
      next = next + (wide + k).floorDiv(number(k * 2 + 1));
    wide = next;
  }
  EXPECT_FALSE(wide);
}

TEST_F(ExprTest, Substitution) {
  auto toSum = [&](Expr symbol) { return symbol == x ? y + 1 : Expr(); };
  EXPECT_EQ((x * x - 1).substitute(toSum), y * y + y * 2);
  EXPECT_EQ(x.max(y).substitute(toSum), y + 1);
  EXPECT_EQ((z + i).substitute(toSum), z + i);
  auto swap = [&](Expr symbol) {
    return symbol == x ? y : symbol == y ? x : Expr();
  };
  EXPECT_EQ((x - y * 2).substitute(swap), y - x * 2);
  auto toZero = [&](Expr) { return number(0); };
  EXPECT_FALSE(y.floorDiv(x).substitute(toZero));
  EXPECT_EQ(at(x + z, 1), std::nullopt);
}

TEST_F(ExprTest, SymbolsInOrder) {
  std::string seen;
  (x * y + z.min(x + i)).forEachSymbol([&](Expr symbol) {
    seen += symbol.name().str();
  });
  EXPECT_EQ(seen, "xyzix");
}

TEST_F(ExprTest, TextForm) {
  EXPECT_EQ(parse("2 * (x + 1) * y"), (x + 1) * y * 2);
  EXPECT_EQ(parse("signed(i) + -3"), i - 3);
  EXPECT_EQ(parse("floordiv(x + 3, 4)"), x.ceilDiv(number(4)));
  for (int64_t value : {INT64_MAX, INT64_MIN, int64_t(0), int64_t(-1)})
    EXPECT_EQ(parse(number(value).str()), number(value));
}

//===----------------------------------------------------------------------===//
// Random expressions against arithmetic
//===----------------------------------------------------------------------===//

using Values = std::vector<std::pair<std::string, int64_t>>;
using Result = std::optional<int64_t>;

Result apply(ExprKind kind, Result a, Result b) {
  if (!a || !b)
    return std::nullopt;
  switch (kind) {
  case ExprKind::Sum:
    return *a + *b;
  case ExprKind::Product:
    return *a * *b;
  case ExprKind::FloorDiv:
  case ExprKind::Mod: {
    if (*b == 0)
      return std::nullopt;
    // By search, so as to share nothing with the code under test.
    int64_t quotient = *a / *b;
    while ((*b > 0) ? quotient * *b > *a : quotient * *b < *a)
      --quotient;
    return kind == ExprKind::Mod ? *a - quotient * *b : quotient;
  }
  case ExprKind::Min:
    return *a < *b ? a : b;
  case ExprKind::Max:
    return *a < *b ? b : a;
  case ExprKind::Broadcast:
    if (*a != *b && *a != 1 && *b != 1)
      return std::nullopt; // A requirement fails before the size is used.
    return *a == 1 ? b : a;
  default:
    return std::nullopt;
  }
}

/// The value by the definition of each node, without any simplification.
Result valueOf(Expr expr, const Values &values) {
  switch (expr.kind()) {
  case ExprKind::Constant:
    return expr.value();
  case ExprKind::Symbol:
    for (auto &[name, value] : values)
      if (expr.name() == name)
        return value;
    return std::nullopt;
  case ExprKind::Product:
  case ExprKind::Sum: {
    bool isSum = expr.kind() == ExprKind::Sum;
    Result total = isSum ? 0 : expr.value();
    for (size_t n = 0; n < expr.size(); ++n)
      total = apply(expr.kind(), total, valueOf(expr.operand(n), values));
    return total;
  }
  default:
    return apply(expr.kind(), valueOf(expr.operand(0), values),
                 valueOf(expr.operand(1), values));
  }
}

struct Random : ExprTest {
  std::mt19937 engine{20240607};
  static constexpr int assignments = 24;
  std::vector<Values> points;

  Random() {
    for (int n = 0; n < assignments; ++n)
      points.push_back({{"x", pick(0, 9)},
                        {"y", pick(0, 3)},
                        {"z", pick(0, 40)},
                        {"i", pick(-9, 9)}});
  }
  int64_t pick(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(engine);
  }

  /// An expression and its value at each point.
  struct Sample {
    Expr expr;
    std::vector<Result> values;
  };

  Sample leaf() {
    Sample sample;
    static const char *names[] = {"x", "y", "z", "i"};
    int64_t which = pick(0, 7);
    sample.expr = which < 3    ? symbol(names[which])
                  : which == 3 ? i
                               : number(pick(-4, 8));
    for (const Values &point : points)
      sample.values.push_back(which < 4 ? Result(point[which].second)
                                        : Result(sample.expr.value()));
    return sample;
  }

  Sample grow(int depth) {
    if (depth == 0 || pick(0, 5) == 0)
      return leaf();
    static const ExprKind kinds[] = {
        ExprKind::Sum, ExprKind::Sum,      ExprKind::Product,
        ExprKind::Mod, ExprKind::FloorDiv, ExprKind::FloorDiv,
        ExprKind::Min, ExprKind::Max,      ExprKind::Broadcast};
    ExprKind kind = kinds[pick(0, 8)];
    Sample a = grow(depth - 1), b = grow(depth - 1), sample;
    sample.expr = build(kind, a.expr, b.expr);
    for (size_t n = 0; n < points.size(); ++n)
      sample.values.push_back(apply(kind, a.values[n], b.values[n]));
    return sample;
  }

  static Expr build(ExprKind kind, Expr a, Expr b) {
    switch (kind) {
    case ExprKind::Sum:
      return a + b;
    case ExprKind::Product:
      return a * b;
    case ExprKind::FloorDiv:
      return a.floorDiv(b);
    case ExprKind::Mod:
      return a.mod(b);
    case ExprKind::Min:
      return a.min(b);
    case ExprKind::Max:
      return a.max(b);
    default:
      return a.broadcast(b);
    }
  }

  void check(const Sample &sample, size_t n) {
    Result value = sample.values[n];
    if (!value)
      return;
    Expr expr = sample.expr;
    ASSERT_EQ(valueOf(expr, points[n]), value) << expr.str();
    auto map = [&](StringRef name) -> Result {
      for (auto &[known, number] : points[n])
        if (name == known)
          return number;
      return std::nullopt;
    };
    ASSERT_EQ(expr.evaluate(map), value) << expr.str();
    if (expr.isNonNegative()) {
      ASSERT_GE(*value, 0) << expr.str();
    }
    if (expr.isPositive()) {
      ASSERT_GT(*value, 0) << expr.str();
    }
  }
};

TEST_F(Random, SimplifiedEqualsDirect) {
  int nulls = 0;
  for (int round = 0; round < 10000; ++round) {
    Sample sample = grow(static_cast<int>(pick(1, 5)));
    if (!sample.expr) {
      // Only where the value is defined nowhere, or the limits are met.
      ++nulls;
      continue;
    }
    for (size_t n = 0; n < points.size(); ++n) {
      check(sample, n);
      if (HasFatalFailure())
        return;
    }
    ASSERT_EQ(parse(sample.expr.str()), sample.expr);
    ASSERT_EQ(sample.expr.substitute([](Expr) { return Expr(); }), sample.expr)
        << sample.expr.str();
  }
  EXPECT_LT(nulls, 2000);
}

// Kernels are compiled with the symbols renamed: the values must not move.
TEST_F(Random, RenamingKeepsValues) {
  auto rename = [&](Expr symbol) {
    char name = static_cast<char>('z' - (symbol.name()[0] - 'i'));
    return Expr::symbol(&context, StringRef(&name, 1), symbol.value());
  };
  for (int round = 0; round < 3000; ++round) {
    Sample sample = grow(4);
    if (!sample.expr)
      continue;
    Expr renamed = sample.expr.substitute(rename);
    ASSERT_TRUE(renamed) << sample.expr.str();
    for (size_t n = 0; n < points.size(); ++n) {
      Values values;
      for (auto [name, value] : points[n])
        values.push_back(
            {std::string(1, static_cast<char>('z' - (name[0] - 'i'))), value});
      if (sample.values[n]) {
        ASSERT_EQ(valueOf(renamed, values), sample.values[n])
            << sample.expr.str() << " became " << renamed.str();
      }
    }
  }
}

// Knowing one symbol early gives the same as knowing all at once.
TEST_F(Random, PartialSubstitutionKeepsValues) {
  for (int round = 0; round < 3000; ++round) {
    Sample sample = grow(4);
    size_t n = static_cast<size_t>(pick(0, assignments - 1));
    if (!sample.expr || !sample.values[n])
      continue;
    Expr partial = sample.expr.substitute([&](Expr symbol) {
      return symbol == y ? number(points[n][1].second) : Expr();
    });
    ASSERT_TRUE(partial) << sample.expr.str();
    ASSERT_EQ(valueOf(partial, points[n]), sample.values[n])
        << sample.expr.str() << " became " << partial.str();
  }
}

} // namespace
