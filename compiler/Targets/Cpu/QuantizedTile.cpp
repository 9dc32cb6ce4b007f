//===- QuantizedTile.cpp - The inner kernels of quantized weights ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile of few rows sums the products of a block's numbers as they are and
// scales that sum: two instructions for a vector of numbers besides the
// multiply-adds. Its zero points come off by the sum of the rows' elements.
// With vectors of 16 elements one of more than two rows has no registers for
// two kinds of sums, and scales the numbers, which its rows share.
//
//===----------------------------------------------------------------------===//

#include "compiler/Targets/Cpu/QuantizedTile.h"
#include "compiler/Targets/Cpu/QuantizedReader.h"
#include "compiler/Targets/Cpu/QuantizedRow.h"
#include "dialects/Kernel/Packing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

using kernel::panelColumns;
using kernel::QuantizedRhs;
using kernel::stepsOfWord;

/// Rows whose products are summed before they are scaled.
constexpr int64_t mostUnscaled(int64_t lanes) { return lanes == 16 ? 2 : 3; }

/// As many as leave some six sums, which do not wait for each other: of fewer
/// rows more. With vectors of 16 elements a panel has no more than three; with
/// fewer a codebook takes registers, too.
int64_t vectorsOf(const QuantizedRhs &rhs, const CpuLevel &level,
                  int64_t height) {
  if (level.lanes(4) == 16)
    return 3;
  if (!rhs.codebook.empty())
    return height < 3 ? 3 : 2;
  return height == 1 ? 6 : height == 2 ? 3 : 2;
}

class TileWriter : public QuantizedReader {
public:
  /// Of tiles of so many rows.
  TileWriter(ModuleOp module, const QuantizedRhs &rhs, const CpuLevel &level,
             int64_t height)
      : QuantizedReader(module.getContext(), rhs, level,
                        vectorsOf(rhs, level, height)),
        module(module), height(height) {}

  /// Of `columns` columns.
  LLVM::LLVMFuncOp writeTile(StringRef name) {
    LLVM::LLVMFuncOp function = startTile(module, name);
    auto argument = [&](int i) { return function.getArgument(i); };
    auto rowsOf = [&](int base) {
      SmallVector<Value> rows = {argument(base)};
      while (int64_t(rows.size()) < height)
        rows.push_back(at(rows.back(), f32, argument(base + 1)));
      return rows;
    };
    rows = rowsOf(0);
    bool staysInPlace = bits == 4 && !hasTable;
    if (staysInPlace)
      factors =
          LLVM::AllocaOp::create(b, pointer, f32, number(height * lanes), 32);
    SmallVector<Value> sums(height * vectors, splat(0.0f));
    sums = forEachBlock(argument(3), sums, [&](const Block &at, ValueRange in) {
      return staysInPlace                    ? addInPlace(at, in)
             : height <= mostUnscaled(lanes) ? addUnscaled(at, in)
                                             : addScaled(at, in);
    });
    storeSums(rowsOf(8), rowsOf(6), argument(10), sums);
    LLVM::ReturnOp::create(b, ValueRange());
    return function;
  }

private:
  Value broadcast(Value place) {
    Value scalar = LLVM::LoadOp::create(b, f32, place);
    return vector::BroadcastOp::create(b, vector, scalar);
  }

  /// Adds a block whose numbers are scaled one by one.
  SmallVector<Value> addScaled(const Block &of, ValueRange before) {
    Sides sides = sidesOf(of.index);
    return forEachStep(
        of, before, [&](Value k, ArrayRef<Value> numbers, ValueRange carried) {
          SmallVector<Value> sums(carried);
          SmallVector<Value> values;
          for (int64_t v = 0; v < vectors; ++v)
            values.push_back(scaled(numbers[v], sides, v));
          addProducts(k, values, sums);
          return sums;
        });
  }

  void addProducts(Value k, ArrayRef<Value> values,
                   MutableArrayRef<Value> sums) {
    addProducts([&](size_t row) { return at(rows[row], f32, k); }, values,
                sums);
  }

  void addProducts(function_ref<Value(size_t)> factorAt, ArrayRef<Value> values,
                   MutableArrayRef<Value> sums) {
    for (size_t row = 0; row < rows.size(); ++row) {
      Value x = broadcast(factorAt(row));
      for (int64_t v = 0; v < vectors; ++v) {
        Value &sum = sums[row * vectors + v];
        sum = LLVM::FMAOp::create(b, x, values[v], sum);
      }
    }
  }

  /// Adds a block's sums times its scales. Behind those of products come those
  /// of the rows' elements where zero points must come off.
  SmallVector<Value> addUnscaled(const Block &of, ValueRange before) {
    size_t height = rows.size();
    size_t products = height * vectors;
    SmallVector<Value> zero(products + (hasOffset ? height : 0), splat(0.0f));
    SmallVector<Value> sums = forEachStep(
        of, zero, [&](Value k, ArrayRef<Value> numbers, ValueRange carried) {
          SmallVector<Value> sums(carried);
          addProducts(k, numbers, sums);
          addElements(k, MutableArrayRef(sums).drop_front(products));
          return sums;
        });
    return withScales(of, ArrayRef(sums).take_front(products),
                      ArrayRef(sums).drop_front(products), before);
  }

  /// Adds each row's element of a step, where zero points must come off.
  void addElements(Value k, MutableArrayRef<Value> sums) {
    for (size_t row = 0; hasOffset && row < rows.size(); ++row)
      sums[row] =
          arith::AddFOp::create(b, sums[row], broadcast(at(rows[row], f32, k)));
  }

  /// A block's sums times its scales and those before. `elements` has the sum
  /// of each row's.
  SmallVector<Value> withScales(const Block &of, ArrayRef<Value> sums,
                                ArrayRef<Value> elements, ValueRange before) {
    Sides sides = sidesOf(of.index);
    SmallVector<Value> result;
    for (auto [i, sum] : llvm::enumerate(sums)) {
      size_t v = i % vectors, row = i / vectors;
      Value own = sum;
      if (hasOffset)
        own = LLVM::FMAOp::create(b, arith::NegFOp::create(b, sides.zeros[v]),
                                  elements[row], own);
      result.push_back(LLVM::FMAOp::create(b, own, sides.scales[v], before[i]));
    }
    return result;
  }

  /// The same of numbers that stay in their words, which share units with
  /// multiply-adds if they are shifted: what number j meets is 16^-j as large.
  SmallVector<Value> addInPlace(const Block &of, ValueRange before) {
    SmallVector<float> shares, lifts;
    for (int64_t j = 0; j < stepsOfWord; ++j) {
      shares.push_back(1.0f / float(int64_t(1) << 4 * j));
      lifts.push_back(float(liftOf(j)));
    }
    // Behind the sums, for each row: what is to be added to them, the row's
    // elements, both in parts, and those elements that come one by one.
    size_t height = rows.size(), products = height * vectors;
    size_t lift = products, elements = lift + height,
           single = elements + height;
    SmallVector<Value> sums = forEachUnit(
        of, SmallVector<Value>(single + height, splat(0.0f)),
        [&](Value k, Value line, ValueRange carried) {
          SmallVector<Value> sums(carried), read;
          for (size_t i = 0; i < height; ++i) {
            Value row = load(f32, at(rows[i], f32, k), 0);
            Value &own = sums[lift + i];
            own = LLVM::FMAOp::create(b, row, vectorOf(lifts), own);
            if (hasOffset)
              sums[elements + i] =
                  arith::AddFOp::create(b, sums[elements + i], row);
            storeVector(arith::MulFOp::create(b, row, vectorOf(shares)),
                        factors, int64_t(i) * lanes);
          }
          for (int64_t v = 0; v < vectors; ++v)
            read.push_back(turned(load(i32, line, v * lanes)));
          for (int64_t j = 0; j < stepsOfWord; ++j) {
            SmallVector<Value> numbers;
            for (Value words : read)
              numbers.push_back(numberInPlace(words, j));
            addProducts(
                [&](size_t i) {
                  return at(factors, f32, int32_t(i * lanes + j));
                },
                numbers, sums);
          }
          return sums;
        },
        [&](Value k, ArrayRef<Value> numbers, ValueRange carried) {
          SmallVector<Value> sums(carried);
          addProducts(k, numbers, sums);
          addElements(k, MutableArrayRef(sums).drop_front(single));
          return sums;
        });
    SmallVector<Value> all;
    for (size_t i = 0; i < products; ++i)
      sums[i] = arith::AddFOp::create(b, sums[i],
                                      sumInEachLane(sums[lift + i / vectors]));
    for (size_t i = 0; hasOffset && i < height; ++i)
      all.push_back(arith::AddFOp::create(b, sumInEachLane(sums[elements + i]),
                                          sums[single + i]));
    return withScales(of, ArrayRef(sums).take_front(products), all, before);
  }

  Value vectorOf(ArrayRef<float> values) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, values));
  }

  /// The sum of all elements of a vector, in each.
  Value sumInEachLane(Value value) {
    return inEachLane(value, [&](Value x, Value y) -> Value {
      return arith::AddFOp::create(b, x, y);
    });
  }

  ModuleOp module;
  int64_t height;
  SmallVector<Value> rows;
  Value factors; // Where numbers stay in place: what those of a word meet.
};

} // namespace

int64_t quantizedTileRows(const CpuLevel &level) {
  return level.vectorBits >= 512 ? 6 : 3;
}

int64_t bytesOfSteps(const QuantizedRhs &rhs, int64_t steps) {
  return steps * panelColumns * rhs.bits / 8;
}

Value bytesOfSteps(Emitter &e, const QuantizedRhs &rhs, Value steps) {
  if (rhs.bits == 8)
    return e.mul(steps, e.number(panelColumns));
  Value words = e.div(steps, e.number(stepsOfWord));
  return e.mul(words, e.number(panelColumns * 4));
}

std::string quantizedForm(const QuantizedRhs &rhs, const CpuLevel &level) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << (rhs.isSigned() ? "s" : "u") << rhs.bits << "x"
         << (rhs.blocks == 1 ? 0 : rhs.block) << "_"
         << graph::getElementType(rhs.scales);
  if (rhs.zeros)
    stream << "_zeros";
  else if (rhs.zeroPoint != 0)
    stream << "_zero" << (rhs.zeroPoint < 0 ? "m" : "")
           << std::abs(rhs.zeroPoint);
  if (!rhs.codebook.empty()) {
    StringRef bytes(reinterpret_cast<const char *>(rhs.codebook.data()),
                    rhs.codebook.size() * sizeof(float));
    stream << "_codebook" << llvm::utohexstr(llvm::xxh3_64bits(bytes));
  }
  stream << "." << level.name;
  return text;
}

QuantizedPanel columnsFrom(Emitter &e, const QuantizedRhs &rhs,
                           const QuantizedPanel &panel, int64_t i) {
  QuantizedPanel part = panel;
  Type bytes = e.b.getI8Type();
  part.numbers =
      e.address(panel.numbers, bytes, e.number(rhs.bits == 4 ? i * 4 : i));
  part.scales =
      e.address(panel.scales, graph::getElementType(rhs.scales), e.number(i));
  part.zeros =
      rhs.zeros ? e.address(panel.zeros, bytes, e.number(i)) : part.scales;
  return part;
}

void callQuantizedTile(Emitter &e, const QuantizedRhs &rhs,
                       const QuantizedPanel &panel,
                       const QuantizedProduct &product) {
  std::string form = quantizedForm(rhs, e.level);
  for (int64_t height = 1; height <= quantizedTileRows(e.level); ++height) {
    std::string name = ("quantized_tile_" + Twine(height) + "_" + form).str();
    TileWriter writer(e.module, rhs, e.level, height);
    int64_t columns = writer.getColumns();
    bool isWhole =
        height == 1 && product.wasHalf && hasQuantizedRow(rhs, e.level);
    if (isWhole)
      name = "quantized_tile_1x" + std::to_string(columns) + "_whole_" + form;
    auto function = e.module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function)
      function = isWhole ? writeQuantizedRow(e.module, rhs, e.level, name)
                         : writer.writeTile(name);
    e.ifThen(e.equal(product.rows, e.number(height)), [&] {
      for (int64_t i = 0; i < panelColumns; i += columns) {
        QuantizedPanel part = columnsFrom(e, rhs, panel, i);
        auto column = [&](Value base) {
          return e.address(base, e.b.getF32Type(), e.number(i));
        };
        LLVM::CallOp::create(e.b, function,
                             ValueRange{product.a, product.aStride,
                                        part.numbers, part.depth, part.scales,
                                        part.zeros, column(product.c),
                                        product.cStride, column(product.out),
                                        product.outStride, product.accumulate});
      }
    });
  }
}

} // namespace tenon::cpu
