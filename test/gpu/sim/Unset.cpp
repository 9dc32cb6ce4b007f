//===- Unset.cpp - Registers that may be read before they are set ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nearly every register is set on every way to where it is read. Only the
// others are watched while a kernel runs.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/sim/Decoder.h"

#include <algorithm>

namespace tenon::sim {

namespace {

using Bits = std::vector<uint64_t>;

struct BasicBlock {
  uint32_t begin = 0, end = 0;
  std::vector<uint32_t> next;
  Bits sets, setOnEntry;
  bool reached = false;
};

class Analysis {
public:
  explicit Analysis(Program &program)
      : program(program), words((program.registerCount + 63) / 64) {}

  void run() {
    makeBlocks();
    solve();
    mark();
  }

private:
  Program &program;
  size_t words;
  std::vector<BasicBlock> blocks;
  std::vector<uint32_t> blockOf;

  void makeBlocks();
  void solve();
  void mark();

  void targets(const Instruction &line, Bits &set) const {
    if (line.guarded)
      return;
    for (int i = 0; i < line.targets; ++i)
      if (!line.operands[i].sink)
        set[line.operands[i].index / 64] |= uint64_t(1)
                                            << line.operands[i].index % 64;
  }
};

void Analysis::makeBlocks() {
  size_t size = program.code.size();
  std::vector<bool> leads(size + 1);
  leads[0] = true;
  for (size_t i = 0; i < size; ++i) {
    const Instruction &line = program.code[i];
    if (line.flow == Flow::Falls)
      continue;
    leads[i + 1] = true;
    if (line.flow == Flow::Branches)
      leads[line.immediate] = true;
    for (uint32_t t = 0; t < line.tableSize && line.table; ++t)
      leads[line.table[t]] = true;
  }
  blockOf.resize(size);
  for (size_t i = 0; i < size; ++i) {
    if (leads[i])
      blocks.emplace_back().begin = i;
    blocks.back().end = i + 1;
    blockOf[i] = blocks.size() - 1;
  }
  for (BasicBlock &block : blocks) {
    const Instruction &last = program.code[block.end - 1];
    bool falls = last.flow == Flow::Falls || last.guarded;
    if (falls && block.end < size)
      block.next.push_back(blockOf[block.end]);
    if (last.flow == Flow::Branches)
      block.next.push_back(blockOf[last.immediate]);
    for (uint32_t t = 0; t < last.tableSize && last.table; ++t)
      block.next.push_back(blockOf[last.table[t]]);
    block.sets.assign(words, 0);
    block.setOnEntry.assign(words, ~uint64_t(0));
    for (uint32_t i = block.begin; i < block.end; ++i)
      targets(program.code[i], block.sets);
  }
}

void Analysis::solve() {
  Bits &first = blocks[0].setOnEntry;
  std::fill(first.begin(), first.end(), 0);
  for (uint32_t implicit : program.implicitSlots)
    first[implicit / 64] |= uint64_t(1) << implicit % 64;
  std::vector<uint32_t> work = {0};
  blocks[0].reached = true;
  while (!work.empty()) {
    BasicBlock &block = blocks[work.back()];
    work.pop_back();
    for (uint32_t next : block.next) {
      BasicBlock &to = blocks[next];
      bool changed = !to.reached;
      to.reached = true;
      for (size_t i = 0; i < words; ++i) {
        uint64_t met = to.setOnEntry[i] & (block.setOnEntry[i] | block.sets[i]);
        changed |= met != to.setOnEntry[i];
        to.setOnEntry[i] = met;
      }
      if (changed)
        work.push_back(next);
    }
  }
}

void Analysis::mark() {
  std::vector<bool> watched(program.registerCount);
  for (BasicBlock &block : blocks) {
    if (!block.reached)
      continue;
    Bits set = block.setOnEntry;
    for (uint32_t i = block.begin; i < block.end; ++i) {
      Instruction &line = program.code[i];
      auto read = [&](const Operand &operand) {
        if (operand.base || operand.sink ||
            operand.index == Operand::kNoIndex ||
            (set[operand.index / 64] >> operand.index % 64 & 1))
          return;
        watched[operand.index] = line.checked = true;
      };
      for (int o = line.multiplies ? 0 : line.targets; o < line.operandCount;
           ++o)
        read(line.operands[o]);
      if (line.guarded)
        read(line.guard);
      targets(line, set);
    }
  }
  for (uint32_t i = 0; i < watched.size(); ++i)
    if (watched[i])
      program.watchedSlots.push_back(i);
  for (Instruction &line : program.code) {
    line.recorded = line.feeds;
    for (int i = 0; i < line.targets; ++i)
      line.recorded |=
          !line.operands[i].sink && watched[line.operands[i].index];
  }
}

} // namespace

void findUnsetRegisters(Program &program) { Analysis(program).run(); }

} // namespace tenon::sim
