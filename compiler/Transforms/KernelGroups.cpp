//===- KernelGroups.cpp - Which ops of a block share a kernel -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/KernelGroups.h"
#include "compiler/Transforms/GroupRules.h"
#include "compiler/Transforms/OperandViews.h"
#include "compiler/Transforms/RowMoves.h"
#include "dialects/Kernel/MatmulView.h"
#include "dialects/Kernel/PointwiseView.h"
#include "dialects/Kernel/StridedView.h"

using namespace mlir;

namespace tenon {
namespace {

using kernel::Role;
using kernel::roleOf;

/// Sorts ops into groups, consumers behind what they read.
class Grouping {
public:
  Grouping(Block &block, bool isCuda) : block(block), isCuda(isCuda) {}

  KernelGroups form() {
    views = copyOperandViews(block, isCuda);
    for (Operation &op : block)
      if (formsKernel(&op) && !views.contains(&op))
        place(&op);
    // Consumers come later in the block, so a group is built where its last
    // op stands; operands of the group all lie before.
    for (auto &group : groups)
      if (group->root && !group->ops.empty())
        leaveWidening(*group);
    llvm::erase_if(groups, [](auto &group) { return group->ops.empty(); });
    return {std::move(groups), std::move(refusals)};
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
    if (!quantize)
      return {};
    auto scaled = quantize.getInput().getDefiningOp<graph::MulOp>();
    KernelGroup *group = scaled ? groupOf.lookup(scaled) : nullptr;
    if (!group || !scaled->hasOneUse() || group->ops.size() != 1)
      return {};
    return {scaled, op};
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
    KernelGroup &group = *found->second;
    if (group.ops.back() != producer || group.also || !givesTwo(group.root) ||
        group.ops.size() + ops.size() > maxOps)
      return false;
    for (Operation *each : ops) {
      if (KernelGroup *own = groupOf.lookup(each))
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
    KernelGroup &group = *found->second;
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
    groups.push_back(std::make_unique<KernelGroup>());
    KernelGroup &group = *groups.back();
    if (roleOf(op) == Role::Root)
      group.root = op;
    groupOf[op] = &group;
    size_t first = 0; // Ops that came with the first operand.
    // Again while one operand lets another one in: x * f(x).
    for (size_t before = 0; before <= group.ops.size();) {
      before = group.ops.size() + 1;
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp()) {
          take(group, op, producer);
          first = first ? first : group.ops.size();
        }
      takeDiamonds(group, op, first);
    }
    if (graph::isPointwise(op) || readsOnce(op) || movesRows(op))
      for (Value operand : op->getOperands())
        takeRows(group, op, operand);
    takeHalved(group, op);
    group.ops.insert(op);
  }

  /// Takes in what `last` does not read, but ops of its group do, if all that
  /// comes of it meets in `last`. One of its readers is behind the first ops:
  /// what those alone read has joined them before.
  void takeDiamonds(KernelGroup &group, Operation *last, size_t first) {
    if (!graph::isPointwise(last))
      return;
    for (Operation *reader :
         llvm::to_vector(llvm::drop_begin(group.ops, first))) {
      if (!graph::isPointwise(reader))
        continue;
      for (Value operand : reader->getOperands())
        if (Operation *producer = operand.getDefiningOp();
            producer && !views.contains(producer))
          absorb(group, last, reader, producer);
    }
  }

  /// Takes in the product whose two halves meet in the group that `consumer`
  /// completes.
  void takeHalved(KernelGroup &group, Operation *consumer) {
    if (group.root || !graph::isPointwise(consumer) ||
        llvm::any_of(group.ops, picksRows))
      return;
    for (Operation *op : group.ops) {
      auto slice = dyn_cast<graph::SliceOp>(op);
      auto matmul = slice ? slice.getInput().getDefiningOp<graph::MatmulOp>()
                          : graph::MatmulOp();
      auto halves = matmul ? kernel::columnHalvesOf(matmul)
                           : std::optional<kernel::ColumnHalves>();
      KernelGroup *other = halves ? groupOf.lookup(matmul) : nullptr;
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

  void moveInto(KernelGroup &group, KernelGroup &other) {
    for (Operation *op : other.ops) {
      group.ops.insert(op);
      groupOf[op] = &group;
    }
    other.ops.clear();
  }

  void take(KernelGroup &group, Operation *op, Operation *producer) {
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
      absorb(group, op, op, producer);
    } else if (isa<graph::TransposeOp>(op)) {
      auto found = groupOf.find(producer);
      if (found != groupOf.end() && producer->hasOneUse() &&
          storesThrough(*found->second, op))
        absorb(group, op, op, producer);
    } else if (auto append = dyn_cast<graph::AppendOp>(op)) {
      takeRounding(group, append);
    } else if (padsTurned(op)) {
      KernelGroup *other = groupOf.lookup(producer);
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
  void takeRounding(KernelGroup &group, graph::AppendOp append) {
    Operation *rounding = append.getRows().getDefiningOp();
    if (!isa_and_present<graph::CastOp, graph::QuantizeOp>(rounding))
      return;
    KernelGroup *other = groupOf.lookup(rounding);
    if (!other || other == &group || !rounding->hasOneUse() ||
        !llvm::all_of(other->ops, [&](Operation *op) {
          return op == rounding || kernel::isViewOp(op);
        }))
      return;
    moveInto(group, *other);
  }

  /// Leaves what widens bytes at the end of a root's kernel to the one that
  /// reads it, if that is one that computes element by element or row by row.
  void leaveWidening(KernelGroup &group) {
    auto widening = dyn_cast<graph::DequantizeOp>(group.ops.back());
    auto bytes = widening
                     ? widening.getInput().getDefiningOp<graph::QuantizeOp>()
                     : graph::QuantizeOp();
    if (!bytes || group.also || !group.ops.contains(bytes) ||
        !bytes->hasOneUse())
      return;
    KernelGroup *reader = nullptr;
    for (Operation *user : widening->getUsers()) {
      KernelGroup *own = groupOf.lookup(user);
      if (!own || (reader && own != reader) ||
          !(graph::isPointwise(user) || worksAlongRows(user)) ||
          graph::getDims(user->getResult(0)) != graph::getDims(bytes))
        return;
      reader = own;
    }
    if (!reader || reader->ops.size() >= maxOps)
      return;
    group.ops.remove(widening);
    takeView(*reader, widening);
  }

  void takeView(KernelGroup &group, Operation *op) {
    group.ops.insert(op);
    groupOf[op] = &group;
  }

  /// Whether the root of a group stores what the group computes through
  /// `transpose` as well as without.
  bool storesThrough(const KernelGroup &group, Operation *transpose) const {
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
  void takeRows(KernelGroup &group, Operation *op, Value operand) {
    SmallVector<Operation *> between;
    Operation *producer = operand.getDefiningOp();
    for (; producer && onlyRenames(producer) && movesRows(producer);
         producer = producer->getOperand(0).getDefiningOp()) {
      if (!producer->hasOneUse() || producer->getBlock() != &block)
        return;
      between.push_back(producer);
    }
    auto found = groupOf.find(producer);
    if (!producer || found == groupOf.end() || found->second == &group)
      return;
    KernelGroup &other = *found->second;
    bool onlyRows =
        !other.also && other.ops.back() == producer && producer->hasOneUse() &&
        (llvm::all_of(other.ops, movesRows) ||
         (!isCuda && graph::isPointwise(op) && other.ops.size() == 1 &&
          picksRows(producer) && llvm::all_of(group.ops, mayPickRows)));
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

  /// Moves the group of a producer that `consumer` reads into the one that ends
  /// with `last`, unless something is against it.
  void absorb(KernelGroup &group, Operation *last, Operation *consumer,
              Operation *producer) {
    auto found = groupOf.find(producer);
    if (found == groupOf.end() || found->second == &group)
      return;
    KernelGroup &other = *found->second;
    if (std::optional<std::string> why =
            refusal(group, last, consumer, other, producer)) {
      if (consumer == last)
        refusals[producer] = *why;
      return;
    }
    group.root = group.root ? group.root : other.root;
    moveInto(group, other);
  }

  /// Why the producer's group may not join the consumer's: that would be
  /// illegal, or something would be computed twice.
  std::optional<std::string> refusal(const KernelGroup &group, Operation *last,
                                     Operation *consumer,
                                     const KernelGroup &other,
                                     Operation *producer) {
    if (group.root && other.root)
      return "its user already shares a kernel with " + quoted(group.root) +
             ", and a kernel has one root";
    if (isa<graph::AppendOp>(producer))
      return "it appends to what lies in memory";
    if (other.root && isStoredNarrow(producer, consumer))
      return "it stores 16 bits, which its user widens";
    if (producer->getBlock() != &block)
      return "its user is in a branch of an If";
    if (producer->getNumResults() != 1 || other.also)
      return "it has several results";
    if (!isReadTogether(group, last, {producer}))
      return "its result has several users";
    if (other.root && writesThroughViews(other.root) &&
        !isa<graph::TransposeOp>(consumer) && !roundsWhole(consumer))
      return quoted(other.root) + " is followed by nothing but views";
    if (!isa<graph::TransposeOp>(consumer) &&
        graph::getDims(producer->getResult(0)) != dimsReadBy(consumer))
      return "the sizes of its user are not proven to be its own";
    bool isRotation =
        isCuda && isa<graph::RotaryOp>(producer) && roundsWhole(consumer);
    if (roleOf(producer) == Role::Movement && !isCheapMovement(producer) &&
        !isRotation && !padsTurned(producer))
      return "its elements are found by a search";
    if (worksAlongRows(consumer) && llvm::any_of(other.ops, [](Operation *op) {
          return isa<graph::TransposeOp>(op) && !keepsRows(op);
        }))
      return quoted(consumer) + " would read its rows element by element";
    auto all = llvm::concat<Operation *const>(group.ops, other.ops);
    // What a root reads in place is its own affair.
    auto picks = [&](Operation *op) {
      return picksRows(op) && !views.contains(op);
    };
    if (llvm::any_of(all, picks) &&
        !(graph::isPointwise(consumer) && llvm::all_of(all, mayPickRows)))
      return "rows are looked up for what is computed along rows alone";
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
    return cast && isStoredIn16Bits(cast.getResult(), isCuda) &&
           graph::getElementType(cast.getInput()).isF32();
  }

  /// Whether results of producers, of equal sizes, are read by the consumer
  /// alone, at once or through ops of its group that read the same element.
  bool isReadTogether(const KernelGroup &group, Operation *consumer,
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

  /// Longer chains gain nothing and make code that compiles slowly.
  static constexpr size_t maxOps = 32;

  Block &block;
  bool isCuda;
  SmallVector<std::unique_ptr<KernelGroup>> groups;
  llvm::DenseMap<Operation *, KernelGroup *> groupOf;
  llvm::DenseMap<Operation *, std::string> refusals;
  llvm::DenseSet<Operation *> views; // Copies that one root reads.
};

} // namespace

KernelGroups groupOps(Block &block, bool isCuda) {
  return Grouping(block, isCuda).form();
}

} // namespace tenon
