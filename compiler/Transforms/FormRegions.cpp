//===- FormRegions.cpp - Decide which ops share a kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/OperandViews.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/RowMoves.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/PointwiseView.h"
#include "dialects/Kernel/StridedView.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_FORMREGIONSPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {
using kernel::Role;
using kernel::roleOf;

/// Ops that become one kernel, in block order, and their only root.
struct Group {
  llvm::SetVector<Operation *> ops;
  Operation *root = nullptr;
  Value also; // What it gives beside its last op's result, if anything.
};

bool isView(Operation *op) { return isa<graph::ReshapeOp>(op); }

bool formsKernel(Operation *op) {
  Role role = roleOf(op);
  return role != Role::Foreign && role != Role::Constant && !isView(op);
}

/// Roots that compute each element of their operand once.
bool readsOnce(Operation *op) {
  return isa<graph::SoftmaxOp, graph::LogSoftmaxOp, graph::LayerNormOp,
             graph::RmsNormOp, graph::ReduceOp, graph::ArgReduceOp,
             graph::QuantizeRowsOp>(op);
}

/// Roots that store their result through a transpose as well as without.
bool writesThroughViews(Operation *op) { return isa<graph::AttentionOp>(op); }

/// Whether elements of a transpose's last axis stay one behind the other.
bool keepsRows(Operation *transpose) {
  ArrayRef<int64_t> order =
      cast<graph::TransposeOp>(transpose).getPermutation();
  return !order.empty() && order.back() == int64_t(order.size()) - 1;
}

/// Roots whose kernels read vectors of the last axis.
bool worksAlongRows(Operation *op) {
  int64_t last = graph::getRank(op->getResult(0)) - 1;
  if (auto softmax = dyn_cast<graph::SoftmaxOp>(op))
    return int64_t(softmax.getAxis()) == last;
  if (auto softmax = dyn_cast<graph::LogSoftmaxOp>(op))
    return int64_t(softmax.getAxis()) == last;
  return isa<graph::LayerNormOp, graph::QuantizeRowsOp, graph::RmsNormOp>(op);
}

/// Movement that is as cheap inside a pointwise loop as by itself.
bool isCheapMovement(Operation *op) {
  return isa<graph::BroadcastOp, graph::SliceOp, graph::TransposeOp,
             graph::WindowsOp>(op);
}

class RegionBuilder {
public:
  RegionBuilder(Block &block, bool isCuda, bool explain)
      : block(block), isCuda(isCuda), explain(explain) {}

  void run() {
    views = copyOperandViews(block, isCuda);
    for (Operation &op : block)
      if (formsKernel(&op) && !views.contains(&op))
        place(&op);
    // Consumers come later in the block, so a group is built where its last
    // op stands; operands of the group all lie before.
    for (auto &group : groups)
      if (group->root && !group->ops.empty())
        leaveWidening(*group);
    SmallVector<Group *> pending;
    for (auto &group : groups)
      if (!group->ops.empty())
        pending.push_back(group.get());
    if (explain)
      for (Group *group : pending)
        remarkOnEnd(group->ops.back());
    for (Group *group : pending)
      build(*group);
    wrapConstants();
    dropDeadConstants();
  }

private:
  /// Whether kernels of a root, if any, store a second result beside the first.
  bool givesTwo(Operation *root) const {
    if (!root || isa<graph::LayerNormOp, graph::RmsNormOp>(root))
      return true;
    auto matmul = dyn_cast<graph::MatmulOp>(root);
    return isCuda && (isa<graph::ConvOp>(root) ||
                      (matmul && !kernel::turnBehind(matmul)));
  }

  /// What makes fewer bits of f32 and ends with `op`, first to last: a cast, or
  /// a product with a factor that is quantized. Empty for others.
  SmallVector<Operation *> roundingOf(Operation *op) const {
    if (isa<graph::CastOp>(op) && isStoredIn16Bits(op->getResult(0), isCuda))
      return {op};
    auto quantize = dyn_cast<graph::QuantizeOp>(op);
    if (!quantize || isCuda)
      return {};
    auto scaled = quantize.getInput().getDefiningOp<graph::MulOp>();
    Group *group = scaled ? groupOf.lookup(scaled) : nullptr;
    if (!group || !scaled->hasOneUse() || group->ops.size() != 1)
      return {};
    return {scaled, op};
  }

  /// Whether nothing lies between two ops but what the model holds.
  static bool isBehind(Operation *first, Operation *second) {
    do
      first = first->getNextNode();
    while (first &&
           (isa<graph::WeightOp>(first) || roleOf(first) == Role::Constant));
    return first == second;
  }

  /// Puts a rounding of what others read too into the kernel that makes it,
  /// which then stores both.
  bool joinRounding(Operation *op) {
    SmallVector<Operation *> ops = roundingOf(op);
    Value value = ops.empty() ? Value() : ops.front()->getOperand(0);
    Operation *producer = value ? value.getDefiningOp() : nullptr;
    auto found = groupOf.find(producer);
    if (!producer || found == groupOf.end() ||
        !graph::getElementType(value).isF32() || producer->hasOneUse() ||
        graph::getDims(value) != graph::getDims(op->getResult(0)) ||
        !isBehind(producer, ops.front()) ||
        (ops.size() > 1 && !isBehind(ops.front(), op)))
      return false;
    Group &group = *found->second;
    if (group.ops.back() != producer || group.also || !givesTwo(group.root) ||
        group.ops.size() + ops.size() > maxOps)
      return false;
    for (Operation *each : ops) {
      if (Group *own = groupOf.lookup(each))
        own->ops.clear();
      group.ops.insert(each);
      groupOf[each] = &group;
    }
    group.also = value;
    return true;
  }

  /// Puts what makes bytes of a norm's rows into the norm's kernel, which
  /// stores the rows too where others read them.
  bool joinBytes(Operation *op) {
    auto bytes = dyn_cast<graph::QuantizeRowsOp>(op);
    Value rows = bytes ? bytes.getInput() : Value();
    Operation *producer = rows ? rows.getDefiningOp() : nullptr;
    auto found = groupOf.find(producer);
    if (isCuda || !producer || found == groupOf.end())
      return false;
    Group &group = *found->second;
    Operation *root = group.root;
    bool isRead = !producer->hasOneUse();
    if (!root || !kernel::givesRows(root) || group.also ||
        group.ops.back() != producer ||
        !graph::getElementType(root->getResult(0)).isF32() ||
        graph::getDims(root->getResult(0)) != graph::getDims(rows) ||
        (isRead && !isBehind(producer, op)) || group.ops.size() >= maxOps)
      return false;
    group.ops.insert(op);
    groupOf[op] = &group;
    if (isRead)
      group.also = rows;
    return true;
  }

  /// Starts a group with `op`, then takes in the groups of its producers.
  void place(Operation *op) {
    if (joinRounding(op) || joinBytes(op))
      return;
    groups.push_back(std::make_unique<Group>());
    Group &group = *groups.back();
    if (roleOf(op) == Role::Root)
      group.root = op;
    groupOf[op] = &group;
    // Again while one operand lets another one in: x * f(x).
    for (size_t before = 0; before <= group.ops.size();) {
      before = group.ops.size() + 1;
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          take(group, op, producer);
    }
    if (graph::isPointwise(op) || readsOnce(op) || movesRows(op))
      for (Value operand : op->getOperands())
        takeRows(group, op, operand);
    takeHalved(group, op);
    group.ops.insert(op);
  }

  /// Takes in the product whose two halves meet in the group that `consumer`
  /// completes.
  void takeHalved(Group &group, Operation *consumer) {
    if (group.root || !graph::isPointwise(consumer))
      return;
    for (Operation *op : group.ops) {
      auto slice = dyn_cast<graph::SliceOp>(op);
      auto matmul = slice ? slice.getInput().getDefiningOp<graph::MatmulOp>()
                          : graph::MatmulOp();
      auto halves = matmul ? kernel::columnHalvesOf(matmul)
                           : std::optional<kernel::ColumnHalves>();
      Group *other = halves ? groupOf.lookup(matmul) : nullptr;
      if (!other || other->ops.back() != matmul ||
          !group.ops.contains(halves->low) ||
          !group.ops.contains(halves->high) ||
          !isReadTogether(group, consumer, {halves->low, halves->high}) ||
          group.ops.size() + other->ops.size() >= maxOps)
        continue;
      group.root = matmul;
      return moveInto(group, *other);
    }
  }

  void moveInto(Group &group, Group &other) {
    for (Operation *op : other.ops) {
      group.ops.insert(op);
      groupOf[op] = &group;
    }
    other.ops.clear();
  }

  void take(Group &group, Operation *op, Operation *producer) {
    if (views.contains(producer)) {
      // A chain that only this op reads, all of it.
      SmallVector<Operation *> links = {producer};
      while (!links.empty()) {
        Operation *link = links.pop_back_val();
        takeView(group, link);
        for (Value operand : link->getOperands())
          if (Operation *next = operand.getDefiningOp();
              next && views.contains(next))
            links.push_back(next);
      }
    } else if (graph::isPointwise(op) || readsOnce(op)) {
      absorb(group, op, producer);
    } else if (isa<graph::TransposeOp>(op)) {
      auto found = groupOf.find(producer);
      if (found != groupOf.end() && producer->hasOneUse() &&
          storesThrough(*found->second, op))
        absorb(group, op, producer);
    } else if (auto append = dyn_cast<graph::AppendOp>(op)) {
      takeRounding(group, append);
    } else if (padsTurned(op)) {
      Group *other = groupOf.lookup(producer);
      if (other && other != &group && other->ops.size() == 1)
        moveInto(group, *other);
    }
  }

  /// Whether an op pads channels of planes that CPUs turn, which write more of
  /// them as they do.
  bool padsTurned(Operation *op) const {
    return !isCuda && isa<graph::PadOp>(op) && kernel::turnedChannelsOf(op);
  }

  /// New rows of a cache in fewer bits are rounded as they are written, from
  /// where they lie.
  void takeRounding(Group &group, graph::AppendOp append) {
    Operation *rounding = append.getRows().getDefiningOp();
    if (!isa_and_present<graph::CastOp, graph::QuantizeOp>(rounding))
      return;
    Group *other = groupOf.lookup(rounding);
    if (!other || other == &group || !rounding->hasOneUse() ||
        !llvm::all_of(other->ops, [&](Operation *op) {
          return op == rounding || kernel::isViewOp(op);
        }))
      return;
    moveInto(group, *other);
  }

  /// Leaves what widens bytes at the end of a root's kernel to the one that
  /// reads it, if that is one that computes element by element.
  void leaveWidening(Group &group) {
    auto widening = dyn_cast<graph::DequantizeOp>(group.ops.back());
    auto bytes = widening
                     ? widening.getInput().getDefiningOp<graph::QuantizeOp>()
                     : graph::QuantizeOp();
    if (!bytes || group.also || !group.ops.contains(bytes) ||
        !bytes->hasOneUse())
      return;
    Group *reader = nullptr;
    for (Operation *user : widening->getUsers()) {
      Group *own = groupOf.lookup(user);
      if (!own || (reader && own != reader) || !graph::isPointwise(user) ||
          graph::getDims(user->getResult(0)) != graph::getDims(bytes))
        return;
      reader = own;
    }
    if (!reader || reader->ops.size() >= maxOps)
      return;
    group.ops.remove(widening);
    takeView(*reader, widening);
  }

  void takeView(Group &group, Operation *op) {
    group.ops.insert(op);
    groupOf[op] = &group;
  }

  /// Whether the root of a group stores what the group computes through
  /// `transpose` as well as without.
  bool storesThrough(const Group &group, Operation *transpose) const {
    if (auto matmul = dyn_cast_if_present<graph::MatmulOp>(group.root))
      return kernel::turnBehind(matmul) == transpose;
    if (!group.root || !writesThroughViews(group.root) || !keepsRows(transpose))
      return false;
    Operation *producer = transpose->getOperand(0).getDefiningOp();
    if (roundsWhole(producer))
      producer = producer->getOperand(0).getDefiningOp();
    return producer == group.root;
  }

  /// Takes in a kernel that only puts rows elsewhere, through reshapes: where
  /// a row lies is computed once, and its elements follow each other.
  void takeRows(Group &group, Operation *op, Value operand) {
    SmallVector<Operation *> between;
    Operation *producer = operand.getDefiningOp();
    for (; producer && isView(producer) && movesRows(producer);
         producer = producer->getOperand(0).getDefiningOp()) {
      if (!producer->hasOneUse() || producer->getBlock() != &block)
        return;
      between.push_back(producer);
    }
    auto found = groupOf.find(producer);
    if (!producer || found == groupOf.end() || found->second == &group)
      return;
    Group &other = *found->second;
    bool onlyRows = !other.also && llvm::all_of(other.ops, movesRows) &&
                    other.ops.back() == producer && producer->hasOneUse();
    // The tiles of other roots would read them element by element.
    if (!onlyRows || (group.root && !readsOnce(group.root)) ||
        (!movesRows(op) && graph::getDims(operand) != dimsReadBy(op)) ||
        group.ops.size() + between.size() + other.ops.size() >= maxOps)
      return;
    for (Operation *each :
         llvm::concat<Operation *const>(other.ops, llvm::reverse(between))) {
      group.ops.insert(each);
      groupOf[each] = &group;
    }
    other.ops.clear();
  }

  /// Moves the producer's group into the consumer's unless something is
  /// against it.
  void absorb(Group &group, Operation *consumer, Operation *producer) {
    auto found = groupOf.find(producer);
    if (found == groupOf.end() || found->second == &group)
      return;
    Group &other = *found->second;
    if (std::optional<std::string> why =
            refusal(group, consumer, other, producer)) {
      refusals[producer] = *why;
      return;
    }
    group.root = group.root ? group.root : other.root;
    moveInto(group, other);
  }

  /// Why the producer's group may not join the consumer's: that would be
  /// illegal, or something would be computed twice.
  std::optional<std::string> refusal(const Group &group, Operation *consumer,
                                     const Group &other, Operation *producer) {
    if (group.root && other.root)
      return "its user already shares a kernel with " + quoted(group.root) +
             ", and a kernel has one root";
    if (other.root && isStoredNarrow(producer, consumer))
      return "it stores 16 bits, which its user widens";
    if (producer->getBlock() != &block)
      return "its user is in a branch of an If";
    if (producer->getNumResults() != 1 || other.also)
      return "it has several results";
    if (!isReadTogether(group, consumer, {producer}))
      return "its result has several users";
    if (other.root && writesThroughViews(other.root) &&
        !isa<graph::TransposeOp>(consumer) && !roundsWhole(consumer))
      return quoted(other.root) + " is followed by nothing but views";
    if (!isa<graph::TransposeOp>(consumer) &&
        graph::getDims(producer->getResult(0)) != dimsReadBy(consumer))
      return "the sizes of its user are not proven to be its own";
    bool isRotation = isa<graph::RotaryOp>(producer) && roundsWhole(consumer);
    if (roleOf(producer) == Role::Movement && !isCheapMovement(producer) &&
        !isRotation && !padsTurned(producer))
      return "its elements are found by a search";
    if (worksAlongRows(consumer) && llvm::any_of(other.ops, [](Operation *op) {
          return isa<graph::TransposeOp>(op) && !keepsRows(op);
        }))
      return quoted(consumer) + " would read its rows element by element";
    if (group.ops.size() + other.ops.size() >= maxOps)
      return "the kernel would have more than " + std::to_string(maxOps) +
             " ops";
    return std::nullopt;
  }

  /// Whether a CPU's kernel is to end where a value is rounded, and that of its
  /// reader to begin where it is widened.
  bool isStoredNarrow(Operation *producer, Operation *consumer) const {
    auto rounding = dyn_cast<graph::CastOp>(producer);
    return !isCuda && rounding && isa<graph::CastOp>(consumer) &&
           graph::getElementType(rounding.getInput()).isF32() &&
           kernel::behindWidening(consumer->getResult(0)) ==
               rounding.getResult() &&
           isStoredIn16Bits(rounding.getResult(), isCuda);
  }

  /// Whether an op makes 16 bits of f32 in a kernel that stores those.
  bool roundsWhole(Operation *op) const {
    auto cast = dyn_cast<graph::CastOp>(op);
    return cast && isCuda && isStoredIn16Bits(cast.getResult(), isCuda) &&
           graph::getElementType(cast.getInput()).isF32();
  }

  /// Whether results of producers, of equal sizes, are read by the consumer
  /// alone, at once or through ops of its group that read the same element.
  bool isReadTogether(const Group &group, Operation *consumer,
                      ArrayRef<Operation *> producers) {
    SmallVector<graph::Expr> dims = graph::getDims(producers[0]->getResult(0));
    llvm::SetVector<Operation *> between(producers.begin(), producers.end());
    for (size_t i = 0; i < between.size(); ++i)
      for (Operation *user : between[i]->getUsers()) {
        if (user == consumer)
          continue;
        if (!graph::isPointwise(consumer) || !graph::isPointwise(user) ||
            !group.ops.contains(user) ||
            graph::getDims(user->getResult(0)) != dims)
          return false;
        between.insert(user);
      }
    return true;
  }

  /// The sizes of the loop in which an op reads its operands.
  static SmallVector<graph::Expr> dimsReadBy(Operation *op) {
    return graph::getDims(readsOnce(op) ? op->getOperand(0) : op->getResult(0));
  }

  static std::string quoted(Operation *op) {
    return "'" + op->getName().getStringRef().str() + "'";
  }

  /// Says why a kernel ends with `op` and does not go on into its user.
  void remarkOnEnd(Operation *op) {
    std::string why;
    SmallPtrSet<Operation *, 4> users(op->user_begin(), op->user_end());
    Operation *user = users.empty() ? nullptr : *users.begin();
    if (!user)
      why = "its result has no user";
    else if (users.size() > 1)
      why = "its result has several users";
    else if (isa<func::ReturnOp, graph::YieldOp>(user))
      why = "its result is returned";
    else if (auto found = refusals.find(op); found != refusals.end())
      why = found->second;
    else if (user->getBlock() != &block)
      why = "its user is in a branch of an If";
    else if (isView(user))
      why = "its user " + quoted(user) + " only renames the memory";
    else
      why = "its user " + quoted(user) + " does not read it element by element";
    op->emitRemark("kernel ends here: ") << why;
  }

  void build(Group &group) {
    SmallVector<Operation *> ops = group.ops.takeVector();
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    Operation *last = ops.back();
    llvm::SmallPtrSet<Operation *, 16> inside(ops.begin(), ops.end());

    llvm::SetVector<Value> operands;
    llvm::SetVector<Operation *> constants;
    for (Operation *op : ops)
      for (Value operand : op->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (producer && inside.contains(producer))
          continue;
        if (producer && isInlined(producer))
          constants.insert(producer);
        else
          operands.insert(operand);
      }

    OpBuilder builder(last);
    Location loc = last->getLoc();
    SmallVector<Value> results(last->getResults());
    if (group.also)
      results.insert(results.begin(), group.also);
    auto region = kernel::RegionOp::create(
        builder, loc, ValueRange(results).getTypes(), operands.getArrayRef());
    Block *body = builder.createBlock(&region.getBody());
    IRMapping map;
    for (Value operand : operands)
      map.map(operand, body->addArgument(operand.getType(), operand.getLoc()));
    for (Operation *op : constants)
      builder.clone(*op, map);
    for (Operation *op : ops)
      builder.clone(*op, map);
    SmallVector<Value> yielded;
    for (Value result : results)
      yielded.push_back(map.lookup(result));
    kernel::YieldOp::create(builder, loc, yielded);
    for (auto [result, made] : llvm::zip(results, region.getResults()))
      result.replaceUsesWithIf(made, [&](OpOperand &use) {
        return !inside.contains(use.getOwner());
      });
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }

  /// A few numbers are copied into the kernels that read them; more are data,
  /// so that layers that differ by them still share a kernel.
  static bool isInlined(Operation *op) {
    if (isa<graph::SizesOp, graph::IotaOp>(op))
      return true;
    auto constant = dyn_cast<graph::ConstantOp>(op);
    return constant &&
           cast<ShapedType>(constant.getType()).getNumElements() <= 4;
  }

  /// Numbers that something else than a kernel reads need a buffer, so a kernel
  /// writes them. (A `constant` is data of the artifact instead.)
  void wrapConstants() {
    SmallVector<Operation *> left;
    for (Operation &op : block)
      if (isa<graph::SizesOp, graph::IotaOp>(op) && !op.use_empty())
        left.push_back(&op);
    for (Operation *op : left) {
      Group group;
      group.ops.insert(op);
      build(group);
    }
  }

  void dropDeadConstants() {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (roleOf(&op) == Role::Constant && op.use_empty())
        op.erase();
  }

  /// Longer chains gain nothing and make code that compiles slowly.
  static constexpr size_t maxOps = 32;

  Block &block;
  bool isCuda, explain;
  SmallVector<std::unique_ptr<Group>> groups;
  llvm::DenseMap<Operation *, Group *> groupOf;
  llvm::DenseMap<Operation *, std::string> refusals;
  llvm::DenseSet<Operation *> views; // Copies that one root reads.
};

struct FormRegions : impl::FormRegionsPassBase<FormRegions> {
  using FormRegionsPassBase::FormRegionsPassBase;

  void runOnOperation() override {
    if (target != "cpu" && target != "cuda") {
      getOperation().emitError("there is no target '") << target << "'";
      return signalPassFailure();
    }
    SmallVector<Block *> blocks = {&getOperation().getBody().front()};
    getOperation().walk<WalkOrder::PreOrder>([&](graph::IfOp op) {
      blocks.push_back(&op.getThenRegion().front());
      blocks.push_back(&op.getElseRegion().front());
    });
    // Inner blocks first: they copy the constants that they read, so that
    // what is left in outer blocks is what needs a buffer.
    for (Block *block : llvm::reverse(blocks))
      RegionBuilder(*block, target == "cuda", explain).run();
  }
};

} // namespace
} // namespace tenon
