//===- Wgmma.cpp - wgmma --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Text.h"
#include "test/gpu/sim/WgmmaShape.h"

#include <charconv>

namespace tenon::sim {

namespace {

constexpr Type kB32{Type::Bits, 32};
constexpr Type kB64{Type::Bits, 64};
constexpr Type kF32{Type::Float, 32, 1, 8};
constexpr Type kF16{Type::Float, 16, 1, 5};
constexpr Type kS32{Type::Signed, 32};
constexpr Type kPredicate{Type::Predicate, 1};

/// ".m64n128k16".
bool takeShape(Line &line, uint32_t &columns, uint32_t &depth) {
  std::string_view rest;
  if (!line.takePrefixed("m64n", rest))
    return line.fail("the shape is missing");
  const char *end = rest.data() + rest.size();
  auto [middle, bad] = std::from_chars(rest.data(), end, columns);
  if (bad != std::errc() || middle == end || *middle != 'k')
    return line.fail("unknown shape");
  auto [last, worse] = std::from_chars(middle + 1, end, depth);
  if (worse != std::errc() || last != end || columns % 8 || columns < 8 ||
      columns > 256)
    return line.fail("unknown shape");
  return true;
}

bool takeTypes(Line &line, uint32_t columns, uint32_t depth) {
  Instruction &out = line.out;
  Type sums;
  if (!line.takeType(out.from) || !line.takeType(out.type) ||
      !line.takeType(sums))
    return false;
  Type left = out.type, right = out.from;
  if (left.bits * depth != 256 || left.bits != right.bits)
    return line.fail("no such depth for these types");
  if (left.isInteger())
    return (left.bits == 8 && right.isInteger() && sums == kS32 &&
            (columns <= 32 || columns % 16 == 0)) ||
           line.fail("no such product of integers");
  bool narrow = left.bits == 8;
  if (!right.isFloat() || (!narrow && !(left == right)) ||
      !(sums == kF32 || (sums == kF16 && (narrow || left == kF16))))
    return line.fail("no such product of floats");
  if (sums == kF16)
    out.option |= HalfSums;
  return true;
}

/// Signs and transposes, behind scale-d.
bool takeFlags(Line &line) {
  Instruction &out = line.out;
  if (out.type.isInteger())
    return line.expect(4);
  bool halves = out.type.bits == 16;
  size_t at = 4, size = halves ? (out.counts[1] ? 7 : 8) : 6;
  if (!line.expect(size))
    return false;
  for (WgmmaFlag flag : {LeftNegated, RightNegated}) {
    uint64_t sign;
    if (!line.integer(at++, sign))
      return false;
    if (sign != 1 && int32_t(sign) != -1)
      return line.fail("a sign is neither 1 nor -1");
    if (sign != 1)
      out.option |= flag;
  }
  for (WgmmaFlag flag : {LeftTransposed, RightTransposed}) {
    if (!halves || (flag == LeftTransposed && out.counts[1]))
      continue;
    uint64_t transposed;
    if (!line.integer(at++, transposed))
      return false;
    if (transposed > 1)
      return line.fail("a transpose is neither 0 nor 1");
    if (transposed)
      out.option |= flag;
  }
  return true;
}

bool decodeProduct(Line &line) {
  Instruction &out = line.out;
  uint32_t columns, depth;
  out.saturate = line.take("satfinite");
  if (!takeShape(line, columns, depth) || !takeTypes(line, columns, depth) ||
      !line.expect(4, 8))
    return false;
  uint8_t given = 0, left = 0;
  bool inRegisters = line.node(1).kind == Node::List;
  if (!line.targetList(0, kB32, given))
    return false;
  if (given != columns / (out.option & HalfSums ? 4 : 2))
    return line.fail(
        format("%u registers of sums, not what the shape has", given));
  if (inRegisters ? !line.sourceList(1, kB32, left) : !line.source(1, kB64))
    return false;
  if (inRegisters && left != 4)
    return line.fail("the left matrix must be four registers or a descriptor");
  out.counts[1] = left;
  out.counts[2] = uint8_t(columns / 8);
  out.multiplies = true;
  line.decoder.noteWarpgroups();
  return line.source(2, kB64) && line.source(3, kPredicate) &&
         takeFlags(line) && line.finish(multiplyAsync);
}

bool decodeWgmma(Line &line) {
  int action =
      line.takeOneOf({"fence", "mma_async", "commit_group", "wait_group"});
  if (action < 0 || !line.take("sync") || !line.take("aligned"))
    return line.fail("unknown action, or .sync.aligned is missing");
  line.decoder.noteWarpgroups();
  switch (action) {
  case 0:
    return line.expect(0) && line.finish(fenceProducts);
  case 1:
    return decodeProduct(line);
  case 2:
    return line.expect(0) && line.finish(commitProducts);
  default:
    return line.expect(1) && line.integer(0, line.out.immediate) &&
           line.finish(waitForProducts);
  }
}

} // namespace

/// Moves are left out: they are the back end's, which puts them where it likes.
void findProductRegisters(Program &program) {
  std::vector<bool> found(program.registerCount);
  bool some = false;
  for (const Instruction &line : program.code) {
    if (!line.multiplies)
      continue;
    some = true;
    for (int i = 0; i < line.targets + line.counts[1]; ++i)
      if (!line.operands[i].base && !line.operands[i].sink)
        found[line.operands[i].index] = true;
  }
  if (!some)
    return;
  for (Instruction &line : program.code)
    for (int i = 0; i < line.targets && !line.multiplies &&
                    !program.texts[line.textIndex].starts_with("mov.");
         ++i)
      line.feeds |= !line.operands[i].sink && found[line.operands[i].index];
}

void addWarpgroupInstructions(DecodeTable &table) {
  table["setmaxnreg"] = decodeSetRegisters;
  table["wgmma"] = decodeWgmma;
}

} // namespace tenon::sim
