//===- Tables.h - The parts of the metadata while it grows ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_COMPILER_PACKAGE_TABLES_H
#define TENON_COMPILER_PACKAGE_TABLES_H

#include "dialects/Graph/Expr.h"
#include "runtime/model_format.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace tenon {

/// Entries of every table. Strings are offsets into `pool` until `serialize`
/// moves them behind the tables. Equal strings, expressions and lists of names
/// are stored once.
class Tables {
public:
  std::vector<tenon_level_t> levels;
  std::vector<tenon_kernel_t> kernels;
  std::vector<uint64_t> code;
  std::vector<tenon_symbol_t> symbols;
  std::vector<tenon_value_t> inputs, outputs;
  std::vector<tenon_segment_t> segments;
  std::vector<tenon_step_t> steps;
  std::vector<tenon_buffer_t> buffers;
  std::vector<uint32_t> params, dims;
  std::vector<tenon_weight_t> weights;
  std::vector<tenon_cost_t> costs; // Of each step.
  tenon_target_t target = TENON_TARGET_CPU;
  std::vector<tenon_image_t> images;
  std::vector<tenon_block_t> blocks; // Of each kernel.
  tenon_string_t modelName, producer;

  tenon_string_t string(llvm::StringRef text);

  /// The number of an expression. A null one, or one of an unknown symbol,
  /// sets `problem` and gives 0.
  uint32_t expression(graph::Expr expr);
  uint32_t constant(mlir::MLIRContext *context, int64_t value);

  /// The first of a list of node names.
  uint32_t nodeList(llvm::ArrayRef<std::string> names);

  /// The number of a symbol; sets `problem` when there is none.
  uint32_t symbol(llvm::StringRef name);
  void addSymbol(llvm::StringRef name, int64_t lo, int64_t hi);

  /// One sentence; empty while all is well.
  std::string problem;

  /// The whole block.
  llvm::Expected<std::string> serialize();

private:
  void push(graph::Expr expr);
  template <typename Visit> void forEachString(Visit visit);

  std::string pool;
  llvm::StringMap<uint32_t> pooled;
  llvm::StringMap<uint32_t> symbolNumbers;
  std::vector<tenon_expr_t> exprs;
  std::vector<int64_t> words;
  std::vector<tenon_string_t> nodes;
  llvm::DenseMap<mlir::Attribute, uint32_t> numbered;
  std::map<std::vector<std::string>, uint32_t> nodeLists;
};

} // namespace tenon

#endif // TENON_COMPILER_PACKAGE_TABLES_H
