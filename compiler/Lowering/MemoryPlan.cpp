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
