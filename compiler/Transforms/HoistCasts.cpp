//===- HoistCasts.cpp - What only moves is rounded before it moves --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products that read 16 bits have casts in front of them. Behind a
// concatenation or a largest of windows such a cast is a kernel of its own,
// which reads what the other has just written in f32. In front of it, what
// computes the numbers stores them in half the bytes, and so does what moves
// them. The results have the same bits: rounding keeps the order of numbers.
//
// Kernels round what they see through slices, reshapes and transposes as they
// read it: attention its heads, of the product that made all three. Where
// nobody reads other digits of that, the product's kernel stores them rounded.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/Kernel/MatmulView.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_HOISTCASTSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

bool onlyMoves(Operation *op) {
  return isa<graph::ConcatOp, graph::MaxPoolOp>(op);
}

/// An average of numbers that have been rounded already: kernels add them in
/// f32 and round the sum once, as the cast behind would.
bool averagesRounded(Operation *op) {
  return isa<graph::AveragePoolOp>(op) &&
         kernel::behindWidening(op->getOperand(0));
}

/// The 16-bit type that a user casts f32 to; null for other users.
Type roundsTo(Operation *user) {
  auto cast = dyn_cast<graph::CastOp>(user);
  Type to = cast ? graph::getElementType(cast.getResult()) : Type();
  return to && (to.isBF16() || to.isF16()) ? to : Type();
}

/// The type that all users of an op that moves f32 cast it to; null where one
/// reads something else, or nobody does.
Type roundedTo(Operation *op) {
  bool averages = averagesRounded(op);
  if ((!onlyMoves(op) && !averages) || op->use_empty() ||
      !graph::getElementType(op->getResult(0)).isF32())
    return {};
  Type first = roundsTo(*op->user_begin());
  if (averages &&
      graph::getElementType(kernel::behindWidening(op->getOperand(0))) != first)
    return {};
  bool isAlike = llvm::all_of(
      op->getUsers(), [&](Operation *user) { return roundsTo(user) == first; });
  return isAlike ? first : Type();
}

bool renames(Operation *op) {
  return isa<graph::ReshapeOp, graph::SliceOp, graph::TransposeOp>(op);
}

/// Whether all that is read of a value, through ops that rename its elements,
/// is cast to bf16: there is such an op.
bool isReadRounded(Value value) {
  bool isRenamed = false;
  SmallVector<Value> values = {value};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      bool isLink = renames(user) && !user->use_empty();
      isRenamed |= isLink;
      if (isLink)
        values.push_back(user->getResult(0));
      else if (Type to = roundsTo(user); !to || !to.isBF16())
        return false;
    }
  return isRenamed;
}

/// Whether a value is a product or a convolution, or what such a kernel makes
/// of it element by element.
bool isOfProduct(Value value) {
  Operation *end = value.getDefiningOp();
  if (isa_and_present<graph::MatmulOp>(makerOf(value)) ||
      isa_and_present<graph::ConvOp>(end))
    return true;
  if (!end || !graph::isPointwise(end))
    return false;
  llvm::SetVector<Operation *> tree = pointwiseTree(end);
  auto isSum = [&](Value operand) {
    auto conv = operand.getDefiningOp<graph::ConvOp>();
    return conv && llvm::all_of(conv->getUsers(), [&](Operation *user) {
             return tree.contains(user);
           });
  };
  return llvm::any_of(tree, [&](Operation *op) {
    return llvm::any_of(op->getOperands(), isSum);
  });
}

struct HoistCasts : impl::HoistCastsPassBase<HoistCasts> {
  using Base = impl::HoistCastsPassBase<HoistCasts>;
  using Base::Base;

  void runOnOperation() override {
    // One that moves may be what keeps another from it.
    for (bool hasChanged = true; hasChanged;) {
      hasChanged = false;
      SmallVector<Operation *> moves;
      getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (onlyMoves(op) || averagesRounded(op))
          moves.push_back(op);
      });
      for (Operation *op : llvm::reverse(moves))
        if (Type type = roundedTo(op); type && pays(op, type)) {
          hoist(op, type);
          hasChanged = true;
        }
    }
    if (products)
      hoistToProducts();
  }

private:
  /// In front of all that renames what a product becomes through ops with
  /// constants: its kernel rounds what it stores.
  void hoistToProducts() {
    llvm::SetVector<Value> rounding;
    getOperation().walk([&](Operation *op) {
      if (!renames(op))
        return;
      Value source = op->getOperand(0);
      if (graph::getElementType(source).isF32() && isOfProduct(source) &&
          isReadRounded(source))
        rounding.insert(source);
    });
    Type bf16 = BFloat16Type::get(&getContext());
    for (Value product : rounding)
      hoistThroughNames(product, rounded(product, bf16));
  }

  /// All that renames elements of a value then does so to what is rounded.
  static void hoistThroughNames(Value wide, Value narrow) {
    Type type = graph::getElementType(narrow);
    for (Operation *user : llvm::make_early_inc_range(wide.getUsers())) {
      if (!renames(user))
        continue;
      Operation *link = OpBuilder(user).clone(*user);
      link->setOperand(0, narrow);
      Value result = link->getResult(0);
      result.setType(rounded(result.getType(), type));
      replaceCasts(user->getResult(0), type, result);
      hoistThroughNames(user->getResult(0), result);
      user->erase();
    }
  }

  /// A concatenation reads and writes half as much, whoever else reads its
  /// operands. A pool writes little: what it reads has to be rounded anyway.
  static bool pays(Operation *op, Type type) {
    return isa<graph::ConcatOp>(op) || averagesRounded(op) ||
           llvm::all_of(op->getOperand(0).getUsers(), [&](Operation *user) {
             return roundsTo(user) == type || roundedTo(user) == type;
           });
  }

  static void hoist(Operation *op, Type type) {
    OpBuilder builder(op);
    llvm::SetVector<Operation *> widenings;
    for (Value operand : op->getOperands())
      if (kernel::behindWidening(operand))
        widenings.insert(operand.getDefiningOp());
    Operation *moved = builder.clone(*op);
    for (OpOperand &operand : llvm::reverse(moved->getOpOperands()))
      operand.set(rounded(operand.get(), type));
    moved->getResult(0).setType(rounded(op->getResult(0).getType(), type));
    replaceCasts(op->getResult(0), type, moved->getResult(0));
    op->erase();
    for (Operation *widening : widenings)
      if (widening->use_empty())
        widening->erase();
  }

  static Type rounded(Type tensor, Type type) {
    return graph::tensorOf(graph::getDims(tensor), type);
  }

  /// Rounded once for all that read it so.
  static Value rounded(Value value, Type type) {
    Value narrow = kernel::behindWidening(value);
    if (narrow && graph::getElementType(narrow) == type)
      return narrow;
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto cast = graph::CastOp::create(builder, value.getLoc(),
                                      rounded(value.getType(), type), value);
    replaceCasts(value, type, cast);
    return cast;
  }

  static void replaceCasts(Value value, Type type, Value by) {
    for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
      if (user != by.getDefiningOp() && roundsTo(user) == type) {
        user->getResult(0).replaceAllUsesWith(by);
        user->erase();
      }
  }
};

} // namespace
} // namespace tenon
