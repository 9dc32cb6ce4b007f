//===- QuantizedPairs.cpp - Quantized panels as pairs of bf16 -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/F16Operands.h"
#include "compiler/Targets/Cpu/MatmulOperands.h"
#include "compiler/Targets/Cpu/QuantizedTile.h"
#include "dialects/Kernel/Packing.h"

using namespace mlir;

namespace tenon::cpu {

using kernel::panelColumns;
using kernel::QuantizedRhs;

namespace {

/// Lines of pairs, each of two lines of f32 that may lie where it goes, or
/// behind.
void narrowPairs(Emitter &e, Value from, Value out, Value pairs, Type half) {
  constexpr int64_t lanes = 16;
  auto floats = VectorType::get({lanes}, e.b.getF32Type());
  auto element = [&](Value base, Value line, int64_t i) {
    return e.address(base, e.b.getF32Type(),
                     e.add(e.mul(line, e.number(panelColumns)), e.number(i)));
  };
  e.loop(e.number(0), pairs, [&](Value pair) {
    Value even = e.mul(pair, e.number(2)), odd = e.add(even, e.number(1));
    SmallVector<Value> made;
    for (int64_t i = 0; i < panelColumns; i += lanes) {
      auto wide = [&](Value line) -> Value {
        return LLVM::LoadOp::create(e.b, floats, element(from, line, i), 4);
      };
      auto rounded = [&](Value line) { return roundTo(e.b, wide(line), half); };
      made.push_back(half.isF16() ? f16PairsOf(e.b, wide(even), wide(odd))
                                  : pairsOf(e.b, rounded(even), rounded(odd)));
    }
    for (int64_t i = 0; i < panelColumns; i += lanes)
      LLVM::StoreOp::create(e.b, made[i / lanes], element(out, pair, i), 4);
  });
}

} // namespace

void callQuantizedPairs(Emitter &e, const QuantizedRhs &rhs,
                        const QuantizedPanel &panel, Value out, int64_t room,
                        Type half) {
  // Some steps at a time become f32 at the end of the room, which stays in the
  // first level of the cache: whole blocks, and as many lines as words need.
  constexpr int64_t some = 64;
  int64_t lines = room / panelColumns;
  int64_t step = rhs.blocks == 1 ? some : llvm::alignTo(some, rhs.block);
  step = std::min(step, lines);
  auto lineAt = [&](Value base, Value line) {
    return e.address(base, e.b.getF32Type(),
                     e.mul(line, e.number(panelColumns)));
  };
  e.loop(
      e.number(0), panel.depth,
      [&](Value k) {
        QuantizedPanel part = panel;
        part.depth = e.min(e.sub(panel.depth, k), e.number(step));
        Value wide = lineAt(out, e.sub(e.number(lines), part.depth));
        part.numbers =
            e.address(panel.numbers, e.b.getI8Type(), bytesOfSteps(e, rhs, k));
        if (rhs.blocks > 1) {
          Value line =
              e.mul(e.div(k, e.number(rhs.block)), e.number(panelColumns));
          auto behind = [&](Value side) -> Value {
            return e.address(
                side,
                Emitter::memoryType(graph::getElementType(
                    side == panel.scales ? rhs.scales : rhs.zeros)),
                line);
          };
          part.scales = behind(panel.scales);
          if (panel.zeros)
            part.zeros = behind(panel.zeros);
        }
        callQuantizedCopy(e, rhs, part, wide);
        Value two = e.number(2);
        narrowPairs(e, wide, lineAt(out, e.div(k, two)), e.div(part.depth, two),
                    half);
      },
      step);
}

} // namespace tenon::cpu
