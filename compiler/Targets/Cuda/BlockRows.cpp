//===- BlockRows.cpp - Norms, softmax and reductions of rows --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row that is held is read and written once. One that is not is read again
// by each pass, from a cache unless it is very long; softmax takes two passes,
// for it corrects its sum wherever the maximum grows.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cuda/BlockRows.h"
#include "compiler/Targets/Cpu/Reduction.h"
#include "compiler/Targets/Cpu/RowReduction.h"
#include "compiler/Targets/Cpu/RowVectors.h"
#include "compiler/Targets/Cuda/LastBlock.h"
#include "compiler/Targets/Cuda/MemoryTiles.h"
#include "compiler/Targets/Cuda/OnlineSoftmax.h"
#include "dialects/Kernel/DepthPieces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "runtime/model_format.h"

using namespace mlir;

namespace tenon::cuda {
namespace {

using cpu::constantLike;
using cpu::emitAdd;
using cpu::emitExp;
using cpu::largerOf;
using cpu::multiply;
using cpu::subtract;
using Step = RowPasses::Step;
using Values = RowPasses::Values;

constexpr double infinity = std::numeric_limits<double>::infinity();

class BlockRow {
public:
  /// Of `share` blocks for each row.
  BlockRow(DeviceEmitter &e, cpu::RowProgram &program, kernel::RowTile tile,
           kernel::Expr share)
      : e(e), program(program), tile(tile), threads(e, tile.rowThreads),
        passes(threads, program.length, tile),
        type(VectorType::get({tile.width}, e.b.getF32Type())),
        element(graph::getElementType(program.result)), held(tile.held) {
    if (!share.isConstant(1))
      pieces = e.valueOf(share);
  }

  /// Row `number` of those that block `ordinal` has.
  void emit(Value ordinal) {
    locate(ordinal);
    Operation *root = program.root;
    if (auto op = dyn_cast<graph::ReduceOp>(root))
      reduce(op);
    else if (auto op = dyn_cast<graph::ArgReduceOp>(root))
      argReduce(op);
    else if (auto op = dyn_cast<graph::LayerNormOp>(root))
      normalise(op.getEpsilon().convertToDouble(), /*hasMean=*/true);
    else if (auto op = dyn_cast<graph::RmsNormOp>(root))
      normalise(op.getEpsilon().convertToDouble(), /*hasMean=*/false);
    else if (passes.isHeld())
      softmaxHeld(isa<graph::LogSoftmaxOp>(root));
    else
      softmaxRead(isa<graph::LogSoftmaxOp>(root));
    threads.finish();
  }

private:
  /// Threads without a row do what those of the last one do, and store
  /// nothing.
  void locate(Value ordinal) {
    unit = ordinal;
    if (pieces)
      locatePiece(ordinal);
    isThere = e.equal(unit, unit);
    if (tile.rows() > 1) {
      Value count = e.atEntry([&] {
        Value count = e.number(1);
        for (Value dim : program.leadDims)
          count = e.mul(count, dim);
        return count;
      });
      unit = e.add(e.mul(ordinal, e.number(tile.rows())),
                   e.div(e.threadNumber(), e.number(tile.rowThreads)));
      isThere = e.less(unit, count);
      unit = e.min(unit, e.sub(count, e.number(1)));
    }
    lead = e.delinearise(unit, program.leadDims);
  }

  /// Pieces begin with whole vectors; the last ones may be empty.
  void locatePiece(Value ordinal) {
    unit = e.div(ordinal, pieces);
    piece = e.rem(ordinal, pieces);
    Value width = e.number(tile.width), one = e.number(1);
    Value vectors = e.div(e.sub(e.add(program.length, width), one), width);
    Value share =
        e.mul(e.div(e.sub(e.add(vectors, pieces), one), pieces), width);
    Value from = e.mul(piece, share);
    passes.narrow(from, e.min(e.add(from, share), program.length));
  }

  Value zero() const { return constantLike(e.b, type, 0); }
  Value splat(Value number) const { return e.spread(number, tile.width); }

  Indices indexAt(const Step &step, ArrayRef<Value> steps = {}) const {
    return program.indexOf(lead, steps, step.lanes.first);
  }
  Value read(const Step &step) {
    return program.input(indexAt(step), tile.width);
  }
  /// The operand, read once where it is held.
  Value first(const Step &step) {
    Value value = read(step);
    if (passes.isHeld())
      held[step.ordinal] = value;
    return value;
  }
  Value again(const Step &step) {
    return passes.isHeld() ? held[step.ordinal] : read(step);
  }

  /// What all threads' lanes of something that is carried make together.
  using Term = function_ref<Value(const Step &, Value)>;
  using Join = function_ref<Value(Value, Value)>;
  Value fold(Value start, Term body, Join join) {
    Value mine = passes.pass(start, [&](const Step &step, ValueRange carried) {
      return Values{body(step, carried[0])};
    })[0];
    return threads.join(cpu::foldLanes(e, mine, join), join);
  }
  Value sum(function_ref<Value(const Step &)> term) {
    return fold(
        zero(),
        [&](const Step &step, Value sofar) {
          return emitAdd(e.b, sofar, passes.alive(step, term(step), zero()));
        },
        [&](Value x, Value y) { return emitAdd(e.b, x, y); });
  }

  /// Stores what is yielded, the root's elements being `body(step)`.
  void finish(function_ref<Value(const Step &)> body) {
    e.ifThen(isThere, [&] {
      passes.forEach([&](const Step &step) {
        program.store(indexAt(step), cpu::roundTo(e.b, body(step), element));
      });
    });
  }
  /// The same of a root that leaves one element of the row.
  void finishOne(Value value) {
    Value isFirst = e.equal(threads.number(), e.number(0));
    e.ifThen(e.both(isThere, isFirst), [&] {
      Indices steps(program.stepDims.size(), e.number(0));
      e.bind(program.result, program.indexOf(lead, steps, e.number(0)), value);
      e.storeYields(program.indexOf(lead, steps, e.number(0)), unit);
    });
  }

  /// Joins what all threads have of a row, and, where several blocks have a
  /// piece of it each, what those left, in the last one of them. `none` changes
  /// nothing. Then `finish` gets all of it.
  void joinAll(Values mine, Values none, RowThreads::Join join,
               function_ref<void(ValueRange)> finish) {
    mine = threads.join(std::move(mine), join);
    if (!pieces)
      return finish(mine);
    Value one = e.number(1);
    e.ifThen(e.less(pieces, e.number(2)), [&] { finish(mine); });
    e.ifThen(e.less(one, pieces),
             [&] { joinBlocks(mine, none, join, finish); });
    e.barrier(); // Before the next row's.
  }

  void joinBlocks(ValueRange mine, ValueRange none, RowThreads::Join join,
                  function_ref<void(ValueRange)> finish) {
    auto place = [&](Value of, size_t i) {
      Value slot = e.add(e.mul(e.add(e.mul(unit, pieces), of), e.number(2)),
                         e.number(int64_t(i)));
      return e.address(e.shared(), e.b.getI8Type(),
                       e.add(e.mul(slot, e.number(kernel::rowPieceBytes / 2)),
                             e.number(kernel::counterBytes)));
    };
    Value thread = e.threadNumber();
    e.ifThen(e.equal(thread, e.number(0)), [&] {
      for (auto [i, value] : llvm::enumerate(mine))
        LLVM::StoreOp::create(e.b, value, place(piece, i));
    });
    Value counter = e.address(e.shared(), e.b.getI32Type(), unit);
    Value flag = e.address(e.sharedMemory(), e.b.getI8Type(),
                           e.number(tile.sharedBytes - 16));
    e.ifThen(isLastBlock(e, counter, pieces, thread, flag), [&] {
      Value isOne = e.less(thread, pieces);
      Value from = e.min(thread, e.sub(pieces, e.number(1)));
      Values theirs;
      for (auto [i, value] : llvm::enumerate(mine))
        theirs.push_back(arith::SelectOp::create(
            e.b, isOne,
            LLVM::LoadOp::create(e.b, value.getType(), place(from, i)),
            none[i]));
      finish(threads.join(theirs, join));
    });
  }

  //===--- Softmax ---===//

  /// exp(x - max) / sum, or x - max - log(sum). NaN passes by the maximum, but
  /// not by the sum.
  void softmaxHeld(bool isLog) {
    Value lowest = constantLike(e.b, type, -infinity);
    auto larger = [&](Value x, Value y) { return largerOf(e, x, y); };
    Value largest = splat(fold(
        lowest,
        [&](const Step &step, Value sofar) {
          return larger(passes.alive(step, first(step), lowest), sofar);
        },
        larger));
    Value scale = sum([&](const Step &step) {
      Value &own = held[step.ordinal];
      Value below = subtract(e, own, largest);
      Value power = emitExp(e.b, e, below);
      own = isLog ? below : power;
      return power;
    });
    scale = splat(isLog ? cpu::emitLog(e.b, e, scale) : cpu::inverse(e, scale));
    finish([&](const Step &step) {
      Value own = held[step.ordinal];
      return isLog ? subtract(e, own, scale) : multiply(e, own, scale);
    });
  }

  /// In two passes.
  void softmaxRead(bool isLog) {
    OnlineSoftmax online(e);
    Value lowest = constantLike(e.b, type, -infinity);
    Value none = constantLike(e.b, e.b.getF32Type(), -infinity);
    Values all = passes.pass(ValueRange{none, zero()}, [&](const Step &step,
                                                           ValueRange carried) {
      Value x = passes.alive(step, read(step), lowest);
      Value here = cpu::foldLanes(
          e, x, [&](Value a, Value b) { return largerOf(e, a, b); });
      Value largest = largerOf(e, here, carried[0]);
      Value before = online.corrected(carried[0], carried[1], largest);
      return Values{largest, emitAdd(e.b, before, online.power(x, largest))};
    });
    all[1] = cpu::foldLanes(
        e, all[1], [&](Value x, Value y) { return emitAdd(e.b, x, y); });
    all = threads.join(
        all, [&](ValueRange x, ValueRange y) { return online.join(x, y); });
    Value largest = splat(all[0]);
    Value scale =
        splat(isLog ? cpu::emitLog(e.b, e, all[1]) : cpu::inverse(e, all[1]));
    finish([&](const Step &step) {
      Value below = subtract(e, read(step), largest);
      return isLog ? subtract(e, below, scale)
                   : multiply(e, emitExp(e.b, e, below), scale);
    });
  }

  //===--- Norms ---===//

  /// (x - mean) / sqrt(mean of squares + epsilon); the mean is 0 for rms_norm.
  void normalise(double epsilon, bool hasMean) {
    Type f32 = e.b.getF32Type();
    Value count = arith::SIToFPOp::create(e.b, f32, program.length);
    Value mean;
    if (hasMean)
      mean = splat(arith::DivFOp::create(
          e.b, sum([&](const Step &step) { return first(step); }), count));
    auto centred = [&](const Step &step) {
      Value x = again(step);
      return hasMean ? subtract(e, x, mean) : x;
    };
    Value squares = sum([&](const Step &step) {
      Value x = hasMean ? centred(step) : first(step);
      return multiply(e, x, x);
    });
    Value variance = arith::DivFOp::create(e.b, squares, count);
    variance = emitAdd(e.b, variance, constantLike(e.b, f32, epsilon));
    Value scale = splat(cpu::inverse(e, math::SqrtOp::create(e.b, variance)));
    finish([&](const Step &step) { return multiply(e, centred(step), scale); });
  }

  //===--- Reductions ---===//

  void reduce(graph::ReduceOp op) {
    cpu::RowReduction reduction(e, op.getKind(), tile.width);
    Values start = reduction.start();
    Values lanes =
        program.overSteps(start, [&](ArrayRef<Value> steps, ValueRange sofar) {
          return passes.pass(sofar, [&](const Step &step, ValueRange carried) {
            Value x = program.input(indexAt(step, steps), tile.width);
            return reduction.add(carried, x, maskOf(step));
          });
        });
    joinAll(
        reduction.fold(lanes), reduction.fold(start),
        [&](ValueRange x, ValueRange y) { return reduction.join(x, y); },
        [&](ValueRange all) {
          finishOne(reduction.finish(all, program.workedCount(), element));
        });
  }

  void argReduce(graph::ArgReduceOp op) {
    e.fault(e.less(program.length, e.number(1)), TENON_FAULT_COUNT, op);
    cpu::ArgReduction reduction(e, op, tile.width);
    Values lanes = passes.pass(
        reduction.start(), [&](const Step &step, ValueRange carried) {
          return reduction.add(carried, read(step),
                               reduction.placesFrom(step.lanes.first),
                               maskOf(step));
        });
    joinAll(
        reduction.fold(lanes), reduction.fold(reduction.start()),
        [&](ValueRange x, ValueRange y) { return reduction.join(x, y); },
        [&](ValueRange all) { finishOne(reduction.finish(all[1])); });
  }

  Value maskOf(const Step &step) {
    return step.isThere ? splat(step.isThere) : Value();
  }

  DeviceEmitter &e;
  cpu::RowProgram &program;
  kernel::RowTile tile;
  RowThreads threads;
  RowPasses passes;
  VectorType type;
  Type element;
  Values held;
  Value unit, isThere;
  Value pieces, piece; // Null where a block has the whole row.
  Indices lead;
};

} // namespace

LogicalResult emitBlockRows(DeviceEmitter &e, Value ordinal) {
  std::string why;
  Block &body = e.kernel.getBlock();
  std::optional<kernel::RowView> view = kernel::rowViewOf(body, why);
  if (!view)
    return e.kernel.emitOpError("has no rows: ") << why << "; please report it";
  kernel::RowTile tile = kernel::rowTileOf(body, *view);
  kernel::Expr share = kernel::rowPieces(*view, tile);
  cpu::RowProgram program(e, *view);
  if (view->length.asConstant() || tile.width == 1) {
    BlockRow(e, program, tile, share).emit(ordinal);
    return success();
  }
  // Rows that are no whole vectors are read element by element.
  kernel::RowTile single = tile;
  single.width = 1;
  Value rest = e.rem(program.length, e.number(tile.width));
  e.whereMultiple(program.length, tile.width,
                  [&] { BlockRow(e, program, tile, share).emit(ordinal); });
  e.ifThen(e.less(e.number(0), rest),
           [&] { BlockRow(e, program, single, share).emit(ordinal); });
  return success();
}

} // namespace tenon::cuda
