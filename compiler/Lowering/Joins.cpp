//===- Joins.cpp - Kernels that only join what others compute -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Lowering/Joins.h"
#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/OtherSizes.h"
#include "dialects/Kernel/ResultPlaces.h"

using namespace mlir;

namespace tenon {
namespace {
using graph::Expr;
using kernel::behindReshapes;

/// The concatenation of which a kernel consists, beside reshapes.
graph::ConcatOp concatIn(kernel::FuncOp function) {
  graph::ConcatOp concat;
  for (Operation &op : function.getBlock().without_terminator()) {
    if (isa<graph::ReshapeOp>(op))
      continue;
    if (concat || !isa<graph::ConcatOp>(op))
      return {};
    concat = cast<graph::ConcatOp>(op);
  }
  return concat;
}

/// The kernel that gives the only result of a call at all sizes.
kernel::FuncOp soleKernelOf(kernel::CallOp call, SymbolTable &kernels) {
  SmallVector<kernel::FuncOp> functions = kernel::kernelsOf(call, kernels);
  return functions.size() == 1 && call.getNumResults() == 1 ? functions[0]
                                                            : kernel::FuncOp();
}

} // namespace

std::optional<Join> joinOf(kernel::CallOp call, SymbolTable &kernels) {
  kernel::FuncOp function = soleKernelOf(call, kernels);
  graph::ConcatOp concat = function ? concatIn(function) : graph::ConcatOp();
  if (!concat || behindReshapes(function.getYielded()[0]) != concat)
    return std::nullopt;
  SmallVector<Expr> dims = graph::getDims(concat.getResult());
  uint64_t axis = concat.getAxis();
  bool isRun = graph::areOnes(ArrayRef(dims).take_front(axis));
  std::optional<int64_t> pitch = dims.back().asConstant();
  if (!isRun && (axis + 1 != dims.size() || !pitch))
    return std::nullopt;
  Join join{call, {}, isRun ? 0 : *pitch, std::nullopt};
  int64_t width = graph::byteWidth(graph::getElementType(concat.getResult()));
  Expr offset = Expr::constant(call.getContext(), 0);
  for (Value input : concat.getInputs()) {
    auto argument = dyn_cast<BlockArgument>(behindReshapes(input));
    if (!argument || !offset)
      return std::nullopt;
    Value operand = call.getOperand(argument.getArgNumber());
    std::optional<int64_t> row = graph::getDims(input).back().asConstant();
    if (!isRun && !row)
      return std::nullopt;
    join.parts.push_back({operand, offset, row});
    offset = offset + (isRun ? graph::elementCount(operand) * width
                             : Expr::constant(call.getContext(), *row * width));
  }
  return join;
}

std::optional<Join> appendOf(kernel::CallOp call, SymbolTable &kernels) {
  kernel::FuncOp function = soleKernelOf(call, kernels);
  if (!function)
    return std::nullopt;
  auto append = function.getYielded()[0].getDefiningOp<graph::AppendOp>();
  if (!append || &function.getBlock().front() != append)
    return std::nullopt;
  auto buffer = dyn_cast<BlockArgument>(append.getBuffer());
  auto rows = dyn_cast<BlockArgument>(append.getRows());
  SmallVector<Expr> dims = graph::getDims(append.getResult());
  std::optional<int64_t> pitch = dims.back().asConstant();
  std::optional<int64_t> length = append.getLength()[0].asConstant();
  if (!buffer || !rows || !pitch || !length ||
      append.getAxis() + 1 != dims.size())
    return std::nullopt;
  int64_t width = graph::byteWidth(graph::getElementType(append.getResult()));
  Expr offset = Expr::constant(call.getContext(), *length * width);
  std::optional<int64_t> row = graph::getDims(rows).back().asConstant();
  if (!row)
    return std::nullopt;
  return Join{call,
              {{call.getOperand(rows.getArgNumber()), offset, row}},
              *pitch,
              buffer.getArgNumber()};
}

bool mayStoreApart(kernel::CallOp call, bool isCopy, SymbolTable &kernels) {
  return call.getNumResults() == 1 &&
         llvm::all_of(
             kernel::kernelsOf(call, kernels), [&](kernel::FuncOp function) {
               return kernel::mayStoreApart(function) &&
                      (!isCopy || kernel::storesTwiceForLess(function));
             });
}

} // namespace tenon
