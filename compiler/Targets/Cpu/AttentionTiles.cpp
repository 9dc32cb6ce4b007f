//===- AttentionTiles.cpp - The products inside attention -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile's sums stay in registers while the depth runs; there is one function
// per height and number of vectors, and none of them holds anything else.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AttentionTiles.h"
#include "dialects/Kernel/AttentionView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::queryBlock;

/// Steps of the depth per iteration.
constexpr int64_t unroll = 4;

struct Shapes {
  int64_t lanes;
  SmallVector<int64_t> heights; // Tallest first, the last one 1.
  SmallVector<int64_t> vectors; // Of a tile, fewest first.

  int64_t step() const { return vectors.front() * lanes; }
};

Shapes shapesOf(const CpuLevel &level) {
  if (level.vectorBits >= 512)
    return {16, {8, 4, 1}, {1, 2, 3}};
  return {8, {4, 1}, {3}};
}

class ProductWriter {
public:
  ProductWriter(ModuleOp module, const CpuLevel &level,
                AttentionProduct product, StringRef name)
      : module(module), name(name),
        isScores(product == AttentionProduct::Scores), shapes(shapesOf(level)),
        b(UnknownLoc::get(module.getContext()), module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())),
        i64(b.getI64Type()), f32(b.getF32Type()),
        vector(VectorType::get({shapes.lanes}, f32)) {}

  LLVM::LLVMFuncOp write() {
    for (int64_t height : shapes.heights)
      for (int64_t vectors : shapes.vectors)
        tiles.push_back(writeTile(height, vectors));
    LLVM::LLVMFuncOp function =
        start(name, {pointer, i64, pointer, i64, pointer, i64, i64, pointer});
    writeRows(function);
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  Value number(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 64);
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value element(Value base, LLVM::GEPArg offset) {
    return LLVM::GEPOp::create(b, pointer, f32, base,
                               ArrayRef<LLVM::GEPArg>{offset});
  }
  Value loadVector(Value base, int64_t offset) {
    return LLVM::LoadOp::create(b, vector, element(base, int32_t(offset)),
                                /*alignment=*/4);
  }

  LLVM::LLVMFuncOp start(const Twine &name, ArrayRef<Type> inputs) {
    b.setInsertionPointToEnd(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(b.getContext()), inputs);
    auto function =
        LLVM::LLVMFuncOp::create(b, name.str(), type, LLVM::Linkage::Internal);
    b.setInsertionPointToStart(function.addEntryBlock(b));
    return function;
  }

  using Carry = SmallVector<Value>;
  Carry loop(Value from, Value to, int64_t step, ValueRange initial,
             function_ref<Carry(Value, ValueRange)> body) {
    auto loop = scf::ForOp::create(b, from, to, number(step), initial);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody()); // No yield follows a carry.
    Carry next = body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!initial.empty())
      scf::YieldOp::create(b, next);
    return Carry(loop.getResults());
  }

  /// Adds to the sums what `count` steps from k on contribute; `rows` are the
  /// tile's rows of A at depth 0, or for values A itself.
  Carry step(ArrayRef<Value> rows, Value stride, Value base, Value k,
             int64_t count, int64_t height, int64_t vectors,
             ValueRange before) {
    Carry sums(before);
    Value line = element(base, mul(k, number(queryBlock)));
    Value at = isScores ? Value() : element(rows[0], mul(k, stride));
    for (int64_t u = 0; u < count; ++u) {
      Carry columns;
      for (int64_t v = 0; v < vectors; ++v)
        columns.push_back(loadVector(line, u * queryBlock + v * shapes.lanes));
      for (int64_t i = 0; i < height; ++i) {
        Value from = isScores ? element(element(rows[i], k), int32_t(u))
                              : element(at, int32_t(i));
        Value factor = vector::BroadcastOp::create(
            b, vector, LLVM::LoadOp::create(b, f32, from));
        for (int64_t v = 0; v < vectors; ++v) {
          Value &sum = sums[i * vectors + v];
          sum = LLVM::FMAOp::create(b, factor, columns[v], sum);
        }
      }
      if (!isScores && u + 1 < count)
        at = element(at, stride);
    }
    return sums;
  }

  /// tile(a, stride, b, depth, c, factor)
  LLVM::LLVMFuncOp writeTile(int64_t height, int64_t vectors) {
    LLVM::LLVMFuncOp tile =
        start(name + "_" + Twine(height) + "x" + Twine(vectors * shapes.lanes),
              {pointer, i64, pointer, i64, pointer, pointer});
    Value stride = tile.getArgument(1), base = tile.getArgument(2),
          depth = tile.getArgument(3), out = tile.getArgument(4);
    Carry rows = {tile.getArgument(0)};
    for (int64_t i = 1; isScores && i < height; ++i)
      rows.push_back(element(rows.back(), stride));
    Carry sums;
    for (int64_t i = 0; i < height; ++i)
      for (int64_t v = 0; v < vectors; ++v)
        sums.push_back(isScores ? zero() : scaled(tile, i, v));
    Value done = number(0);
    if (height == shapes.heights.front()) { // The others are for what is left.
      done = sub(depth, arith::AndIOp::create(b, depth, number(unroll - 1)));
      sums = loop(number(0), done, unroll, sums, [&](Value k, ValueRange sums) {
        return step(rows, stride, base, k, unroll, height, vectors, sums);
      });
    }
    sums = loop(done, depth, 1, sums, [&](Value k, ValueRange sums) {
      return step(rows, stride, base, k, 1, height, vectors, sums);
    });
    for (int64_t i = 0; i < height; ++i)
      for (int64_t v = 0; v < vectors; ++v)
        LLVM::StoreOp::create(
            b, sums[i * vectors + v],
            element(out, int32_t(i * queryBlock + v * shapes.lanes)),
            /*alignment=*/4);
    LLVM::ReturnOp::create(b, ValueRange());
    return tile;
  }

  Value zero() {
    return arith::ConstantOp::create(b, SplatElementsAttr::get(vector, 0.0f));
  }
  /// What the result holds, times the queries' factors.
  Value scaled(LLVM::LLVMFuncOp tile, int64_t i, int64_t v) {
    return arith::MulFOp::create(
        b, loadVector(tile.getArgument(4), i * queryBlock + v * shapes.lanes),
        loadVector(tile.getArgument(5), v * shapes.lanes));
  }

  void writeRows(LLVM::LLVMFuncOp function) {
    Value rows = function.getArgument(5), from = number(0);
    for (auto [index, height] : llvm::enumerate(shapes.heights)) {
      Value left = sub(rows, from);
      Value to =
          add(from, sub(left, arith::RemUIOp::create(b, left, number(height))));
      loop(from, to, height, {}, [&](Value row, ValueRange) {
        writeColumns(function, index, row);
        return Carry();
      });
      from = to;
    }
  }

  /// All columns of a tile's height at a row.
  void writeColumns(LLVM::LLVMFuncOp function, size_t index, Value row) {
    Value stride = function.getArgument(1);
    Value a =
        element(function.getArgument(0), isScores ? mul(row, stride) : row);
    Value c = element(function.getArgument(4), mul(row, number(queryBlock)));
    auto call = [&](size_t variant, Value column) {
      LLVM::CallOp::create(
          b, tiles[index * shapes.vectors.size() + variant],
          ValueRange{a, stride, element(function.getArgument(2), column),
                     function.getArgument(3), element(c, column),
                     element(function.getArgument(7), column)});
    };
    Value columns = function.getArgument(6);
    if (shapes.vectors.size() == 1) {
      loop(number(0), columns, shapes.step(), {}, [&](Value n, ValueRange) {
        call(0, n);
        return Carry();
      });
      return;
    }
    SmallVector<int64_t> cases;
    for (int64_t vectors : ArrayRef(shapes.vectors).drop_back())
      cases.push_back(vectors * shapes.lanes);
    Value chosen = arith::IndexCastOp::create(b, b.getIndexType(), columns);
    auto choice =
        scf::IndexSwitchOp::create(b, TypeRange(), chosen, cases, cases.size());
    OpBuilder::InsertionGuard guard(b);
    for (size_t i = 0; i <= cases.size(); ++i) {
      Region &region = i < cases.size() ? choice.getCaseRegions()[i]
                                        : choice.getDefaultRegion();
      b.setInsertionPointToStart(&region.emplaceBlock());
      call(i, number(0));
      scf::YieldOp::create(b);
    }
  }

  ModuleOp module;
  StringRef name;
  bool isScores;
  Shapes shapes;
  ImplicitLocOpBuilder b;
  Type pointer, i64, f32;
  VectorType vector;
  SmallVector<LLVM::LLVMFuncOp> tiles; // By height, then by vectors.
};

} // namespace

int64_t columnStep(const CpuLevel &level) { return shapesOf(level).step(); }

LLVM::LLVMFuncOp attentionProduct(ModuleOp module, const CpuLevel &level,
                                  AttentionProduct product) {
  std::string name = product == AttentionProduct::Scores ? "attention_scores."
                                                         : "attention_values.";
  name += level.name;
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  return ProductWriter(module, level, product, name).write();
}

void callAttentionProduct(OpBuilder &b, LLVM::LLVMFuncOp function,
                          const AttentionTileWork &work) {
  LLVM::CallOp::create(b, UnknownLoc::get(b.getContext()), function,
                       ValueRange{work.a, work.stride, work.b, work.depth,
                                  work.c, work.rows, work.columns,
                                  work.factor});
}

} // namespace tenon::cpu
