//===- Module.cpp - A PTX module that can be simulated --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/sim/Module.h"
#include "test/gpu/sim/Decoder.h"
#include "test/gpu/sim/Text.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tenon::sim {

namespace {

uint64_t elementBits(const Node &node, Type type) {
  if (node.kind == Node::Float64 && type.bits == 32)
    return std::bit_cast<uint32_t>(float(std::bit_cast<double>(node.value)));
  return node.value;
}

bool initialize(const VariableText &text, Type type, ModuleData &data,
                ModuleVariable &out, const std::vector<Node> &items,
                uint64_t &at, std::string &error) {
  for (const Node &item : items) {
    if (item.kind == Node::List) {
      if (!initialize(text, type, data, out, item.items, at, error))
        return false;
      continue;
    }
    if (at + type.bytes() > out.bytes) {
      error = format("line %d: more initialisers than elements", text.line);
      return false;
    }
    uint64_t bits = elementBits(item, type);
    if (item.kind == Node::Name) {
      uint32_t index = 0;
      while (index < data.variables.size() &&
             data.variables[index].name != item.name)
        ++index;
      if (index == data.variables.size() || type.bytes() != 8) {
        error = format("line %d: an initialiser is not understood", text.line);
        return false;
      }
      out.references.push_back({at, index, item.value});
      bits = 0;
    }
    memcpy(out.data.data() + at, &bits, type.bytes());
    at += type.bytes();
  }
  return true;
}

bool addVariable(const VariableText &text, ModuleData &data,
                 std::string &error) {
  ModuleVariable out;
  Type type = parseType(text.type);
  out.name = text.name;
  out.space = text.space == "global"   ? Space::Global
              : text.space == "shared" ? Space::Shared
                                       : Space::Constant;
  out.alignment = std::max(text.alignment, std::max(1u, type.bytes()));
  out.bytes = type.bytes() * text.count;
  out.dynamic = out.space == Space::Shared && text.count == 0;
  if (type.bytes() == 0 || text.count > uint64_t(1) << 28 ||
      text.alignment > 1 << 16 || (out.bytes == 0 && !out.dynamic)) {
    error = format("line %d: a variable without size", text.line);
    return false;
  }
  uint64_t at = 0;
  if (out.space != Space::Shared)
    out.data.resize(out.bytes);
  if (!text.initializer.empty() &&
      (out.space == Space::Shared ||
       !initialize(text, type, data, out, text.initializer, at, error))) {
    if (error.empty())
      error = format("line %d: shared memory has no initialiser", text.line);
    return false;
  }
  if (out.space == Space::Constant) {
    size_t begin = (data.constants.size() + out.alignment - 1) / out.alignment *
                   out.alignment;
    data.constants.resize(begin);
    data.constants.insert(data.constants.end(), out.data.begin(),
                          out.data.end());
    out.address = begin;
  }
  data.variables.push_back(std::move(out));
  return true;
}

} // namespace

Kernel::Kernel() : program(std::make_unique<Program>()) {}
Kernel::~Kernel() = default;
Module::Module() : data(std::make_unique<ModuleData>()) {}
Module::~Module() = default;

std::unique_ptr<Module> Module::parse(std::string_view text,
                                      std::string &error) {
  error.clear();
  std::unique_ptr<Module> module(new Module());
  module->data->text = text;
  ModuleText tree;
  if (!parseText(module->data->text, tree, error))
    return nullptr;
  for (const VariableText &variable : tree.variables)
    if (!addVariable(variable, *module->data, error))
      return nullptr;
  for (const FunctionText &function : tree.functions) {
    if (!function.entry || !function.hasBody)
      continue;
    auto kernel = std::make_unique<Kernel>();
    kernel->name = kernel->program->kernel = function.name;
    kernel->program->module = module->data.get();
    std::copy_n(function.maxThreads, 3, kernel->maxThreads);
    std::copy_n(function.requiredThreads, 3, kernel->requiredThreads);
    std::copy_n(function.requiredCluster, 3, kernel->requiredCluster);
    if (!Decoder(tree, *module->data, *kernel, error).decode(function))
      return nullptr;
    module->all.push_back(std::move(kernel));
  }
  return module;
}

const Kernel *Module::kernel(std::string_view name) const {
  for (const auto &kernel : all)
    if (kernel->name == name)
      return kernel.get();
  return nullptr;
}

bool Module::load(Memory &memory, std::string &error) {
  for (ModuleVariable &variable : data->variables) {
    if (variable.space != Space::Global)
      continue;
    variable.address = memory.allocate(variable.bytes);
    if (!variable.address) {
      error = "no memory for the variable " + variable.name;
      return false;
    }
    memory.write(variable.address, variable.data.data(), variable.bytes);
  }
  for (ModuleVariable &variable : data->variables)
    for (const ModuleVariable::Reference &reference : variable.references) {
      uint64_t target =
          data->variables[reference.variable].address + reference.addend;
      if (variable.space == Space::Global)
        memory.write(variable.address + reference.offset, &target, 8);
      else
        memcpy(data->constants.data() + variable.address + reference.offset,
               &target, 8);
    }
  for (const auto &kernel : all)
    for (const Program::Fixup &fixup : kernel->program->fixups) {
      uint64_t address = data->variables[fixup.variable].address + fixup.addend;
      char *lanes = kernel->program->constants.data() + fixup.slot * kSlot;
      for (int lane = 0; lane < kLanes; ++lane)
        memcpy(lanes + 8 * lane, &address, 8);
    }
  data->loadedInto = &memory;
  return true;
}

void Module::unload(Memory &memory) {
  for (ModuleVariable &variable : data->variables)
    if (variable.space == Space::Global && variable.address) {
      memory.free(variable.address);
      variable.address = 0;
    }
  data->loadedInto = nullptr;
}

bool Module::variable(std::string_view name, uint64_t &address,
                      uint64_t &bytes) const {
  for (const ModuleVariable &variable : data->variables)
    if (variable.name == name && variable.space == Space::Global &&
        variable.address) {
      address = variable.address;
      bytes = variable.bytes;
      return true;
    }
  return false;
}

} // namespace tenon::sim
