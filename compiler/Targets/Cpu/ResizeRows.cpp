//===- ResizeRows.cpp - Resampling by rows --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First the tables of kernel::ResizeView. Then rows of the result: where the
// last axis stays, vectors of it are sums of vectors of the input; where it
// changes, such sums make a row as wide as the input, in scratch memory, and
// vectors of the result are sums of what is looked up there.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/ResizeRows.h"
#include "compiler/Targets/Cpu/ResampledAxes.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "dialects/Kernel/ResizeView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/model_format.h"
#include <cmath>

using namespace mlir;

namespace tenon::cpu {
namespace {

class ResizeRows {
public:
  ResizeRows(Emitter &e, const kernel::ResizeView &view)
      : e(e), view(view), op(view.op), i32(e.b.getI32Type()),
        f32(e.b.getF32Type()), width(RowVectors::widthOf(e)),
        dims(e.dimsOf(op.getResult())) {
    auto behind = [&](kernel::Expr bytes) {
      return e.address(e.scratch(0), e.b.getI8Type(), e.valueOf(bytes));
    };
    for (auto [i, axis] : llvm::enumerate(view.axes)) {
      kernel::Expr start = view.tableStart(i), bytes = view.tableBytes(axis);
      for (int64_t t = 0; t < view.taps; ++t) {
        indices.push_back(behind(start + bytes * t));
        if (view.taps > 1)
          weights.push_back(behind(start + bytes * (view.taps + t)));
      }
    }
    held = behind(view.tableStart(view.axes.size()));
  }

  void emit() {
    Value empty = constantLike(e.b, e.b.getI1Type(), 0);
    for (Value size : e.dimsOf(op.getInput()))
      empty = e.either(empty, e.less(size, e.number(1)));
    Value isAny = e.less(e.begin, e.end);
    e.fault(e.both(empty, isAny), TENON_FAULT_COUNT, op);
    Value none = constantLike(e.b, e.b.getI1Type(), 0);
    e.ifThen(e.both(isAny, e.equal(empty, none)), [&] {
      fillTables();
      view.changesRow() ? emitRows() : emitPixels();
    });
  }

private:
  /// A row of the input, of rows that are summed.
  struct Source {
    Indices lead;
    Value weight;
  };

  /// Taps that do not hold have no number for a weight.
  void fillTables() {
    ResampledAxes axes(e, op);
    for (auto [i, axis] : llvm::enumerate(view.axes))
      e.loop(e.number(0), dims[axis], [&](Value position) {
        auto taps = axes.taps(axis, position, view.taps);
        for (auto [t, tap] : llvm::enumerate(taps)) {
          size_t table = i * view.taps + t;
          e.storeRaw(arith::TruncIOp::create(e.b, i32, tap.index),
                     indices[table], position);
          if (!tap.weight)
            continue;
          Value none = constantLike(e.b, f32, std::nan(""));
          Value w = arith::TruncFOp::create(e.b, f32, tap.weight);
          e.storeRaw(e.select(tap.holds, w, none), weights[table], position);
        }
      });
  }

  /// The rows that those made of `sources` are made of along axes[i].
  std::vector<Source> sourcesAlong(size_t i,
                                   const std::vector<Source> &sources) {
    std::vector<Source> result;
    int64_t axis = view.axes[i];
    for (int64_t t = 0; t < view.taps; ++t) {
      size_t table = i * view.taps + t;
      for (Source source : sources) {
        Value at = source.lead[axis];
        source.lead[axis] = arith::ExtSIOp::create(
            e.b, e.b.getI64Type(), e.loadRaw(indices[table], i32, at));
        if (view.taps > 1) {
          Value w = e.loadRaw(weights[table], f32, at);
          source.weight = source.weight ? emitMul(e.b, source.weight, w) : w;
        }
        result.push_back(source);
      }
    }
    return result;
  }

  /// Nothing is added where the weight is none.
  Value plusWeighted(Value sum, Value weight, Value x) {
    weight = spread(weight);
    Value added =
        sum ? emitMulAdd(e.b, weight, x, sum) : emitMul(e.b, weight, x);
    Value holds =
        arith::CmpFOp::create(e.b, arith::CmpFPredicate::ORD, weight, weight);
    return e.select(holds, added, sum ? sum : e.zero(added.getType()));
  }
  Value spread(Value value) { return e.spread(value, width); }

  /// The vector of the input behind these rows, summed.
  Value summed(const std::vector<Source> &sources, Value first) {
    Value sum;
    for (const Source &source : sources) {
      Indices index = source.lead;
      index.push_back(first);
      Value x = spread(e.element(op.getInput(), index));
      if (!source.weight)
        return x;
      sum = plusWeighted(sum, source.weight, x);
    }
    return sum;
  }

  void store(Indices index, Value row, const Lanes &lanes, Value value) {
    index.push_back(lanes.first);
    Type element = graph::getElementType(op.getResult());
    e.bind(op.getResult(), index, roundTo(e.b, value, element));
    e.storeYields(index, e.add(e.mul(row, dims.back()), lanes.first));
  }

  /// The last axis stays: line by line of the axis before it, along which the
  /// others' rows are the same.
  void emitPixels() {
    size_t inner = view.axes.size();
    if (size_t(view.axes.back()) + 2 == dims.size())
      --inner;
    forEachLine(e, dims, [&](const Line &line) {
      Indices lead = line.outer;
      lead.push_back(e.number(0));
      std::vector<Source> ofLine = {{lead, {}}};
      for (size_t i = 0; i < inner; ++i)
        ofLine = sourcesAlong(i, ofLine);
      e.loop(line.from, line.to, [&](Value x) {
        std::vector<Source> sources = ofLine;
        for (Source &source : sources)
          source.lead.back() = x;
        for (size_t i = inner; i < view.axes.size(); ++i)
          sources = sourcesAlong(i, sources);
        Indices at = line.outer;
        at.push_back(x);
        RowVectors(e, dims.back(), mostUnrolled)
            .forEach(1, [&](const RowVectors::Step &step) {
              store(at, e.add(line.firstRow, x), step.lanes,
                    summed(sources, step.lanes.first));
            });
      });
    });
  }

  void emitRows() {
    Value length = e.dimsOf(op.getInput()).back();
    e.loop(e.begin, e.end, [&](Value row) {
      Indices lead = e.delinearise(row, ArrayRef(dims).drop_back());
      std::vector<Source> sources = {{lead, {}}};
      for (size_t i = 0; i + 1 < view.axes.size(); ++i)
        sources = sourcesAlong(i, sources);
      RowVectors(e, length, mostUnrolled)
          .forEach(1, [&](const RowVectors::Step &step) {
            Value sum = summed(sources, step.lanes.first);
            storeInLine(e, step.lanes, sum, held, step.lanes.first);
          });
      auto lookUp = [&](bool areNear) {
        RowVectors(e, dims.back(), mostUnrolled)
            .forEach(1, [&](const RowVectors::Step &step) {
              store(lead, row, step.lanes, lookedUp(step.lanes, areNear));
            });
      };
      Value areNear = isEnlarged(),
            none = constantLike(e.b, areNear.getType(), 0);
      e.ifThen(areNear, [&] { lookUp(true); });
      e.ifThen(e.equal(areNear, none), [&] { lookUp(false); });
    });
  }

  /// Whether neighbours along the last axis are made of elements that are at
  /// most neighbours.
  Value isEnlarged() {
    ArrayRef<double> scales = op.getScales();
    if (!scales.empty())
      return constantLike(e.b, e.b.getI1Type(), scales.back() >= 1);
    Value size = e.dimsOf(op.getInput()).back();
    return e.less(size, e.add(dims.back(), e.number(1)));
  }

  /// A vector of the result along its last axis, of elements of the line.
  Value lookedUp(const Lanes &lanes, bool areNear) {
    Value sum;
    for (int64_t t = 0; t < view.taps; ++t) {
      size_t table = (view.axes.size() - 1) * view.taps + t;
      Value at = load(indices[table], i32, lanes);
      Value x = areNear ? permuted(at, indices[table], lanes)
                        : gatherFromLine(e, held, at);
      if (view.taps == 1)
        return x;
      sum = plusWeighted(sum, load(weights[table], f32, lanes), x);
    }
    return sum;
  }

  Value load(Value table, Type type, const Lanes &lanes) {
    Value at = e.address(table, type, lanes.first);
    auto vector = VectorType::get({width}, type);
    if (!lanes.mask)
      return LLVM::LoadOp::create(e.b, vector, at, /*alignment=*/4);
    return LLVM::MaskedLoadOp::create(e.b, vector, at, lanes.mask,
                                      e.zero(vector), /*alignment=*/4);
  }

  /// Of two vectors of the line, which hold all that a vector is made of.
  Value permuted(Value at, Value table, const Lanes &lanes) {
    auto vector = VectorType::get({width}, f32);
    Value first = e.loadRaw(table, i32, lanes.first);
    Value start = arith::ExtSIOp::create(e.b, e.b.getI64Type(), first);
    Value halves[2];
    for (int64_t i : {0, 1})
      halves[i] = LLVM::LoadOp::create(
          e.b, vector, e.address(held, f32, e.add(start, e.number(i * width))),
          /*alignment=*/4);
    at = arith::SubIOp::create(e.b, at, spread(first));
    auto call = [&](StringRef name, ValueRange operands) -> Value {
      return LLVM::CallIntrinsicOp::create(e.b, vector, e.b.getStringAttr(name),
                                           operands)
          .getResult(0);
    };
    if (width == 16)
      return call("llvm.x86.avx512.vpermi2var.ps.512",
                  {halves[0], at, halves[1]});
    Value low = call("llvm.x86.avx2.permps", {halves[0], at});
    Value high = call("llvm.x86.avx2.permps", {halves[1], at});
    Value isLow =
        arith::CmpIOp::create(e.b, arith::CmpIPredicate::slt, at,
                              constantLike(e.b, at.getType(), double(width)));
    return e.select(isLow, low, high);
  }

  static constexpr int64_t mostUnrolled = 4;

  Emitter &e;
  const kernel::ResizeView &view;
  graph::ResizeOp op;
  Type i32, f32;
  int64_t width;
  Indices dims;
  // Of the taps of each axis in turn, and a row as wide as the input.
  SmallVector<Value> indices, weights;
  Value held;
};

} // namespace

LogicalResult emitResizeRows(Emitter &e) {
  std::string why;
  auto view = kernel::resizeViewOf(e.kernel.getBlock(), why);
  if (!view)
    return e.kernel.emitOpError("is no resize by rows: ") << why;
  ResizeRows(e, *view).emit();
  return success();
}

} // namespace tenon::cpu
