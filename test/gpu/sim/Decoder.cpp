//===- Decoder.cpp - From statements of PTX to instructions ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Text.h"
#include "test/gpu/sim/Warp.h"

#include <cstring>

namespace tenon::sim {

namespace {

const DecodeTable &decodeTable() {
  static const DecodeTable kTable = [] {
    DecodeTable table;
    addAccessInstructions(table);
    addAsyncInstructions(table);
    addAtomicInstructions(table);
    addBarrierInstructions(table);
    addBitInstructions(table);
    addClusterInstructions(table);
    addCompareInstructions(table);
    addControlInstructions(table);
    addConvertInstructions(table);
    addFloatInstructions(table);
    addIntegerInstructions(table);
    addMatrixInstructions(table);
    addMoveInstructions(table);
    addPhaseInstructions(table);
    addWarpInstructions(table);
    addWarpgroupInstructions(table);
    return table;
  }();
  return kTable;
}

constexpr uint64_t kMostBytes = 1 << 20; // Of one variable in a function.
constexpr size_t kMostInstructions = 1 << 20;

uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Copies the bytes of an argument between two .param variables.
Step copyLocal(Warp &warp, const Instruction &instruction) {
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.active >> lane & 1)
      warp.copyLocal(lane, instruction.immediate, instruction.immediate2,
                     instruction.tableSize);
  return Step::Next;
}

} // namespace

bool Decoder::failAt(const Statement &statement, const std::string &why) {
  if (error.empty()) {
    std::string line(statement.text.substr(0, 160));
    for (char &c : line)
      c = c == '\n' || c == '\t' ? ' ' : c;
    error = format("line %d: `", statement.line) + line + "`: " + why;
  }
  return false;
}

Scope &Decoder::pushScope(const Scope *parent) {
  Scope &added = scopes.emplace_back();
  added.parent = parent;
  return added;
}

const Operand *Decoder::findRegister(std::string_view name) const {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  for (const Scope *at = scope; at; at = at->parent) {
    auto single = at->registers.find(name);
    if (single != at->registers.end())
      return &single->second;
    auto range = at->ranges.find(name.substr(0, digits));
    if (range == at->ranges.end() || digits == name.size())
      continue;
    size_t number = strtoull(name.data() + digits, nullptr, 10);
    if (number < range->second.size())
      return &range->second[number];
  }
  return nullptr;
}

Symbol Decoder::findSymbol(std::string_view name) {
  for (const Scope *at = scope; at; at = at->parent) {
    auto found = at->symbols.find(name);
    if (found != at->symbols.end())
      return found->second;
  }
  for (size_t i = 0; i < data.variables.size(); ++i) {
    const ModuleVariable &variable = data.variables[i];
    if (variable.name != name)
      continue;
    if (variable.space == Space::Global)
      return {Symbol::Global, i, variable.bytes};
    if (variable.dynamic)
      return {Symbol::Dynamic, 0, 0};
    if (variable.space == Space::Shared)
      return {Symbol::Shared, placeShared(i), variable.bytes};
    return {Symbol::Constant, variable.address, variable.bytes};
  }
  return {};
}

uint64_t Decoder::placeShared(size_t index) {
  auto [found, isNew] = sharedPlaces.try_emplace(index);
  if (isNew) {
    const ModuleVariable &variable = data.variables[index];
    found->second = alignTo(kernel.staticShared, variable.alignment);
    kernel.staticShared = found->second + variable.bytes;
  }
  return found->second;
}

void Decoder::placeDynamicShared() {
  uint32_t alignment = 16;
  for (const ModuleVariable &variable : data.variables)
    if (variable.dynamic)
      alignment = std::max(alignment, variable.alignment);
  program.dynamicBase = alignTo(kernel.staticShared, alignment);
  for (const auto &[operand, addend] : dynamicAddresses)
    fillConstant(operand, program.dynamicBase + addend);
}

void Decoder::fillConstant(const Operand &operand, uint64_t value) {
  char *lanes = program.constants.data() + operand.slot * kSlot;
  size_t step = operand.bytes ? operand.bytes : 4;
  size_t size = operand.bytes ? operand.bytes * kLanes : 4;
  for (size_t at = 0; at < size; at += step)
    memcpy(lanes + at, &value, step);
}

Operand Decoder::constant(uint64_t value, uint8_t bytes) {
  if (bytes > 0 && bytes < 8)
    value &= (uint64_t(1) << 8 * bytes) - 1;
  auto [found, isNew] = constants.try_emplace({value, bytes});
  if (!isNew)
    return found->second;
  Operand operand;
  operand.base = 1;
  operand.bytes = bytes;
  operand.slot = program.constants.size() / kSlot;
  size_t size = alignTo(bytes ? bytes * kLanes : 4, kSlot);
  program.constants.resize(program.constants.size() + size);
  fillConstant(operand, value);
  return found->second = operand;
}

bool Decoder::addressOf(const Symbol &symbol, uint64_t addend, uint8_t bytes,
                        Operand &out) {
  if (symbol.kind != Symbol::Global && symbol.kind != Symbol::Dynamic) {
    out = constant(symbol.offset + addend, bytes);
    return true;
  }
  if (bytes != 8 && symbol.kind == Symbol::Global)
    return failAt(*current, "a .global address has 64 bits");
  // A slot of its own, filled when the address is known.
  out = Operand();
  out.base = 1;
  out.bytes = bytes;
  out.slot = program.constants.size() / kSlot;
  program.constants.resize(program.constants.size() + 8 * kLanes);
  if (symbol.kind == Symbol::Dynamic) {
    dynamicAddresses.push_back({out, addend});
    return true;
  }
  program.fixups.push_back({out.slot, uint32_t(symbol.offset), addend});
  return true;
}

Operand Decoder::newRegister(uint8_t bytes, std::string_view name) {
  Operand operand;
  operand.bytes = bytes;
  operand.slot = program.registerSlots;
  operand.index = program.registerCount++;
  program.registerSlots += alignTo(bytes ? bytes * kLanes : 4, kSlot) / kSlot;
  program.registerNames.emplace_back(name);
  return operand;
}

const Operand *Decoder::special(std::string_view name) {
  if (!isSpecialRegister(name))
    return nullptr;
  for (const SpecialRegister &known : program.specials)
    if (known.name == name)
      return &known.operand;
  Operand operand = newRegister(4, name);
  operand.index = Operand::kNoIndex; // Always set.
  program.specials.push_back({std::string(name), operand});
  return &program.specials.back().operand;
}

uint32_t Decoder::textOf(std::string_view line) {
  auto [found, isNew] = textIndices.try_emplace(line, program.texts.size());
  if (isNew) {
    std::string copy(line.substr(0, 200));
    for (char &c : copy)
      c = c == '\n' || c == '\t' ? ' ' : c;
    program.texts.push_back(std::move(copy));
  }
  return found->second;
}

void Decoder::emit(Instruction instruction, std::vector<Operand> &operands,
                   std::string_view label) {
  instruction.line = current->line;
  instruction.textIndex = textOf(current->text);
  instruction.operandCount = operands.size();
  if (!operands.empty()) {
    auto copy = std::make_unique<Operand[]>(operands.size());
    std::copy(operands.begin(), operands.end(), copy.get());
    instruction.operands = copy.get();
    program.operandLists.push_back(std::move(copy));
  }
  if (!label.empty())
    jumps.push_back({uint32_t(program.code.size()), scope, label, current,
                     instruction.flow == Flow::Indexed});
  program.code.push_back(instruction);
}

void Decoder::noteStore(Space space, uint32_t bytes) {
  if (space == Space::Global || space == Space::Generic)
    program.globalGranule = std::min(program.globalGranule, bytes);
  if (space == Space::Shared || space == Space::Cluster ||
      space == Space::Generic)
    program.sharedGranule = std::min(program.sharedGranule, bytes);
}

bool Decoder::decode(const FunctionText &function) {
  scope = &pushScope(nullptr);
  if (!parameters(function))
    return false;
  frames.push_back({&function, {}});
  if (!body(function) || !resolveJumps())
    return false;
  placeDynamicShared();
  kernel.registers = program.registerCount;
  if (kernel.local > 512 << 10) {
    error = format("line %d: more than 512 KiB of local memory", function.line);
    return false;
  }
  findProductRegisters(program);
  findUnsetRegisters(program);
  return true;
}

bool Decoder::parameters(const FunctionText &function) {
  for (const VariableText &formal : function.parameters) {
    Type type = parseType(formal.type);
    Parameter parameter;
    parameter.name = formal.name;
    parameter.alignment =
        formal.alignment && formal.count != 1 ? formal.alignment : type.bytes();
    parameter.bytes = type.bytes() * formal.count;
    if (parameter.bytes == 0 || parameter.alignment == 0 ||
        formal.count > kMostBytes || parameter.alignment > kMostBytes ||
        kernel.parameterBytes > kMostBytes) {
      error = format("line %d: a parameter without size", formal.line);
      return false;
    }
    parameter.offset = alignTo(kernel.parameterBytes, parameter.alignment);
    kernel.parameterBytes = parameter.offset + parameter.bytes;
    scope->symbols[formal.name] = {Symbol::Parameter, parameter.offset,
                                   parameter.bytes};
    kernel.parameters.push_back(std::move(parameter));
  }
  return true;
}

bool Decoder::body(const FunctionText &function) {
  Scope *outer = scope;
  for (const Statement &each : function.body)
    if (!statement(function, each))
      return false;
  scope = outer;
  // Falling off the end is a return.
  if (frames.size() == 1) {
    static const Statement kReturn = [] {
      Statement made;
      made.text = "ret";
      made.name = "ret";
      return made;
    }();
    current = &kReturn;
    return instruction(kReturn);
  }
  return true;
}

bool Decoder::statement(const FunctionText &function,
                        const Statement &statement) {
  current = &statement;
  switch (statement.kind) {
  case Statement::Instruction:
    return instruction(statement);
  case Statement::Label:
    scope->labels[statement.name] = program.code.size();
    return true;
  case Statement::Open:
    scope = &pushScope(scope);
    return true;
  case Statement::Close:
    scope = const_cast<Scope *>(scope->parent);
    return true;
  case Statement::Registers:
    return declareRegisters(statement);
  case Statement::Variable:
    return declare(function.variables[statement.variable]);
  case Statement::Targets:
    scope->targets[statement.name] = &statement;
    return true;
  case Statement::ImplicitlyDone:
    if (const Operand *found = findRegister(statement.name))
      program.implicitSlots.push_back(found->index);
    return true;
  }
  return true;
}

bool Decoder::declareRegisters(const Statement &statement) {
  constexpr uint64_t kMost = 1 << 18;
  Type type = parseType(statement.name);
  if (type.kind == Type::None || type.bytes() > 8)
    return failAt(statement, "no such type of registers");
  uint8_t bytes = type.kind == Type::Predicate ? 0 : type.bytes();
  for (const Node &node : statement.operands) {
    if (node.value == 0) {
      scope->registers[node.name] = newRegister(bytes, node.name);
      continue;
    }
    if (node.value > kMost || program.registerCount + node.value > kMost)
      return failAt(statement, "too many registers");
    std::vector<Operand> &range = scope->ranges[node.name];
    for (uint64_t i = 0; i < node.value; ++i)
      range.push_back(
          newRegister(bytes, std::string(node.name) + std::to_string(i)));
  }
  return true;
}

bool Decoder::declare(const VariableText &variable) {
  Type type = parseType(variable.type);
  uint64_t alignment =
      std::max<uint64_t>(variable.alignment, std::max(1u, type.bytes()));
  uint64_t bytes = type.bytes() * variable.count;
  if (bytes == 0 || bytes > kMostBytes || alignment > kMostBytes ||
      kernel.local > kMostBytes || kernel.staticShared > kMostBytes)
    return failAt(*current,
                  format("line %d: no such size of a variable", variable.line));
  Symbol &symbol = scope->symbols[variable.name];
  if (variable.space == "shared") {
    symbol = {Symbol::Shared, alignTo(kernel.staticShared, alignment), bytes};
    kernel.staticShared = symbol.offset + bytes;
    return true;
  }
  if (variable.space == "local" || variable.space == "param") {
    symbol = {Symbol::Local, alignTo(kernel.local, alignment), bytes};
    kernel.local = symbol.offset + bytes;
    return true;
  }
  error = format("line %d: .%s variables in functions are not simulated",
                 variable.line, std::string(variable.space).c_str());
  return false;
}

/// The first type among the modifiers is that of the result.
void Decoder::noteFloats(const Statement &statement) {
  if (statement.operands.empty())
    return;
  bool isFloat = false;
  for (std::string_view rest = statement.name; !rest.empty();) {
    size_t dot = std::min(rest.find('.'), rest.size() - 1);
    std::string_view word = rest.substr(0, rest.find('.'));
    rest.remove_prefix(dot + 1);
    Type type = parseType(word);
    isFloat = type.isFloat() && type.bits >= 32;
    if (type.kind != Type::None)
      break;
  }
  auto note = [&](const Node &target) {
    if (target.kind != Node::Name)
      return;
    if (isFloat)
      floats.insert(target.name);
    else
      floats.erase(target.name);
  };
  note(statement.operands[0]);
  for (const Node &target : statement.operands[0].items)
    note(target);
}

bool Decoder::instruction(const Statement &statement) {
  Line line(*this, statement);
  if (!statement.guard.empty()) {
    const Operand *guard = findRegister(statement.guard);
    if (!guard || guard->bytes != 0)
      return failAt(statement, "the guard is no declared predicate");
    line.out.guard = *guard;
    line.out.guarded = true;
    line.out.guard.negated = statement.guardNegated;
  }
  if (program.code.size() > kMostInstructions)
    return failAt(statement, "too many instructions");
  auto found = decodeTable().find(line.opcode());
  if (found == decodeTable().end())
    return failAt(statement, "unknown instruction");
  if (!found->second(line))
    return failAt(statement, "not understood");
  noteFloats(statement);
  return true;
}

bool Decoder::resolveJumps() {
  for (const Jump &jump : jumps) {
    auto find = [&](std::string_view label, uint32_t &target) {
      for (const Scope *at = jump.scope; at; at = at->parent) {
        auto found = at->labels.find(label);
        if (found != at->labels.end()) {
          target = found->second;
          return true;
        }
      }
      return failAt(*jump.statement, "unknown label");
    };
    Instruction &instruction = program.code[jump.instruction];
    uint32_t target = 0;
    if (!jump.table) {
      if (!find(jump.label, target))
        return false;
      instruction.immediate = target;
      continue;
    }
    const Statement *list = nullptr;
    for (const Scope *at = jump.scope; at && !list; at = at->parent)
      if (auto found = at->targets.find(jump.label); found != at->targets.end())
        list = found->second;
    if (!list)
      return failAt(*jump.statement, "unknown list of targets");
    auto table = std::make_unique<uint32_t[]>(list->operands.size());
    for (size_t i = 0; i < list->operands.size(); ++i)
      if (!find(list->operands[i].name, table[i]))
        return false;
    instruction.table = table.get();
    instruction.tableSize = list->operands.size();
    program.tables.push_back(std::move(table));
  }
  return true;
}

bool Decoder::copyArgument(Line &line, const Node &node,
                           const VariableText &formal, uint64_t offset,
                           bool intoFormal) {
  uint64_t bytes = parseType(formal.type).bytes() * formal.count;
  Symbol actual = findSymbol(node.name);
  if (node.kind != Node::Name || actual.kind != Symbol::Local ||
      actual.bytes != bytes)
    return line.fail("arguments and results must be .param variables of the "
                     "formal's size");
  Instruction copy = line.out;
  copy.execute = copyLocal;
  copy.immediate = intoFormal ? offset : actual.offset;
  copy.immediate2 = intoFormal ? actual.offset : offset;
  copy.tableSize = bytes;
  std::vector<Operand> none;
  emit(copy, none);
  return true;
}

bool Decoder::call(Line &line, std::string_view callee, const Node *results,
                   const Node *arguments) {
  const FunctionText *function = nullptr;
  for (const FunctionText &each : text.functions)
    if (each.name == callee && !each.entry && (each.hasBody || !function))
      function = &each;
  if (!function || !function->hasBody)
    return line.fail("calls a function without a body");
  if (line.out.guarded)
    return line.fail("a guarded call");
  for (const Frame &frame : frames)
    if (frame.function == function)
      return line.fail("recursion");
  size_t given = arguments ? arguments->items.size() : 0;
  size_t returned = results ? results->items.size() : 0;
  if (given != function->parameters.size() ||
      returned > function->results.size())
    return line.fail("wrong number of arguments");

  const Statement *callStatement = current;
  Scope *caller = scope;
  Scope &inner = pushScope(nullptr);
  for (const auto *formals : {&function->parameters, &function->results})
    for (const VariableText &formal : *formals)
      if (formal.count > kMostBytes || formal.alignment > kMostBytes ||
          kernel.local > kMostBytes)
        return line.fail("no such size of a parameter");
  auto place = [&](const VariableText &formal) {
    Type type = parseType(formal.type);
    uint64_t alignment =
        std::max<uint64_t>(formal.alignment, std::max(1u, type.bytes()));
    Symbol symbol = {Symbol::Local, alignTo(kernel.local, alignment),
                     type.bytes() * formal.count};
    kernel.local = symbol.offset + symbol.bytes;
    inner.symbols[formal.name] = symbol;
    return symbol.offset;
  };
  for (size_t i = 0; i < given; ++i)
    if (!copyArgument(line, arguments->items[i], function->parameters[i],
                      place(function->parameters[i]), true))
      return false;
  std::vector<uint64_t> places;
  for (const VariableText &result : function->results)
    places.push_back(place(result));
  names.push_back("end of the call " + std::to_string(names.size()));
  frames.push_back({function, names.back()});
  scope = &inner;
  bool good = body(*function);
  inner.labels[frames.back().end] = program.code.size();
  frames.pop_back();
  scope = caller;
  current = callStatement;
  for (size_t i = 0; good && i < returned; ++i)
    good = copyArgument(line, results->items[i], function->results[i],
                        places[i], false);
  return good;
}

} // namespace tenon::sim
