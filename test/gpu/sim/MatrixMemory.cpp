//===- MatrixMemory.cpp - ldmatrix, stmatrix, movmatrix -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Access.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Matrix.h"

#include <bit>
#include <cstring>

namespace tenon::sim {

namespace {

constexpr Type kB32{Type::Bits, 32};
constexpr uint32_t kRowBytes = 16; // Eight elements of 16 bits.

uint64_t rowAddress(Warp &warp, const Instruction &line, const Operand &operand,
                    int lane) {
  uint64_t address = warp.value(operand, lane) + line.immediate;
  return operand.bytes == 4 ? uint32_t(address) : address;
}

/// One matrix of 8 by 8, from or to a register of every lane: lane l holds row
/// l / 4, columns 2 * (l % 4) and the next; transposed, the same of columns.
void spread(const uint16_t (&matrix)[8][8], bool transposed, Warp &warp,
            const Operand &target) {
  for (int lane = 0; lane < kLanes; ++lane) {
    int row = lane / 4, column = lane % 4 * 2;
    uint32_t low = transposed ? matrix[column][row] : matrix[row][column];
    uint32_t high =
        transposed ? matrix[column + 1][row] : matrix[row][column + 1];
    warp.setValue(target, lane, low | high << 16);
  }
}

void collect(Warp &warp, const Operand &source, bool transposed,
             uint16_t (&matrix)[8][8]) {
  for (int lane = 0; lane < kLanes; ++lane) {
    int row = lane / 4, column = lane % 4 * 2;
    uint32_t value = uint32_t(warp.value(source, lane));
    (transposed ? matrix[column][row] : matrix[row][column]) = uint16_t(value);
    (transposed ? matrix[column + 1][row] : matrix[row][column + 1]) =
        uint16_t(value >> 16);
  }
}

uint32_t rowLanes(int matrices) {
  return matrices == 4 ? ~0u : (1u << 8 * matrices) - 1;
}

void count(Warp &warp, const Instruction &line, int matrices,
           const uint64_t *addresses, bool store) {
  uint32_t active = warp.active;
  warp.active = rowLanes(matrices);
  countTraffic(warp, line.space, addresses, kRowBytes, store);
  warp.active = active;
}

Step loadMatrix(Warp &warp, const Instruction &line) {
  Step step = meetWarp(warp, line);
  if (step != Step::Next)
    return step;
  int matrices = line.targets;
  const Operand &base = line.operands[matrices];
  uint16_t rows[4][8][8];
  uint64_t addresses[kLanes];
  for (int lane = 0; lane < 8 * matrices; ++lane) {
    addresses[lane] = rowAddress(warp, line, base, lane);
    const char *row = warp.access(line, line.space, addresses[lane], kRowBytes,
                                  lane, Warp::Use::Read);
    if (!row)
      return Step::Failed;
    memcpy(rows[lane / 8][lane % 8], row, kRowBytes);
  }
  for (int i = 0; i < matrices; ++i)
    spread(rows[i], line.option, warp, line.operands[i]);
  count(warp, line, matrices, addresses, false);
  return Step::Next;
}

Step storeMatrix(Warp &warp, const Instruction &line) {
  Step step = meetWarp(warp, line);
  if (step != Step::Next)
    return step;
  int matrices = line.operandCount - 1;
  uint16_t rows[4][8][8];
  uint64_t addresses[kLanes];
  for (int i = 0; i < matrices; ++i)
    collect(warp, line.operands[i + 1], line.option, rows[i]);
  for (int lane = 0; lane < 8 * matrices; ++lane) {
    addresses[lane] = rowAddress(warp, line, line.operands[0], lane);
    warp.stored = reinterpret_cast<const char *>(rows[lane / 8][lane % 8]);
    char *row = warp.access(line, line.space, addresses[lane], kRowBytes, lane,
                            Warp::Use::Write);
    if (!row)
      return Step::Failed;
    memcpy(row, warp.stored, kRowBytes);
  }
  count(warp, line, matrices, addresses, true);
  return Step::Next;
}

Step moveMatrix(Warp &warp, const Instruction &line) {
  Step step = meetWarp(warp, line);
  if (step != Step::Next)
    return step;
  uint16_t matrix[8][8];
  collect(warp, line.operands[1], true, matrix);
  spread(matrix, false, warp, line.operands[0]);
  return Step::Next;
}

bool takeShape(Line &line) {
  Instruction &out = line.out;
  if (!line.take("sync") || !line.take("aligned") || !line.take("m8n8") ||
      !line.take("b16"))
    return line.fail("it must be .sync.aligned.m8n8 and .b16");
  out.option = line.take("trans");
  bool shared = line.take("shared") || line.take("shared::cta");
  out.space = shared ? Space::Shared : Space::Generic;
  int size = line.takeOneOf({"x1", "x2", "x4"});
  if (size < 0)
    return line.fail("one of .x1 .x2 .x4 is missing");
  out.counts[0] = 1 << size;
  return line.expect(2);
}

} // namespace

bool decodeLoadMatrix(Line &line) {
  uint8_t count = 0;
  if (!takeShape(line) || !line.targetList(0, kB32, count) ||
      !line.address(1, line.out.space, line.out.immediate))
    return false;
  if (count != line.out.counts[0])
    return line.fail("one register per matrix is expected");
  return line.finish(loadMatrix);
}

bool decodeStoreMatrix(Line &line) {
  uint8_t count = 0;
  if (!takeShape(line) ||
      !line.address(0, line.out.space, line.out.immediate) ||
      !line.sourceList(1, kB32, count))
    return false;
  if (count != line.out.counts[0])
    return line.fail("one register per matrix is expected");
  line.decoder.noteStore(line.out.space, kRowBytes);
  return line.finish(storeMatrix);
}

bool decodeMoveMatrix(Line &line) {
  if (!line.take("sync") || !line.take("aligned") || !line.take("m8n8") ||
      !line.take("trans") || !line.take("b16"))
    return line.fail("it must be .sync.aligned.m8n8.trans.b16");
  return line.expect(2) && line.target(0, kB32) && line.source(1, kB32) &&
         line.finish(moveMatrix);
}

} // namespace tenon::sim
