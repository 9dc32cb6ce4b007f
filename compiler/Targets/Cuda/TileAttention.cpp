//===- TileAttention.cpp - Tiles of an attention, key by key --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/TileAttention.h"
#include "compiler/Targets/Cpu/AttentionKeys.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr double log2OfE = 1.4426950408889634;
constexpr int64_t warpThreads = 32;

bool isPlainScore(graph::AttentionOp op) {
  return op.getBiases().empty() && !(op.getSoftcap().convertToDouble() > 0) &&
         op.getScale().convertToDouble() > 0;
}

} // namespace

TileAttention::TileAttention(DeviceEmitter &e, kernel::DeviceAttention seen)
    : e(e), view(std::move(seen)), op(view.op), f32(e.b.getF32Type()),
      sharedMemory(e.sharedMemory()), isPlain(isPlainScore(op)),
      exponent(isPlain ? op.getScale().convertToDouble() * log2OfE : log2OfE),
      group(e.number(view.group())) {
  readThread();
  listLength = e.mul(e.dimsOf(op.getQuery())[2], group);
  keys = e.dimsOf(op.getKey())[2];
  pieces = e.valueOf(view.pieces());
  units = e.valueOf(view.units());
  blocks = e.ceilDiv(listLength, e.number(view.rows));
}

void TileAttention::readThread() {
  thread = e.threadHere();
  lane = e.rem(thread, e.number(warpThreads));
  warpRow = e.mul(e.div(thread, e.number(warpThreads)),
                  e.number(view.rows / view.warps));
}

void TileAttention::locally(function_ref<void()> body) {
  Value before[] = {thread, lane, warpRow};
  readThread();
  body();
  std::tie(thread, lane, warpRow) = std::tie(before[0], before[1], before[2]);
}

void TileAttention::emit(Value row) {
  locate(row);
  findKeys();
  copyRows(
      queryRows(), /*head=*/{},
      [&](const kernel::StridedView &seen, Value i) {
        auto [position, head] = queryAt(e.add(first, i));
        return e.add(e.mul(head, e.valueOf(seen.strides[1])),
                     e.mul(position, e.valueOf(seen.strides[2])));
      },
      count);
  copyKeyed(keyRows(), from);
  commit();
  readThread();
  e.ifThen(e.less(warpRow, count), [&] { sumTiles(); });
  // Where a warp has no rows, it only copies.
  e.ifThen(e.less(count, e.add(warpRow, e.number(1))), [&] { copyTiles(); });
  // What sums are being computed with need not wait in registers.
  locate(e.again(row));
  locally([&] { finish(); });
  barrier(); // Before the next tile comes to shared memory.
}

//===----------------------------------------------------------------------===//
// Queries and keys
//===----------------------------------------------------------------------===//

/// Next to a unit's piece are those of others that read the same keys.
void TileAttention::locate(Value row) {
  bool isCut = !view.pieces().isConstant(1);
  unit = isCut ? e.rem(row, units) : row;
  piece = isCut ? e.div(row, units) : e.number(0);
  Value list = e.div(unit, blocks), block = e.rem(unit, blocks);
  // The last queries see most keys: those blocks start first.
  if (op.getCausal())
    block = e.sub(e.sub(blocks, e.number(1)), block);
  keyHead = e.rem(list, e.number(view.keyHeads));
  batch = e.div(list, e.number(view.keyHeads));
  first = e.mul(block, e.number(view.rows));
  count = e.min(e.number(view.rows), e.sub(listLength, first));
  offset = op.getCausal() ? cpu::positionOffset(e, op, batch) : e.number(0);
}

/// The keys of the piece that any query of the tile sees.
void TileAttention::findKeys() {
  Value last = e.sub(e.add(first, count), e.number(1));
  std::tie(from, to) = cpu::keyRange(e, op, e.add(queryAt(first).first, offset),
                                     e.add(queryAt(last).first, offset));
  if (view.pieces().isConstant(1))
    return;
  Value tile = e.number(view.keys);
  Value length = e.max(e.sub(to, from), e.number(0));
  length = e.mul(e.ceilDiv(e.ceilDiv(length, pieces), tile), tile);
  from = e.add(from, e.mul(piece, length));
  to = e.min(to, e.add(from, length));
}

/// A query of the list: its position and its head.
std::pair<Value, Value> TileAttention::queryAt(Value number) {
  return {e.div(number, group),
          e.add(e.mul(keyHead, group), e.rem(number, group))};
}

//===----------------------------------------------------------------------===//
// Tiles of keys
//===----------------------------------------------------------------------===//

void TileAttention::copyNextKeys(Value start) {
  Value next = e.add(start, e.number(view.keys));
  e.ifThen(e.less(next, to), [&] { copyKeyed(keyRows(), next); });
  commit();
}

void TileAttention::copyTiles() {
  e.loop(
      from, to,
      [&](Value start) {
        meet(keyRows());
        copyKeyed(valueRows(), start);
        commit();
        meet(valueRows());
        copyNextKeys(start);
      },
      view.keys);
  meet();
}

void TileAttention::sumTiles() {
  Values state(slots().rows, real(-std::numeric_limits<double>::infinity()));
  state.append(slots().rows, real(0));
  llvm::append_range(state, zeroSums());
  state = e.loop(
      from, to, state,
      [&](Value start, ValueRange before) { return step(start, before); },
      view.keys);
  meet(); // Sums take the place of queries and keys.
  int64_t rows = slots().rows;
  locally([&] {
    storeStats(ArrayRef(state).take_front(rows),
               ArrayRef(state).slice(rows, rows));
    storeSums(ArrayRef(state).drop_front(2 * rows));
  });
}

/// Adds a tile of keys to the largest scores, totals and sums.
TileAttention::Values TileAttention::step(Value start, ValueRange before) {
  meet(keyRows());
  copyKeyed(valueRows(), start);
  commit();
  int64_t rows = slots().rows, columns = slots().columns;
  Values values, sums;
  locally([&] { values = scores(); });
  locally([&] { values = withAddends(start, values); });
  locally([&] { values = withoutUnseen(start, values); });
  Values state, totals, factors;
  for (int64_t r = 0; r < rows; ++r) {
    auto mine = MutableArrayRef(values).slice(r * columns, columns);
    Value largest = mine[0];
    for (Value score : mine.drop_front())
      largest = arith::MaxNumFOp::create(e.b, largest, score);
    largest = overRow(largest, /*isSum=*/false);
    largest = arith::MaxNumFOp::create(e.b, largest, before[r]);
    state.push_back(largest);
    Value shift = shiftOf(largest);
    factors.push_back(power(before[r], shift));
    Value total = multiply(before[rows + r], factors.back());
    for (Value &score : mine) {
      score = power(score, shift);
      total = arith::AddFOp::create(e.b, total, score);
    }
    totals.push_back(total);
  }
  state.append(totals);
  meet(valueRows());
  copyNextKeys(start);
  sums = scaled(before.drop_front(2 * rows), factors);
  locally([&] { llvm::append_range(state, withValues(values, sums)); });
  return state;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

static std::optional<kernel::DeviceAttention> viewOf(kernel::FuncOp kernel) {
  StringRef names[] = {
      kernel::attentionMmaSchedule, kernel::attentionMmaTallSchedule,
      kernel::attentionRowsSchedule, kernel::attentionSimtSchedule};
  if (!llvm::is_contained(names, kernel.getSchedule()))
    return std::nullopt;
  std::string why;
  return kernel::deviceAttentionOf(kernel.getBlock(), kernel.getSchedule(),
                                   why);
}

std::optional<kernel::DeviceTile> attentionTileOf(kernel::FuncOp kernel) {
  auto view = viewOf(kernel);
  return view ? std::optional(view->tile()) : std::nullopt;
}

LogicalResult emitAttentionTile(DeviceEmitter &e, Value row) {
  auto view = viewOf(e.kernel);
  if (!view)
    return e.kernel.emitOpError("has no attention that its schedule can run; "
                                "please report this");
  view->isMma ? emitAttentionMma(e, *view, row)
              : emitAttentionSimt(e, *view, row);
  return success();
}

//===----------------------------------------------------------------------===//
// What emission is written in
//===----------------------------------------------------------------------===//

void TileAttention::warpBarrier() {
  LLVM::CallIntrinsicOp::create(
      e.b, e.b.getStringAttr("llvm.nvvm.bar.warp.sync"), ValueRange(word(-1)));
}

Value TileAttention::rounded(Value low, Value high) {
  bool isHalf = view.element().isF16();
  Type narrow = isHalf ? Type(e.b.getF16Type()) : Type(e.b.getBF16Type());
  Value pair = call(isHalf ? "ff2f16x2.rn" : "ff2bf16x2.rn",
                    VectorType::get({2}, narrow), {high, low});
  return LLVM::BitcastOp::create(e.b, e.b.getI32Type(), pair);
}

Value TileAttention::sharedAt(Value offset) { return at(sharedMemory, offset); }
Value TileAttention::at(Value pointer, int64_t bytes) {
  return at(pointer, e.number(bytes));
}
Value TileAttention::at(Value pointer, Value bytes) {
  return e.address(pointer, e.b.getI8Type(), bytes);
}
Value TileAttention::word(int64_t number) {
  return arith::ConstantIntOp::create(e.b, number, 32);
}
Value TileAttention::real(double value) {
  return cpu::constantLike(e.b, f32, value);
}
Value TileAttention::multiply(Value x, Value y) {
  return arith::MulFOp::create(e.b, x, y);
}
Value TileAttention::call(StringRef intrinsic, Type type, ValueRange of) {
  return LLVM::CallIntrinsicOp::create(
             e.b, type, e.b.getStringAttr("llvm.nvvm." + intrinsic.str()), of)
      .getResult(0);
}

} // namespace tenon::cuda
