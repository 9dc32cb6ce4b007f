//===- ExtendConcats.cpp - Concatenations go on from shorter ones ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each layer of a dense block reads all features before it, concatenated. That
// is what the layer before reads and one more: two operands instead of dozens,
// each of which is a stream of short rows, and features are needed no longer
// when they have been copied once.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "dialects/Graph/Graph.h"
#include <map>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_EXTENDCONCATSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// Of more operands all beginnings are too much to look at.
constexpr size_t mostInputs = 128;

struct ExtendConcats : impl::ExtendConcatsPassBase<ExtendConcats> {
  void runOnOperation() override {
    for (Block &block : getOperation().getBody())
      extend(block);
  }

private:
  using Inputs = std::vector<void *>;

  static void extend(Block &block) {
    // By what they had for operands.
    std::map<std::pair<uint64_t, Inputs>, Value> known;
    for (auto op : block.getOps<graph::ConcatOp>()) {
      size_t count = op.getInputs().size();
      if (count > mostInputs)
        continue;
      Inputs inputs;
      for (Value input : op.getInputs())
        inputs.push_back(input.getAsOpaquePointer());
      Inputs all = inputs;
      while (inputs.size() > 2) {
        inputs.pop_back();
        auto found = known.find({op.getAxis(), inputs});
        if (found == known.end())
          continue;
        SmallVector<Value> operands = {found->second};
        llvm::append_range(operands, op.getInputs().drop_front(inputs.size()));
        op->setOperands(operands);
        break;
      }
      known.try_emplace({op.getAxis(), std::move(all)}, op.getResult());
    }
  }
};

} // namespace
} // namespace tenon
