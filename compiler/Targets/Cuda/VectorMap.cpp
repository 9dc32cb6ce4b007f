//===- VectorMap.cpp - Kernels without root, by vectors -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Neighbouring threads have neighbouring vectors of the results: what is read
// and written of tensors that lie along them moves 16 bytes at a time. Of
// results whose rows are no whole vectors, threads have single elements.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/PointwiseTiles.h"
#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "dialects/Kernel/PointwiseView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

class VectorMap {
public:
  VectorMap(DeviceEmitter &e, kernel::VectorTile tile, Value ordinal)
      : e(e), tile(tile), ordinal(ordinal), space(cpu::pointwiseSpace(e)),
        inner(space.runs.back().size), count(e.number(1)) {
    for (const cpu::AxisRun &run : space.runs)
      count = e.atEntry([&] { return e.mul(count, run.size); });
  }

  void emit() {
    int64_t known = std::min(e.knownPower(inner), tile.width);
    if (known == tile.width || getConstantIntValue(inner))
      return emitBlock(known);
    e.whereMultiple(inner, tile.width, [&] { emitBlock(tile.width); });
    Value rest = e.rem(inner, e.number(tile.width));
    e.ifThen(e.less(e.number(0), rest), [&] { emitBlock(1); });
  }

private:
  void emitBlock(int64_t width) {
    int64_t steps = tile.elements / tile.threads / width;
    Value first = e.mul(ordinal, e.number(tile.elements / width));
    auto vectorOf = [&](Value step) {
      Value ahead = e.mul(step, e.number(tile.threads));
      return e.add(e.add(first, ahead), e.threadNumber());
    };
    Value vectors = e.div(count, e.number(width));
    if (steps == 1)
      return emitWhere(vectorOf(e.number(0)), vectors, width);
    // All at once where all are there.
    Value behind = e.add(first, e.number(tile.elements / width));
    Value isWhole = e.less(behind, e.add(vectors, e.number(1)));
    e.ifThen(isWhole, [&] {
      for (int64_t i = 0; i < steps; ++i)
        emitVector(vectorOf(e.number(i)), width);
    });
    e.ifThen(e.less(vectors, behind), [&] {
      e.loop(e.number(0), e.number(steps),
             [&](Value step) { emitWhere(vectorOf(step), vectors, width); });
    });
  }

  void emitWhere(Value vector, Value vectors, int64_t width) {
    e.ifThen(e.less(vector, vectors), [&] { emitVector(vector, width); });
  }

  /// Row-major vector `vector` of the results.
  void emitVector(Value vector, int64_t width) {
    Value size = e.div(inner, e.number(width));
    ArrayRef<cpu::AxisRun> outer = ArrayRef(space.runs).drop_back();
    Value row = e.number(0), place = vector;
    if (!outer.empty())
      row = divide(vector, size), place = e.sub(vector, e.mul(row, size));
    // A value of its own: nothing else counts with these lanes.
    Value first =
        arith::AddIOp::create(e.b, e.mul(place, e.number(width)), e.number(0));
    Indices counts(outer.size());
    Value rest = row;
    for (size_t i = outer.size(); i-- > 0;) {
      Value above = i ? divide(rest, outer[i].size) : e.number(0);
      counts[i] = i ? e.sub(rest, e.mul(above, outer[i].size)) : rest;
      rest = above;
    }
    counts.push_back(first);
    Value position = e.add(e.mul(row, inner), first);
    auto store = [&] { e.storeYields(space.index(e, counts), position); };
    if (width == 1)
      store();
    else
      e.inLanes({first, width, {}, {}}, store);
  }

  /// In 32 bits where the results are known to be few.
  Value divide(Value x, Value y) {
    std::optional<int64_t> known = getConstantIntValue(count);
    if (!known || *known > INT32_MAX || !getConstantIntValue(y))
      return e.div(x, y);
    Type i32 = e.b.getI32Type();
    Value quotient =
        arith::DivUIOp::create(e.b, arith::TruncIOp::create(e.b, i32, x),
                               arith::TruncIOp::create(e.b, i32, y));
    return arith::ExtUIOp::create(e.b, e.b.getI64Type(), quotient);
  }

  DeviceEmitter &e;
  kernel::VectorTile tile;
  Value ordinal;
  cpu::PointwiseSpace space;
  Value inner, count;
};

} // namespace

void emitVectorMap(DeviceEmitter &e, Value ordinal) {
  Block &body = e.kernel.getBlock();
  kernel::VectorTile tile =
      kernel::vectorTileOf(body, kernel::pointwiseViewOf(body));
  VectorMap(e, tile, ordinal).emit();
}

} // namespace tenon::cuda
