//===- LowerRecurrences.cpp - What cells multiply their state by ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cell multiplies its state by the recurrence R in every step, and what a
// step rounds, the next ones multiply. R is in 8 bits, a scale for each unit,
// for whoever asks for 8 or 4: its kernel keeps 16 of the state, and reads a
// quarter of the bytes. In bf16 a CPU's kernel reads half of them and rounds
// the state as well, where the CPU multiplies pairs. In f16 R stays f32.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/PrecisionAttributes.h"
#include "compiler/Transforms/QuantizeBlock.h"
#include "compiler/Transforms/WeightPasses.h"
#include "compiler/Weights/WeightBlock.h"
#include "dialects/Kernel/RecurrentView.h"
#include "llvm/Support/Parallel.h"
#include <cstring>

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_LOWERRECURRENCESPASS
#include "compiler/Transforms/WeightPasses.h.inc"

namespace {

/// With fewer, to make bytes of a state takes what reading them saves.
constexpr int64_t fewestUnits = 64;

/// R [D, G*H, H] in bytes, with scales [D, G*H, 1] of f32, zero at 0.
struct QuantizedRecurrence {
  const Weight *numbers = nullptr, *scales = nullptr;
};

QuantizedRecurrence quantize(const Weight &weight, WeightStore &store) {
  auto length = size_t(weight.shape[2]);
  auto units = size_t(weight.shape[0] * weight.shape[1]);
  std::vector<char> numbers(units * length), bytes(units * sizeof(float));
  readRows(weight, [&](int64_t first, ArrayRef<float> rows) {
    llvm::parallelFor(0, rows.size() / length, [&](size_t i) {
      SmallVector<int8_t> found(length);
      QuantizedBlock unit = quantizeBlock(rows.slice(i * length, length),
                                          BlockForm::Bytes, found);
      float scale = widenBf16(unit.scale);
      size_t at = size_t(first) + i;
      std::memcpy(numbers.data() + at * length, found.data(), length);
      std::memcpy(bytes.data() + at * sizeof(float), &scale, sizeof(float));
    });
  });
  MLIRContext *context = weight.elementType.getContext();
  auto add = [&](StringRef what, Type type, ArrayRef<int64_t> shape,
                 std::vector<char> own) {
    return llvm::cantFail(
        store.addOwned(weight.name + what.str(), type, shape, std::move(own)));
  };
  return {add(".numbers", IntegerType::get(context, 8), weight.shape,
              std::move(numbers)),
          add(".scales", weight.elementType,
              {weight.shape[0], weight.shape[1], 1}, std::move(bytes))};
}

/// R in bf16, widened again.
Value rounded(OpBuilder &builder, Value recurrence, const Weight &weight,
              WeightStore &store) {
  Location loc = recurrence.getLoc();
  const Weight &narrow = *store.addRounded(weight, builder.getBF16Type());
  auto type = RankedTensorType::get(narrow.shape, narrow.elementType);
  Value stored = graph::WeightOp::create(builder, loc, type, narrow.name);
  return graph::CastOp::create(builder, loc, recurrence.getType(), stored);
}

Value dequantized(OpBuilder &builder, Value recurrence,
                  const QuantizedRecurrence &made) {
  Location loc = recurrence.getLoc();
  auto stored = [&](const Weight &part) -> Value {
    auto type = RankedTensorType::get(part.shape, part.elementType);
    return graph::WeightOp::create(builder, loc, type, part.name);
  };
  auto byte = RankedTensorType::get({}, builder.getI8Type());
  Value zero = graph::ConstantOp::create(
      builder, loc, byte, DenseElementsAttr::get(byte, APInt(8, 0)));
  return graph::DequantizeOp::create(builder, loc, recurrence.getType(),
                                     stored(*made.numbers),
                                     stored(*made.scales), zero);
}

struct LowerRecurrences : impl::LowerRecurrencesPassBase<LowerRecurrences> {
  using Base = impl::LowerRecurrencesPassBase<LowerRecurrences>;
  using Base::Base;
  LowerRecurrences(WeightStore &weights, LowerRecurrencesPassOptions options)
      : Base(options), weights(&weights) {}

  void runOnOperation() override {
    std::optional<Precision> others = findPrecision(precision);
    if (!others) {
      getOperation().emitError("the precision must be one of ")
          << precisionNames();
      return signalPassFailure();
    }
    getOperation().walk([&](graph::RecurrentOp op) {
      Precision wanted = precisionOf(op, *others);
      if (wanted == Precision::Fp32)
        return;
      if (std::string why = refusal(op, wanted); !why.empty())
        leaveInFp32(op, why, explain);
      else
        lower(op, wanted);
    });
  }

private:
  std::string refusal(graph::RecurrentOp op, Precision wanted) const {
    Value recurrence = op.getRecurrence();
    auto stored = recurrence.getDefiningOp<graph::WeightOp>();
    auto type = cast<RankedTensorType>(recurrence.getType());
    if (!stored || !type.hasStaticShape())
      return "its recurrence is no weight";
    std::string why;
    auto view = kernel::recurrentViewOf(op, why);
    if (!view)
      return why;
    if (wanted == Precision::Fp16)
      return "a cell multiplies its state by f32, bf16 or 8 bits";
    if (wanted == Precision::Bf16 && target == "cuda")
      return "a device's cell multiplies its state by f32 or 8 bits";
    if (view->hidden < fewestUnits)
      return "its recurrence is small";
    if (wanted != Precision::Bf16 &&
        view->hidden > kernel::RecurrentView::mostOfBytes)
      return "sums of so many units have more than 32 bits";
    return weights && weights->lookup(stored.getName())
               ? ""
               : "its recurrence is not at hand";
  }

  void lower(graph::RecurrentOp op, Precision wanted) {
    Value recurrence = op.getRecurrence();
    auto stored = recurrence.getDefiningOp<graph::WeightOp>();
    const Weight &weight = *weights->lookup(stored.getName());
    OpBuilder builder(op);
    bool inPairs = wanted == Precision::Bf16;
    if (explain)
      op->emitRemark(inPairs
                         ? "its recurrence is bf16, and its state where it is "
                           "multiplied"
                         : "its recurrence has 8 bits and a scale for each "
                           "unit");
    op.getRecurrenceMutable().set(
        inPairs ? rounded(builder, recurrence, weight, *weights)
                : dequantized(builder, recurrence, quantized(weight)));
    op.setRoundsState(inPairs);
    eraseUnused(stored);
    if (op->hasAttr(precisionAttribute) && !inPairs)
      op->setAttr(precisionAttribute,
                  builder.getStringAttr(nameOf(Precision::Int8Weights)));
    op->removeAttr(blockAttribute);
    op->removeAttr(compensatedAttribute);
  }

  const QuantizedRecurrence &quantized(const Weight &weight) {
    auto [known, isNew] = made.try_emplace(&weight);
    if (isNew)
      known->second = quantize(weight, *weights);
    return known->second;
  }

  WeightStore *weights = nullptr;
  llvm::DenseMap<const Weight *, QuantizedRecurrence> made;
};

} // namespace

std::unique_ptr<Pass>
createLowerRecurrencesPass(WeightStore &weights,
                           LowerRecurrencesPassOptions options) {
  return std::make_unique<LowerRecurrences>(weights, std::move(options));
}
} // namespace tenon
