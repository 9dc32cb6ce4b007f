//===- MergeMatmuls.cpp - Products of one value become one product --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Members of a merge multiply the same value by weights that nothing else
// reads. The weights are set side by side, which fold-constants then does to
// their bytes; the old ones have no user left and are not written.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "dialects/Kernel/StridedView.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_MERGEMATMULSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

/// A product, and the sum of it and a bias where there is one.
struct Member {
  graph::MatmulOp matmul;
  Value bias; // Null: none.
  Value result;

  graph::WeightOp weight() {
    return matmul.getRhs().getDefiningOp<graph::WeightOp>();
  }
  int64_t columns() {
    return cast<RankedTensorType>(matmul.getRhs().getType()).getDimSize(1);
  }
};

/// Whether a constant is one row, of `columns` numbers.
bool isRow(Value value, int64_t columns) {
  auto type = cast<RankedTensorType>(value.getType());
  return isa_and_present<graph::WeightOp, graph::ConstantOp>(
             value.getDefiningOp()) &&
         type.hasStaticShape() && type.getRank() > 0 &&
         type.getNumElements() == columns && type.getShape().back() == columns;
}

Member memberOf(graph::MatmulOp matmul) {
  Member member{matmul, {}, matmul.getResult()};
  if (!matmul.getResult().hasOneUse())
    return member;
  auto add = dyn_cast<graph::AddOp>(*matmul.getResult().user_begin());
  if (!add || add.getResult().getType() != matmul.getResult().getType() ||
      add->getBlock() != matmul->getBlock())
    return member;
  Value other =
      add.getLhs() == matmul.getResult() ? add.getRhs() : add.getLhs();
  if (isRow(other, member.columns()))
    member = {matmul, other, add.getResult()};
  return member;
}

/// Whether two results of equal sizes meet in one pointwise op, and nothing
/// else reads them or what is computed of them on the way there: a gate and
/// what it gates.
bool meet(Value first, Value second) {
  constexpr size_t maxOps = 16;
  SmallVector<graph::Expr> dims = graph::getDims(first);
  llvm::SetVector<Operation *> done;
  SmallVector<Value> values = {first, second};
  while (done.size() < maxOps) {
    // The next reader in the block, until it is the only one.
    Operation *next = nullptr;
    bool isOnly = true;
    for (Value value : values)
      for (Operation *user : value.getUsers()) {
        if (done.contains(user))
          continue;
        if (!graph::isPointwise(user) ||
            user->getBlock() != first.getParentBlock() ||
            graph::getDims(user->getResult(0)) != dims)
          return false;
        isOnly = isOnly && (!next || next == user);
        if (!next || user->isBeforeInBlock(next))
          next = user;
      }
    if (!next)
      return false;
    if (isOnly)
      return llvm::none_of(values,
                           [](Value value) { return value.use_empty(); });
    done.insert(next);
    values.push_back(next->getResult(0));
  }
  return false;
}

/// Whether every reader takes a slice as it lies, through ops that only rename
/// positions: those of attention and products, and those that write what they
/// read to another place anyway.
bool isReadInPlace(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return isa<graph::AttentionOp, graph::ConcatOp, graph::MatmulOp,
               graph::RotaryOp, graph::TransposeOp>(user) ||
           (kernel::isViewOp(user) && isReadInPlace(user->getResult(0)));
  });
}

/// attention(q * c) -> attention(q) of c times the scale: the product that
/// makes q has no reader of its own then.
void liftFactor(graph::AttentionOp op) {
  Value query = op.getQuery();
  while (query.getDefiningOp() && kernel::isViewOp(query.getDefiningOp()) &&
         query.hasOneUse())
    query = query.getDefiningOp()->getOperand(0);
  auto mul = query.getDefiningOp<graph::MulOp>();
  if (!mul || !query.hasOneUse() || !graph::getElementType(query).isF32())
    return;
  for (auto [value, factor] : {std::pair(mul.getLhs(), mul.getRhs()),
                               std::pair(mul.getRhs(), mul.getLhs())}) {
    auto constant = factor.getDefiningOp<graph::ConstantOp>();
    auto numbers = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue())
                            : DenseFPElementsAttr();
    if (!numbers || numbers.getNumElements() != 1 ||
        value.getType() != query.getType())
      continue;
    double scale = op.getScale().convertToDouble() *
                   numbers.getSplatValue<APFloat>().convertToDouble();
    if (!std::isfinite(scale))
      return;
    op.setScale(APFloat(scale));
    query.replaceAllUsesWith(value);
    return mul.erase();
  }
}

class Merger {
public:
  Merger(func::FuncOp function, bool explain)
      : function(function), explain(explain) {}

  void run() {
    function.walk(liftFactor);
    function.walk([&](graph::WeightOp op) {
      readers[op.getName()] += llvm::range_size(op.getResult().getUses());
    });
    llvm::MapVector<std::pair<Block *, Value>, SmallVector<graph::MatmulOp>>
        byOperand;
    function.walk([&](graph::MatmulOp op) {
      if (op.getRhs().getDefiningOp<graph::WeightOp>())
        byOperand[{op->getBlock(), op.getLhs()}].push_back(op);
    });
    for (auto &[key, matmuls] : byOperand)
      if (matmuls.size() > 1)
        consider(matmuls);
    dropSharedWeights();
    for (Merge &each : merges)
      if (each.members.size() > 1)
        merge(each.members);
  }

private:
  /// Products that become one.
  struct Merge {
    SmallVector<Member> members;

    std::string weights() const {
      std::string names;
      for (Member member : members)
        names += (member.weight().getName() + "\n").str();
      return names;
    }
  };

  void consider(ArrayRef<graph::MatmulOp> matmuls) {
    Merge slices;
    for (size_t i = 0; i < matmuls.size(); ++i) {
      graph::MatmulOp matmul = matmuls[i];
      graph::MatmulOp next = i + 1 < matmuls.size() ? matmuls[i + 1] : nullptr;
      if (next && areHalves(matmul, next)) {
        merges.push_back(
            {{{matmul, {}, matmul.getResult()}, {next, {}, next.getResult()}}});
        ++i;
        continue;
      }
      Member member = memberOf(matmul);
      if (std::optional<StringRef> why = refusal(member))
        refuse(member, *why);
      else
        slices.members.push_back(member);
    }
    merges.push_back(slices);
  }

  /// A weight has to be in the same company wherever it is read, as in the
  /// branches of an If: else it would be stored twice.
  void dropSharedWeights() {
    // Without one, another's company changes; few rounds are enough.
    bool isStable = false;
    for (int round = 0; round < 8 && !isStable; ++round) {
      isStable = true;
      llvm::StringMap<size_t> equal;
      for (const Merge &each : merges)
        ++equal[each.weights()];
      for (Merge &each : merges) {
        size_t wanted = equal[each.weights()];
        llvm::erase_if(each.members, [&](Member &member) {
          if (readers.lookup(member.weight().getName()) == wanted)
            return false;
          refuse(member, "something else reads its weight");
          isStable = false;
          return true;
        });
      }
    }
    if (!isStable)
      merges.clear();
  }

  void refuse(Member &member, StringRef why) {
    if (explain)
      member.matmul.emitRemark("is not merged with the other products of its "
                               "operand: ")
          << why;
  }

  /// Whether two products become the halves of one, which a kernel combines.
  bool areHalves(graph::MatmulOp first, graph::MatmulOp second) {
    return !refusalOfWeight(first) && !refusalOfWeight(second) &&
           first.getResult().getType() == second.getResult().getType() &&
           meet(first.getResult(), second.getResult());
  }

  std::optional<StringRef> refusalOfWeight(graph::MatmulOp matmul) {
    auto type = cast<RankedTensorType>(matmul.getRhs().getType());
    if (type.getRank() != 2 || !type.hasStaticShape())
      return "its weight has not two axes";
    if (type.getNumElements() == 0)
      return "its weight is empty";
    return std::nullopt;
  }

  std::optional<StringRef> refusal(Member &member) {
    if (std::optional<StringRef> why = refusalOfWeight(member.matmul))
      return why;
    if (member.result.use_empty())
      return "nothing reads its result";
    if (!isReadInPlace(member.result))
      return "a reader of its result would need a copy of a slice";
    return std::nullopt;
  }

  /// The members' biases end to end, zeros for one that has none; null when
  /// there is none at all.
  Value mergeBiases(OpBuilder &builder, Location loc,
                    MutableArrayRef<Member> members) {
    if (llvm::none_of(members, [](Member &member) { return member.bias; }))
      return {};
    Type element = graph::getElementType(members[0].result);
    SmallVector<Value> rows;
    for (Member &member : members) {
      auto type = RankedTensorType::get({member.columns()}, element);
      if (!member.bias)
        rows.push_back(graph::ConstantOp::create(
            builder, loc, type,
            cast<ElementsAttr>(Attribute(
                SplatElementsAttr::get(type, builder.getZeroAttr(element))))));
      else if (member.bias.getType() == type)
        rows.push_back(member.bias);
      else
        rows.push_back(
            graph::ReshapeOp::create(builder, loc, type, member.bias));
    }
    return concat(builder, loc, rows, 0);
  }

  Value concat(OpBuilder &builder, Location loc, ArrayRef<Value> values,
               int64_t axis) {
    auto type = cast<RankedTensorType>(values[0].getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = 0;
    for (Value value : values)
      shape[axis] += cast<RankedTensorType>(value.getType()).getDimSize(axis);
    return graph::ConcatOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        values, builder.getI64IntegerAttr(axis));
  }

  void merge(MutableArrayRef<Member> members) {
    MLIRContext *context = function.getContext();
    Operation *first = members[0].matmul;
    SmallVector<Location> locs;
    SmallVector<Value> weights;
    int64_t columns = 0;
    for (Member &member : members) {
      locs.push_back(member.matmul.getLoc());
      weights.push_back(member.matmul.getRhs());
      columns += member.columns();
      // Only up: what stands before it may read a bias, too.
      for (Value constant : {Value(member.matmul.getRhs()), member.bias})
        if (constant &&
            constant.getDefiningOp()->getBlock() == first->getBlock() &&
            first->isBeforeInBlock(constant.getDefiningOp()))
          constant.getDefiningOp()->moveBefore(first);
    }
    OpBuilder builder(first);
    Location loc = locs[0];
    auto withColumns = [&](Expr size) {
      SmallVector<Expr> dims = graph::getDims(members[0].result);
      dims.back() = size;
      return graph::tensorOf(dims, graph::getElementType(members[0].result));
    };
    auto number = [&](int64_t value) { return Expr::constant(context, value); };
    Value merged = graph::MatmulOp::create(
        builder, FusedLoc::get(context, locs), withColumns(number(columns)),
        members[0].matmul.getLhs(), concat(builder, loc, weights, 1));
    if (Value bias = mergeBiases(builder, loc, members))
      merged = graph::AddOp::create(builder, FusedLoc::get(context, locs),
                                    merged.getType(), merged, bias);
    int64_t from = 0;
    for (Member &member : members) {
      size_t rank = graph::getRank(merged);
      SmallVector<Expr> starts(rank, number(0)), steps(rank, number(1));
      starts.back() = number(from);
      from += member.columns();
      Value slice = graph::SliceOp::create(
          builder, member.result.getLoc(), member.result.getType(), merged,
          graph::DimsAttr::get(context, starts),
          graph::DimsAttr::get(context, steps));
      member.result.replaceAllUsesWith(slice);
    }
    for (Member &member : members) {
      if (member.bias)
        member.result.getDefiningOp()->erase();
      member.matmul.erase();
    }
  }

  using Expr = graph::Expr;
  func::FuncOp function;
  bool explain;
  llvm::StringMap<size_t> readers; // Of each weight.
  SmallVector<Merge> merges;
};

struct MergeMatmuls : impl::MergeMatmulsPassBase<MergeMatmuls> {
  using MergeMatmulsPassBase::MergeMatmulsPassBase;

  void runOnOperation() override { Merger(getOperation(), explain).run(); }
};

} // namespace
} // namespace tenon
