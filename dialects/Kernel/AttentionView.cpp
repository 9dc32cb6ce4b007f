//===- AttentionView.cpp - An attention as its schedule sees it -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Kernel/AttentionView.h"
#include "dialects/Kernel/MatmulView.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tenon::kernel {
namespace {

constexpr int64_t smallestWidth = 8;
/// Units that keep many threads at work; those of a launch whose keys are cut
/// are fewer.
constexpr int64_t enoughUnits = 64;
/// Keys that make one more piece worth joining.
constexpr int64_t pieceKeys = 768;

std::optional<int64_t> width(Value tensor) {
  std::optional<int64_t> size = graph::getDim(tensor, 3).asConstant();
  if (!size || *size < smallestWidth || *size > widestHead)
    return std::nullopt;
  return size;
}

/// What rounds the result to bf16, if its one user does.
graph::CastOp roundingBehind(graph::AttentionOp op) {
  if (!op->hasOneUse())
    return {};
  auto cast = dyn_cast<graph::CastOp>(*op->user_begin());
  bool rounds = cast && graph::getElementType(cast.getResult()).isBF16();
  return rounds ? cast : graph::CastOp();
}

} // namespace

graph::DequantizeOp rowsOfBytes(Value value) {
  auto op = value.getDefiningOp<graph::DequantizeOp>();
  if (!op || !graph::getElementType(op.getInput()).isSignlessInteger(8) ||
      !graph::getElementType(op.getScale()).isF32())
    return {};
  SmallVector<Expr> rows = graph::getDims(value);
  rows.back() = Expr::constant(value.getContext(), 1);
  return graph::isConstantOf(op.getZeroPoint(), 0) &&
                 graph::getDims(op.getScale()) == rows
             ? op
             : graph::DequantizeOp();
}

StoredOperand storedOperandOf(graph::AttentionOp op, Value operand) {
  Value exact = unroundedOf(operand);
  StoredOperand result;
  result.memory = exact ? exact : operand;
  result.isRounded = bool(exact);
  result.toF16 = exact && !isWidenedBf16(operand);
  if (operand != op.getQuery())
    result.dequantize = rowsOfBytes(result.memory);
  if (result.dequantize) {
    result.memory = result.dequantize.getInput();
  } else if (Value narrow = behindWidening(result.memory)) {
    result.memory = narrow;
    result.isRounded |= graph::getElementType(narrow).isBF16();
  }
  return result;
}

bool isInMemory(const std::optional<StridedView> &view) {
  return view && isa<BlockArgument>(view->base);
}

std::optional<StridedView> biasViewOf(graph::AttentionOp op, Value bias) {
  std::optional<StridedView> view = stridedViewOf(bias);
  if (!isInMemory(view))
    return std::nullopt;
  SmallVector<Expr> dims = graph::getDims(bias);
  Expr whole[] = {{},
                  graph::getDim(op.getQuery(), 1),
                  graph::getDim(op.getQuery(), 2),
                  graph::getDim(op.getKey(), 2)};
  for (size_t axis = 1; axis < 4; ++axis) {
    if (dims[axis].isConstant(1))
      view->strides[axis] = Expr::constant(op.getContext(), 0);
    else if (dims[axis] != whole[axis])
      return std::nullopt; // Whether it repeats shows at run time.
  }
  return view;
}

const char *seeInMemory(AttentionOperand operand, StridedView &view,
                        std::optional<StridedView> &scales) {
  std::optional<StridedView> seen = stridedViewOf(operand.memory);
  if (!isInMemory(seen))
    return "query, key or value is computed in the kernel";
  if (!seen->strides[3].isConstant(1))
    return "the heads' last axis is not contiguous";
  view = std::move(*seen);
  if (!operand.dequantize)
    return nullptr;
  scales = stridedViewOf(operand.dequantize.getScale());
  return isInMemory(scales)
             ? nullptr
             : "the scales of keys or values are computed in the kernel";
}

std::optional<AttentionView> attentionViewOf(Block &body, std::string &why) {
  auto refuse = [&](const char *reason) {
    why = reason;
    return std::nullopt;
  };
  auto op = dyn_cast_if_present<graph::AttentionOp>(findRoot(body));
  if (!op)
    return refuse("its root is no attention");
  if (!graph::getElementType(op.getQuery()).isF32())
    return refuse("its operands are not f32");
  std::optional<int64_t> depth = width(op.getQuery());
  std::optional<int64_t> columns = width(op.getValue());
  if (!depth || !columns || width(op.getKey()) != depth)
    return refuse("the head sizes are no numbers from 8 to 1024");
  AttentionView view{op,
                     *graph::getDim(op.getQuery(), 1).asConstant(),
                     *graph::getDim(op.getKey(), 1).asConstant(),
                     *depth,
                     *columns,
                     /*isRounded=*/true,
                     /*toF16=*/false,
                     {},
                     {},
                     {},
                     {},
                     {},
                     {},
                     {}};
  for (auto [to, operand] : {std::pair(&view.query, op.getQuery()),
                             std::pair(&view.key, op.getKey()),
                             std::pair(&view.value, op.getValue())}) {
    StoredOperand stored = storedOperandOf(op, operand);
    view.isRounded &= stored.isRounded;
    view.toF16 |= stored.toF16;
    auto &scales = operand == op.getKey() ? view.keyScales : view.valueScales;
    if (const char *reason = seeInMemory(stored, *to, scales))
      return refuse(reason);
  }
  for (Value bias : op.getBiases()) {
    std::optional<StridedView> seen = biasViewOf(op, bias);
    if (!seen)
      return refuse("a bias is computed in the kernel, or repeats in a way "
                    "that sizes do not tell");
    view.biases.push_back(std::move(*seen));
  }
  if (body.getTerminator()->getNumOperands() != 1)
    return refuse("it has several results");
  Value given = op.getResult();
  if (graph::CastOp rounding = roundingBehind(op)) {
    given = rounding.getResult();
    view.givesBf16 = true;
  }
  std::optional<SmallVector<Expr>> strides =
      stridesInside(given, body.getTerminator()->getOperand(0));
  if (!strides || !strides->back().isConstant(1))
    return refuse("what follows the attention is no view of its result");
  view.result = std::move(*strides);
  return view;
}

Expr AttentionView::units() const {
  SmallVector<Expr> dims = graph::getDims(op->getOperand(0));
  Expr units = dims[2] * group();
  if (units)
    units = units.ceilDiv(Expr::constant(op->getContext(), queryBlock));
  return units ? units * dims[0] * keyHeads : units;
}

/// Pieces of a unit's keys beyond the first; null where that is too complex.
static Expr morePieces(const AttentionView &view) {
  MLIRContext *context = view.op->getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  Expr keys = graph::getDim(view.op->getOperand(1), 2), units = view.units();
  if (keys.asConstant() && *keys.asConstant() < pieceKeys)
    return number(0);
  if (units)
    units = number(enoughUnits - 1).floorDiv(units + 1);
  return units ? units.min(keys.floorDiv(number(pieceKeys))) : units;
}

/// What the pieces of all units share: enough for two or more of each.
static Expr sharedBytes(const AttentionView &view) {
  Expr more = morePieces(view), units = view.units();
  if (units)
    units = units * (2 * AttentionPiece(view).end);
  Expr bytes = more && units ? more * units : Expr();
  return bytes ? bytes + AttentionPiece::start : bytes;
}

Expr AttentionView::pieces() const {
  if (Expr more = morePieces(*this); more && sharedBytes(*this))
    return more + 1;
  return Expr::constant(op->getContext(), 1);
}

Geometry AttentionView::geometry() const {
  MLIRContext *context = op->getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  Expr keys = graph::getDim(op->getOperand(1), 2), rows = units();
  Expr cut = pieces();
  if (rows)
    rows = rows * cut;
  // Multiply-adds that make a piece worth handing to a thread.
  constexpr int64_t pieceCost = 100000;
  Expr cost = keys.max(number(1)) * (queryBlock * (depth + width));
  Expr grain = cost ? number(pieceCost).ceilDiv(cost) : number(1);
  Geometry result{rows, grain, AttentionScratch::bytes(*this), {}};
  result.shared =
      cut.isConstant(1) ? number(AttentionPiece::start) : sharedBytes(*this);
  return result;
}

AttentionPiece::AttentionPiece(const AttentionView &view) {
  int64_t row = queryBlock * 4;
  largest = sums + view.width * row;
  total = largest + row;
  end = total + row;
}

AttentionScratch::AttentionScratch(const AttentionView &view) {
  int64_t row = queryBlock * 4;
  sums = query + view.keyWords() * row;
  scores =
      sums + (view.isRounded ? view.matrixWidth() : view.paddedWidth()) * row;
  largest = scores + keyBlock * row;
  total = largest + row;
  factor = total + row;
  firstKey = factor + row;
  lastKey = firstKey + row;
  spare = lastKey + row;
  masked = spare + llvm::alignTo(view.width * 4, 64);
  graph::AttentionOp op = view.op;
  panels = masked + (op.getKeyMask() ? 2 * keyBlock * 4 : 0);
  keys = llvm::alignTo(panels + 3 * 8, 64);
}

Expr AttentionScratch::bytes(const AttentionView &view) {
  MLIRContext *context = view.op->getContext();
  auto number = [&](int64_t value) { return Expr::constant(context, value); };
  Expr panels =
      graph::getDim(view.op->getOperand(1), 2).ceilDiv(number(keyBlock));
  if (panels)
    panels = panels * (4 * keyBlock * (view.keyWords() + view.valueWords()));
  return panels ? panels + AttentionScratch(view).keys : panels;
}

} // namespace tenon::kernel
