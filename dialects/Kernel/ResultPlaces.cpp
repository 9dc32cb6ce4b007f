//===- ResultPlaces.cpp - Where kernels may leave their results -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/ResultPlaces.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/Packing.h"

using namespace mlir;

namespace tenon::kernel {

/// Whether the sums of a root wait elsewhere than in the result until all of
/// them are there.
static bool sumsWaitElsewhere(FuncOp function, Operation *root) {
  if (auto conv = dyn_cast<graph::ConvOp>(root)) {
    // Tiles have them on the stack. PackedConv's wait in the result if it has
    // room for them, but for those of pairs that are of one block.
    if (function.getSchedule() != "PackedConv")
      return true;
    Value yielded = function.getYielded()[0];
    ConvDepth depth(conv);
    return !graph::getElementType(yielded).isF32() ||
           (depth.hasPairs && depth.isOneBlock());
  }
  if (function.getSchedule().ends_with("Int8")) // Of one block.
    return true;
  auto matmul = dyn_cast<graph::MatmulOp>(root);
  std::optional<MatmulView> view =
      matmul ? matmulViewOf(matmul) : std::optional<MatmulView>();
  if (!view || view->halves || view->skipped || view->turn)
    return false;
  // Those of several blocks of k wait in the result.
  std::optional<int64_t> depth = view->depth.asConstant();
  return depth && *depth <= blockDepth(depth);
}

/// Whether a value is read, element by element, only to join what is `behind`
/// the root, perhaps in another form.
static bool joins(Value value,
                  const llvm::SmallPtrSetImpl<Operation *> &behind) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return graph::isPointwise(user) &&
           graph::getDims(user->getResult(0)) == graph::getDims(value) &&
           (behind.contains(user) || joins(user->getResult(0), behind));
  });
}

/// Whether a kernel reads an argument only to join it, element by element, to
/// the sums of its root: then each element of the result is stored behind the
/// last read of that place.
static bool joinsSums(FuncOp function, BlockArgument argument) {
  Block &block = function.getBlock();
  Operation *root = findRoot(block);
  if (!root || !sumsWaitElsewhere(function, root))
    return false;
  llvm::SmallPtrSet<Operation *, 8> behind = {root};
  for (Operation &op : block.without_terminator())
    if ((graph::isPointwise(&op) || isa<graph::ReshapeOp>(op)) &&
        llvm::any_of(op.getOperands(), [&](Value operand) {
          return behind.contains(operand.getDefiningOp());
        }))
      behind.insert(&op);
  return joins(argument, behind);
}

bool mayOverwrite(FuncOp function, unsigned index) {
  Block &block = function.getBlock();
  if (block.getTerminator()->getNumOperands() != 1 ||
      index >= block.getNumArguments())
    return false;
  BlockArgument argument = block.getArgument(index);
  Value result = block.getTerminator()->getOperand(0);
  constexpr StringRef joining[] = {"PackedMatmul",   "PackedMatmulInt8",
                                   "BatchedMatmul",  "BatchedMatmulInt8",
                                   "DirectConv",     "PackedConv",
                                   "LineConv",       "WinogradPairs",
                                   "PackedConvInt8", "LineConvInt8"};
  if (llvm::is_contained(joining, function.getSchedule()))
    return graph::elementCount(argument) == graph::elementCount(result) &&
           graph::getElementType(argument) == graph::getElementType(result) &&
           joinsSums(function, argument);
  // What lies in a buffer stays there when more is appended.
  if (auto append = result.getDefiningOp<graph::AppendOp>())
    return append.getBuffer() == argument && argument.hasOneUse() &&
           argument.getType() == result.getType();
  // What a scatter begins with is where it goes on.
  if (Operation *root = result.getDefiningOp();
      isa_and_present<graph::ScatterElementsOp, graph::ScatterNdOp>(root) &&
      root->getOperand(0) == argument)
    return argument.hasOneUse();
  // Of a row, the last pass over its elements stores them.
  bool goesByRows = function.getSchedule() == "RowProgram";
  for (Operation &op : block.without_terminator()) {
    bool keepsPlaces =
        roleOf(&op) == Role::Pointwise || isa<graph::ConstantOp>(op) ||
        (goesByRows &&
         isa<graph::LayerNormOp, graph::RmsNormOp, graph::SoftmaxOp>(op));
    if (!keepsPlaces)
      return false;
  }
  return graph::getDims(argument) == graph::getDims(result) &&
         graph::byteWidth(graph::getElementType(argument)) ==
             graph::byteWidth(graph::getElementType(result));
}

/// Whether code that stores a result goes through one function that is told
/// where in the result an element is.
static bool tellsIndex(FuncOp function, Operation *root) {
  constexpr StringRef convs[] = {
      "FewMapsConv",   "WinogradF4",      "WinogradF2",     "GroupTiles",
      "DirectConv",    "SmallConv",       "WinogradPairs",  "LineConv",
      "PackedConv",    "LineConvInt8",    "PackedConvInt8", "DepthwiseTiles",
      "DepthwiseConv", "DepthwisePlanes", "PoolRows",       "ResizeRows"};
  if (!root)
    return function.getSchedule() == "Generic";
  return llvm::is_contained(convs, function.getSchedule());
}

bool mayStoreApart(FuncOp function) {
  Block &block = function.getBlock();
  if (block.getTerminator()->getNumOperands() != 1)
    return false;
  Operation *root = findRoot(block);
  Value yielded = block.getTerminator()->getOperand(0);
  SmallVector<Expr> dims = graph::getDims(yielded);
  Value stored = behindReshapes(yielded);
  SmallVector<Expr> inner = graph::getDims(stored);
  // What a root's tiles store turned is told by its place alone.
  bool isTurned = root && stored.getDefiningOp<graph::TransposeOp>();
  return tellsIndex(function, root) && !isTurned && !quantizedRowsOf(block) &&
         !dims.empty() && !inner.empty() && dims.back().asConstant() &&
         dims.back() == inner.back() &&
         (!root || graph::getDims(root->getResult(0)) == inner);
}

bool storesTwiceForLess(FuncOp function) {
  Operation *root = findRoot(function.getBlock());
  return !isa_and_present<graph::ConvOp>(root) ||
         sumsWaitElsewhere(function, root);
}

bool hasRowsApart(Operation *function) {
  return function->hasAttr(pitch) || function->hasAttr(copyPitch);
}

unsigned bufferCount(FuncOp function) {
  return function.getBlock().getNumArguments() + function.getYielded().size() +
         function->hasAttr(copyPitch);
}

} // namespace tenon::kernel
