//===- PlaceParts.cpp - What is joined is computed where it belongs -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Lowering/Joins.h"
#include "compiler/Lowering/Storages.h"

using namespace mlir;

namespace tenon {

using exec::Place;
using graph::Expr;

/// Whether nobody but an op reads a value, in whatever form, from a step on.
bool Storages::isReadOnlyBy(Value root, Operation *op, unsigned step) const {
  return llvm::all_of(root.getUsers(), [&](Operation *user) {
    if (isa<graph::ReshapeOp>(user))
      return isReadOnlyBy(user->getResult(0), op, step);
    return user == op || stepOf.lookup(user) < step;
  });
}

/// Whether others read a part, too, whose rows are to lie apart.
bool Storages::isStoredTwice(const Join &join, Value root) {
  return join.pitch != 0 &&
         (homes[root].place != Place::Arena || !isReadOnlyBy(root, join.call));
}

/// Whether a part can be computed where it ends up. `first` becomes the step at
/// which that is done, if it is before.
bool Storages::mayPlace(const Join &join, const JoinedPart &part,
                        unsigned &first) {
  Value root = rootOf(part.operand);
  auto maker = root.getDefiningOp<kernel::CallOp>();
  if (!maker || maker->getBlock() != join.call->getBlock() ||
      joined.contains(maker) || homes[root].join)
    return false;
  first = std::min(first, stepOf[maker]);
  if (join.pitch != 0)
    return storesApart && !secondHomes.contains(maker) &&
           graph::getDims(root).back().asConstant() == part.row &&
           mayStoreApart(maker, isStoredTwice(join, root), kernels);
  // Sums of formulas may grow too long. Vectors like to begin with a line.
  constexpr int64_t line = 64;
  std::optional<int64_t> offset = part.offset.asConstant();
  return homes[root].place == Place::Arena && offset && *offset % line == 0;
}

/// A kernel that only joins values has nothing to do where all of them are
/// computed in its result.
void Storages::placeParts(kernel::CallOp call) {
  std::optional<Join> join = joinOf(call, kernels);
  if (!join || homes[call.getResult(0)].join)
    return;
  unsigned first = stepOf[call];
  llvm::SmallDenseSet<Value> roots;
  for (const JoinedPart &part : join->parts)
    if (!roots.insert(rootOf(part.operand)).second ||
        !mayPlace(*join, part, first))
      return;
  for (Expr dim : graph::getDims(call.getResult(0)))
    if (!isBornBy(dim, first))
      return;
  if (Storage *storage = homes[call.getResult(0)].storage)
    storage->begin = std::min(storage->begin, first);
  for (const JoinedPart &part : join->parts)
    placePart(*join, part);
  joined.insert(call);
}

/// What is appended in place is computed there if what it is appended to is in
/// its place by then, and others have read that.
void Storages::placeAppended(kernel::CallOp call) {
  std::optional<Join> join = appendOf(call, kernels);
  if (!join || inPlaceOperand(call) != join->buffer)
    return;
  const JoinedPart &part = join->parts.front();
  Value buffer = rootOf(call.getOperand(*join->buffer));
  auto before = buffer.getDefiningOp<kernel::CallOp>();
  unsigned first = stepOf[call];
  if (!before || before->getBlock() != call->getBlock() ||
      !mayPlace(*join, part, first) || first <= stepOf[before] ||
      !isReadOnlyBy(buffer, call, first))
    return;
  placePart(*join, part);
  if (Operation *maker = rootOf(part.operand).getDefiningOp();
      !secondHomes.contains(maker))
    inPlace.erase(maker); // It has moved.
  joined.insert(call);
}

void Storages::placePart(const Join &join, const JoinedPart &part) {
  Value root = rootOf(part.operand);
  Value result = join.call->getResult(0);
  Home &own = homes[root];
  Home home = homes[result];
  home.offset = part.offset;
  home.join = result;
  home.pitch = join.pitch;
  if (isStoredTwice(join, root)) {
    secondHomes[root.getDefiningOp()] = home;
    return;
  }
  if (home.storage)
    home.storage->end = std::max(home.storage->end, own.storage->end);
  own = home;
}

int64_t Storages::pitchOf(kernel::CallOp call) const {
  if (call.getNumResults() != 1)
    return 0;
  return homes.find(call.getResult(0))->second.pitch;
}

std::optional<Storages::Copy> Storages::copyOf(kernel::CallOp call) {
  auto found = secondHomes.find(call);
  if (found == secondHomes.end())
    return std::nullopt;
  const Home &home = found->second;
  return Copy{bufferAt(call.getResult(0), home), home.pitch};
}

} // namespace tenon
