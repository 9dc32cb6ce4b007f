//===- LiftConstants.cpp - Scales in which kernels differ become operands -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layers of a model that comes quantized differ by scales and zero points
// alone. As constants of kernels these make each layer's kernels others: a BERT
// had 151 in place of 40, and took three times as long to compile.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/RegionFunction.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Kernel/ByteChain.h"
#include "dialects/Kernel/NormalScale.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_LIFTCONSTANTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

bool isCastSum(Value value) {
  auto cast = value.getDefiningOp<graph::CastOp>();
  return cast && graph::getElementType(cast.getInput()).isInteger(32) &&
         cast.getInput().getDefiningOp<graph::MatmulOp>();
}

/// Whether an operand is a scale or a zero point, by an op's definition or as
/// what a product of integers takes off or is multiplied by. Where
/// `roundsFloats` to few bits, scales are all kinds of factors.
bool isStepOf(OpOperand &use, bool roundsFloats) {
  Operation *op = use.getOwner();
  unsigned i = use.getOperandNumber();
  if (isa<graph::QuantizeOp, graph::DequantizeOp>(op))
    return i > 0;
  if (isa<graph::MulOp>(op))
    return (roundsFloats && graph::getElementType(use.get()).isF32()) ||
           isCastSum(op->getOperand(1 - i));
  if (isa<graph::DivOp>(op))
    return i == 1 && llvm::all_of(op->getUsers(), [](Operation *user) {
             return isa<graph::RoundFloatOp>(user);
           });
  return isa<graph::SubOp>(op) && i == 1 &&
         graph::getElementType(use.get()).isInteger(32) &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return isa<graph::MatmulOp>(user);
         });
}

bool isNumberWithoutAxes(Value value) {
  return graph::getRank(value) == 0 && kernel::knownNumberOf(value);
}

/// An operand of f32 must not make kernels divide that did not.
bool mayBeOperand(Attribute known) {
  auto number = cast<DenseElementsAttr>(known);
  Type element = number.getElementType();
  return element.isF32() ? kernel::isNormalScale(number.getSplatValue<float>())
                         : isa<IntegerType>(element);
}

/// A region, and where in it there are scales and zero points that are known.
struct Candidate {
  kernel::RegionOp region;
  SmallVector<OpOperand *> uses;

  Candidate(kernel::RegionOp region, bool roundsFloats) : region(region) {
    Block &body = region.getBody().front();
    // What is looked up has to be known.
    llvm::DenseSet<Operation *> lookedUp;
    for (auto op : body.getOps<graph::QuantizeOp>())
      if (auto chain = kernel::byteChainOf(op))
        lookedUp.insert(chain->ops.begin(), chain->ops.end());
    for (Operation &op : body)
      for (OpOperand &use : op.getOpOperands())
        if (isStepOf(use, roundsFloats) && !lookedUp.contains(&op) &&
            isNumberWithoutAxes(use.get()))
          uses.push_back(&use);
  }

  DenseElementsAttr numberAt(size_t i) const {
    return kernel::knownNumberOf(uses[i]->get());
  }

  /// What the region computes, whatever the numbers are.
  std::string text() {
    RegionFunction made(region);
    kernel::FuncOp function = made.function();
    Block &body = function.getBlock();
    // Its uses, in the same order.
    llvm::DenseMap<Operation *, Operation *> copies;
    for (auto [op, copy] : llvm::zip(region.getBody().front(), body))
      copies[&op] = &copy;
    llvm::SmallSetVector<Operation *, 8> constants;
    for (OpOperand *use : uses) {
      OpOperand &copy =
          copies[use->getOwner()]->getOpOperand(use->getOperandNumber());
      constants.insert(copy.get().getDefiningOp());
      copy.set(
          body.addArgument(copy.get().getType(), use->getOwner()->getLoc()));
    }
    for (Operation *constant : constants)
      if (constant->use_empty())
        constant->erase();
    std::string text = made.text();
    function->erase();
    return text;
  }
};

struct LiftConstants : impl::LiftConstantsPassBase<LiftConstants> {
  LiftConstants() = default;
  explicit LiftConstants(WeightStore &weights) : weights(&weights) {}

  void runOnOperation() override {
    WeightStore none;
    store = weights ? weights : &none;
    llvm::MapVector<StringRef, SmallVector<Candidate>> groups;
    llvm::StringSet<> texts;
    bool roundsFloats = false;
    getOperation().walk([&](graph::RoundFloatOp) { roundsFloats = true; });
    getOperation().walk([&](kernel::RegionOp region) {
      // A border's number is a byte that has to be known.
      if (!roundsFloats && !region.getBody().getOps<graph::ConvOp>().empty())
        return;
      Candidate candidate(region, roundsFloats);
      if (!candidate.uses.empty())
        groups[texts.insert(candidate.text()).first->getKey()].push_back(
            std::move(candidate));
    });
    for (auto &[text, group] : groups)
      if (group.size() > 1)
        lift(group);
    stored.clear();
  }

private:
  void lift(MutableArrayRef<Candidate> group) {
    // Uses that have the same numbers everywhere are one operand.
    llvm::MapVector<Attribute, SmallVector<size_t>> operands;
    for (size_t i = 0; i < group.front().uses.size(); ++i) {
      SmallVector<Attribute> numbers; // Of each region.
      for (const Candidate &each : group)
        numbers.push_back(each.numberAt(i));
      if (!llvm::all_equal(numbers) && !llvm::all_of(numbers, mayBeOperand))
        return;
      operands[ArrayAttr::get(&getContext(), numbers)].push_back(i);
    }
    for (auto [member, each] : llvm::enumerate(group))
      for (auto &[numbers, uses] : operands) {
        auto all = cast<ArrayAttr>(numbers).getValue();
        auto number = cast<DenseElementsAttr>(all[member]);
        Value known = llvm::all_equal(all) ? constantIn(each.region, number)
                                           : operandOf(each.region, number);
        for (size_t i : uses)
          replace(*each.uses[i], known);
      }
  }

  static void replace(OpOperand &use, Value known) {
    Operation *constant = use.get().getDefiningOp();
    use.set(known);
    if (constant->use_empty())
      constant->erase();
    if (isa<graph::QuantizeOp>(use.getOwner()) && use.getOperandNumber() == 1 &&
        isa<BlockArgument>(known))
      use.getOwner()->setAttr(kernel::normalScaleAttr,
                              UnitAttr::get(known.getContext()));
  }

  /// Anew, so that constants of all members have one order.
  Value constantIn(kernel::RegionOp region, DenseElementsAttr number) {
    auto builder = OpBuilder::atBlockBegin(&region.getBody().front());
    return graph::ConstantOp::create(builder, region.getLoc(), number.getType(),
                                     number);
  }

  Value operandOf(kernel::RegionOp region, DenseElementsAttr number) {
    region->insertOperands(region.getNumOperands(), weightOf(number));
    return region.getBody().front().addArgument(number.getType(),
                                                region.getLoc());
  }

  Value weightOf(DenseElementsAttr number) {
    Value &known = stored[number];
    if (known)
      return known;
    ArrayRef<char> bytes = number.getRawData();
    const Weight *added = llvm::cantFail(
        store->addOwned("step", number.getElementType(), {},
                        std::vector<char>(bytes.begin(), bytes.end())));
    OpBuilder builder = OpBuilder::atBlockBegin(&getOperation().front());
    return known = graph::WeightOp::create(builder, getOperation().getLoc(),
                                           number.getType(), added->name);
  }

  WeightStore *weights = nullptr, *store = nullptr;
  llvm::DenseMap<Attribute, Value> stored;
};

} // namespace

std::unique_ptr<Pass> createLiftConstantsPass(WeightStore &weights) {
  return std::make_unique<LiftConstants>(weights);
}
} // namespace tenon
