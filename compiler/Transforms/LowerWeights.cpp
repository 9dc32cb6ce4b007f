//===- LowerWeights.cpp - Weights of products in few bits -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weight that products multiply by becomes numbers of 8 or 4 bits, with a
// scale for each block along k of each column, and in 4 bits zero points where
// they take a tenth off the squared error: to read them costs a twentieth. What
// is not weights stays f32, and so do sums.
//
// One weight is read at a time, some columns of it at once.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/PrecisionAttributes.h"
#include "compiler/Transforms/QuantizeBlock.h"
#include "compiler/Transforms/QuantizedWeights.h"
#include "compiler/Transforms/WeightPasses.h"
#include "compiler/Weights/WeightBlock.h"
#include "llvm/Support/Parallel.h"
#include <cstring>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_LOWERWEIGHTSPASS
#include "compiler/Transforms/WeightPasses.h.inc"

namespace {

/// Smaller weights stay.
constexpr int64_t fewestElements = int64_t(1) << 12;
/// Of the squared error without zero points, what they must come below.
constexpr double worthZeros = 0.9;
/// Columns that are read at once, and of how many groups of them one decides.
constexpr int64_t columnsAtOnce = 16, sampleStep = 8;

class Quantizer {
public:
  Quantizer(const Weight &weight, int64_t bits, int64_t block)
      : weight(weight), bits(bits), depth(weight.shape[0]),
        columns(weight.shape[1]), block(std::min(block, depth)),
        blocks(llvm::divideCeil(depth, this->block)) {
    // Whole bytes for each block of numbers.
    if (blocks == 1)
      this->block = llvm::alignTo(depth, 2);
    groups = llvm::divideCeil(columns, columnsAtOnce);
  }

  QuantizedWeight run(WeightStore &store) {
    BlockForm form = bits == 8 ? BlockForm::Bytes : BlockForm::Nibbles;
    if (bits == 4 && sampledError(BlockForm::NibblesFromZero) <
                         worthZeros * sampledError(BlockForm::Nibbles))
      form = BlockForm::NibblesFromZero;
    bool hasZeros = form == BlockForm::NibblesFromZero;
    int64_t length = blocks * block;
    numbers.resize(size_t(columns * length * bits / 8));
    scales.resize(size_t(columns * blocks));
    zeros.resize(hasZeros ? scales.size() : 0);
    llvm::parallelFor(0, size_t(groups), [&](size_t group) {
      quantize(int64_t(group), form, /*keeps=*/true);
    });
    MLIRContext *context = weight.elementType.getContext();
    auto sign = hasZeros ? IntegerType::Unsigned : IntegerType::Signless;
    Type byte = IntegerType::get(context, 8, sign);
    QuantizedWeight made;
    made.block = block;
    made.blocks = blocks;
    made.bits = bits;
    auto add = [&](StringRef what, Type type, ArrayRef<int64_t> shape,
                   std::vector<char> bytes) {
      std::string name = weight.name + what.str();
      const Weight *rows =
          llvm::cantFail(store.addOwned(name, type, shape, std::move(bytes)));
      return store.addTransposed(name, *rows);
    };
    Type number = bits == 4 ? IntegerType::get(context, 4, sign) : byte;
    made.numbers =
        add(".numbers", number, {columns, length}, std::move(numbers));
    std::vector<char> bytes(scales.size() * sizeof(uint16_t));
    std::memcpy(bytes.data(), scales.data(), bytes.size());
    made.scales = add(".scales", BFloat16Type::get(context), {columns, blocks},
                      std::move(bytes));
    if (hasZeros)
      made.zeros = add(".zeros", byte, {columns, blocks}, std::move(zeros));
    return made;
  }

private:
  double sampledError(BlockForm form) {
    double error = 0;
    for (int64_t group = 0; group < groups; group += sampleStep)
      error += quantize(group, form, /*keeps=*/false);
    return error;
  }

  /// Some columns; the sum of squared errors.
  double quantize(int64_t group, BlockForm form, bool keeps) {
    int64_t first = group * columnsAtOnce, length = blocks * block;
    int64_t count = std::min(columnsAtOnce, columns - first);
    // A column of the weight is a row here, completed by zeros.
    std::vector<float> rows(static_cast<size_t>(count * length));
    readBlock(weight, {first, count, 0, depth, /*isTransposed=*/true},
              rows.data(), length);
    std::vector<int8_t> found(static_cast<size_t>(block));
    double error = 0;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < blocks; ++j) {
        QuantizedBlock result = quantizeBlock(
            ArrayRef(rows).slice(size_t(i * length + j * block), size_t(block)),
            form, found);
        error += result.error;
        if (keeps)
          keep(first + i, j, result, found);
      }
    return error;
  }

  void keep(int64_t column, int64_t at, const QuantizedBlock &result,
            ArrayRef<int8_t> found) {
    size_t side = size_t(column * blocks + at);
    scales[side] = result.scale;
    if (!zeros.empty())
      zeros[side] = char(result.zero);
    char *to = numbers.data() + (column * blocks + at) * block * bits / 8;
    if (bits == 8)
      std::memcpy(to, found.data(), found.size());
    for (size_t i = 0; bits == 4 && i < found.size(); i += 2)
      to[i / 2] = char((found[i] & 15) | (found[i + 1] & 15) << 4);
  }

  const Weight &weight;
  int64_t bits, depth, columns, block, blocks, groups;
  std::vector<char> numbers, zeros;
  std::vector<uint16_t> scales;
};

struct LowerWeights : impl::LowerWeightsPassBase<LowerWeights> {
  using Base = impl::LowerWeightsPassBase<LowerWeights>;
  using Base::Base;
  LowerWeights(WeightStore &weights, LowerWeightsPassOptions options)
      : Base(options), weights(&weights) {}

  void runOnOperation() override {
    std::optional<Precision> others = findPrecision(precision);
    if (!others || !isBlock(block)) {
      getOperation().emitError("the precision must be one of ")
          << precisionNames() << ", and blocks a multiple of " << blockStep
          << " up to " << largestBlock;
      return signalPassFailure();
    }
    SmallVector<graph::MatmulOp> products;
    getOperation().walk([&](graph::MatmulOp op) { products.push_back(op); });
    for (graph::MatmulOp op : products) {
      Precision wanted = precisionOf(op, *others);
      if (!isOfFewBits(wanted))
        continue;
      std::string why = lower(op, wanted == Precision::Int8Weights ? 8 : 4);
      if (!why.empty())
        leaveInFp32(op, why, explain);
    }
  }

private:
  std::string lower(graph::MatmulOp op, int64_t bits) {
    Value rhs = op.getRhs();
    auto stored = rhs.getDefiningOp<graph::WeightOp>();
    auto type = cast<RankedTensorType>(rhs.getType());
    if (!stored || !type.hasStaticShape() || !type.getElementType().isF32() ||
        type.getNumElements() < fewestElements)
      return "rhs is no weight of f32 of some size";
    if (type.getRank() != 2)
      return "rhs is not one matrix";
    if (!graph::getElementType(op.getLhs()).isF32())
      return "lhs is not f32";
    const Weight *weight =
        weights ? weights->lookup(stored.getName()) : nullptr;
    if (!weight)
      return "its weight is not at hand";
    auto assigned = op->getAttrOfType<IntegerAttr>(blockAttribute);
    int64_t steps = assigned ? assigned.getInt() : block;
    auto [known, isNew] = made.try_emplace({weight, bits, steps});
    if (isNew)
      known->second = Quantizer(*weight, bits, steps).run(*weights);
    OpBuilder builder(op);
    if (op->hasAttr(opNameAttribute))
      op->setAttr(blockAttribute, builder.getI64IntegerAttr(steps));
    if (explain)
      remark(op, known->second);
    op.getRhsMutable().assign(
        quantizedRhs(builder, op.getLoc(), known->second, type.getShape()[0]));
    if (stored->use_empty())
      stored->erase();
    return "";
  }

  static void remark(graph::MatmulOp op, const QuantizedWeight &weight) {
    op.emitRemark("its weight has ")
        << weight.bits << " bits and a scale for "
        << (weight.blocks == 1
                ? "each column"
                : "each " + std::to_string(weight.block) + " steps of k")
        << (weight.zeros ? ", with zero points" : "");
  }

  WeightStore *weights = nullptr;
  using Key = std::tuple<const Weight *, int64_t, int64_t>; // Bits, block.
  llvm::DenseMap<Key, QuantizedWeight> made;
};

} // namespace

std::unique_ptr<Pass> createLowerWeightsPass(WeightStore &weights,
                                             LowerWeightsPassOptions options) {
  return std::make_unique<LowerWeights>(weights, std::move(options));
}
} // namespace tenon
