//===- TilePanels.cpp - Panels of operands, and the sums over them --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A panel is some steps of k of a tile's operands. While one is multiplied, the
// next ones are on their way to the stages of shared memory.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/PieceSums.h"
#include "compiler/Targets/Cuda/TileProduct.h"
#include "compiler/Targets/Cuda/Words.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {

void TileProduct::PanelCopies::add(Line line, Value step) {
  chunks.push_back({line, step, {}});
  operand->keep(chunks.back(), shape);
}

void TileProduct::start(const PanelCopies &copies, Value panel, Value stage) {
  Value step = e.mul(panel, e.number(tile.depth));
  const ChunkShape &shape = copies.shape;
  // Copies of 16 bytes leave the first cache alone.
  ptx::Cache cache = shape.bytes == 16 ? ptx::Cache::CG : ptx::Cache::CA;
  for (auto [i, chunk] : llvm::enumerate(copies.chunks)) {
    Value place =
        sharedAt(sharedAt(stage, copies.place), e.number(i * copies.apart));
    SmallVector<Copy> parts = copies.operand->copiesOf(chunk, shape, step);
    if (shape.bytes < kernel::narrowestCopy) {
      store(parts, copies.operand->type, place);
      continue;
    }
    for (auto [part, copy] : llvm::enumerate(parts)) {
      Value to = sharedAt(place, e.number(part * shape.bytes));
      if (copies.operand->fill && copy.bytes)
        copyOrFill(copy, shape.bytes, copies.operand->fill, cache, to);
      else
        ptx::CpAsyncOp::create(e.b, cache, uint32_t(shape.bytes), to, copy.from,
                               copy.bytes);
    }
  }
}

/// A copy that is there or not, as the hardware fills with zeros alone. Whoever
/// waits for the copies of all threads sees what they stored, too.
void TileProduct::copyOrFill(const Copy &copy, int64_t bytes, Value fill,
                             ptx::Cache cache, Value to) {
  Value none = arith::ConstantIntOp::create(e.b, 0, 32);
  auto is = [&](arith::CmpIPredicate predicate) -> Value {
    return arith::CmpIOp::create(e.b, predicate, copy.bytes, none);
  };
  e.ifThen(is(arith::CmpIPredicate::ne), [&] {
    ptx::CpAsyncOp::create(e.b, cache, uint32_t(bytes), to, copy.from, Value());
  });
  e.ifThen(is(arith::CmpIPredicate::eq), [&] {
    SmallVector<Value> words(size_t(bytes) / 4, fill);
    LLVM::StoreOp::create(e.b, together(e, words), to, unsigned(bytes));
  });
}

/// The hardware copies no two bytes: they pass through registers.
void TileProduct::store(ArrayRef<Copy> parts, Type type, Value place) {
  Type memory = e.memoryType(type);
  Value zero = e.zero(memory);
  SmallVector<Value> elements;
  for (const Copy &part : parts) {
    Value element = LLVM::LoadOp::create(e.b, memory, part.from);
    if (part.bytes) {
      Value none = arith::ConstantIntOp::create(e.b, 0, 32);
      Value isThere = arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne,
                                            part.bytes, none);
      element = arith::SelectOp::create(e.b, isThere, element, zero);
    }
    elements.push_back(element);
  }
  LLVM::StoreOp::create(e.b, together(e, elements), place,
                        parts.size() * graph::byteWidth(type));
}

/// Panels lie in stages by turns. A thread's copies of a panel are a group, and
/// where no panel is left an empty one: waits count groups.
struct TileProduct::Ring {
  Fetch fetch;
  ArrayRef<PanelCopies> copies; // What `fetch` starts, where that is known.
  int64_t stageBytes;
  Value first, end; // Panels of this block's piece of k.
};

TileProduct::Ring TileProduct::ringOf(int64_t stageBytes, Fetch fetch,
                                      ArrayRef<PanelCopies> copies) {
  Value panels = e.ceilDiv(product.depth, e.number(tile.depth));
  Ring ring = {fetch, copies, stageBytes, e.number(0), panels};
  if (!product.pieces)
    return ring;
  auto bound = [&](Value ordinal) {
    return e.div(e.mul(ordinal, panels), product.pieces);
  };
  ring.first = bound(piece), ring.end = bound(e.add(piece, e.number(1)));
  return ring;
}

void TileProduct::fetchInto(const Ring &ring, Value panel, Value offset) {
  e.ifThen(e.less(panel, ring.end),
           [&] { ring.fetch(panel, sharedAt(sharedMemory, offset)); });
  ptx::CpAsyncCommitOp::create(e.b);
}

/// Of the panels that the first stages have.
void TileProduct::fetchFirst(const Ring &ring) {
  if (e.readsWeightsFirst())
    return fetchWeightsFirst(ring);
  e.loop(e.number(0), e.number(tile.stages - 1), [&](Value i) {
    fetchInto(ring, e.add(ring.first, i), e.mul(i, e.number(ring.stageBytes)));
  });
}

/// The launch before may still be at work: no other writes weights. Those of
/// all these panels are in the first one's group.
void TileProduct::fetchWeightsFirst(const Ring &ring) {
  auto each = [&](bool ofWeights) {
    e.loop(e.number(0), e.number(tile.stages - 1), [&](Value i) {
      Value panel = e.add(ring.first, i);
      Value stage = sharedAt(sharedMemory, e.mul(i, e.number(ring.stageBytes)));
      e.ifThen(e.less(panel, ring.end), [&] {
        for (const PanelCopies &copies : ring.copies)
          if ((copies.operand == product.rhs) == ofWeights)
            start(copies, panel, stage);
      });
      if (!ofWeights)
        ptx::CpAsyncCommitOp::create(e.b);
    });
  };
  each(/*ofWeights=*/true);
  e.waitForLaunch();
  each(/*ofWeights=*/false);
}

/// The stage in front of one, which is free while it is read, and the one
/// behind it; as offsets.
Value TileProduct::stageBefore(const Ring &ring, Value offset) {
  Value last = e.number((tile.stages - 1) * ring.stageBytes);
  return e.select(e.equal(offset, e.number(0)), last,
                  e.sub(offset, e.number(ring.stageBytes)));
}
Value TileProduct::stageBehind(const Ring &ring, Value offset) {
  Value next = e.add(offset, e.number(ring.stageBytes));
  Value all = e.number(tile.stages * ring.stageBytes);
  return e.select(e.equal(next, all), e.number(0), next);
}

/// The next panel is there for all threads, and nobody reads what was before.
void TileProduct::meetPanel() {
  ptx::CpAsyncWaitOp::create(e.b, tile.stages - 2);
  barrier();
}

SmallVector<Value> TileProduct::sumPanels(ValueRange zeros, int64_t stageBytes,
                                          Fetch fetch, Add add) {
  Ring ring = ringOf(stageBytes, fetch);
  fetchFirst(ring);
  // Of a number that is a power of two, it takes no register of its own.
  auto stageOf = [&](Value panel) {
    Value ordinal = e.rem(e.sub(panel, ring.first), e.number(tile.stages));
    return e.mul(ordinal, e.number(stageBytes));
  };
  return finishPanels(
      e.loop(ring.first, ring.end, zeros, [&](Value panel, ValueRange before) {
        meetPanel();
        Value ahead = e.add(panel, e.number(tile.stages - 1));
        fetchInto(ring, ahead, stageOf(ahead));
        return add(sharedAt(sharedMemory, stageOf(panel)), before);
      }));
}

SmallVector<Value> TileProduct::sumSteps(ValueRange zeros, int64_t stageBytes,
                                         ArrayRef<PanelCopies> copies,
                                         const Steps &steps) {
  auto fetch = [&](Value panel, Value stage) {
    for (const PanelCopies &all : copies)
      start(all, panel, stage);
  };
  Ring ring = ringOf(stageBytes, fetch, copies);
  if (std::optional<int64_t> depth = getConstantIntValue(product.depth);
      depth && *depth > 0)
    return finishPanels(sumRing(ring, zeros, steps));
  // Without a panel there is nothing to load.
  Value isAny = e.less(ring.first, ring.end);
  Value once = e.select(isAny, e.number(1), e.number(0));
  return finishPanels(
      e.loop(e.number(0), once, zeros, [&](Value, ValueRange none) {
        return sumRing(ring, none, steps);
      }));
}

/// Of one panel or more.
SmallVector<Value> TileProduct::sumRing(const Ring &ring, ValueRange zeros,
                                        const Steps &steps) {
  fetchFirst(ring);
  meetPanel();
  auto load = [&](Value offset, int64_t step) {
    return steps.load(sharedAt(sharedMemory, offset), step);
  };
  SmallVector<Value> carried = load(e.number(0), 0);
  size_t count = carried.size();
  llvm::append_range(carried, zeros);
  carried.push_back(e.number(0));
  carried = e.loop(
      ring.first, ring.end, carried, [&](Value panel, ValueRange before) {
        Value here = before.back(), free = stageBefore(ring, here);
        fetchInto(ring, e.add(panel, e.number(tile.stages - 1)), free);
        SmallVector<Value> ahead(before.take_front(count));
        SmallVector<Value> now(before.drop_back().drop_front(count));
        Value next = stageBehind(ring, here);
        for (int64_t step = 1; step <= steps.count; ++step) {
          SmallVector<Value> factors = std::move(ahead);
          if (step < steps.count) {
            ahead = load(here, step);
          } else {
            meetPanel();
            // Behind the last panel nothing was copied.
            Value isLast = e.equal(e.add(panel, e.number(1)), ring.end);
            ahead = load(e.select(isLast, here, next), 0);
          }
          now = steps.add(factors, now);
        }
        ahead.append(now);
        ahead.push_back(next);
        return ahead;
      });
  return SmallVector<Value>(ArrayRef(carried).drop_back().drop_front(count));
}

SmallVector<Value> TileProduct::finishPanels(ValueRange sums) {
  ptx::CpAsyncWaitOp::create(e.b, 0);
  return product.pieces ? joinPieces(sums) : SmallVector<Value>(sums);
}

/// Leaves them as they are where one block has all steps.
SmallVector<Value> TileProduct::joinPieces(ValueRange sums) {
  barrier(); // Nobody reads panels any more.
  Value thread = threadHere(), isAlone = e.less(product.pieces, e.number(2));
  Type type = sums[0].getType();
  auto vector = dyn_cast<VectorType>(type);
  int64_t width = vector ? vector.getNumElements() : 1;
  PieceSums all(e, product.pieces, tile.rows * tile.columns, sharedMemory);
  auto place = [&](size_t i, Value of) {
    Value ordinal = e.add(thread, e.number(int64_t(i) * tile.threads));
    return all.addressOf(part, of, e.mul(ordinal, e.number(width)));
  };
  auto yes = [&]() -> Value { return arith::ConstantIntOp::create(e.b, 1, 1); };
  isDone = e.branch(isAlone, yes, [&] {
    for (auto [i, sum] : llvm::enumerate(sums))
      LLVM::StoreOp::create(e.b, sum, place(i, piece), unsigned(width * 4));
    return all.isLast(part, thread);
  });
  Value isJoined = e.both(isDone, e.less(e.number(1), product.pieces));
  Value none = arith::ConstantOp::create(e.b, e.b.getZeroAttr(type));
  SmallVector<Value> before;
  for (Value sum : sums)
    before.push_back(arith::SelectOp::create(e.b, isAlone, sum, none));
  // Fragments have the registers for four pieces, single sums for one.
  return overPieces(e, e.select(isJoined, product.pieces, e.number(0)),
                    vector ? 4 : 1, before,
                    [&](ArrayRef<Value> ordinals, ArrayRef<Value> areThere,
                        ValueRange before) {
                      SmallVector<Value> loaded;
                      for (Value of : ordinals)
                        for (size_t i = 0; i < before.size(); ++i)
                          loaded.push_back(LLVM::LoadOp::create(
                              e.b, type, place(i, of), unsigned(width * 4)));
                      SmallVector<Value> now(before);
                      for (auto [j, each] : llvm::enumerate(loaded)) {
                        Value &sum = now[j % now.size()];
                        sum = e.select(areThere[j / now.size()],
                                       cpu::emitAdd(e.b, sum, each), sum);
                      }
                      return now;
                    });
}

} // namespace tenon::cuda
