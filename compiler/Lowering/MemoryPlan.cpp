//===- MemoryPlan.cpp - Where each value of a program lies ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Lowering/MemoryPlan.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon {

using graph::Expr;

Expr alignedBytes(Expr bytes) {
  if (!bytes)
    return {};
  Expr unit = Expr::constant(bytes.getContext(), TENON_BUFFER_ALIGN);
  return bytes.ceilDiv(unit) * unit;
}

namespace {

/// Of more storages, or with more comparisons, finding gaps between them would
/// take long.
constexpr size_t mostStacked = 4096, mostProofs = 200000;

struct Slot {
  Expr bytes;
  unsigned freeFrom; // The first step at which it is free again.
  SmallVector<Storage *> members;
};

/// How well a free slot suits: lower is better, nullopt when it would have to
/// grow by an unknown amount.
std::optional<int> misfit(Expr slot, Expr bytes) {
  if (slot == bytes)
    return 0;
  if ((slot - bytes).isNonNegative())
    return 1;
  if ((bytes - slot).isNonNegative())
    return 2;
  return std::nullopt;
}

Slot *findSlot(MutableArrayRef<Slot> slots, const Storage &storage,
               Expr bytes) {
  Slot *best = nullptr;
  int bestMisfit = 3;
  for (Slot &slot : slots) {
    if (slot.freeFrom > storage.begin)
      continue;
    std::optional<int> now = misfit(slot.bytes, bytes);
    if (now && *now < bestMisfit) {
      best = &slot;
      bestMisfit = *now;
    }
  }
  return best;
}

/// Slots one after the other, in one more segment where their sum would be more
/// than an expression holds.
void placeSlots(MLIRContext *context, ArrayRef<Slot> slots, unsigned segment,
                SegmentPlan &plan) {
  Expr none = Expr::constant(context, 0), total = none;
  unsigned here = segment;
  for (const Slot &slot : slots) {
    Expr after = total + slot.bytes;
    bool areKnown = total.asConstant() && slot.bytes.asConstant();
    if (!after && !areKnown) {
      plan.sizes[here] = total;
      here = plan.sizes.size();
      plan.sizes.push_back({});
      plan.continues.push_back(segment);
      total = none;
      after = slot.bytes;
    }
    for (Storage *member : slot.members) {
      member->offset = total;
      member->segment = here;
    }
    total = after;
  }
  plan.sizes[here] = total;
}

/// Storages one above the other, the largest first, each as low as it can be
/// proved to have no byte in common with one that it lives with.
class Stack {
public:
  Stack(MLIRContext *context, ArrayRef<Storage *> storages)
      : top(Expr::constant(context, 0)) {
    for (Storage *storage : storages)
      order.push_back({storage, alignedBytes(storage->bytes)});
  }

  /// Null where sizes cannot be told, or are more than an expression holds.
  Expr build() {
    for (Place &place : order) {
      std::optional<int64_t> size = usualValue(place.end);
      if (!size)
        return {};
      place.size = *size;
    }
    llvm::sort(order, [](const Place &a, const Place &b) {
      return std::tie(b.size, a.storage->begin, a.storage->id) <
             std::tie(a.size, b.storage->begin, b.storage->id);
    });
    for (size_t i = 0; i < order.size(); ++i)
      if (!add(i) || proofs > mostProofs)
        return {};
    return top;
  }

  void apply() const {
    for (const Place &place : order)
      place.storage->offset = place.offset;
  }

private:
  struct Place {
    Storage *storage;
    Expr end; // Its bytes, until it is placed.
    Expr offset = {};
    int64_t size = 0; // At the usual sizes, as are all numbers here.
    int64_t low = 0, high = 0;
  };

  static std::optional<int64_t> usualValue(Expr expr) {
    if (!expr)
      return std::nullopt;
    return expr.evaluate(
        [](StringRef) -> std::optional<int64_t> { return usualSize; });
  }

  static bool isBelow(Expr end, Expr offset) {
    return (offset - end).isNonNegative();
  }

  bool add(size_t index) {
    Place &place = order[index];
    SmallVector<const Place *> others;
    for (const Place &other : ArrayRef(order).take_front(index))
      if (other.storage->begin <= place.storage->end &&
          place.storage->begin <= other.storage->end)
        others.push_back(&other);
    llvm::sort(others, [](const Place *a, const Place *b) {
      return std::tie(a->low, a->high, a->storage->id) <
             std::tie(b->low, b->high, b->storage->id);
    });
    Expr bytes = place.end;
    int64_t high = 0;
    Expr end = top - top;
    for (const Place *other : others) {
      if (place.size <= other->low - high &&
          fits(place, high, end, bytes, others))
        return true;
      if (other->high < high)
        continue;
      high = other->high;
      end = other->end;
    }
    if (end != top && fits(place, high, end, bytes, others))
      return true;
    if (!put(place, top, bytes))
      return false;
    top = place.end; // Above all there was.
    return true;
  }

  bool fits(Place &place, int64_t at, Expr offset, Expr bytes,
            ArrayRef<const Place *> others) {
    Expr end = offset + bytes;
    if (!end || !(isBelow(end, top) || isBelow(top, end)))
      return false;
    proofs += others.size();
    for (const Place *other : others) {
      // What the usual sizes refute needs no proof.
      bool isUnder = at + place.size <= other->low, isOver = at >= other->high;
      if (!(isUnder && isBelow(end, other->offset)) &&
          !(isOver && isBelow(other->end, offset)))
        return false;
    }
    return put(place, offset, bytes);
  }

  bool put(Place &place, Expr offset, Expr bytes) {
    Expr end = offset + bytes;
    std::optional<int64_t> low = usualValue(offset), high = usualValue(end);
    if (!low || !high)
      return false;
    place.offset = offset;
    place.end = end;
    place.low = *low;
    place.high = *high;
    if (isBelow(top, end))
      top = end;
    return true;
  }

  SmallVector<Place> order;
  Expr top; // Behind all of them.
  size_t proofs = 0;
};

void planSegment(MLIRContext *context, ArrayRef<Storage *> storages,
                 unsigned segment, SegmentPlan &plan) {
  SmallVector<Slot> slots;
  for (Storage *storage : storages) {
    Expr bytes = alignedBytes(storage->bytes);
    if (!bytes)
      return;
    Slot *slot = findSlot(slots, *storage, bytes);
    if (!slot) {
      slots.push_back({bytes, 0, {}});
      slot = &slots.back();
    }
    slot->bytes = slot->bytes.max(bytes);
    slot->freeFrom = storage->end + 1;
    slot->members.push_back(storage);
  }
  placeSlots(context, slots, segment, plan);
  if (slots.size() < 2 || storages.size() > mostStacked ||
      plan.withAll(segment).size() > 1)
    return;
  Stack stack(context, storages);
  Expr top = stack.build(), size = plan.sizes[segment];
  if (!top || !(size - top).isNonNegative())
    return;
  stack.apply();
  plan.sizes[segment] = top;
}

} // namespace

SmallVector<unsigned> SegmentPlan::withAll(unsigned segment) const {
  SmallVector<unsigned> all;
  for (auto [i, first] : llvm::enumerate(continues))
    if (first == segment)
      all.push_back(i);
  return all;
}

SegmentPlan planMemory(MLIRContext *context,
                       MutableArrayRef<Storage *> storages, unsigned segments) {
  llvm::sort(storages, [](const Storage *a, const Storage *b) {
    return std::tie(a->begin, a->id) < std::tie(b->begin, b->id);
  });
  SegmentPlan plan;
  plan.sizes.resize(segments);
  plan.continues = llvm::to_vector(llvm::seq(segments));
  std::vector<SmallVector<Storage *>> inside(segments);
  for (Storage *storage : storages)
    inside[storage->segment].push_back(storage);
  for (unsigned segment = 0; segment < segments; ++segment)
    planSegment(context, inside[segment], segment, plan);
  return plan;
}

} // namespace tenon
