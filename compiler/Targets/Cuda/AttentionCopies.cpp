//===- AttentionCopies.cpp - Keys and values on their way to tiles --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows come 16 bytes at a time while something else is computed. What has the
// type of the products goes to its place at once. A cache of f32 waits in
// shared memory of the thread's own, which rounds it to that place as soon as
// all of it is there: memory is read once, by a single kernel.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/TileAttention.h"
#include "compiler/Targets/Cuda/Words.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {
constexpr int64_t chunkBytes = 16;
constexpr int64_t blockThreads = kernel::DeviceAttention::warps * 32;
} // namespace

Value TileAttention::bufferOf(const kernel::StridedView &seen) {
  auto argument = cast<BlockArgument>(seen.base);
  return e.address(e.argumentBuffer(argument.getArgNumber()),
                   cpu::Emitter::memoryType(graph::getElementType(argument)),
                   e.valueOf(seen.offset));
}

TileAttention::Rows TileAttention::queryRows() {
  return {view.query, view.depth, view.paddedDepth(),
          view.rows,  0,          view.depthBytes()};
}
TileAttention::Rows TileAttention::keyRows() {
  return {view.key,  view.depth,      view.paddedDepth(),
          view.keys, view.keyStart(), view.depthBytes()};
}
TileAttention::Rows TileAttention::valueRows() {
  return {view.value, view.width,        view.paddedWidth(),
          view.keys,  view.valueStart(), view.widthBytes()};
}

/// Of keys or values from `start` on.
void TileAttention::copyKeyed(const Rows &rows, Value start) {
  Value head = e.mul(keyHead, e.valueOf(rows.operand.strides[1]));
  copyRows(
      rows,
      [&](Value i) {
        return e.add(
            head, e.mul(e.add(start, i), e.valueOf(rows.operand.strides[2])));
      },
      e.sub(to, start));
}

int64_t TileAttention::elementsOfChunk(const Rows &rows) {
  return chunkBytes /
         graph::byteWidth(graph::getElementType(rows.operand.base));
}

/// Those of a thread. Neighbouring threads have neighbours in a row, up to 128
/// bytes of what goes to shared memory at a time.
void TileAttention::eachChunk(const Rows &rows,
                              function_ref<void(Chunk)> body) {
  int64_t inChunk = elementsOfChunk(rows);
  int64_t bytes = inChunk * graph::byteWidth(view.element());
  int64_t chunks = rows.padded / inChunk, across = 1;
  while (across * bytes < 128 && chunks % (2 * across) == 0)
    across *= 2;
  Value here = e.threadHere();
  Value chunk = e.rem(here, e.number(across));
  Value row = e.div(here, e.number(across));
  Value place = sharedAt(
      e.add(e.add(e.mul(row, e.number(rows.bytes)), e.number(rows.place)),
            e.mul(chunk, e.number(bytes))));
  int64_t ordinal = 0;
  auto ofRow = [&](int64_t further) {
    Value i = e.add(row, e.number(further));
    for (int64_t more = 0; more < chunks; more += across) {
      Value element = e.mul(e.add(chunk, e.number(more)), e.number(inChunk));
      body({i, element, at(place, further * rows.bytes + more * bytes),
            ordinal++});
    }
  };
  int64_t atOnce = blockThreads / across;
  if (atOnce > rows.count)
    return e.ifThen(e.less(row, e.number(rows.count)), [&] { ofRow(0); });
  for (int64_t further = 0; further < rows.count; further += atOnce)
    ofRow(further);
}

/// `there` rows, and zeros where there are none.
void TileAttention::copyRows(const Rows &rows,
                             function_ref<Value(Value)> offsetOf, Value there) {
  Type memory =
      cpu::Emitter::memoryType(graph::getElementType(rows.operand.base));
  Value base = e.address(bufferOf(rows.operand), memory,
                         e.mul(batch, e.valueOf(rows.operand.strides[0])));
  Value zero = e.number(0), all = e.number(elementsOfChunk(rows));
  bool isSure = rows.padded == rows.size;
  eachChunk(rows, [&](Chunk chunk) {
    Value isThere = e.less(chunk.row, there);
    Value line = e.select(isThere, offsetOf(chunk.row), zero), size = all;
    if (!isSure) {
      Value rest = e.sub(e.number(rows.size), chunk.element);
      size = e.max(e.min(size, rest), zero);
    }
    size = e.select(isThere, size, zero);
    // A copy of nothing has no address of its own.
    Value behind =
        e.select(e.less(zero, size), e.add(line, chunk.element), zero);
    bool waits = view.isRounded(rows.operand);
    copyChunk(rows, e.address(base, memory, behind),
              waits ? stagedAt(chunk.ordinal) : chunk.place, size);
  });
}

/// `size` elements of a chunk of 16 bytes, and zeros behind them.
void TileAttention::copyChunk(const Rows &rows, Value from, Value to,
                              Value size) {
  int64_t bytes = view.copyBytes(rows.operand), zero = 0;
  Type element = graph::getElementType(rows.operand.base);
  int64_t width = graph::byteWidth(element);
  Type memory = cpu::Emitter::memoryType(element);
  Type i32 = e.b.getI32Type();
  for (int64_t start = 0; start < chunkBytes; start += bytes) {
    Value rest = e.sub(e.mul(size, e.number(width)), e.number(start));
    Value isThere = e.less(e.number(zero), rest);
    Value behind = e.select(isThere, e.number(start), e.number(zero));
    if (bytes < 4) {
      Value element = e.branch(
          isThere,
          [&]() -> Value {
            return LLVM::LoadOp::create(e.b, memory, at(from, behind));
          },
          [&] { return e.zero(memory); });
      LLVM::StoreOp::create(e.b, element, at(to, start));
      continue;
    }
    rest = e.max(e.min(rest, e.number(bytes)), e.number(zero));
    ptx::CpAsyncOp::create(
        e.b, bytes == chunkBytes ? ptx::Cache::CG : ptx::Cache::CA,
        uint32_t(bytes), at(to, start), at(from, behind),
        arith::TruncIOp::create(e.b, i32, rest));
  }
}

void TileAttention::commit() { ptx::CpAsyncCommitOp::create(e.b); }

/// All copies have arrived, and nobody reads what was there before.
void TileAttention::meet() {
  ptx::CpAsyncWaitOp::create(e.b, 0);
  barrier();
}

/// The same for rows of keys or values; those that wait are rounded to where
/// others read them.
void TileAttention::meet(const Rows &rows) {
  ptx::CpAsyncWaitOp::create(e.b, 0);
  if (view.isRounded(rows.operand))
    roundRows(rows);
  barrier();
}

/// What a thread copied it rounds itself, so that nobody waits for it.
void TileAttention::roundRows(const Rows &rows) {
  auto four = VectorType::get({4}, f32);
  eachChunk(rows, [&](Chunk chunk) {
    Value wide =
        LLVM::LoadOp::create(e.b, four, stagedAt(chunk.ordinal), chunkBytes);
    auto pair = [&](int64_t i) {
      return rounded(elementOf(e, wide, i), elementOf(e, wide, i + 1));
    };
    LLVM::StoreOp::create(e.b, together(e, {pair(0), pair(2)}), chunk.place,
                          chunkBytes / 2);
  });
}

Value TileAttention::stagedAt(int64_t ordinal) {
  Value mine = e.mul(e.threadHere(), e.number(chunkBytes));
  return sharedAt(e.add(mine, e.number(view.stagedStart() +
                                       ordinal * blockThreads * chunkBytes)));
}

void TileAttention::barrier() {
  ptx::NamedBarrierOp::create(e.b, 0, blockThreads, /*arrive=*/false);
}

} // namespace tenon::cuda
