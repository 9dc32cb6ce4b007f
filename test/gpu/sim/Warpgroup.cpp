//===- Warpgroup.cpp - Products in flight ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Warpgroup.h"
#include "test/gpu/sim/Cluster.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Matrix.h"
#include "test/gpu/sim/Text.h"
#include "test/gpu/sim/WgmmaShape.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tenon::sim {

namespace {

constexpr uint32_t kAllWarps = (1u << Warpgroup::kWarps) - 1;
constexpr uint32_t kRegisters = 1 << 16; // Of a multiprocessor.

/// The warpgroup, once the warp has come as a whole; null: `step` says why.
Warpgroup *groupOf(Warp &warp, const Instruction &line, Step &step) {
  step = meetWarp(warp, line);
  if (step != Step::Next)
    return nullptr;
  Block &block = warp.block;
  uint32_t last = warp.index / Warpgroup::kWarps * Warpgroup::kWarps +
                  Warpgroup::kWarps - 1;
  if (last < block.warps.size() && block.warps[last].present == ~0u)
    return &block.warpgroups[warp.index / Warpgroup::kWarps];
  step = warp.fail(line, 0, "the warpgroup has fewer than 128 threads");
  return nullptr;
}

/// The four warps come to the same; Next for the last one.
Step gather(Warp &warp, Warpgroup &group, const Product &product) {
  const Instruction &line = *product.line;
  if (group.come && group.gathering.line != &line)
    return warp.fail(line, 0,
                     format("another warp of the warpgroup is at line %u `",
                            group.gathering.line->line) +
                         warp.program.texts[group.gathering.line->textIndex] +
                         "`: all four must come to the same");
  if (group.come && group.gathering != product)
    return warp.fail(line, 0,
                     "the descriptors or scale-d differ within the warpgroup");
  group.gathering = product;
  group.come |= 1u << warp.index % Warpgroup::kWarps;
  return group.come == kAllWarps ? Step::Next : Step::Blocked;
}

void release(Warp &warp, Warpgroup &group) {
  group.come = 0;
  uint32_t first = warp.index / Warpgroup::kWarps * Warpgroup::kWarps;
  for (uint32_t i = first; i < first + Warpgroup::kWarps; ++i)
    if (i != warp.index)
      warp.block.warps[i].release(~0u);
  warp.block.progressed = true;
}

void performUntil(Block &block, Warpgroup &group, uint32_t number) {
  uint32_t first =
      uint32_t(&group - block.warpgroups.data()) * Warpgroup::kWarps;
  while (group.performed < number) {
    performProduct(block, first, group.waiting.front());
    group.waiting.pop_front();
    ++group.performed;
  }
}

void performSome(Warp &warp, Warpgroup &group) {
  Order order = warp.block.state.launch.order;
  if (order == Order::Eager ||
      (order == Order::Random && (warp.block.state.random() & 1)))
    performUntil(warp.block, group, group.issued);
}

bool readProduct(Warp &warp, const Instruction &line, Product &product) {
  const Operand *left = line.operands + line.targets;
  const Operand &right = left[std::max<int>(line.counts[1], 1)];
  const Operand &adds = line.operands[line.operandCount - 1];
  product = {&line, line.counts[1] ? 0 : warp.value(left[0], 0),
             warp.value(right, 0), warp.value(adds, 0) != 0};
  for (int lane = 1; lane < kLanes; ++lane)
    if ((!line.counts[1] && warp.value(left[0], lane) != product.left) ||
        warp.value(right, lane) != product.right ||
        (warp.value(adds, lane) != 0) != product.adds) {
      warp.fail(line, lane,
                "the descriptors or scale-d differ within the warpgroup");
      return false;
    }
  return true;
}

bool failRegister(Warp &warp, const Instruction &line, const Operand &operand,
                  const std::string &why) {
  warp.fail(line, 0,
            "register " + warp.program.registerNames[operand.index] + " " +
                why);
  return false;
}

std::string inFlight(const Warp &warp, const Instruction &by) {
  return format("of the product in flight of line %u `", by.line) +
         warp.program.texts[by.textIndex] + "`: wgmma.wait_group comes first";
}

/// Sums may be added to in flight by a product of the same shape, registers and
/// type; nothing else may overlap, and wgmma.fence comes behind other writes.
bool checkOperands(Warp &warp, const Instruction &line) {
  WarpProducts &products = warp.products;
  if (!products.fenced) {
    warp.fail(line, 0, "no wgmma.fence was before the warp's first product");
    return false;
  }
  for (int i = 0; i < line.targets + line.counts[1]; ++i) {
    const Operand &operand = line.operands[i];
    if (operand.base || operand.sink)
      continue;
    bool sum = i < line.targets;
    if (products.isTouched(operand.index))
      return failRegister(warp, line, operand,
                          "was set behind the last wgmma.fence");
    const WarpProducts::Use &last = products.sums[operand.index];
    bool same = sum && last.line && last.line->targets == line.targets &&
                last.line->operands[i].index == operand.index &&
                last.line->counts[2] == line.counts[2];
    if (products.isSum(operand.index) && !same)
      return failRegister(warp, line, operand,
                          "is a sum " + inFlight(warp, *last.line));
    if (sum && products.isLeft(operand.index))
      return failRegister(
          warp, line, operand,
          "is an operand " +
              inFlight(warp, *products.left[operand.index].line));
  }
  return true;
}

void useOperands(Warp &warp, const Instruction &line) {
  uint32_t number = ++warp.products.issued;
  for (int i = 0; i < line.targets + line.counts[1]; ++i) {
    const Operand &operand = line.operands[i];
    if (operand.base || operand.sink)
      continue;
    (i < line.targets ? warp.products.sums
                      : warp.products.left)[operand.index] = {number, &line};
  }
}

/// The products read what all four warps know to be there.
bool checkMatrix(Warp &warp, Warpgroup &group, const Instruction &line,
                 const MatrixPlace &place, uint32_t rows, uint32_t pieces,
                 const Clock &clock) {
  Block &block = warp.block;
  const Checks &checks = block.state.launch.checks;
  if (!place.isSound()) {
    warp.fail(line, 0, "the descriptor has bits that are not simulated");
    return false;
  }
  Agent agent = warp.agent(line, 0);
  Agent engine{clock, uint16_t(group.engine), 0, agent.cluster,
               agent.instruction};
  for (uint32_t i = 0; i < rows; ++i)
    for (uint32_t j = 0; j < pieces; ++j) {
      uint32_t at = place.piece(i, j);
      Conflict conflict;
      if (at + 16 > block.shared.size()) {
        warp.fail(line, 0,
                  format("the descriptor reaches 0x%x of shared memory, where "
                         "the block has %llu bytes",
                         at, (unsigned long long)block.shared.size()));
      } else if (checks.sharedRaces &&
                 !block.shadow().readAsync(
                     at, 16, engine, group.start + group.issued, conflict)) {
        warp.failRace(line, 0, "reads", "shared", at, conflict);
      } else if (checks.uninitialized &&
                 memchr(&block.sharedWritten[at], 0, 16)) {
        warp.fail(line, 0,
                  format("reads 16 bytes of shared memory at 0x%x that were "
                         "never written",
                         at));
      } else {
        continue;
      }
      return false;
    }
  return true;
}

bool issue(Warp &warp, Warpgroup &group, const Product &product) {
  const Instruction &line = *product.line;
  uint32_t first = warp.index / Warpgroup::kWarps * Warpgroup::kWarps;
  Clock clock = warp.clock;
  for (uint32_t i = 0; i < Warpgroup::kWarps; ++i)
    meet(clock, warp.block.warps[first + i].clock);
  ++group.issued;
  group.waiting.push_back(product);
  WgmmaShape shape(line);
  if (!line.counts[1] &&
      !checkMatrix(warp, group, line, {product.left, shape.leftTransposed},
                   shape.outer(64, shape.leftTransposed),
                   shape.pieces(64, shape.leftTransposed), clock))
    return false;
  return checkMatrix(warp, group, line, {product.right, shape.rightTransposed},
                     shape.outer(shape.columns, shape.rightTransposed),
                     shape.pieces(shape.columns, shape.rightTransposed), clock);
}

Step setRegisters(Warp &warp, const Instruction &line) {
  Step step;
  Warpgroup *group = groupOf(warp, line, step);
  if (!group)
    return step;
  step = gather(warp, *group, {&line});
  if (step != Step::Next)
    return step;
  uint32_t wanted = uint32_t(line.immediate), all = 0;
  if (line.option ? wanted < group->registers : wanted > group->registers)
    return warp.fail(
        line, 0,
        format("the warpgroup has %u registers per thread", group->registers));
  for (const Warpgroup &other : warp.block.warpgroups)
    all += &other == group ? wanted : other.registers;
  if (line.option && all * 128 > kRegisters) {
    // Until another warpgroup gives some back.
    group->come &= ~(1u << warp.index % Warpgroup::kWarps);
    return Step::Retry;
  }
  group->registers = wanted;
  release(warp, *group);
  return Step::Next;
}

} // namespace

Warpgroup::Warpgroup(const Cluster &cluster, uint32_t engine, uint32_t threads)
    : engine(engine), start(cluster.start),
      registers(std::min(256u, kRegisters / threads) & ~7u) {}

void WarpProducts::resize(uint32_t registers) {
  sums.resize(registers);
  left.resize(registers);
  touched.resize(registers);
}

void WarpProducts::touch(const Instruction &instruction) {
  for (int i = 0; i < instruction.targets; ++i) {
    const Operand &operand = instruction.operands[i];
    if (operand.sink || touched[operand.index])
      continue;
    touched[operand.index] = true;
    touchedList.push_back(operand.index);
  }
}

void WarpProducts::fence() {
  fenced = true;
  for (uint32_t index : touchedList)
    touched[index] = false;
  touchedList.clear();
}

bool checkProducts(Warp &warp, const Instruction &line) {
  const WarpProducts &products = warp.products;
  for (int i = 0; i < line.operandCount; ++i) {
    const Operand &operand = line.operands[i];
    if (operand.base || operand.sink || operand.index == Operand::kNoIndex)
      continue;
    if (products.isSum(operand.index))
      return failRegister(
          warp, line, operand,
          "is a sum " + inFlight(warp, *products.sums[operand.index].line));
    if (products.isLeft(operand.index))
      return failRegister(
          warp, line, operand,
          "is an operand " +
              inFlight(warp, *products.left[operand.index].line));
  }
  return true;
}

bool finishProducts(Block &block) {
  for (Warp &warp : block.warps)
    if (warp.products.inFlight()) {
      const Instruction *line = nullptr;
      for (const WarpProducts::Use &use : warp.products.sums)
        if (use.number == warp.products.issued)
          line = use.line;
      warp.fail(line ? *line : warp.program.code.front(), 0,
                "the kernel ends while the product is in flight");
      return false;
    }
  return true;
}

Step multiplyAsync(Warp &warp, const Instruction &line) {
  Step step;
  Warpgroup *group = groupOf(warp, line, step);
  if (!group)
    return step;
  Product product;
  if (!checkOperands(warp, line) || !readProduct(warp, line, product))
    return Step::Failed;
  step = gather(warp, *group, product);
  if (step == Step::Failed)
    return step;
  useOperands(warp, line);
  if (step == Step::Blocked)
    return step;
  if (!issue(warp, *group, product))
    return Step::Failed;
  performSome(warp, *group);
  release(warp, *group);
  return Step::Next;
}

Step fenceProducts(Warp &warp, const Instruction &line) {
  Step step;
  if (groupOf(warp, line, step))
    warp.products.fence();
  return step;
}

Step commitProducts(Warp &warp, const Instruction &line) {
  Step step;
  if (Warpgroup *group = groupOf(warp, line, step)) {
    warp.products.groups.push_back(warp.products.issued);
    performSome(warp, *group);
  }
  return step;
}

Step waitForProducts(Warp &warp, const Instruction &line) {
  Step step;
  Warpgroup *group = groupOf(warp, line, step);
  if (!group)
    return step;
  WarpProducts &products = warp.products;
  size_t kept = line.immediate;
  if (products.groups.size() <= kept)
    return Step::Next;
  uint32_t end = products.groups[products.groups.size() - 1 - kept];
  performUntil(warp.block, *group, end);
  products.retired = std::max(products.retired, end);
  warp.clock.see(group->engine, group->start + end);
  return Step::Next;
}

bool decodeSetRegisters(Line &line) {
  int action = line.takeOneOf({"dec", "inc"});
  if (action < 0 || !line.take("sync") || !line.take("aligned") ||
      !line.take("u32"))
    return line.fail("it must be .inc or .dec, and .sync.aligned.u32");
  line.out.option = uint8_t(action);
  if (!line.expect(1) || !line.integer(0, line.out.immediate))
    return false;
  if (line.out.immediate % 8 || line.out.immediate < 24 ||
      line.out.immediate > 256)
    return line.fail("no multiple of 8 from 24 to 256");
  line.decoder.noteWarpgroups();
  return line.finish(setRegisters);
}

} // namespace tenon::sim
