//===- AttentionSimt.cpp - Attention of f32, exactly ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both products are fused multiply-adds of f32. A warp has a quarter of the
// tile's queries; a half of its lanes has every second one of them, and a lane
// every 16th key. Weights go to the other lanes through shared memory of the
// warp's own.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/TileAttention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr int64_t across = 16;   // Lanes that share a row.
constexpr int64_t elements = 4;  // Of a load from shared memory.
constexpr int64_t depthStep = 8; // Of an iteration over the head.

class SimtAttention : public TileAttention {
public:
  SimtAttention(DeviceEmitter &e, const kernel::DeviceAttention &view)
      : TileAttention(e, view),
        rows(view.rows / kernel::DeviceAttention::warps / 2),
        columns(view.keys / across) {
    for (int64_t start = 0; start < view.paddedWidth();) {
      int64_t width = elements;
      while (start + across * width > view.paddedWidth())
        width /= 2;
      groups.push_back({start, width});
      start += across * width;
    }
  }

protected:
  Slots slots() const override { return {rows, columns, across}; }
  Value rowAt(int64_t slot) override {
    return e.add(firstRow(), e.number(2 * slot));
  }
  Value firstColumn() override { return inRow(); }
  int64_t columnBehind(int64_t slot) override { return slot * across; }

  Values scores() override {
    Value query = sharedAt(e.mul(firstRow(), e.number(view.depthBytes())));
    Value key = sharedAt(e.add(e.mul(inRow(), e.number(view.depthBytes())),
                               e.number(view.keyStart())));
    Values zeros(rows * columns, real(0));
    return e.loop(
        e.number(0), e.number(view.paddedDepth()), zeros,
        [&](Value d, ValueRange before) {
          Values now(before);
          Value bytes = e.mul(d, e.number(4));
          for (int64_t k = 0; k < depthStep; k += elements) {
            Values left = lines(at(query, bytes), k, rows, 2);
            Values right = lines(at(key, bytes), k, columns, across);
            for (int64_t i = 0; i < elements; ++i)
              for (int64_t r = 0; r < rows; ++r)
                for (int64_t c = 0; c < columns; ++c) {
                  Value &sum = now[r * columns + c];
                  sum =
                      fma(left[r * elements + i], right[c * elements + i], sum);
                }
          }
          return now;
        },
        depthStep);
  }

  Values zeroSums() override {
    return Values(rows * view.paddedWidth() / across, real(0));
  }

  Values scaled(ValueRange sums, ArrayRef<Value> byRow) override {
    Values now;
    for (auto [i, sum] : llvm::enumerate(sums))
      now.push_back(multiply(sum, byRow[i % rows]));
    return now;
  }

  Values withValues(ArrayRef<Value> weights, Values sums) override {
    int64_t stride = view.weightStride() * 4;
    Value line = sharedAt(e.add(e.mul(firstRow(), e.number(stride)),
                                e.number(view.weightStart())));
    Value mine = at(line, e.mul(inRow(), e.number(4)));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        LLVM::StoreOp::create(e.b, weights[r * columns + c],
                              at(mine, 2 * r * stride + c * across * 4));
    warpBarrier();
    return e.loop(
        e.number(0), e.number(view.keys), sums,
        [&](Value key, ValueRange before) {
          Value from = at(line, e.mul(key, e.number(4)));
          Values left;
          for (int64_t r = 0; r < rows; ++r)
            left.append(load(at(from, 2 * r * stride), elements));
          Value values = sharedAt(e.add(e.mul(key, e.number(view.widthBytes())),
                                        e.number(view.valueStart())));
          return withKeys(left, values, before);
        },
        elements);
  }

  void storeSums(ArrayRef<Value> sums) override {
    for (int64_t r = 0; r < rows; ++r) {
      size_t next = r;
      for (auto [start, width] : groups) {
        Value to = sumAt(
            rowAt(r), e.add(e.mul(inRow(), e.number(width)), e.number(start)));
        for (int64_t i = 0; i < width; ++i, next += rows)
          LLVM::StoreOp::create(e.b, sums[next], at(to, i * 4));
      }
    }
  }

private:
  Value inRow() { return e.rem(lane, e.number(across)); }
  Value firstRow() { return e.add(warpRow, e.div(lane, e.number(across))); }

  /// Columns of values: 16 lanes have `width` neighbours each.
  struct Group {
    int64_t start, width;
  };

  Values load(Value from, int64_t width) {
    if (width == 1)
      return {LLVM::LoadOp::create(e.b, f32, from)};
    auto type = VectorType::get({width}, f32);
    Value vector = LLVM::LoadOp::create(e.b, type, from, width * 4);
    Values all;
    for (int64_t i = 0; i < width; ++i)
      all.push_back(LLVM::ExtractElementOp::create(e.b, vector, word(i)));
    return all;
  }

  /// Four elements of the head, from `k` on, of `count` rows `apart`.
  Values lines(Value from, int64_t k, int64_t count, int64_t apart) {
    Values all;
    for (int64_t i = 0; i < count; ++i)
      all.append(
          load(at(from, i * apart * view.depthBytes() + k * 4), elements));
    return all;
  }

  /// With the values of four keys; `weights` are four of each row.
  Values withKeys(ArrayRef<Value> weights, Value values, ValueRange before) {
    Values now(before);
    for (int64_t key = 0; key < elements; ++key) {
      size_t next = 0;
      for (auto [start, width] : groups) {
        Value from = at(values, e.mul(inRow(), e.number(width * 4)));
        for (Value value :
             load(at(from, key * view.widthBytes() + start * 4), width))
          for (int64_t r = 0; r < rows; ++r, ++next)
            now[next] = fma(weights[r * elements + key], value, now[next]);
      }
    }
    return now;
  }

  const int64_t rows, columns; // Slots.
  SmallVector<Group> groups;
};

} // namespace

void emitAttentionSimt(DeviceEmitter &e, const kernel::DeviceAttention &view,
                       Value row) {
  SimtAttention(e, view).emit(row);
}

} // namespace tenon::cuda
