//===- Line.cpp - Modifiers and operands of one instruction ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Text.h"

#include <bit>
#include <cstring>

namespace tenon::sim {

Line::Line(Decoder &decoder, const Statement &statement)
    : decoder(decoder), statement(statement) {
  // A "::" belongs to its modifier: shared::cta.
  std::string_view rest = statement.name;
  while (true) {
    size_t dot = rest.find('.');
    modifiers.push_back(rest.substr(0, dot));
    if (dot == std::string_view::npos)
      break;
    rest = rest.substr(dot + 1);
  }
  name = modifiers.front();
  modifiers.erase(modifiers.begin());
}

bool Line::take(std::string_view modifier) {
  for (auto it = modifiers.begin(); it != modifiers.end(); ++it)
    if (*it == modifier) {
      modifiers.erase(it);
      return true;
    }
  return false;
}

int Line::takeOneOf(std::initializer_list<std::string_view> list) {
  int index = 0;
  for (std::string_view modifier : list) {
    if (take(modifier))
      return index;
    ++index;
  }
  return -1;
}

bool Line::takePrefixed(std::string_view prefix, std::string_view &rest) {
  for (auto it = modifiers.begin(); it != modifiers.end(); ++it)
    if (it->starts_with(prefix)) {
      rest = it->substr(prefix.size());
      modifiers.erase(it);
      return true;
    }
  return false;
}

bool Line::takeType(Type &type) {
  if (modifiers.empty() ||
      (type = parseType(modifiers.back())).kind == Type::None)
    return fail("a type is expected as the last modifier");
  modifiers.pop_back();
  return true;
}

bool Line::takeRounding(Rounding &rounding) {
  switch (
      takeOneOf({"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"})) {
  case 0:
  case 5:
    rounding = Rounding::Even;
    return true;
  case 1:
  case 6:
    rounding = Rounding::Zero;
    return true;
  case 2:
  case 7:
    rounding = Rounding::Down;
    return true;
  case 3:
  case 8:
    rounding = Rounding::Up;
    return true;
  case 4:
    rounding = Rounding::Away;
    return true;
  default:
    return false;
  }
}

bool Line::fail(const std::string &why) {
  return decoder.failAt(statement, why);
}

bool Line::expect(size_t least, size_t most) {
  if (size() >= least && size() <= most)
    return true;
  return fail(
      format("%d operands, where %d are expected", int(size()), int(least)));
}

bool Line::number(const Node &node, Type type, uint64_t &value) {
  value = node.value;
  if (node.kind == Node::Float64 && type.bits == 32) {
    value = std::bit_cast<uint32_t>(
        static_cast<float>(std::bit_cast<double>(node.value)));
  } else if (node.kind == Node::Float32 && type.bits == 64) {
    value = std::bit_cast<uint64_t>(
        double(std::bit_cast<float>(uint32_t(node.value))));
  } else if (node.kind != Node::Integer && type.bits < 32) {
    return fail("a literal of 16 bits is given by its bits");
  } else if (node.kind == Node::Integer && type.isFloat() && type.bits >= 32) {
    return fail("an integer where a float is expected");
  }
  return true;
}

bool Line::targetNode(const Node &node, Type type, bool wider) {
  Operand operand;
  if (node.kind == Node::Sink) {
    operand.sink = true;
  } else {
    const Operand *found =
        node.kind == Node::Name ? decoder.findRegister(node.name) : nullptr;
    if (!found)
      return fail("a result must be a declared register");
    operand = *found;
  }
  uint32_t bytes = type.kind == Type::Predicate ? 0 : type.bytes();
  if (!operand.sink &&
      (wider && bytes ? operand.bytes < bytes : operand.bytes != bytes))
    return fail("register " + std::string(node.name) +
                " has not the size of the instruction's type");
  operands.push_back(operand);
  out.targets = operands.size();
  return true;
}

bool Line::sourceNode(const Node &node, Type type, bool wider) {
  uint32_t bytes = type.kind == Type::Predicate ? 0 : type.bytes();
  if (node.kind == Node::Name) {
    const Operand *found = decoder.findRegister(node.name);
    if (!found)
      found = decoder.special(node.name);
    if (found) {
      Operand operand = *found;
      if (wider && bytes ? operand.bytes < bytes : operand.bytes != bytes)
        return fail("register " + std::string(node.name) +
                    " has not the size of the instruction's type");
      if (node.minus || (node.negated && bytes))
        return fail("a negated register");
      operand.negated = node.negated;
      operands.push_back(operand);
      return true;
    }
    Symbol symbol = decoder.findSymbol(node.name);
    if (symbol.kind == Symbol::None || bytes < 4)
      return fail("unknown name '" + std::string(node.name) + "'");
    Operand operand;
    if (!decoder.addressOf(symbol, node.value, bytes, operand))
      return false;
    operands.push_back(operand);
    return true;
  }
  if (node.kind == Node::Address || node.kind == Node::List ||
      node.kind == Node::Pair || node.kind == Node::Sink)
    return fail("a register or a number is expected");
  uint64_t value = 0;
  if (!number(node, type, value))
    return false;
  if (bytes == 0)
    value = value ? ~uint64_t(0) : 0;
  operands.push_back(decoder.constant(value, bytes));
  return true;
}

bool Line::target(size_t index, Type type, bool wider) {
  return index < size() ? targetNode(node(index), type, wider)
                        : fail("an operand is missing");
}

bool Line::source(size_t index, Type type, bool wider) {
  return index < size() ? sourceNode(node(index), type, wider)
                        : fail("an operand is missing");
}

bool Line::targetList(size_t index, Type type, uint8_t &count, bool wider) {
  if (index >= size())
    return fail("an operand is missing");
  const Node &list = node(index);
  count = 1;
  if (list.kind != Node::List)
    return targetNode(list, type, wider);
  count = list.items.size();
  for (const Node &item : list.items)
    if (!targetNode(item, type, wider))
      return false;
  return true;
}

bool Line::sourceList(size_t index, Type type, uint8_t &count, bool wider) {
  if (index >= size())
    return fail("an operand is missing");
  const Node &list = node(index);
  count = 1;
  if (list.kind != Node::List)
    return sourceNode(list, type, wider);
  count = list.items.size();
  for (const Node &item : list.items)
    if (!sourceNode(item, type, wider))
      return false;
  return true;
}

bool Line::address(size_t index, Space space, uint64_t &offset) {
  return index < size() ? addressNode(node(index), space, offset)
                        : fail("an operand is missing");
}

bool Line::addressNode(const Node &node, Space space, uint64_t &offset) {
  if (node.kind != Node::Address)
    return fail("an address in brackets is expected");
  offset = node.value;
  if (node.name.empty()) {
    operands.push_back(decoder.constant(0, 8));
    return true;
  }
  if (const Operand *found = decoder.findRegister(node.name)) {
    if (found->bytes != 4 && found->bytes != 8)
      return fail("an address must be a register of 32 or 64 bits");
    operands.push_back(*found);
    return true;
  }
  Symbol symbol = decoder.findSymbol(node.name);
  static constexpr Symbol::Kind kOf[] = {
      Symbol::Global,   Symbol::Global,    Symbol::Shared, Symbol::Local,
      Symbol::Constant, Symbol::Parameter, Symbol::Shared};
  if (symbol.kind == Symbol::None)
    return fail("unknown name '" + std::string(node.name) + "'");
  if (symbol.kind != kOf[static_cast<int>(space)] &&
      (symbol.kind != Symbol::Dynamic ||
       (space != Space::Shared && space != Space::Cluster)))
    return fail("'" + std::string(node.name) +
                "' is not in the address space of the access");
  Operand operand;
  if (!decoder.addressOf(symbol, 0, 8, operand))
    return false;
  operands.push_back(operand);
  return true;
}

bool Line::integer(size_t index, uint64_t &value) {
  if (index >= size() || node(index).kind != Node::Integer)
    return fail("an integer constant is expected");
  value = node(index).value;
  return true;
}

bool Line::finish(Execute execute) {
  if (!modifiers.empty())
    return fail("unknown modifier ." + std::string(modifiers.front()));
  if (!execute)
    return fail("no such type for this instruction");
  out.execute = execute;
  decoder.emit(out, operands);
  return true;
}

bool Line::finishJump(Execute execute, Flow flow, std::string_view label) {
  if (!modifiers.empty())
    return fail("unknown modifier ." + std::string(modifiers.front()));
  out.execute = execute;
  out.flow = flow;
  decoder.emit(out, operands, label);
  return true;
}

} // namespace tenon::sim
