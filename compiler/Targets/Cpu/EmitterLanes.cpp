//===- EmitterLanes.cpp - Elements of tensors by vectors ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The index arithmetic of elements is that of the first lane. As long as an
// index counts with the lanes, or does not depend on them, so does what it
// leads to, down to loads of neighbouring elements. Where that ends, lanes are
// computed one by one.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/Emitter.h"
#include "compiler/Targets/Cpu/FlushedBits.h"
#include "dialects/Kernel/StridedView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::cpu {

struct Emitter::LaneState {
  Lanes lanes;
  llvm::DenseMap<Value, LaneStep> steps;
  /// Set where an element was asked for at an index that neither counts with
  /// the lanes nor stays: the op that asks has no vector then.
  bool isTorn = false;
};

void Emitter::inLanes(const Lanes &lanes, function_ref<void()> body) {
  LaneState state;
  state.lanes = lanes;
  LaneState *outer = std::exchange(laneState, &state);
  body();
  laneState = outer;
}

Value Emitter::spread(Value value, int64_t width) {
  if (isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({width}, value.getType());
  return vector::BroadcastOp::create(b, type, value);
}

Emitter::LaneStep Emitter::laneStep(Value value) {
  using enum LaneStep;
  if (value == laneState->lanes.first)
    return One;
  Operation *op = value.getDefiningOp();
  if (!op || op->hasTrait<OpTrait::ConstantLike>())
    return None;
  if (auto found = laneState->steps.find(value);
      found != laneState->steps.end())
    return found->second;
  LaneStep step = None;
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    LaneStep x = laneStep(op->getOperand(0)), y = laneStep(op->getOperand(1));
    bool commutes = isa<arith::AddIOp>(op);
    if (x == None && y == None)
      step = None;
    else if ((x == One && y == None) || (commutes && x == None && y == One))
      step = One;
    else
      step = Other;
  } else {
    auto meet = [&](Value operand) {
      if (laneStep(operand) != None)
        step = Other;
    };
    llvm::for_each(op->getOperands(), meet);
    for (Region &region : op->getRegions())
      region.walk([&](Operation *inner) {
        llvm::for_each(inner->getOperands(), meet);
      });
  }
  laneState->steps[value] = step;
  return step;
}

Value Emitter::laneElement(Value tensor, const Indices &index) {
  bool depends = false;
  for (Value i : index) {
    LaneStep step = laneStep(i);
    if (step == LaneStep::Other || (depends && step == LaneStep::One)) {
      laneState->isTorn = true;
      return zero(computeType(graph::getElementType(tensor)));
    }
    depends |= step == LaneStep::One;
  }
  if (!depends) {
    LaneState *outer = std::exchange(laneState, nullptr);
    Value value = scalarElement(tensor, index);
    laneState = outer;
    return value;
  }
  return memo(elementKey(tensor, index), [&] {
    bool wasTorn = std::exchange(laneState->isTorn, false);
    Value value = laneValue(tensor, index);
    if (!value || laneState->isTorn)
      value = eachLane(tensor, index);
    laneState->isTorn = wasTorn;
    return spread(value, laneState->lanes.width);
  });
}

/// Null where there is no vector.
Value Emitter::laneValue(Value tensor, const Indices &index) {
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    unsigned i = argument.getArgNumber();
    if (!cast<StringAttr>(kernel.getLayouts()[i]).getValue().empty())
      return giveUp("cannot read an operand in a layout of its own"), Value();
    return laneLoad(buffers[i], tensor, index);
  }
  if (Value base = placed.lookup(tensor))
    return laneLoad(base, tensor, index);
  Operation *op = tensor.getDefiningOp();
  if (kernel::roleOf(op) == kernel::Role::Pointwise)
    return laneFormula(op, index);
  if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    return elements && elements.isSplat()
               ? constantElement(op, index)
               : laneLoad(constantBase(op), tensor, index);
  }
  // Of the others, those that ask for one element behind any index.
  auto isFixed = [&](int64_t axis, int64_t count) {
    return llvm::all_of(ArrayRef(index).slice(axis, count),
                        [&](Value i) { return laneStep(i) == LaneStep::None; });
  };
  bool follows = isa<graph::BroadcastOp, graph::ReshapeOp, graph::SliceOp,
                     graph::TransposeOp>(op);
  if (auto concat = dyn_cast<graph::ConcatOp>(op))
    follows = isFixed(concat.getAxis(), 1);
  if (auto gather = dyn_cast<graph::GatherOp>(op))
    follows = isFixed(gather.getAxis(), graph::getRank(gather.getIndices()));
  return follows ? emitMovement(*this, op, index) : Value();
}

Value Emitter::laneFormula(Operation *op, const Indices &index) {
  // A lane that is not there must not divide by its 0.
  if (isa<graph::DivOp, graph::FmodOp, graph::ModOp>(op) &&
      !isa<FloatType>(graph::getElementType(op->getOperand(0))))
    return {};
  const ByteTable *table = laneState->lanes.width <= 64 ? tableOf(op) : nullptr;
  if (table) {
    Value byte = element(table->leaf, index);
    return laneState->isTorn ? Value() : lookUp(op, *table, byte);
  }
  SmallVector<Expr> dims = graph::getDims(op->getResult(0));
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(element(operand, broadcastIndex(index, dims, operand)));
  if (laneState->isTorn)
    return {};
  if (llvm::any_of(operands,
                   [](Value x) { return isa<VectorType>(x.getType()); }))
    for (Value &operand : operands)
      operand = spread(operand, laneState->lanes.width);
  if (Value rounded = flushingCast(op, operands))
    return rounded;
  return emitFormula(b, *this, op, operands);
}

/// Whether a cast rounds what its kernel computes, be it seen through views.
static bool roundsComputed(graph::CastOp op) {
  Operation *source = op.getInput().getDefiningOp();
  while (source && kernel::isViewOp(source))
    source = source->getOperand(0).getDefiningOp();
  if (!source || isa<graph::CastOp>(source))
    return false;
  return graph::isPointwise(source) ||
         isa<graph::AttentionOp, graph::ConvOp, graph::ConvTransposeOp,
             graph::LayerNormOp, graph::MatmulOp, graph::RmsNormOp,
             graph::SoftmaxOp>(source);
}

/// f32 -> bf16 by the instruction, where the level has it and numbers that are
/// not normal may be lost: those that lanes say, and what is computed.
Value Emitter::flushingCast(Operation *op, ValueRange operands) {
  auto cast = dyn_cast<graph::CastOp>(op);
  if (!cast || level.pairDots != PairDots::Native ||
      !graph::getElementType(cast.getResult()).isBF16())
    return {};
  Type type = operands[0].getType();
  bool isScalar = type.isF32();
  if ((!isScalar && type != flushedType()) ||
      !((laneState && laneState->lanes.mayFlush) || roundsComputed(cast)))
    return {};
  Value bits = isScalar ? callFlushedBits(b, module, operands[0])
                        : flushedBits(operands[0]);
  return fromMemory(bits, b.getBF16Type());
}

VectorType Emitter::flushedType() {
  return VectorType::get({16}, b.getF32Type());
}

Value Emitter::flushedBits(Value elements) {
  if (level.pairDots != PairDots::Native || elements.getType() != flushedType())
    return toMemory(roundTo(b, elements, b.getBF16Type()), b.getBF16Type());
  Value narrow = LLVM::CallIntrinsicOp::create(
                     b, flushedType().clone(b.getBF16Type()),
                     b.getStringAttr(flushingIntrinsic), elements)
                     .getResult(0);
  return LLVM::BitcastOp::create(b, flushedType().clone(b.getI16Type()),
                                 narrow);
}

Value Emitter::laneLoad(Value base, Value tensor, const Indices &index) {
  Value offset = linearise(index, dimsOf(tensor));
  if (laneStep(offset) != LaneStep::One)
    return {};
  Type element = graph::getElementType(tensor), memory = memoryType(element);
  const Lanes &lanes = laneState->lanes;
  auto type = VectorType::get({lanes.width}, memory);
  Value at = address(base, memory, offset);
  int64_t alignment = laneAlignment(base, element, offset);
  if (!lanes.mask)
    return fromMemory(LLVM::LoadOp::create(b, type, at, alignment), element);
  Value none = constantLike(b, type, 0);
  return fromMemory(
      LLVM::MaskedLoadOp::create(b, type, at, lanes.mask, none, alignment),
      element);
}

Value Emitter::eachLane(Value tensor, const Indices &index) {
  Lanes lanes = laneState->lanes;
  SmallVector<bool> moves;
  for (Value i : index)
    moves.push_back(laneStep(i) == LaneStep::One);
  LaneState *outer = std::exchange(laneState, nullptr);
  Type type = computeType(graph::getElementType(tensor));
  Value result = constantLike(b, VectorType::get({lanes.width}, type), 0);
  for (int64_t lane = 0; lane < lanes.width; ++lane) {
    Value step = number(lane);
    if (lanes.count) // One that is there.
      step = min(step, sub(lanes.count, number(1)));
    Indices at(index);
    for (auto [i, isMoved] : llvm::zip(at, moves))
      if (isMoved)
        i = add(i, step);
    result =
        vector::InsertOp::create(b, scalarElement(tensor, at), result, lane);
  }
  laneState = outer;
  return result;
}

int64_t Emitter::laneAlignment(Value, Type element, Value) {
  return graph::byteWidth(element);
}

void Emitter::storeLanes(Value value, Value base, Type element, Value offset) {
  const Lanes &lanes = laneState->lanes;
  value = toMemory(value, element);
  Type memory = memoryType(element);
  int64_t alignment = laneAlignment(base, element, offset);
  if (laneStep(offset) != LaneStep::One) {
    giveUp("stores a vector of elements that are no neighbours");
    return;
  }
  Value at = address(base, memory, offset);
  if (lanes.mask)
    LLVM::MaskedStoreOp::create(b, value, at, lanes.mask, alignment);
  else
    LLVM::StoreOp::create(b, value, at, alignment);
}

} // namespace tenon::cpu
