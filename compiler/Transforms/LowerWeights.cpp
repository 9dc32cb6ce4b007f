//===- LowerWeights.cpp - Weights of products in few bits -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weight that products multiply by becomes numbers of 8 or 4 bits, with a
// scale for each block along k of each column, and in 4 bits zero points where
// they take a tenth off the squared error: to read them costs a twentieth. What
// is not weights stays f32, and so do sums.
//
// Where inputs have been seen, rows make up for the errors of others (see
// ErrorSpreading.h). One weight is read at a time, some columns of it at once.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/CompensateRounding.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/PrecisionAttributes.h"
#include "compiler/Transforms/QuantizeBlock.h"
#include "compiler/Transforms/QuantizedWeights.h"
#include "compiler/Transforms/WeightPasses.h"
#include "compiler/Weights/WeightBlock.h"
#include "dialects/Kernel/MatmulView.h"
#include "llvm/Support/Parallel.h"
#include <cstring>
#include <map>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_LOWERWEIGHTSPASS
#include "compiler/Transforms/WeightPasses.h.inc"

namespace {

/// Of the squared error without zero points, what they must come below.
constexpr double worthZeros = 0.9;
/// Columns that are read at once, and of how many groups of them one decides.
constexpr int64_t columnsAtOnce = 16, sampleStep = 8;

class Quantizer {
public:
  /// With `spreading`, by what a product reads; null: to nearest.
  Quantizer(const Weight &weight, int64_t bits, int64_t block,
            const ErrorSpreading *spreading)
      : weight(weight), bits(bits),
        matrices(weight.shape.size() == 3 ? weight.shape[0] : 1),
        depth(weight.shape[weight.shape.size() - 2]),
        columns(weight.shape.back()), block(std::min(block, depth)),
        blocks(llvm::divideCeil(depth, this->block)),
        groups(llvm::divideCeil(columns, columnsAtOnce)), spreading(spreading) {
    // Whole bytes for each block of numbers, whole words for each matrix.
    if (blocks == 1)
      this->block = llvm::alignTo(depth, matrices == 1 ? 2 : blockStep);
  }

  QuantizedWeight run(WeightStore &store) {
    BlockForm form = bits == 8 ? BlockForm::Bytes : BlockForm::Nibbles;
    if (bits == 4 && sampledError(BlockForm::NibblesFromZero) <
                         worthZeros * sampledError(BlockForm::Nibbles))
      form = BlockForm::NibblesFromZero;
    bool hasZeros = form == BlockForm::NibblesFromZero;
    int64_t sides = matrices * blocks, length = sides * block;
    numbers.resize(size_t(columns * length * bits / 8));
    scales.resize(size_t(columns * sides));
    zeros.resize(hasZeros ? scales.size() : 0);
    if (spreading)
      compensate(form);
    else
      llvm::parallelFor(0, size_t(matrices * groups), [&](size_t group) {
        quantize(int64_t(group), form, /*keeps=*/true);
      });
    MLIRContext *context = weight.elementType.getContext();
    auto sign = hasZeros ? IntegerType::Unsigned : IntegerType::Signless;
    Type byte = IntegerType::get(context, 8, sign);
    QuantizedWeight made;
    made.block = block;
    made.blocks = blocks;
    made.bits = bits;
    made.batches = weight.shape.size() == 3 ? matrices : 0;
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
    made.scales = add(".scales", BFloat16Type::get(context), {columns, sides},
                      std::move(bytes));
    if (hasZeros)
      made.zeros = add(".zeros", byte, {columns, sides}, std::move(zeros));
    return made;
  }

private:
  double sampledError(BlockForm form) {
    double error = 0;
    for (int64_t group = 0; group < matrices * groups; group += sampleStep)
      error += quantize(group, form, /*keeps=*/false);
    return error;
  }

  /// Some columns of a matrix; the sum of squared errors.
  double quantize(int64_t group, BlockForm form, bool keeps) {
    int64_t matrix = group / groups, length = blocks * block;
    int64_t first = group % groups * columnsAtOnce;
    int64_t count = std::min(columnsAtOnce, columns - first);
    // A column of the weight is a row here, completed by zeros.
    std::vector<float> rows(static_cast<size_t>(count * length));
    readBlock(weight,
              {first, count, matrix * depth, depth, /*isTransposed=*/true},
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
          keep(first + i, matrix * blocks + j, result, found);
      }
    return error;
  }

  void compensate(BlockForm form) {
    constexpr int64_t width = CompensatedColumns::width;
    size_t pieces = llvm::divideCeil(columns, width);
    llvm::parallelFor(0, pieces, [&](size_t piece) {
      int64_t first = int64_t(piece) * width;
      int64_t count = std::min(width, columns - first);
      CompensatedColumns some(*spreading, depth, block, form);
      readBlock(weight, {0, depth, first, count, /*isTransposed=*/false},
                some.getValues(), width);
      some.round(count,
                 [&](int64_t column, int64_t at, const QuantizedBlock &result,
                     ArrayRef<int8_t> found) {
                   keep(first + column, at, result, found);
                 });
    });
  }

  /// Block `at` of all matrices'.
  void keep(int64_t column, int64_t at, const QuantizedBlock &result,
            ArrayRef<int8_t> found) {
    size_t side = size_t(column * matrices * blocks + at);
    scales[side] = result.scale;
    if (!zeros.empty())
      zeros[side] = char(result.zero);
    char *to = numbers.data() + int64_t(side) * block * bits / 8;
    if (bits == 8)
      std::memcpy(to, found.data(), found.size());
    for (size_t i = 0; bits == 4 && i < found.size(); i += 2)
      to[i / 2] = char((found[i] & 15) | (found[i + 1] & 15) << 4);
  }

  const Weight &weight;
  int64_t bits, matrices, depth, columns, block, blocks, groups;
  const ErrorSpreading *spreading;
  std::vector<char> numbers, zeros;
  std::vector<uint16_t> scales;
};

struct LowerWeights : impl::LowerWeightsPassBase<LowerWeights> {
  using Base = impl::LowerWeightsPassBase<LowerWeights>;
  using Base::Base;
  LowerWeights(WeightStore &weights, const SquaresByWeight *squares,
               LowerWeightsPassOptions options)
      : Base(options), weights(&weights), squares(squares) {}

  void runOnOperation() override {
    std::optional<Precision> others = findPrecision(precision);
    if (!others || !isBlock(block)) {
      getOperation().emitError("the precision must be one of ")
          << precisionNames() << ", and blocks a multiple of " << blockStep
          << " up to " << largestBlock;
      return signalPassFailure();
    }
    if (target != "cpu" && target != "cuda") {
      getOperation().emitError("there is no target '") << target << "'";
      return signalPassFailure();
    }
    SmallVector<graph::MatmulOp> products;
    getOperation().walk([&](graph::MatmulOp op) { products.push_back(op); });
    for (graph::MatmulOp op : products) {
      Precision wanted = precisionOf(op, *others);
      if (!isOfFewBits(wanted))
        continue;
      if (std::string why = refusal(op); !why.empty())
        leaveInFp32(op, why, explain);
      else if (failed(lower(op, wanted == Precision::Int8Weights ? 8 : 4)))
        return signalPassFailure();
    }
    // Behind products, which replace what picks their matrices.
    SmallVector<graph::GatherOp> lookups;
    getOperation().walk([&](graph::GatherOp op) { lookups.push_back(op); });
    for (graph::GatherOp op : lookups)
      if (isOfFewBits(precisionOf(op, *others)))
        lowerTable(op);
  }

private:
  /// What becomes of a weight.
  struct Made {
    QuantizedWeight weight;
    bool isCompensated = false;
  };

  std::string refusal(graph::GatherOp op) {
    if (target == "cuda")
      return "devices look up what is stored";
    if (std::string why = refusalOfFewBits(op); !why.empty())
      return why;
    return tableOf(op) ? "" : "its table is not at hand";
  }

  std::string refusal(graph::MatmulOp op) {
    if (std::string why = refusalOfFewBits(op); !why.empty())
      return why;
    if (target == "cuda" && graph::getRank(op.getRhs()) != 2)
      return "rhs is not one matrix";
    if (target == "cuda" && !kernel::isWidenedBf16(op.getLhs()))
      return "lhs is not rounded to bf16";
    return weightOf(op) ? "" : "its weight is not at hand";
  }

  /// Steps of k with one scale: what the plan says of an op, else the option.
  int64_t stepsOf(Operation *op) {
    auto assigned = op->getAttrOfType<IntegerAttr>(blockAttribute);
    return assigned ? assigned.getInt() : block;
  }

  const Weight *tableOf(graph::GatherOp op) {
    auto stored = op.getInput().getDefiningOp<graph::WeightOp>();
    return weights ? weights->lookup(stored.getName()) : nullptr;
  }

  /// A row is all that a token is at first: it has 8 bits in any case.
  void lowerTable(graph::GatherOp op) {
    if (std::string why = refusal(op); !why.empty())
      return leaveInFp32(op, why, /*explain=*/false);
    const Weight &table = *tableOf(op);
    int64_t steps = stepsOf(op);
    auto [known, isNew] = tables.try_emplace({&table, steps});
    if (isNew)
      known->second = makeTable(table, steps);
    OpBuilder builder(op);
    if (explain)
      remark(op, "table", known->second);
    Value value = quantizedLookup(builder, op, known->second);
    record(op, value, steps);
    auto stored = op.getInput().getDefiningOp<graph::WeightOp>();
    op.getResult().replaceAllUsesWith(value);
    op.erase();
    if (stored->use_empty())
      stored->erase();
  }

  /// By the transpose of which a product may multiply, in the same numbers.
  QuantizedWeight makeTable(const Weight &table, int64_t steps) {
    for (const auto &[key, result] : made)
      if (std::get<0>(key)->transposed == &table && std::get<1>(key) == 8 &&
          std::get<2>(key) == steps && !result.isCompensated)
        return result.weight;
    const Weight &turned =
        *weights->addTransposed(table.name + ".transposed", table);
    return Quantizer(turned, 8, steps, nullptr).run(*weights);
  }

  /// What a plan says of a lookup is said by that of its numbers.
  static void record(graph::GatherOp op, Value made, int64_t steps) {
    auto name = op->getAttrOfType<StringAttr>(opNameAttribute);
    while (!isa<graph::GatherOp>(made.getDefiningOp()))
      made = made.getDefiningOp()->getOperand(0);
    if (!name)
      return;
    Builder builder(op);
    Operation *numbers = made.getDefiningOp();
    numbers->setAttr(opNameAttribute, name);
    numbers->setAttr(precisionAttribute,
                     builder.getStringAttr(nameOf(Precision::Int8Weights)));
    numbers->setAttr(blockAttribute, builder.getI64IntegerAttr(steps));
  }

  static int64_t depthOf(graph::MatmulOp op) {
    return *graph::getDims(op.getLhs()).back().asConstant();
  }

  LogicalResult lower(graph::MatmulOp op, int64_t bits) {
    bool isCompensated = op->hasAttr(compensatedAttribute);
    if (isCompensated && !squares)
      return op.emitError("its weight is to be rounded by inputs, as the "
                          "precision plan says: compile with --calibrate DIR, "
                          "or take \"compensated\" out of the plan");
    int64_t steps = stepsOf(op);
    const Made &result = make(*weightOf(op), bits, steps, isCompensated);
    OpBuilder builder(op);
    if (op->hasAttr(opNameAttribute))
      op->setAttr(blockAttribute, builder.getI64IntegerAttr(steps));
    if (!result.isCompensated)
      op->removeAttr(compensatedAttribute);
    if (explain)
      remark(op, "weight", result.weight);
    Value rhs = op.getRhs(),
          made = quantizedRhs(builder, op.getLoc(), result.weight, depthOf(op));
    if (graph::GatherOp picks = kernel::pickedRhsOf(op))
      made = graph::GatherOp::create(builder, picks.getLoc(), picks.getType(),
                                     made, picks.getIndices(), picks.getAxis());
    op.getRhsMutable().assign(made);
    eraseUnused(rhs.getDefiningOp());
    return success();
  }

  const Made &make(const Weight &weight, int64_t bits, int64_t steps,
                   bool isCompensated) {
    auto [known, isNew] =
        made.try_emplace({&weight, bits, steps, isCompensated});
    if (!isNew)
      return known->second;
    std::optional<ErrorSpreading> spreading;
    if (isCompensated)
      if (auto seen = squares->find(weight.name); seen != squares->end())
        spreading = ErrorSpreading::of(seen->second);
    Quantizer quantizer(weight, bits, steps, spreading ? &*spreading : nullptr);
    known->second = {quantizer.run(*weights), spreading.has_value()};
    return known->second;
  }

  static void remark(Operation *op, StringRef what,
                     const QuantizedWeight &weight) {
    op->emitRemark("its ") << what << " has " << weight.bits
                           << " bits and a scale for "
                           << (weight.blocks == 1
                                   ? "each column"
                                   : "each " + std::to_string(weight.block) +
                                         " steps of k")
                           << (weight.zeros ? ", with zero points" : "");
  }

  /// The matrices [K, N] that rhs is, of what it is stored as.
  const Weight *weightOf(graph::MatmulOp op) {
    Value matrices = kernel::matricesOf(op);
    graph::WeightOp stored = storedMatrixOf(matrices);
    const Weight *weight =
        weights ? weights->lookup(stored.getName()) : nullptr;
    if (!weight || matrices == stored)
      return weight;
    const Weight *&turned = transposes[weight];
    if (!turned)
      turned = weights->addTransposed(weight->name + ".turned", *weight);
    return turned;
  }

  WeightStore *weights = nullptr;
  const SquaresByWeight *squares = nullptr;
  // Bits, block, whether it is to be compensated.
  using Key = std::tuple<const Weight *, int64_t, int64_t, bool>;
  std::map<Key, Made> made;
  llvm::DenseMap<const Weight *, const Weight *> transposes;
  std::map<std::pair<const Weight *, int64_t>, QuantizedWeight> tables;
};

} // namespace

std::unique_ptr<Pass> createLowerWeightsPass(WeightStore &weights,
                                             const SquaresByWeight *squares,
                                             LowerWeightsPassOptions options) {
  return std::make_unique<LowerWeights>(weights, squares, std::move(options));
}
} // namespace tenon
