//===- Types.cpp - Names of PTX's types -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Program.h"

namespace tenon::sim {

Type parseType(std::string_view name) {
  struct Row {
    std::string_view name;
    Type type;
  };
  static constexpr Row kRows[] = {
      {"pred", {Type::Predicate, 1}},
      {"b1", {Type::Bits, 1}},
      {"b8", {Type::Bits, 8}},
      {"b16", {Type::Bits, 16}},
      {"b32", {Type::Bits, 32}},
      {"b64", {Type::Bits, 64}},
      {"b128", {Type::Bits, 128}},
      {"u8", {Type::Unsigned, 8}},
      {"u16", {Type::Unsigned, 16}},
      {"u32", {Type::Unsigned, 32}},
      {"u64", {Type::Unsigned, 64}},
      {"s8", {Type::Signed, 8}},
      {"s16", {Type::Signed, 16}},
      {"s32", {Type::Signed, 32}},
      {"s64", {Type::Signed, 64}},
      {"u16x2", {Type::Unsigned, 16, 2}},
      {"s16x2", {Type::Signed, 16, 2}},
      {"f16", {Type::Float, 16, 1, 5}},
      {"f16x2", {Type::Float, 16, 2, 5}},
      {"bf16", {Type::BFloat, 16, 1, 8}},
      {"bf16x2", {Type::BFloat, 16, 2, 8}},
      {"tf32", {Type::BFloat, 32, 1, 8}},
      {"e4m3", {Type::BFloat, 8, 1, 4}},
      {"e5m2", {Type::BFloat, 8, 1, 5}},
      {"e4m3x2", {Type::BFloat, 8, 2, 4}},
      {"e5m2x2", {Type::BFloat, 8, 2, 5}},
      {"f32", {Type::Float, 32, 1, 8}},
      {"f64", {Type::Float, 64, 1, 11}},
  };
  for (const Row &row : kRows)
    if (row.name == name)
      return row.type;
  return {};
}

} // namespace tenon::sim
