//===- OperandViews.cpp - What roots read where it lies -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/OperandViews.h"
#include "compiler/Transforms/AxisOrder.h"
#include "compiler/Transforms/Matching.h"
#include "dialects/Kernel/AttentionView.h"
#include "dialects/Kernel/ByteProduct.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/DepthwiseView.h"
#include "dialects/Kernel/DeviceAttention.h"
#include "dialects/Kernel/IntegerConvView.h"
#include "dialects/Kernel/IntegerMatmulView.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/QuantizedRhs.h"
#include "dialects/Kernel/RecurrentView.h"
#include "dialects/Kernel/StridedView.h"

using namespace mlir;

namespace tenon {
namespace {

using Chain = SmallVector<Operation *>;
using ViewTest = bool(const kernel::StridedView &, const Chain &);

constexpr size_t maxViews = 6;    // In front of an operand that is moved.
constexpr size_t maxOperands = 8; // That may be views.
constexpr int64_t shortestRow = 4;

/// Roots that read operands through views, so that those cost nothing.
bool readsThroughViews(Operation *op) {
  return isa<graph::MatmulOp, graph::AttentionOp>(op);
}

/// Movement that reads whole rows of views as well as of memory, and writes a
/// result of its own.
bool copiesThroughViews(Operation *op) {
  return isa<graph::AppendOp, graph::ConcatOp, graph::RotaryOp,
             graph::TransposeOp>(op);
}

class ViewCopies {
public:
  ViewCopies(Block &block, bool isCuda) : block(block), isCuda(isCuda) {}

  llvm::DenseSet<Operation *> run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto matmul = dyn_cast<graph::MatmulOp>(&op);
      if (multipliesBytes(&op))
        copyFactors(&op);
      else if (auto conv = dyn_cast<graph::ConvOp>(&op);
               conv && readsDepthwiseBytes(conv))
        copyBytes(conv);
      else if (readsThroughViews(&op) || readsNarrow(&op))
        copyViews(&op);
      if (auto attention = dyn_cast<graph::AttentionOp>(&op))
        copyScales(attention);
      if (matmul && readsQuantized(matmul))
        takeQuantized(matmul);
      if (auto cell = dyn_cast<graph::RecurrentOp>(&op))
        copyWidening(cell);
    }
    for (Operation &op : llvm::make_early_inc_range(block))
      if (copiesThroughViews(&op) && !views.contains(&op) &&
          op.getNumOperands() <= maxOperands)
        copyViews(&op, isReadByRows);
    return std::move(views);
  }

private:
  /// Roots whose kernels widen 16 bits as they read them, or what they round to
  /// those.
  bool readsNarrow(Operation *op) const {
    return isa<graph::MatmulOp, graph::AttentionOp>(op) || convolvesPairs(op) ||
           readsDepthwiseBf16(op) || (isCuda && isa<graph::ConvOp>(op));
  }

  /// Whether a CPU's kernels convolve pairs of bf16.
  bool convolvesPairs(Operation *op) const {
    auto conv = dyn_cast<graph::ConvOp>(op);
    if (!conv || isCuda || !kernel::convolvesPairs(conv))
      return false;
    return kernel::operandOf(conv, conv.getFilter())
               .getDefiningOp<graph::WeightOp>() &&
           conv.getInput().getDefiningOp()->getBlock() == &block &&
           conv.getFilter().getDefiningOp()->getBlock() == &block;
  }

  /// Whether one of each channel reads an image of bf16.
  bool readsDepthwiseBf16(Operation *op) const {
    auto conv = dyn_cast<graph::ConvOp>(op);
    return conv && !isCuda && kernel::depthwiseBf16Of(conv) &&
           conv.getFilter().getDefiningOp<graph::WeightOp>();
  }

  static Value behindRounding(Value narrow) {
    return narrow.getDefiningOp<graph::CastOp>().getInput();
  }

  /// Whether kernels of a root round an operand as they read it: on CUDA a
  /// cache of f32, which no other kernel could.
  bool readsRounding(Operation *op, Value narrow) const {
    auto cast = narrow.getDefiningOp<graph::CastOp>();
    if (!isa<graph::AttentionOp>(op) || !cast ||
        !graph::getElementType(cast.getInput()).isF32() ||
        cast->getBlock() != &block)
      return false;
    auto view = kernel::stridedViewOf(cast.getInput());
    return view && (!isCuda || isGiven(view->base));
  }

  /// Whether a view, by its ops, costs no more than memory where whole rows are
  /// read, and spares a kernel.
  static bool isReadByRows(const kernel::StridedView &view,
                           const Chain &chain) {
    if (chain.size() > maxViews || view.strides.empty() ||
        !view.strides.back().isConstant(1) ||
        llvm::all_of(chain, llvm::IsaPred<graph::ReshapeOp>))
      return false;
    std::optional<int64_t> length =
        graph::getDims(chain.front()->getResult(0)).back().asConstant();
    return !length || *length >= shortestRow;
  }

  /// Whether an attention would gather what it adds to scores element by
  /// element, again in each layer that adds it.
  static bool isScatteredBias(const OpOperand &operand,
                              const kernel::StridedView &view) {
    auto attention = dyn_cast<graph::AttentionOp>(operand.getOwner());
    if (!attention ||
        !llvm::is_contained(attention.getBiases(), operand.get()) ||
        graph::getDims(operand.get()).back().isConstant(1))
      return false;
    graph::Expr stride = view.strides.back();
    return !stride.isConstant(0) && !stride.isConstant(1);
  }

  /// Whether an operand is the query, key or value of an attention: no schedule
  /// reads those but by whole rows.
  static bool isHead(OpOperand &operand) {
    return isa<graph::AttentionOp>(operand.getOwner()) &&
           operand.getOperandNumber() < 3;
  }

  /// Whether a product's rhs is a weight of f16, of a shape that CPUs' kernels
  /// read packed.
  bool isHalfWeight(Operation *op, Value narrow) const {
    auto matmul = dyn_cast<graph::MatmulOp>(op);
    if (isCuda || !matmul || !narrow.getDefiningOp<graph::WeightOp>() ||
        !graph::getElementType(narrow).isF16() ||
        kernel::behindWidening(matmul.getRhs()) != narrow)
      return false;
    return kernel::isMatrixOrOnePerBatch(matmul);
  }

  /// What kernels of a root read in the place of an operand.
  Value memoryOf(Operation *op, Value operand) const {
    if (auto attention = dyn_cast<graph::AttentionOp>(op); attention && !isCuda)
      return storedFactor(attention, operand);
    else if (attention)
      if (Value bytes = bytesOf(attention, operand))
        return bytes;
    auto matmul = dyn_cast<graph::MatmulOp>(op);
    if (matmul)
      if (Value exact = kernel::operandToRound(matmul, operand))
        return exact;
    Value narrow = kernel::behindWidening(operand);
    if (!narrow ||
        !(isStoredIn16Bits(narrow, isCuda) || isHalfWeight(op, narrow)))
      return operand;
    auto attention = dyn_cast<graph::AttentionOp>(op);
    bool isQuery = attention && operand == attention.getQuery();
    if (!isQuery && readsRounding(op, narrow))
      return behindRounding(narrow);
    return narrow;
  }

  /// What a CPU's attention reads in the place of an operand: what is of 16
  /// bits as it is, where its rows are contiguous.
  static Value storedFactor(graph::AttentionOp op, Value operand) {
    if (!llvm::is_contained({op.getQuery(), op.getKey(), op.getValue()},
                            operand))
      return operand;
    Value memory = kernel::storedOperandOf(op, operand).memory;
    return hasWholeRows(memory) ? memory : operand;
  }

  static bool hasWholeRows(Value memory) {
    std::optional<kernel::StridedView> view = kernel::stridedViewOf(memory);
    return view && view->strides.back().isConstant(1);
  }

  /// Of keys and values on devices: the bytes that they are in memory, row by
  /// row; null for others.
  static Value bytesOf(graph::AttentionOp op, Value operand) {
    if (!llvm::is_contained({op.getKey(), op.getValue()}, operand))
      return {};
    kernel::DeviceOperand stored = kernel::deviceOperandOf(op, operand);
    bool isOfBytes = stored.dequantize && hasWholeRows(stored.memory);
    return isOfBytes ? stored.memory : Value();
  }

  /// Gives `op` views of its own, made from the memory that they are views of,
  /// where `mayRead` says so.
  void copyViews(Operation *op, ViewTest *mayRead = nullptr) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (graph::GatherOp picks = picksInPlace(operand)) {
        copyPicks(operand, picks);
        continue;
      }
      Value seen = operand.get();
      if (readsNarrow(op))
        seen = memoryOf(op, seen);
      // A convolution reads its image in place only.
      if (isa<graph::ConvOp>(op)) {
        Operation *link = operand.get().getDefiningOp();
        if (seen != operand.get() && link->getBlock() == &block)
          copyChain(operand, {link}, seen);
        continue;
      }
      std::optional<kernel::StridedView> view =
          isHead(operand) ? kernel::rowViewOf(seen)
                          : kernel::stridedViewOf(seen);
      if (!view || view->base == operand.get())
        continue;
      Chain chain = kernel::viewOpsOf(operand.get(), *view);
      if (chain.back()->getBlock() != &block ||
          isScatteredBias(operand, *view) ||
          (mayRead && !mayRead(*view, chain)))
        continue;
      copyChain(operand, chain, view->base);
    }
  }

  /// What chooses the matrices of a product's rhs, where a kernel can do so:
  /// they would be copied, each time that one is chosen.
  graph::GatherOp picksInPlace(OpOperand &operand) const {
    auto matmul = dyn_cast<graph::MatmulOp>(operand.getOwner());
    if (!matmul || operand.get() != matmul.getRhs() ||
        !graph::getElementType(matmul.getLhs()).isF32())
      return {};
    graph::GatherOp picks = kernel::pickedRhsOf(matmul);
    bool isHere = picks && picks->getBlock() == &block;
    // Devices pick none of few bits.
    return isHere && !(isCuda && kernel::quantizedRhsOf(picks.getInput()))
               ? picks
               : graph::GatherOp();
  }

  void copyPicks(OpOperand &operand, graph::GatherOp picks) {
    Chain chain;
    if (operand.get() != picks.getResult()) // It widens them.
      chain.push_back(operand.get().getDefiningOp());
    chain.push_back(picks);
    Value base = picks.getInput();
    std::optional<kernel::StridedView> view = kernel::stridedViewOf(base);
    if (view && view->base != base) {
      llvm::append_range(chain, kernel::viewOpsOf(base, *view));
      base = view->base;
    }
    copyChain(operand, chain, base);
  }

  /// Gives keys and values that come as bytes views of their scales.
  void copyScales(graph::AttentionOp op) {
    for (Value operand : {op.getKey(), op.getValue()}) {
      graph::DequantizeOp bytes =
          isCuda ? kernel::deviceOperandOf(op, operand).dequantize
                 : kernel::storedOperandOf(op, operand).dequantize;
      if (!bytes || !views.contains(bytes))
        continue;
      OpOperand &scale = bytes.getScaleMutable();
      std::optional<kernel::StridedView> view =
          kernel::stridedViewOf(scale.get());
      if (view && view->base != scale.get())
        copyChain(scale, kernel::viewOpsOf(scale.get(), *view), view->base);
    }
  }

  void copyChain(OpOperand &operand, const Chain &chain, Value base) {
    OpBuilder builder(operand.getOwner());
    Value value = base;
    for (Operation *link : llvm::reverse(chain)) {
      Operation *copy = builder.clone(*link);
      copy->setOperand(0, value);
      views.insert(copy);
      value = copy->getResult(0);
    }
    operand.set(value);
    for (Operation *link : chain)
      if (link->use_empty())
        link->erase();
  }

  /// Gives a cell what makes its recurrence of bytes or bf16, for its kernel to
  /// read those.
  void copyWidening(graph::RecurrentOp op) {
    Value stored = kernel::storedRecurrenceOf(op);
    Operation *widening = op.getRecurrence().getDefiningOp();
    if (stored != op.getRecurrence() && widening->getBlock() == &block &&
        isStored(stored))
      copyChain(op.getRecurrenceMutable(), {widening}, stored);
  }

  /// Whether kernels multiply the 8-bit numbers that a product of i32 is of.
  bool multipliesBytes(Operation *op) const {
    if (auto conv = dyn_cast<graph::ConvOp>(op))
      return convolvesBytes(conv);
    auto matmul = dyn_cast<graph::MatmulOp>(op);
    std::optional<kernel::IntegerMatmulView> view;
    if (matmul)
      view = kernel::integerMatmulViewOf(matmul);
    if (!view || !isCuda)
      return view.has_value();
    return view->rhs.view.base.getDefiningOp<graph::WeightOp>() &&
           kernel::byteProductOf(matmul);
  }

  bool convolvesBytes(graph::ConvOp op) const {
    std::optional<kernel::IntegerConvView> view = kernel::integerConvViewOf(op);
    return view && view->filter.view.base.getDefiningOp<graph::WeightOp>();
  }

  /// Whether a CPU's kernel of a convolution of each channel reads bytes.
  bool readsDepthwiseBytes(graph::ConvOp op) const {
    std::optional<kernel::IntegerFactor> bytes = kernel::depthwiseBytesOf(op);
    return bytes && !isCuda && op.getFilter().getDefiningOp<graph::WeightOp>();
  }

  /// Gives such a convolution its own casts and zero point.
  void copyBytes(graph::ConvOp op) {
    kernel::IntegerFactor bytes = *kernel::depthwiseBytesOf(op);
    auto wide = op.getInput().getDefiningOp<graph::CastOp>();
    Chain chain = {wide};
    llvm::append_range(chain, kernel::factorOpsOf(wide.getInput(), bytes));
    copyChain(op.getInputMutable(), chain, bytes.view.base);
    copyZero(op.getInput().getDefiningOp<graph::CastOp>().getInput(), bytes);
  }

  /// Gives a centered operand a cast of its zero point of its own.
  void copyZero(Value centered, const kernel::IntegerFactor &factor) {
    auto cast = factor.zero ? factor.zero.getDefiningOp<graph::CastOp>()
                            : graph::CastOp();
    if (!cast)
      return;
    Operation *sub = centered.getDefiningOp();
    OpBuilder builder(sub);
    Operation *copy = builder.clone(*cast);
    views.insert(copy);
    sub->setOperand(1, copy->getResult(0));
    if (cast->use_empty())
      cast->erase();
  }

  /// Gives a product casts and zero points of its own, for its kernel to read
  /// the numbers.
  void copyFactors(Operation *op) {
    SmallVector<kernel::IntegerFactor, 2> factors;
    if (auto matmul = dyn_cast<graph::MatmulOp>(op)) {
      auto view = *kernel::integerMatmulViewOf(matmul);
      factors = {std::move(view.lhs), std::move(view.rhs)};
    } else { // A convolution reads its image in place only.
      for (Value operand : op->getOperands())
        factors.push_back(*kernel::integerFactorInPlace(operand));
    }
    for (auto [operand, factor] : llvm::zip(op->getOpOperands(), factors)) {
      Chain chain = kernel::factorOpsOf(operand.get(), factor);
      copyChain(operand, chain, factor.view.base);
      copyZero(operand.get(), factor);
    }
  }

  /// Whether kernels of a product read a quantized weight: on CUDA of those
  /// whose lhs is bf16.
  bool readsQuantized(graph::MatmulOp op) const {
    return !isCuda || kernel::isWidenedBf16(op.getLhs());
  }

  /// Leaves a product what dequantizes its weight, which no other op reads.
  void takeQuantized(graph::MatmulOp op) {
    SmallVector<Operation *> links =
        kernel::quantizedRhsOps(kernel::matricesOf(op));
    if (llvm::all_of(links, [&](Operation *link) {
          return link->hasOneUse() && link->getBlock() == &block;
        }))
      views.insert_range(links);
  }

  Block &block;
  bool isCuda;
  llvm::DenseSet<Operation *> views;
};

} // namespace

bool isStoredIn16Bits(Value narrow, bool isCuda) {
  Type type = graph::getElementType(narrow);
  return type.isBF16() || (isCuda && type.isF16());
}

llvm::DenseSet<Operation *> copyOperandViews(Block &block, bool isCuda) {
  return ViewCopies(block, isCuda).run();
}

} // namespace tenon
