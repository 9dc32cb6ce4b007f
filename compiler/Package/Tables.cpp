//===- Tables.cpp - The parts of the metadata while it grows --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Package/Tables.h"

#include <cstring>

using namespace tenon;
using graph::Expr;
using graph::ExprKind;

tenon_string_t Tables::string(llvm::StringRef text) {
  auto [entry, isNew] = pooled.try_emplace(text, uint32_t(pool.size()));
  if (isNew)
    pool += text;
  return {entry->second, uint32_t(text.size())};
}

void Tables::addSymbol(llvm::StringRef name, int64_t lo, int64_t hi) {
  symbolNumbers[name] = uint32_t(symbols.size());
  symbols.push_back({string(name), lo, hi});
}

uint32_t Tables::symbol(llvm::StringRef name) {
  auto known = symbolNumbers.find(name);
  if (known != symbolNumbers.end())
    return known->second;
  if (problem.empty())
    problem = ("internal error: the size '" + name +
               "' has no value; please report this")
                  .str();
  return 0;
}

static int64_t instruction(ExprKind kind) {
  switch (kind) {
  case ExprKind::Product:
    return TENON_MUL;
  case ExprKind::Sum:
    return TENON_ADD;
  case ExprKind::FloorDiv:
    return TENON_FLOOR_DIV;
  case ExprKind::Mod:
    return TENON_MOD;
  case ExprKind::Min:
    return TENON_MIN;
  case ExprKind::Max:
    return TENON_MAX;
  default:
    return TENON_BROADCAST;
  }
}

void Tables::push(Expr expr) {
  ExprKind kind = expr.kind();
  if (kind == ExprKind::Constant) {
    words.insert(words.end(), {TENON_PUSH_CONSTANT, expr.value()});
    return;
  }
  if (kind == ExprKind::Symbol) {
    words.insert(words.end(), {TENON_PUSH_SYMBOL, symbol(expr.name())});
    return;
  }
  for (size_t i = 0; i < expr.size(); ++i) {
    push(expr.operand(i));
    if (i > 0)
      words.push_back(instruction(kind));
  }
  if (kind == ExprKind::Product && expr.value() != 1)
    words.insert(words.end(), {TENON_PUSH_CONSTANT, expr.value(), TENON_MUL});
}

uint32_t Tables::expression(Expr expr) {
  if (!expr) {
    if (problem.empty())
      problem = "a size of the program is too large or too complex";
    return 0;
  }
  auto [entry, isNew] =
      numbered.try_emplace(expr.getAttr(), uint32_t(exprs.size()));
  uint32_t number = entry->second;
  if (isNew) {
    uint32_t first = uint32_t(words.size());
    push(expr);
    exprs.push_back({first, uint32_t(words.size()) - first});
  }
  return number;
}

uint32_t Tables::constant(mlir::MLIRContext *context, int64_t value) {
  return expression(Expr::constant(context, value));
}

uint32_t Tables::nodeList(llvm::ArrayRef<std::string> names) {
  auto [entry, isNew] =
      nodeLists.try_emplace(names.vec(), uint32_t(nodes.size()));
  if (isNew)
    for (const std::string &name : names)
      nodes.push_back(string(name));
  return entry->second;
}

template <typename Visit> void Tables::forEachString(Visit visit) {
  visit(modelName);
  visit(producer);
  for (tenon_level_t &level : levels)
    visit(level.name);
  for (tenon_kernel_t &kernel : kernels) {
    visit(kernel.name);
    visit(kernel.schedule);
  }
  for (tenon_symbol_t &symbol : symbols)
    visit(symbol.name);
  for (std::vector<tenon_value_t> *values : {&inputs, &outputs})
    for (tenon_value_t &value : *values)
      visit(value.name);
  for (tenon_step_t &step : steps)
    visit(step.message);
  for (tenon_string_t &node : nodes)
    visit(node);
  for (tenon_weight_t &weight : weights) {
    visit(weight.name);
    visit(weight.layout);
  }
}

llvm::Expected<std::string> Tables::serialize() {
  if (!problem.empty())
    return llvm::createStringError(problem);
  tenon_metadata_t header = {};
  uint64_t end = sizeof header;
  auto reserve = [&](const auto &table, tenon_table_t &entry) {
    entry = {uint32_t(end), uint32_t(table.size())};
    end += (table.size() * sizeof(table[0]) + 7) / 8 * 8;
  };
  auto forEachTable = [&](auto visit) {
    visit(levels, header.levels), visit(kernels, header.kernels);
    visit(code, header.code), visit(symbols, header.symbols);
    visit(inputs, header.inputs), visit(outputs, header.outputs);
    visit(segments, header.segments), visit(steps, header.steps);
    visit(buffers, header.buffers), visit(params, header.params);
    visit(dims, header.dims), visit(exprs, header.exprs);
    visit(words, header.words), visit(nodes, header.nodes);
    visit(weights, header.weights), visit(costs, header.costs);
    visit(images, header.images), visit(blocks, header.blocks);
  };
  forEachTable(reserve);
  uint64_t bytes = end + (pool.size() + 7) / 8 * 8;
  if (bytes > UINT32_MAX / 2)
    return llvm::createStringError("the program is too large: its description "
                                   "takes " +
                                   llvm::Twine(bytes) + " bytes");
  forEachString([&](tenon_string_t &string) { string.offset += end; });
  header.bytes = uint32_t(bytes);
  header.model_name = modelName;
  header.producer = producer;
  header.target = target;

  std::string block(bytes, '\0');
  std::memcpy(block.data(), &header, sizeof header);
  forEachTable([&](const auto &table, tenon_table_t &entry) {
    if (!table.empty())
      std::memcpy(block.data() + entry.offset, table.data(),
                  table.size() * sizeof(table[0]));
  });
  std::memcpy(block.data() + end, pool.data(), pool.size());
  return block;
}
