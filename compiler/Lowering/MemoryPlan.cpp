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

Expr planSegment(MLIRContext *context, ArrayRef<Storage *> storages) {
  SmallVector<Slot> slots;
  for (Storage *storage : storages) {
    Expr bytes = alignedBytes(storage->bytes);
    if (!bytes)
      return {};
    Slot *slot = findSlot(slots, *storage, bytes);
    if (!slot) {
      slots.push_back({bytes, 0, {}});
      slot = &slots.back();
    }
    slot->bytes = slot->bytes.max(bytes);
    slot->freeFrom = storage->end + 1;
    slot->members.push_back(storage);
  }
  Expr total = Expr::constant(context, 0);
  for (Slot &slot : slots) {
    for (Storage *member : slot.members)
      member->offset = total;
    total = total + slot.bytes;
  }
  return total;
}

} // namespace

SmallVector<Expr> planMemory(MLIRContext *context,
                             MutableArrayRef<Storage *> storages,
                             unsigned segments) {
  llvm::sort(storages, [](const Storage *a, const Storage *b) {
    return std::tie(a->begin, a->id) < std::tie(b->begin, b->id);
  });
  SmallVector<Expr> sizes;
  for (unsigned segment = 0; segment < segments; ++segment) {
    SmallVector<Storage *> inside;
    for (Storage *storage : storages)
      if (storage->segment == segment)
        inside.push_back(storage);
    sizes.push_back(planSegment(context, inside));
  }
  return sizes;
}

} // namespace tenon
