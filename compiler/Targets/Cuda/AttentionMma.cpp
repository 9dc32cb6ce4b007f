//===- AttentionMma.cpp - Attention of 16-bit floats ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both products by the matrix instructions of warps (mma.sync), sums in f32. A
// warp has 16 queries, or 32 in two fragments: then what it loads of keys and
// values is multiplied twice. Scores lie in its registers as the first product
// leaves them; as weights in 16 bits they are at once the second one's operand.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/TileAttention.h"
#include "compiler/Targets/Cuda/Words.h"
#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

constexpr int64_t fragmentRows = 16;
constexpr int64_t mmaStep = 16; // Of a product, and columns loaded at a time.

class MmaAttention : public TileAttention {
public:
  MmaAttention(DeviceEmitter &e, const kernel::DeviceAttention &view)
      : TileAttention(e, view),
        kind(view.element().isF16() ? ptx::Mma::F16 : ptx::Mma::BF16),
        fragments(view.rows / view.warps / fragmentRows),
        four(VectorType::get({4}, f32)) {}

protected:
  Slots slots() const override { return {2 * fragments, view.keys / 4, 4}; }
  Value rowAt(int64_t slot) override {
    return e.add(e.add(warpRow, e.div(lane, e.number(4))), e.number(8 * slot));
  }
  Value firstColumn() override {
    return e.mul(e.rem(lane, e.number(4)), e.number(2));
  }
  int64_t columnBehind(int64_t slot) override {
    return slot / 2 * 8 + slot % 2;
  }

  Values scores() override {
    int64_t across = view.keys / 8;
    Values sums(fragments * across, zero());
    Value base = placeOf(alongFirst(), view.depthBytes(), view.keyStart());
    for (int64_t k = 0; k < view.paddedDepth(); k += mmaStep) {
      Values lhs;
      for (int64_t i = 0; i < fragments; ++i)
        lhs.push_back(query(i, k));
      for (int64_t key = 0; key < view.keys; key += mmaStep) {
        Value rhs = load(at(base, key * view.depthBytes() + k * 2));
        addProducts(lhs, rhs, MutableArrayRef(sums).drop_front(key / 8),
                    across);
      }
    }
    Values all;
    for (int64_t fragment = 0; fragment < fragments; ++fragment)
      for (int64_t row : {0, 1})
        for (Value sum : ArrayRef(sums).slice(fragment * across, across))
          for (int64_t i : {0, 1})
            all.push_back(elementOf(e, sum, 2 * row + i));
    return all;
  }

  Values zeroSums() override {
    return Values(fragments * (view.paddedWidth() / 8), zero());
  }

  Values scaled(ValueRange sums, ArrayRef<Value> byRow) override {
    Values now;
    for (int64_t i = 0, across = view.paddedWidth() / 8; i < fragments; ++i) {
      Value high = byRow[2 * i], low = byRow[2 * i + 1];
      Value factors = together(e, {high, high, low, low});
      for (Value sum : sums.slice(i * across, across))
        now.push_back(multiply(sum, factors));
    }
    return now;
  }

  Values withValues(ArrayRef<Value> weights, Values sums) override {
    Value base = placeOf(downFirst(), view.widthBytes(), view.valueStart());
    for (int64_t key = 0; key < view.keys; key += mmaStep) {
      Values lhs;
      for (int64_t i = 0; i < fragments; ++i)
        lhs.push_back(weightsFrom(weights, i, key));
      for (int64_t n = 0; n < view.paddedWidth(); n += mmaStep) {
        Value rhs = load(at(base, key * view.widthBytes() + n * 2),
                         /*trans=*/true);
        addProducts(lhs, rhs, MutableArrayRef(sums).drop_front(n / 8),
                    view.paddedWidth() / 8);
      }
    }
    return sums;
  }

  void storeSums(ArrayRef<Value> sums) override {
    size_t across = size_t(view.paddedWidth() / 8);
    for (int64_t row = 0; row < slots().rows; ++row) {
      Value base = sumAt(rowAt(row), firstColumn());
      for (auto [i, sum] :
           llvm::enumerate(sums.slice(size_t(row) / 2 * across, across)))
        LLVM::StoreOp::create(e.b, halfOf(e, sum, row % 2), at(base, i * 8 * 4),
                              8);
    }
  }

private:
  /// A row, and a chunk of 8 elements in it.
  struct Place {
    Value row, chunk;
  };

  // Of the four matrices that it loads at a time, a lane has the address of a
  // row: of those that go down the rows first, or along them.
  Place downFirst() {
    return {e.rem(lane, e.number(16)), e.div(lane, e.number(16))};
  }
  Place alongFirst() {
    Value eighth = e.div(lane, e.number(8));
    return {e.add(e.rem(lane, e.number(8)),
                  e.mul(e.div(eighth, e.number(2)), e.number(8))),
            e.rem(eighth, e.number(2))};
  }

  Value zero() {
    return arith::ConstantOp::create(e.b, DenseElementsAttr::get(four, 0.0f));
  }

  Value placeOf(Place place, int64_t rowBytes, int64_t start) {
    Value offset = e.add(e.mul(place.row, e.number(rowBytes)),
                         e.mul(place.chunk, e.number(16)));
    return sharedAt(e.add(offset, e.number(start)));
  }

  Value load(Value address, bool trans = false) {
    auto type = VectorType::get({4}, e.b.getI32Type());
    return ptx::LdmatrixOp::create(e.b, type, address, trans);
  }

  Value query(int64_t fragment, int64_t k) {
    Place place = {e.add(warpRow, downFirst().row), downFirst().chunk};
    return load(at(placeOf(place, view.depthBytes(), 0),
                   fragment * fragmentRows * view.depthBytes() + k * 2));
  }

  /// Of all fragments: what is multiplied by 16 columns, whose sums are the
  /// first two of `across` each.
  void addProducts(ArrayRef<Value> lhs, Value rhs, MutableArrayRef<Value> sums,
                   int64_t across) {
    for (auto [i, left] : llvm::enumerate(lhs))
      for (int64_t half : {0, 1}) {
        Value &sum = sums[i * size_t(across) + size_t(half)];
        sum = ptx::MmaOp::create(e.b, kind, left, halfOf(e, rhs, half), sum);
      }
  }

  /// The weights of 16 keys from `key` on.
  Value weightsFrom(ArrayRef<Value> weights, int64_t fragment, int64_t key) {
    Values words;
    for (int64_t i = 0; i < 4; ++i) {
      // By rows first, then by 8 columns.
      size_t from =
          (2 * fragment + i % 2) * slots().columns + key / 4 + (i / 2) * 2;
      words.push_back(rounded(weights[from], weights[from + 1]));
    }
    return together(e, words);
  }

  const ptx::Mma kind;
  const int64_t fragments; // Of a warp's rows.
  const VectorType four;
};

} // namespace

void emitAttentionMma(DeviceEmitter &e, const kernel::DeviceAttention &view,
                      Value row) {
  MmaAttention(e, view).emit(row);
}

} // namespace tenon::cuda
