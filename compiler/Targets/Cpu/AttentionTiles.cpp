//===- AttentionTiles.cpp - The products inside attention -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile's sums stay in registers while the depth runs; there is one function
// per number of vectors, and none of them holds anything else. Meanwhile the
// next panel is fetched.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/AttentionTiles.h"
#include "compiler/Targets/Cpu/StripProducts.h"
#include "compiler/Targets/Cpu/TileFunction.h"
#include "compiler/Targets/Cpu/VectorStrip.h"
#include "dialects/Kernel/AttentionView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::queryBlock;

constexpr int64_t cacheLine = 64;

/// The most vectors side by side in a tile.
constexpr int64_t mostVectors = 3;

struct Shapes {
  int64_t lanes, height;

  int64_t columns() const { return mostVectors * lanes; }
};

Shapes shapesOf(const CpuLevel &level) {
  if (level.vectorBits >= 512)
    return {16, 8};
  return {8, 4};
}

class ProductWriter : TileBuilder {
public:
  ProductWriter(ModuleOp module, const CpuLevel &level,
                AttentionProduct product, StripKind kind, StringRef name)
      : TileBuilder(module), name(name), product(product),
        shapes(shapesOf(level)), f32(b.getF32Type()),
        vector(VectorType::get({shapes.lanes}, f32)), inF16(addsF16(kind)),
        products(b, level, kind, vector) {}

  LLVM::LLVMFuncOp write() {
    for (int64_t vectors = 1; vectors <= mostVectors; ++vectors)
      tiles.push_back(writeTile(vectors));
    SmallVector<Type> types = {pointer, i64, pointer, i64,     pointer,
                               i64,     i64, pointer, pointer, f32};
    if (!inF16)
      types.pop_back();
    LLVM::LLVMFuncOp function = startTileFunction(b, module, name, types);
    writeRows(function);
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  Value element(Value base, LLVM::GEPArg offset) {
    return address(base, f32, offset);
  }
  Value loadVector(Value base, int64_t offset) {
    return LLVM::LoadOp::create(b, vector, element(base, int32_t(offset)),
                                /*alignment=*/4);
  }

  using Carry = SmallVector<Value>;
  Carry loop(Value to, int64_t step, ValueRange initial,
             function_ref<Carry(Value, ValueRange)> body) {
    auto loop = scf::ForOp::create(b, number(0), to, number(step), initial);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody()); // No yield follows a carry.
    Carry next = body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!initial.empty())
      scf::YieldOp::create(b, next);
    return Carry(loop.getResults());
  }

  /// Adds to the sums what the steps from k on contribute.
  void step(Value panel, Value base, Value k, int64_t vectors, Carry &sums) {
    Value line = element(base, mul(k, number(queryBlock)));
    Value at = element(panel, mul(k, number(shapes.height)));
    for (int64_t u = 0; u < depthStep; ++u) {
      Carry columns;
      for (int64_t v = 0; v < vectors; ++v)
        columns.push_back(loadVector(line, u * queryBlock + v * shapes.lanes));
      for (int64_t i = 0; i < shapes.height; ++i) {
        Value from = element(at, int32_t(u * shapes.height + i));
        Value factor = vector::BroadcastOp::create(
            b, vector, LLVM::LoadOp::create(b, f32, from));
        for (int64_t v = 0; v < vectors; ++v) {
          Value &sum = sums[i * vectors + v];
          sum = products.add(factor, columns[v], sum);
        }
      }
    }
  }

  void prefetch(Value at) {
    // Read; expected to be needed again soon; data.
    LLVM::Prefetch::create(b, at, 0, 3, 1);
  }

  /// tile(panel, b, depth, c, factor, next[, scale])
  LLVM::LLVMFuncOp writeTile(int64_t vectors) {
    SmallVector<Type> types = {pointer, pointer, i64, pointer,
                               pointer, pointer, f32};
    if (!inF16)
      types.pop_back();
    LLVM::LLVMFuncOp tile =
        startTileFunction(b, module,
                          (name + "_" + Twine(shapes.height) + "x" +
                           Twine(vectors * shapes.lanes))
                              .str(),
                          types);
    Value panel = tile.getArgument(0), base = tile.getArgument(1),
          out = tile.getArgument(3);
    Value zero =
        inF16 ? products.zeroPairs()
              : arith::ConstantOp::create(b, b.getZeroAttr(vector)).getResult();
    Value scale;
    if (inF16)
      scale = vector::BroadcastOp::create(b, vector, tile.getArgument(6));
    Carry initial(shapes.height * vectors, zero);
    initial.push_back(tile.getArgument(5));
    Carry sums = loop(tile.getArgument(2), depthStep, initial,
                      [&](Value k, ValueRange before) {
                        Carry sums(before.drop_back());
                        Value next = before.back();
                        int64_t bytes = shapes.height * depthStep * 4;
                        for (int64_t byte = 0; byte < bytes; byte += cacheLine)
                          prefetch(element(next, int32_t(byte / 4)));
                        step(panel, base, k, vectors, sums);
                        sums.push_back(element(next, int32_t(bytes / 4)));
                        return sums;
                      });
    sums.pop_back();
    if (inF16)
      sums = products.widened(sums);
    for (int64_t i = 0; i < shapes.height; ++i)
      for (int64_t v = 0; v < vectors; ++v) {
        int64_t at = i * queryBlock + v * shapes.lanes;
        Value sum = sums[i * vectors + v];
        if (inF16)
          sum = arith::MulFOp::create(b, scale, sum);
        if (product == AttentionProduct::MoreScores)
          sum = arith::AddFOp::create(b, loadVector(out, at), sum);
        if (product == AttentionProduct::Values)
          sum = LLVM::FMAOp::create(
              b, loadVector(out, at),
              loadVector(tile.getArgument(4), v * shapes.lanes), sum);
        LLVM::StoreOp::create(b, sum, element(out, int32_t(at)),
                              /*alignment=*/4);
      }
    LLVM::ReturnOp::create(b, ValueRange());
    return tile;
  }

  void writeRows(LLVM::LLVMFuncOp function) {
    Value count = function.getArgument(5);
    Value last = arith::SubIOp::create(b, count, number(1));
    loop(count, 1, {}, [&](Value at, ValueRange) {
      Value panel =
          element(function.getArgument(0), mul(at, function.getArgument(1)));
      Value isLast =
          arith::CmpIOp::create(b, arith::CmpIPredicate::eq, at, last);
      Value next =
          arith::SelectOp::create(b, isLast, function.getArgument(8),
                                  element(panel, function.getArgument(1)));
      Value c = element(function.getArgument(4),
                        mul(at, number(shapes.height * queryBlock)));
      writeColumns(function, panel, c, next);
      return Carry();
    });
  }

  /// All columns of a tile.
  void writeColumns(LLVM::LLVMFuncOp function, Value panel, Value c,
                    Value next) {
    auto call = [&](int64_t vectors, Value column) {
      SmallVector<Value> operands = {panel,
                                     element(function.getArgument(2), column),
                                     function.getArgument(3),
                                     element(c, column),
                                     element(function.getArgument(7), column),
                                     next};
      if (inF16)
        operands.push_back(function.getArgument(9));
      LLVM::CallOp::create(b, tiles[vectors - 1], operands);
    };
    Value columns = function.getArgument(6);
    if (shapes.columns() == queryBlock)
      return callWidth(columns, number(0), mostVectors, call);
    // Each tile is called in one place, and so becomes part of it.
    Value rest = arith::RemUIOp::create(b, columns, number(shapes.columns()));
    Value whole = sub(columns, rest);
    loop(whole, shapes.columns(), {}, [&](Value n, ValueRange) {
      call(mostVectors, n);
      return Carry();
    });
    callWidth(rest, whole, 0, call);
  }

  /// The tile for so many columns; for none that is listed, of `otherwise`
  /// vectors, or none if 0.
  void callWidth(Value columns, Value first, int64_t otherwise,
                 function_ref<void(int64_t vectors, Value column)> call) {
    SmallVector<int64_t> cases;
    for (int64_t vectors = 1; vectors < mostVectors; ++vectors)
      cases.push_back(vectors * shapes.lanes);
    Value chosen = arith::IndexCastOp::create(b, b.getIndexType(), columns);
    auto choice =
        scf::IndexSwitchOp::create(b, TypeRange(), chosen, cases, cases.size());
    OpBuilder::InsertionGuard guard(b);
    for (int64_t i = 0; i < mostVectors; ++i) {
      bool isListed = i + 1 < mostVectors;
      Region &region =
          isListed ? choice.getCaseRegions()[i] : choice.getDefaultRegion();
      b.setInsertionPointToStart(&region.emplaceBlock());
      if (int64_t vectors = isListed ? i + 1 : otherwise)
        call(vectors, first);
      scf::YieldOp::create(b);
    }
  }

  StringRef name;
  AttentionProduct product;
  Shapes shapes;
  Type f32;
  VectorType vector;
  bool inF16;
  StripProducts products;
  SmallVector<LLVM::LLVMFuncOp> tiles; // By vectors - 1.
};

} // namespace

int64_t tileRows(const CpuLevel &level) { return shapesOf(level).height; }
int64_t columnStep(const CpuLevel &level) { return shapesOf(level).lanes; }

void callAttentionProduct(OpBuilder &b, ModuleOp module, const CpuLevel &level,
                          AttentionProduct product, StripKind kind,
                          const AttentionTileWork &work) {
  std::string name = product == AttentionProduct::Scores ? "attention_scores"
                     : product == AttentionProduct::MoreScores
                         ? "attention_more_scores"
                         : "attention_values";
  name += (suffixOf(kind) + "." + level.name).str();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function)
    function = ProductWriter(module, level, product, kind, name).write();
  SmallVector<Value> operands = {work.a,       work.aStep,  work.b,
                                 work.depth,   work.c,      work.tiles,
                                 work.columns, work.factor, work.after};
  if (work.scale)
    operands.push_back(work.scale);
  LLVM::CallOp::create(b, UnknownLoc::get(b.getContext()), function, operands);
}

} // namespace tenon::cpu
