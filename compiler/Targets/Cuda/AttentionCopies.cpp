//===- AttentionCopies.cpp - Keys and values on their way to tiles --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows come 16 bytes at a time while something else is computed. What has the
// type of the products goes to its place at once. A cache of f32 or of bytes
// waits in shared memory of the thread's own, which converts it to that place
// as soon as all of it is there: memory is read once, by a single kernel. Bytes
// are multiplied by their row's scale on the way, so that what is multiplied
// later is what the reference evaluator has, rounded as often.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/TileAttention.h"
#include "compiler/Targets/Cuda/Words.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {
constexpr int64_t chunkBytes = 16, scaleBytes = 4;
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
  return {view.key,
          view.depth,
          view.paddedDepth(),
          view.keys,
          view.keyStart(),
          view.depthBytes(),
          view.keyScales ? &*view.keyScales : nullptr};
}
TileAttention::Rows TileAttention::valueRows() {
  return {view.value,
          view.width,
          view.paddedWidth(),
          view.keys,
          view.valueStart(),
          view.widthBytes(),
          view.valueScales ? &*view.valueScales : nullptr};
}

/// Of keys or values from `start` on.
void TileAttention::copyKeyed(const Rows &rows, Value start) {
  copyRows(
      rows, keyHead,
      [&](const kernel::StridedView &seen, Value i) {
        return e.mul(e.add(start, i), e.valueOf(seen.strides[2]));
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
  int64_t atOnce = blockThreads / across;
  int64_t threads = std::min(atOnce, rows.count) * across, before = 0;
  auto ofRow = [&](int64_t further) {
    Value i = e.add(row, e.number(further));
    for (int64_t more = 0; more < chunks; more += across) {
      Value element = e.mul(e.add(chunk, e.number(more)), e.number(inChunk));
      body(
          {i, element, at(place, further * rows.bytes + more * bytes), before});
      before += threads;
    }
  };
  if (atOnce > rows.count)
    return e.ifThen(e.less(row, e.number(rows.count)), [&] { ofRow(0); });
  for (int64_t further = 0; further < rows.count; further += atOnce)
    ofRow(further);
}

/// The first element of the batch, or of a head of it.
Value TileAttention::inBatch(const kernel::StridedView &seen, Value head) {
  Type memory = cpu::Emitter::memoryType(graph::getElementType(seen.base));
  Value offset = e.mul(batch, e.valueOf(seen.strides[0]));
  if (head)
    offset = e.add(offset, e.mul(head, e.valueOf(seen.strides[1])));
  return e.address(bufferOf(seen), memory, offset);
}

/// `there` rows, and zeros where there are none.
void TileAttention::copyRows(const Rows &rows, Value head, OffsetOf offsetOf,
                             Value there) {
  Type memory =
      cpu::Emitter::memoryType(graph::getElementType(rows.operand.base));
  Value base = inBatch(rows.operand, head);
  Value scales = rows.scales ? inBatch(*rows.scales, head) : Value();
  Value zero = e.number(0), all = e.number(elementsOfChunk(rows));
  bool isSure = rows.padded == rows.size;
  eachChunk(rows, [&](Chunk chunk) {
    Value isThere = e.less(chunk.row, there);
    Value line = e.select(isThere, offsetOf(rows.operand, chunk.row), zero);
    Value size = all;
    if (!isSure) {
      Value rest = e.sub(e.number(rows.size), chunk.element);
      size = e.max(e.min(size, rest), zero);
    }
    size = e.select(isThere, size, zero);
    // A copy of nothing has no address of its own.
    Value behind =
        e.select(e.less(zero, size), e.add(line, chunk.element), zero);
    bool waits = view.isConverted(rows.operand);
    copyChunk(rows, e.address(base, memory, behind),
              waits ? stagedAt(chunk.before) : chunk.place, size);
    if (!scales)
      return;
    Value scale = e.select(isThere, offsetOf(*rows.scales, chunk.row), zero);
    ptx::CpAsyncOp::create(e.b, ptx::Cache::CA, uint32_t(scaleBytes),
                           stagedScaleAt(chunk.before),
                           e.address(scales, f32, scale),
                           e.select(isThere, word(scaleBytes), word(0)));
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
  if (bytes < 4)
    bytes = width; // No copy is of less than 4 bytes: a load and a store.
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

/// The same for rows of keys or values; those that wait are converted to where
/// others read them.
void TileAttention::meet(const Rows &rows) {
  ptx::CpAsyncWaitOp::create(e.b, 0);
  if (view.isConverted(rows.operand))
    convertRows(rows);
  barrier();
}

/// What a thread copied it converts itself, so that nobody waits for it.
void TileAttention::convertRows(const Rows &rows) {
  int64_t width = graph::byteWidth(view.element());
  eachChunk(rows, [&](Chunk chunk) {
    Values floats = floatsOf(rows, chunk);
    for (int64_t i = 0; i < int64_t(floats.size()); i += 4)
      storeConverted(ArrayRef(floats).slice(i, 4), at(chunk.place, i * width));
  });
}

/// The elements of a chunk that waits.
TileAttention::Values TileAttention::floatsOf(const Rows &rows,
                                              const Chunk &of) {
  Type stored = rows.scales ? Type(e.b.getI32Type()) : f32;
  Value chunk = LLVM::LoadOp::create(e.b, VectorType::get({4}, stored),
                                     stagedAt(of.before), chunkBytes);
  Value scale;
  if (rows.scales)
    scale = LLVM::LoadOp::create(e.b, f32, stagedScaleAt(of.before));
  Values floats;
  for (int64_t i = 0; i < 4; ++i) {
    Value word = elementOf(e, chunk, i);
    if (scale)
      floats.append(floatsOfBytes(word, scale));
    else
      floats.push_back(word);
  }
  return floats;
}

/// What four signed bytes are times a scale. 128 more than a byte, as the last
/// bits of 2^23, is a float: conversions of integers are slower than that.
TileAttention::Values TileAttention::floatsOfBytes(Value four, Value scale) {
  Value flipped = arith::XOrIOp::create(e.b, four, word(int32_t(0x80808080)));
  Values floats;
  for (int64_t i = 0; i < 4; ++i) {
    Value bits = call("prmt", e.b.getI32Type(),
                      {flipped, word(0x4b000000), word(0x7440 + i)});
    Value number = arith::BitcastOp::create(e.b, f32, bits);
    number = arith::SubFOp::create(e.b, number, real((1 << 23) + 128));
    floats.push_back(multiply(number, scale));
  }
  return floats;
}

/// Four floats in the type of the products.
void TileAttention::storeConverted(ArrayRef<Value> four, Value place) {
  Value stored =
      view.isMma
          ? together(e, {rounded(four[0], four[1]), rounded(four[2], four[3])})
          : together(e, four);
  int64_t bytes = 4 * graph::byteWidth(view.element());
  LLVM::StoreOp::create(e.b, stored, place, bytes);
}

Value TileAttention::stagedAt(int64_t before) {
  Value mine = e.mul(e.threadHere(), e.number(chunkBytes));
  return sharedAt(
      e.add(mine, e.number(view.stagedStart() + before * chunkBytes)));
}

Value TileAttention::stagedScaleAt(int64_t before) {
  Value mine = e.mul(e.threadHere(), e.number(scaleBytes));
  return sharedAt(
      e.add(mine, e.number(view.stagedScaleStart() + before * scaleBytes)));
}

void TileAttention::barrier() {
  ptx::NamedBarrierOp::create(e.b, 0, blockThreads, /*arrive=*/false);
}

} // namespace tenon::cuda
