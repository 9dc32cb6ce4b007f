//===- Warp.cpp - Thirty-two threads in step ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Warp.h"
#include "test/gpu/sim/Block.h"
#include "test/gpu/sim/Text.h"

#include <bit>
#include <cstring>

namespace tenon::sim {

Warp::Warp(Block &block, uint32_t index, uint32_t lanes)
    : block(block), program(block.state.program), index(index),
      present(lanes == kLanes ? ~0u : (1u << lanes) - 1),
      waited(block.state.launch.overlaps ? 0 : ~0u) {
  registers.resize(program.registerSlots * kSlot);
  bases[0] = registers.data();
  bases[1] = const_cast<char *>(program.constants.data());
  set.assign(program.registerCount, ~0u);
  for (uint32_t watched : program.watchedSlots)
    set[watched] = 0;
  for (uint32_t implicit : program.implicitSlots)
    set[implicit] = ~0u;
  if (program.warpgroups)
    products.resize(program.registerCount);
  local.resize(size_t(block.state.kernel.local) * kLanes);
  localWritten.resize(local.size());
  groups.push_back({0, present, Group::Ready});
  setSpecials();
}

uint64_t Warp::value(const Operand &operand, int lane) {
  switch (operand.bytes) {
  case 0:
    return predicate(operand) >> lane & 1;
  case 1:
    return lanes<uint8_t>(operand)[lane];
  case 2:
    return lanes<uint16_t>(operand)[lane];
  case 4:
    return lanes<uint32_t>(operand)[lane];
  default:
    return lanes<uint64_t>(operand)[lane];
  }
}

void Warp::setValue(const Operand &operand, int lane, uint64_t value) {
  if (operand.sink)
    return;
  switch (operand.bytes) {
  case 0: {
    uint32_t &bits = *lanes<uint32_t>(operand);
    bits = (bits & ~(1u << lane)) | uint32_t(value & 1) << lane;
    return;
  }
  case 1:
    lanes<uint8_t>(operand)[lane] = value;
    return;
  case 2:
    lanes<uint16_t>(operand)[lane] = value;
    return;
  case 4:
    lanes<uint32_t>(operand)[lane] = value;
    return;
  default:
    lanes<uint64_t>(operand)[lane] = value;
  }
}

Step Warp::fail(const Instruction &instruction, int lane,
                const std::string &why) {
  std::string &error = block.state.error;
  if (!error.empty())
    return Step::Failed;
  uint32_t at[3];
  block.threadIndex(thread(lane), at);
  error = format("kernel %s, line %u: `", program.kernel.c_str(),
                 instruction.line) +
          program.texts[instruction.textIndex] +
          format("`, block (%u,%u,%u), thread (%u,%u,%u): ", block.index[0],
                 block.index[1], block.index[2], at[0], at[1], at[2]) +
          why;
  return Step::Failed;
}

bool Warp::pick(uint32_t &limit) {
  for (size_t i = 0; i + 1 < groups.size(); ++i)
    for (size_t j = groups.size() - 1; j > i; --j)
      if (groups[i].pc == groups[j].pc && groups[i].state <= Group::Meeting &&
          groups[j].state <= Group::Meeting) {
        groups[i].mask |= groups[j].mask;
        groups[i].state = Group::Ready;
        groups.erase(groups.begin() + j);
      }
  current = groups.size();
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i].state == Group::Ready &&
        (current == groups.size() || groups[i].pc < groups[current].pc))
      current = i;
  if (current == groups.size())
    return false;
  pc = groups[current].pc;
  running = groups[current].mask;
  limit = nextGroup();
  return true;
}

/// Where another group stands that the running one will meet first.
uint32_t Warp::nextGroup() const {
  uint32_t next = ~0u;
  for (const Group &group : groups)
    if (group.state <= Group::Meeting && group.pc > pc)
      next = std::min(next, group.pc);
  return next;
}

void Warp::leave(Group::State state, uint32_t at) {
  uint32_t others = running & ~active;
  if (state != Group::Ready && others) {
    // The guard let these lanes pass.
    groups[current].mask = active;
    groups.push_back({pc + 1, others, Group::Ready});
  }
  groups[current].pc = at;
  groups[current].state = state;
}

bool Warp::run(uint64_t budget) {
  uint32_t limit;
  while (pick(limit))
    if (!runGroup(limit, budget))
      return false;
  return true;
}

bool Warp::runGroup(uint32_t limit, uint64_t budget) {
  const Instruction *code = program.code.data();
  Counts &counts = block.state.counts;
  const uint64_t most = block.state.launch.instructionLimit;
  regrouped = false;
  while (true) {
    const Instruction &instruction = code[pc];
    active = running;
    if (instruction.guarded)
      active &= predicate(instruction.guard);
    if (++executed > most) {
      fail(instruction, std::countr_zero(running),
           format("still runs after %llu instructions: the kernel hangs",
                  (unsigned long long)most));
      return false;
    }
    Step step = Step::Next;
    if (active) {
      if (instruction.checked && !checkRegisters(instruction))
        return false;
      if (products.inFlight() && !instruction.multiplies &&
          !checkProducts(*this, instruction))
        return false;
      step = instruction.execute(*this, instruction);
      if (step == Step::Failed)
        return false;
      if (step == Step::Retry) {
        leave(Group::Polling, pc);
        return true;
      }
      ++counts.warpInstructions;
      counts.threadInstructions += std::popcount(active);
      if (instruction.recorded)
        noteTargets(instruction);
    }
    progressed = true;
    if (step == Step::Next) {
      ++pc;
    } else if (step == Step::Blocked) {
      leave(Group::Parked, pc + 1);
      return true;
    } else if (regrouped) {
      return true;
    } else if (groups.size() > 1) {
      limit = nextGroup();
    }
    if (pc >= limit) {
      groups[current].pc = pc;
      return true;
    }
    if (--budget == 0) { // Others of the warp get their turn.
      groups[current].pc = pc;
      groups[current].state = Group::Polling;
      return true;
    }
  }
}

Step Warp::jump(uint32_t taken, uint32_t target) {
  uint32_t stay = running & ~taken;
  if (!stay) {
    pc = target;
    // Where another group stands, they become one.
    for (size_t i = 0; groups.size() > 1 && i < groups.size(); ++i)
      if (i != current && groups[i].pc == target &&
          groups[i].state <= Group::Meeting)
        return regroup(pc);
    return Step::Jumped;
  }
  groups.push_back({target, taken, Group::Ready});
  running = stay;
  groups[current].mask = stay;
  return regroup(pc + 1);
}

Step Warp::split(uint32_t taken, uint32_t target) {
  if (uint32_t others = running & ~active) // The guard let them pass.
    groups.push_back({pc + 1, others, Group::Ready});
  groups.push_back({target, taken, Group::Ready});
  groups[current].mask = active & ~taken;
  return regroup(pc);
}

Step Warp::regroup(uint32_t at) {
  groups[current].pc = at;
  regrouped = true;
  return Step::Jumped;
}

Step Warp::exitLanes() {
  exited |= active;
  uint32_t others = running & ~active;
  if (!others) {
    groups.erase(groups.begin() + current);
    regrouped = true;
    return Step::Jumped;
  }
  groups[current].mask = others;
  return regroup(pc + 1);
}

Step Warp::meet(const Instruction &instruction, uint32_t mask) {
  if (uint32_t stray = active & ~mask)
    return fail(instruction, std::countr_zero(stray),
                format("the thread is not in the member mask 0x%x", mask));
  if (uint32_t gone = mask & (exited | ~present))
    return fail(instruction, std::countr_zero(active),
                format("the member mask 0x%x names lane %d, which has exited",
                       mask, std::countr_zero(gone)));
  if (active == mask)
    return Step::Next;
  leave(Group::Meeting, pc);
  regrouped = true;
  return Step::Jumped;
}

void Warp::release(uint32_t mask) {
  for (Group &group : groups)
    if (group.state == Group::Parked && (group.mask & mask))
      group.state = Group::Ready;
}

void Warp::wake() {
  for (Group &group : groups)
    if (group.state == Group::Polling)
      group.state = Group::Ready;
}

void Warp::noteTargets(const Instruction &instruction) {
  for (int i = 0; i < instruction.targets; ++i)
    if (!instruction.operands[i].sink)
      set[instruction.operands[i].index] |= active;
  if (instruction.feeds)
    products.touch(instruction);
}

bool Warp::checkRegisters(const Instruction &instruction) {
  if (!block.state.launch.checks.uninitialized)
    return true;
  auto check = [&](const Operand &operand, uint32_t lanes) {
    if (operand.base || operand.index == Operand::kNoIndex)
      return true;
    uint32_t unset = lanes & ~set[operand.index];
    if (!unset)
      return true;
    fail(instruction, std::countr_zero(unset),
         "reads register " + program.registerNames[operand.index] +
             ", which was never set");
    return false;
  };
  int first = instruction.targets;
  if (instruction.multiplies && // Sums are read where it adds to them.
      predicate(instruction.operands[instruction.operandCount - 1]) & active)
    first = 0;
  for (int i = first; i < instruction.operandCount; ++i)
    if (!check(instruction.operands[i], active))
      return false;
  return !instruction.guarded || check(instruction.guard, running);
}

bool isSpecialRegister(std::string_view name) {
  for (const char *prefix :
       {"%tid.", "%ntid.", "%ctaid.", "%nctaid.", "%clusterid.", "%nclusterid.",
        "%cluster_ctaid.", "%cluster_nctaid."})
    if (name.starts_with(prefix) && name.size() == strlen(prefix) + 1)
      return name.back() >= 'x' && name.back() <= 'z';
  for (const char *whole :
       {"%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid",
        "%cluster_ctarank", "%cluster_nctarank", "%lanemask_eq", "%lanemask_lt",
        "%lanemask_le", "%lanemask_gt", "%lanemask_ge", "%dynamic_smem_size",
        "%total_smem_size"})
    if (name == whole)
      return true;
  return false;
}

/// The same in all lanes; false: it is not that kind.
bool Warp::uniformSpecial(const std::string &name, uint32_t &out) const {
  const Launch &launch = block.state.launch;
  int axis = name.back() - 'x';
  if (name.starts_with("%ntid."))
    out = launch.block[axis];
  else if (name.starts_with("%ctaid."))
    out = block.index[axis];
  else if (name.starts_with("%nctaid."))
    out = launch.grid[axis];
  else if (name.starts_with("%clusterid."))
    out = block.index[axis] / launch.cluster[axis];
  else if (name.starts_with("%nclusterid."))
    out = launch.grid[axis] / launch.cluster[axis];
  else if (name.starts_with("%cluster_ctaid."))
    out = block.index[axis] % launch.cluster[axis];
  else if (name.starts_with("%cluster_nctaid."))
    out = launch.cluster[axis];
  else if (name == "%cluster_ctarank")
    out = block.rank;
  else if (name == "%cluster_nctarank")
    out = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  else if (name == "%warpid")
    out = index;
  else if (name == "%nwarpid")
    out = 64;
  else if (name == "%nsmid")
    out = 1;
  else if (name == "%smid" || name == "%gridid")
    out = 0;
  else if (name == "%dynamic_smem_size")
    out = launch.dynamicShared;
  else if (name == "%total_smem_size")
    out = program.dynamicBase + launch.dynamicShared;
  else
    return false;
  return true;
}

void Warp::setSpecials() {
  for (const SpecialRegister &special : program.specials) {
    uint32_t *values = lanes<uint32_t>(special.operand), same = 0;
    const std::string &name = special.name;
    bool isUniform = uniformSpecial(name, same), isThread = name[1] == 't';
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint32_t &out = values[lane], bit = 1u << lane;
      if (isUniform) {
        out = same;
      } else if (isThread) {
        uint32_t at[3];
        block.threadIndex(thread(lane), at);
        out = at[name.back() - 'x'];
      } else if (name == "%laneid") {
        out = lane;
      } else if (name == "%lanemask_eq") {
        out = bit;
      } else if (name == "%lanemask_lt") {
        out = bit - 1;
      } else if (name == "%lanemask_le") {
        out = bit | (bit - 1);
      } else if (name == "%lanemask_gt") {
        out = ~(bit | (bit - 1));
      } else {
        out = ~(bit - 1); // %lanemask_ge
      }
    }
  }
}

} // namespace tenon::sim
