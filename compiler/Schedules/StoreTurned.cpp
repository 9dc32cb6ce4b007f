//===- StoreTurned.cpp - Convolutions that store channels first -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Behind the choice of schedules, as one that stores so may not be the fastest:
// Winograd's tiles with a transposition behind them are, where they are chosen.
//
//===----------------------------------------------------------------------===//

#include "compiler/Schedules/Passes.h"
#include "dialects/Kernel/ChannelTail.h"
#include "dialects/Kernel/DirectConvView.h"
#include "dialects/Kernel/Geometry.h"
#include "dialects/Kernel/OtherSizes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_STORETURNEDPASS
#include "compiler/Schedules/Passes.h.inc"

namespace {

/// The transposition to channels first that a function is, and nothing else.
graph::TransposeOp turnOf(kernel::FuncOp function) {
  if (!function)
    return {};
  Block &block = function.getBlock();
  auto turn = dyn_cast<graph::TransposeOp>(block.front());
  bool isAlone = turn && block.getNumArguments() == 1 &&
                 turn->getNextNode() == block.getTerminator() &&
                 turn.getInput() == block.getArgument(0);
  return isAlone && kernel::putsChannelsFirst(turn) ? turn
                                                    : graph::TransposeOp();
}

/// Whether a function's tiles can be stored turned, and are long enough that
/// their pixels fill vectors.
bool mayTurn(kernel::FuncOp function) {
  constexpr int64_t fewestPixels = 8;
  if (!function || function.getSchedule() != "DirectConv" ||
      function->hasAttr(kernel::otherwise))
    return false;
  auto conv =
      dyn_cast_if_present<graph::ConvOp>(kernel::findRoot(function.getBlock()));
  auto tail = conv ? kernel::channelTailOf(conv) : std::nullopt;
  std::string why;
  std::optional<kernel::DirectConvView> view =
      tail ? kernel::directConvViewOf(conv, why) : std::nullopt;
  return view && !tail->turn && function.getYielded()[0] == tail->last &&
         view->pixels().count >= fewestPixels;
}

struct StoreTurned : impl::StoreTurnedPassBase<StoreTurned> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<kernel::CallOp> turns;
    getOperation().walk([&](kernel::CallOp call) {
      auto producer = call.getOperands().empty()
                          ? kernel::CallOp()
                          : call.getOperand(0).getDefiningOp<kernel::CallOp>();
      if (producer && call.getOperand(0).hasOneUse() &&
          turnOf(calleeOf(symbols, call)) &&
          mayTurn(calleeOf(symbols, producer)))
        turns.push_back(call);
    });
    llvm::SmallSetVector<Operation *, 8> left;
    for (kernel::CallOp turn : turns) {
      auto conv = turn.getOperand(0).getDefiningOp<kernel::CallOp>();
      left.insert(calleeOf(symbols, conv));
      left.insert(calleeOf(symbols, turn));
      join(symbols, conv, turn);
    }
    for (Operation *function : left)
      if (SymbolTable::symbolKnownUseEmpty(function, getOperation()))
        symbols.erase(function);
  }

private:
  static kernel::FuncOp calleeOf(SymbolTable &symbols, kernel::CallOp call) {
    return symbols.lookup<kernel::FuncOp>(call.getCallee());
  }

  /// A copy of a convolution's function that ends with a transposition.
  kernel::FuncOp turned(SymbolTable &symbols, kernel::FuncOp conv,
                        graph::TransposeOp turn) {
    kernel::FuncOp &copy = copies[conv];
    if (copy)
      return copy;
    copy = conv.clone();
    copy.setSymName((conv.getSymName() + "_turned").str());
    symbols.insert(copy, std::next(conv->getIterator()));
    Operation *yield = copy.getBlock().getTerminator();
    OpBuilder builder(yield);
    yield->setOperand(0, graph::TransposeOp::create(builder, turn.getLoc(),
                                                    yield->getOperand(0),
                                                    turn.getPermutation()));
    return copy;
  }

  void join(SymbolTable &symbols, kernel::CallOp conv, kernel::CallOp turn) {
    kernel::FuncOp callee = turned(symbols, calleeOf(symbols, conv),
                                   turnOf(calleeOf(symbols, turn)));
    OpBuilder builder(turn);
    auto call = kernel::CallOp::create(
        builder, conv.getLoc(), turn.getResultTypes(), callee.getSymName(),
        conv.getOperands(), conv.getParamsAttr());
    auto nodesOf = [](kernel::CallOp call) {
      auto nodes = call->getAttrOfType<ArrayAttr>("nodes");
      return nodes ? nodes.getValue() : ArrayRef<Attribute>();
    };
    if (conv->hasAttr("nodes"))
      call->setAttr("nodes", builder.getArrayAttr(
                                 llvm::to_vector(llvm::concat<const Attribute>(
                                     nodesOf(conv), nodesOf(turn)))));
    turn.replaceAllUsesWith(call.getResults());
    turn.erase();
    conv.erase();
  }

  llvm::DenseMap<Operation *, kernel::FuncOp> copies;
};

} // namespace
} // namespace tenon
