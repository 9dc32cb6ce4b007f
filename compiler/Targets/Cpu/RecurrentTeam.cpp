//===- RecurrentTeam.cpp - Threads that share the steps of a sequence -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/RecurrentTeam.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/model_format.h"

using namespace mlir;

static_assert(tenon::kernel::RecurrentView::stateAt == TENON_SHARED_ZEROS);

namespace tenon::cpu {
namespace {

/// Looks at the others before a thread leaves: some hundred microseconds, far
/// more than a tile takes.
constexpr int64_t patience = 4096;

} // namespace

RecurrentTeam::RecurrentTeam(Emitter &e, const kernel::RecurrentView &view,
                             Value isShared)
    : e(e), view(view), isShared(isShared) {
  Type byte = e.b.getI8Type();
  facts = e.atEntry([&] {
    return e.address(e.scratch(0), byte, e.number(view.stateBytes()));
  });
  claims = e.shared();
  done = e.atEntry([&] {
    return e.address(e.shared(), byte, e.number(kernel::RecurrentView::doneAt));
  });
}

Value RecurrentTeam::fact(Fact which) {
  return e.loadRaw(facts, e.b.getI64Type(), e.number(which));
}

void RecurrentTeam::setFact(Fact which, Value value) {
  e.storeRaw(value, facts, e.number(which));
}

void RecurrentTeam::join(Value part) {
  for (Fact which : {Round, Reach, HasLeft})
    setFact(which, e.number(0));
  setFact(Home,
          e.div(e.mul(part, e.number(view.tiles())), e.number(view.parts())));
}

void RecurrentTeam::round(Value isBack, function_ref<void(Value unit)> body) {
  Value round = fact(Round);
  setFact(Round, e.add(round, e.number(1)));
  Value goal = e.mul(e.add(round, e.number(1)), e.number(view.tiles()));
  // None is done where nothing is shared.
  Value isOpen =
      e.both(e.equal(fact(HasLeft), e.number(0)), e.less(doneNow(), goal));
  e.ifThen(isOpen, [&] {
    Value count = takeTiles(round, isBack, body);
    e.ifThen(isShared, [&] { finish(count, goal); });
  });
}

/// Computes what tiles can be had, and says how many those were.
Value RecurrentTeam::takeTiles(Value round, Value isBack,
                               function_ref<void(Value unit)> body) {
  Value tiles = e.number(view.tiles()), home = fact(Home), reach = fact(Reach);
  Value last = e.sub(reach, e.number(1));
  int64_t length = view.tileVectors() * kernel::cellUnits;
  auto placeOf = [&](Value i) {
    if (!isBack)
      return i;
    return e.select(e.both(isBack, e.less(i, reach)), e.sub(last, i), i);
  };
  SmallVector<Value> result =
      e.loop(e.number(0), tiles, {e.number(0), e.number(0)},
             [&](Value i, ValueRange carried) {
               Value tile = e.add(home, placeOf(i));
               tile = e.select(e.less(tile, tiles), tile, e.sub(tile, tiles));
               Value isMine = claim(tile, round);
               e.ifThen(isMine, [&] {
                 Value from = e.mul(tile, e.number(length));
                 Value to = e.add(from, e.number(length));
                 e.loop(from, e.min(to, e.number(view.hidden)), body,
                        kernel::cellUnits);
               });
               Value next = e.add(i, e.number(1));
               Value isNext = e.both(isMine, e.equal(carried[1], i));
               Value one = e.select(isMine, e.number(1), e.number(0));
               return SmallVector<Value>{e.add(carried[0], one),
                                         e.select(isNext, next, carried[1])};
             });
  if (isBack)
    setFact(Reach, e.select(isBack, reach, result[1]));
  return result[0];
}

/// Whether a tile of the current round is this thread's to compute.
Value RecurrentTeam::claim(Value tile, Value round) {
  auto truth = [&](bool value) -> Value {
    return arith::ConstantIntOp::create(e.b, value, 1);
  };
  Value place = e.address(claims, e.b.getI64Type(), tile);
  auto take = [&]() -> Value {
    Value next = e.add(round, e.number(1));
    auto relaxed = LLVM::AtomicOrdering::monotonic;
    Value before = LLVM::AtomicCmpXchgOp::create(e.b, place, round, next,
                                                 relaxed, relaxed);
    return LLVM::ExtractValueOp::create(e.b, before, 1);
  };
  // Most that are not free are another's: a look leaves its cache alone.
  auto look = [&]() -> Value {
    Value now = LLVM::LoadOp::create(
        e.b, e.b.getI64Type(), place, /*alignment=*/8, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic);
    return e.branch(e.equal(now, round), take, [&] { return truth(false); });
  };
  return e.branch(isShared, look, [&] { return truth(true); });
}

/// Tiles that all threads have computed so far, and can be read.
Value RecurrentTeam::doneNow() {
  return LLVM::LoadOp::create(
      e.b, e.b.getI64Type(), done, /*alignment=*/8, /*isVolatile=*/false,
      /*isNonTemporal=*/false, /*isInvariant=*/false,
      /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire);
}

void RecurrentTeam::finish(Value count, Value goal) {
  e.ifThen(e.less(e.number(0), count), [&] {
    LLVM::AtomicRMWOp::create(e.b, LLVM::AtomicBinOp::add, done, count,
                              LLVM::AtomicOrdering::acq_rel);
  });
  await(goal);
  // Who is missed has tiles and is not waiting, so somebody goes on: at the
  // latest the one whose tiles are the last of the round.
  e.ifThen(e.less(doneNow(), goal), [&] { setFact(HasLeft, e.number(1)); });
}

void RecurrentTeam::await(Value goal) {
  Type i64 = e.b.getI64Type();
  auto loop = scf::WhileOp::create(
      e.b, TypeRange{i64}, ValueRange{e.number(0)},
      [&](OpBuilder &, Location, ValueRange looks) {
        Value goesOn = e.both(e.less(looks[0], e.number(patience)),
                              e.less(doneNow(), goal));
        scf::ConditionOp::create(e.b, goesOn, looks);
      },
      [&](OpBuilder &, Location, ValueRange looks) {
        LLVM::CallIntrinsicOp::create(
            e.b, e.b.getStringAttr("llvm.x86.sse2.pause"), ValueRange{});
        scf::YieldOp::create(e.b, ValueRange{e.add(looks[0], e.number(1))});
      });
  (void)loop;
}

} // namespace tenon::cpu
