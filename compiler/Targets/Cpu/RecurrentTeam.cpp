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

/// Looks at the others before a thread leaves, of 10 to 50 ns each: far more
/// than it takes to read the recurrence of a tile for each turn of the group.
constexpr int64_t leastPatience = 4096, bytesOfLook = 64;
int64_t patience(const kernel::RecurrentView &view) {
  int64_t bytes = view.recurrenceBytes() / view.tiles() * view.turns();
  return std::max(leastPatience, bytes / bytesOfLook);
}
/// Before it takes tiles that another one is about to: about a microsecond. To
/// look whether they are free costs the other one its cache line.
constexpr int64_t politeness = 64;

} // namespace

RecurrentTeam::RecurrentTeam(Emitter &e, const kernel::RecurrentView &view,
                             Value isShared)
    : e(e), view(view), isShared(isShared) {
  Type byte = e.b.getI8Type();
  facts = e.scratch(0);
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

void RecurrentTeam::round(Value isBack, function_ref<void()> prepare,
                          function_ref<void(Value unit)> body) {
  Value round = fact(Round);
  setFact(Round, e.add(round, e.number(1)));
  Value goal = e.mul(e.add(round, e.number(1)), e.number(view.tiles()));
  // None is done where nothing is shared.
  Value isOpen =
      e.both(e.equal(fact(HasLeft), e.number(0)), e.less(doneNow(), goal));
  e.ifThen(isOpen, [&] {
    prepare();
    takeTiles(round, goal, isBack, body);
    e.ifThen(isShared, [&] { await(goal, patience(view)); });
    // Who is missed has tiles and is not waiting, so somebody goes on: at the
    // latest the one whose tiles are the last of the round.
    e.ifThen(e.both(isShared, e.less(doneNow(), goal)),
             [&] { setFact(HasLeft, e.number(1)); });
  });
}

/// Computes what tiles can be had: first those from this thread's home on, up
/// to what is another's; then, where those are long in coming, what is left,
/// from the end that another comes to last.
void RecurrentTeam::takeTiles(Value round, Value goal, Value isBack,
                              function_ref<void(Value unit)> body) {
  Value zero = e.number(0), one = e.number(1), tiles = e.number(view.tiles());
  Value home = fact(Home), reach = fact(Reach);
  Value isReversed = isBack ? e.both(isBack, e.less(zero, reach)) : Value();
  auto ifReversed = [&](Value then, Value otherwise) {
    return isReversed ? e.select(isReversed, then, otherwise) : otherwise;
  };
  auto firstUnit = [&](Value tile) {
    Value vector = e.div(e.mul(tile, e.number(view.vectors())), tiles);
    return e.mul(vector, e.number(kernel::cellUnits));
  };
  e.loop(zero, e.number(2), [&](Value phase) {
    Value isSecond = e.equal(phase, one);
    Value mine = ifReversed(e.select(isShared, reach, tiles), tiles);
    Value others =
        e.select(e.both(isShared, e.less(doneNow(), goal)), tiles, zero);
    Value count = e.loop(
        zero, e.select(isSecond, others, mine), {zero, one},
        [&](Value i, ValueRange carried) {
          Value first = ifReversed(
              e.select(e.less(i, reach), e.sub(e.sub(reach, one), i), i), i);
          Value second =
              ifReversed(e.add(reach, i), e.sub(e.sub(tiles, one), i));
          Value tile =
              e.rem(e.add(home, e.select(isSecond, second, first)), tiles);
          Value isMine = claim(tile, round, e.equal(carried[1], one));
          e.ifThen(isMine, [&] {
            e.loop(firstUnit(tile), firstUnit(e.add(tile, one)), body,
                   kernel::cellUnits);
          });
          Value got = e.select(isMine, one, zero);
          Value goesOn = ifReversed(one, e.select(isSecond, one, got));
          return SmallVector<Value>{e.add(carried[0], got), goesOn};
        })[0];
    e.ifThen(e.both(isShared, e.less(zero, count)), [&] {
      LLVM::AtomicRMWOp::create(e.b, LLVM::AtomicBinOp::add, done, count,
                                LLVM::AtomicOrdering::acq_rel);
    });
    Value isFirst = e.equal(phase, zero);
    if (isBack)
      e.ifThen(isFirst,
               [&] { setFact(Reach, e.select(isBack, reach, count)); });
    e.ifThen(e.both(isShared, isFirst), [&] { await(goal, politeness); });
  });
}

/// Whether a tile of the current round, which may be, is this thread's to
/// compute.
Value RecurrentTeam::claim(Value tile, Value round, Value mayBe) {
  auto truth = [&](bool value) -> Value {
    return arith::ConstantIntOp::create(e.b, value, 1);
  };
  auto no = [&] { return truth(false); };
  Value place = e.address(claims, e.b.getI64Type(),
                          e.mul(tile, e.number(view.claimStride())));
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
    return e.branch(e.equal(now, round), take, no);
  };
  auto ask = [&]() -> Value {
    return e.branch(isShared, look, [&] { return truth(true); });
  };
  return e.branch(mayBe, ask, no);
}

/// Tiles that all threads have computed so far, and can be read.
Value RecurrentTeam::doneNow() {
  return LLVM::LoadOp::create(
      e.b, e.b.getI64Type(), done, /*alignment=*/8, /*isVolatile=*/false,
      /*isNonTemporal=*/false, /*isInvariant=*/false,
      /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire);
}

void RecurrentTeam::await(Value goal, int64_t looks) {
  Type i64 = e.b.getI64Type();
  auto loop = scf::WhileOp::create(
      e.b, TypeRange{i64}, ValueRange{e.number(0)},
      [&](OpBuilder &, Location, ValueRange taken) {
        Value goesOn =
            e.both(e.less(taken[0], e.number(looks)), e.less(doneNow(), goal));
        scf::ConditionOp::create(e.b, goesOn, taken);
      },
      [&](OpBuilder &, Location, ValueRange taken) {
        LLVM::CallIntrinsicOp::create(
            e.b, e.b.getStringAttr("llvm.x86.sse2.pause"), ValueRange{});
        scf::YieldOp::create(e.b, ValueRange{e.add(taken[0], e.number(1))});
      });
  (void)loop;
}

} // namespace tenon::cpu
