//===- NarrowRules.cpp - What may be rounded to 16 bits -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Transforms/NarrowRules.h"
#include "compiler/Transforms/FewBitFloats.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/PadChannels.h"
#include "compiler/Transforms/PrecisionAttributes.h"
#include "compiler/Transforms/QuantizedWeights.h"
#include "compiler/Weights/WeightStore.h"
#include "dialects/Kernel/ConvDepth.h"
#include "dialects/Kernel/ConvTiles.h"
#include "dialects/Kernel/DepthwiseView.h"
#include "dialects/Kernel/FewBitsRhs.h"
#include "dialects/Kernel/LineConvView.h"
#include "dialects/Kernel/MatmulView.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace tenon {
namespace {

/// Smaller weights stay: fold-constants would only widen them again.
constexpr int64_t fewestElements = int64_t(1) << 12;
/// Of a product whose rows are turned before.
constexpr int64_t fewestColumns = 64;
/// Of a product whose operands have to be rounded by kernels of their own, in a
/// row and in a column for each of their elements.
constexpr int64_t fewestSums = 256 * 256;

/// Of a product that is added up in f16, of which each tile adds up the rest.
constexpr int64_t fewestSteps = 64;
/// More might add up to what f16 has not.
constexpr float endOfAdded = 64;

/// Whether k is a number of which groups of `steps` can be made.
bool hasDepthOf(graph::MatmulOp op, int64_t steps) {
  std::optional<int64_t> depth =
      graph::getDims(op.getLhs()).back().asConstant();
  return depth && *depth % steps == 0;
}

bool hasPairsOfLhs(graph::MatmulOp op) {
  std::optional<kernel::StridedView> lhs = kernel::stridedViewOf(op.getLhs());
  return lhs && hasDepthOf(op, 2) &&
         graph::getElementType(op.getLhs()).isF32() &&
         kernel::liesInPairs(*lhs, lhs->strides.size() - 1);
}

/// Whether CUDA's kernels could read the rhs of a product in few bits: pairs
/// of bf16 of lhs are what they multiply.
bool readsFewBits(graph::MatmulOp op) {
  return graph::getRank(op.getRhs()) == 2 && refusalOfFewBits(op).empty() &&
         isLargeWeight(storedMatrixOf(op.getRhs())) && hasPairsOfLhs(op);
}

/// Whether they could multiply it in 8 bits: rows of lhs lie in memory of
/// their own then, and their steps of k are copied by fours at least.
bool readsBytes(graph::MatmulOp op) {
  return isLargeWeight(op.getRhs()) && graph::getRank(op.getRhs()) == 2 &&
         graph::getElementType(op.getLhs()).isF32() && hasDepthOf(op, 4);
}

/// The same of a convolution's image and filter.
bool readsBytes(graph::ConvOp op) {
  return isLargeWeight(op.getFilter()) && op.getChannelsLast() &&
         fitsByteTiles(op, op.getInput());
}

/// Whether one of the last two axes is contiguous, and pairs along it begin
/// at even places.
bool hasPairs(const kernel::StridedView &view) {
  size_t rank = view.strides.size();
  return kernel::liesInPairs(view, rank - 1) ||
         kernel::liesInPairs(view, rank - 2);
}

/// Whether an operand is what the program is given, which a kernel of its own
/// would round.
bool readsGiven(Value operand) {
  std::optional<kernel::StridedView> view = kernel::stridedViewOf(operand);
  return isGiven(view ? view->base : operand);
}

bool areFew(graph::Expr count) {
  return count &&
         count.asConstant().value_or(kernel::fewRows + 1) <= kernel::fewRows;
}

/// Whether rhs is computed, or seen otherwise than a weight is stored.
bool isOfTwo(graph::MatmulOp op) {
  Value narrow = kernel::behindWidening(op.getRhs());
  Value memory = narrow ? narrow : Value(op.getRhs());
  return !memory.getDefiningOp<graph::WeightOp>() &&
         !kernel::quantizedRhsOf(op.getRhs());
}

/// Of a matrix that is computed of two: such sums wait for memory.
bool isOfFewRowsOrOneColumn(graph::MatmulOp op) {
  SmallVector<graph::Expr> dims = graph::getDims(op.getResult());
  return areFew(dims[dims.size() - 2]) || dims.back().isConstant(1);
}

/// Of two that are no weights: where it is not worth the roundings.
std::string refusalOfSizes(graph::MatmulOp op) {
  SmallVector<graph::Expr> dims = graph::getDims(op.getResult());
  std::optional<int64_t> rows = dims[dims.size() - 2].asConstant();
  std::optional<int64_t> columns = dims.back().asConstant();
  if (!hasDepthOf(op, 2))
    return "k is odd or no number, and pairs of its steps lie together";
  if (isOfFewRowsOrOneColumn(op))
    return "it is of few rows or of one column";
  bool isGivenOne = readsGiven(op.getLhs()) || readsGiven(op.getRhs());
  if (isGivenOne && (!rows || !columns || *rows * *columns < fewestSums))
    return "an operand is given to the program, and rounding it would take "
           "longer";
  return "";
}

} // namespace

static bool isF32Weight(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return value.getDefiningOp<graph::WeightOp>() && type.hasStaticShape() &&
         type.getElementType().isF32();
}

bool isLargeWeight(Value value) {
  return isF32Weight(value) &&
         cast<RankedTensorType>(value.getType()).getNumElements() >=
             fewestElements;
}

bool NarrowRules::staysInBf16(Operation *op, Precision own) const {
  auto matmul = dyn_cast<graph::MatmulOp>(op);
  auto conv = dyn_cast<graph::ConvOp>(op);
  if (conv && own == Precision::Int8)
    return !op->hasAttr(lhsAttribute) || (isCuda && !readsBytes(conv));
  if (isCuda && own == Precision::Int8)
    return !(matmul && readsBytes(matmul));
  if (isCuda)
    return isOfFewBits(own) && !(matmul && readsFewBits(matmul));
  // Of two that are no weights, or by a stack of matrices: experts.
  if (matmul && own == Precision::Int8)
    return !matmul.getRhs().getDefiningOp<graph::WeightOp>() ||
           graph::getRank(matmul.getRhs()) != 2;
  return isa<graph::AttentionOp, graph::ConvOp>(op) &&
         (own == Precision::Int8 || isOfFewBits(own));
}

bool NarrowRules::comesInFewBits(graph::MatmulOp op, Precision own) const {
  std::optional<kernel::QuantizedRhs> rhs = kernel::quantizedRhsOf(op.getRhs());
  bool isRounded = kernel::roundsLhsToBf16(op);
  if (!isCuda)
    return rhs && hasDepthOf(op, 2) &&
           (isRounded || (own != Precision::Fp32 && own != Precision::Fp16));
  return rhs && (isRounded || own == Precision::Bf16) &&
         !kernel::refusalOfFragments(*rhs) && hasPairsOfLhs(op);
}

bool NarrowRules::mayAddF16(graph::MatmulOp op) {
  if (op->hasAttr(exactAttribute))
    return false;
  std::optional<kernel::StridedView> lhs = kernel::stridedViewOf(op.getLhs());
  SmallVector<graph::Expr> dims = graph::getDims(op.getResult());
  graph::Expr rows =
      graph::product(op.getContext(), ArrayRef(dims).drop_back());
  bool hasForm =
      !isCuda && levels.haveF16Fma && !areFew(rows) &&
      graph::getElementType(op.getLhs()).isF32() && lhs && hasDepthOf(op, 2) &&
      *graph::getDims(op.getLhs()).back().asConstant() >= fewestSteps;
  if (hasForm && isOfTwo(op))
    return mayAddF16OfTwo(op);
  return hasForm && largestOfRhs(op) < endOfAdded; // Last: it reads the weight.
}

/// Columns of rhs are multiplied by what makes them of a size.
bool NarrowRules::mayAddF16OfTwo(graph::MatmulOp op) const {
  return graph::getElementType(op.getRhs()).isF32() &&
         kernel::stridedViewOf(op.getRhs()) && !isOfFewRowsOrOneColumn(op);
}

bool NarrowRules::mayAddF16(graph::ConvOp op) {
  return !isCuda && levels.haveF16Fma && !op->hasAttr(exactAttribute) &&
         largestOf(op.getFilter()) < endOfAdded;
}

std::string NarrowRules::refusal(Operation *op, Type narrow) {
  if (auto matmul = dyn_cast<graph::MatmulOp>(op))
    return isCuda ? refusalOnCuda(matmul, narrow) : refusalOf(matmul, narrow);
  if (auto attention = dyn_cast<graph::AttentionOp>(op))
    return refusalOf(attention, narrow);
  return refusalOf(cast<graph::ConvOp>(op), narrow);
}

std::string NarrowRules::refusalOnCuda(graph::MatmulOp op, Type narrow) {
  for (Value operand : {op.getLhs(), op.getRhs()}) {
    if (!graph::getElementType(operand).isF32())
      return "an operand is not f32";
    if (operand.getDefiningOp<graph::WeightOp>()) {
      if (!isLargeWeight(operand))
        return "an operand is a small weight";
      if (graph::getDims(operand).back().asConstant().value_or(1) % 2 != 0)
        return "rows of a weight have an odd length";
      if (std::string why = refusalOfRange(operand, narrow); !why.empty())
        return why;
      continue;
    }
    std::optional<kernel::StridedView> view = kernel::stridedViewOf(operand);
    if (!view || !hasPairs(*view))
      return "an operand's elements do not lie in memory by twos";
    if (view->base.getDefiningOp<graph::WeightOp>())
      if (std::string why = refusalOfRange(view->base, narrow); !why.empty())
        return why;
  }
  return "";
}

std::string NarrowRules::refusalOf(graph::AttentionOp op, Type narrow) const {
  if (isOfWeightsAlone(narrow) && !levels.haveF16Fma)
    return "no CPU level of the program adds up in f16";
  for (Value operand : {op.getQuery(), op.getKey(), op.getValue()}) {
    std::optional<kernel::StridedView> view = kernel::stridedViewOf(operand);
    if (!view || !view->strides.back().isConstant(1))
      return "rows of an operand are not contiguous";
    if (!graph::getElementType(operand).isF32())
      return "an operand is not f32";
    if (isCuda && !isGiven(view->base))
      continue;
    if (isCuda && operand == op.getQuery())
      return "no kernel that computes queries could round them";
    if (!llvm::all_of(kernel::viewOpsOf(operand, *view), [&](Operation *link) {
          return link->getBlock() == op->getBlock();
        }))
      return "an operand is seen from a branch";
  }
  return "";
}

/// Whether a kernel makes an image for one reader, in f32.
static bool isMadeForOne(Value image) {
  return image.hasOneUse() && image.getDefiningOp() &&
         !image.getDefiningOp<graph::WeightOp>() &&
         !kernel::behindWidening(image);
}

std::string NarrowRules::refusalOf(graph::ConvOp op, Type narrow) {
  // On CPUs it is products that count.
  if (isCuda ? !isLargeWeight(op.getFilter()) : !isF32Weight(op.getFilter()))
    return "the filter is no weight of f32 of some size";
  if (!graph::getElementType(op.getInput()).isF32())
    return "the image is not f32";
  auto filter = cast<RankedTensorType>(op.getFilter().getType());
  if (isOfWeightsAlone(narrow))
    return "CPUs convolve in bf16 or f32";
  if (isCuda && filter.getDimSize(0) / op.getGroup() < kernel::fewestTileMaps)
    return "a group has few maps";
  if (!isCuda && !levels.havePairDots)
    return "no CPU level of the program multiplies pairs of bf16";
  if (!isCuda && kernel::mayReadBf16(op))
    return isMadeForOne(op.getInput()) ? ""
                                       : "its image is not made for it alone";
  bool byGroups = op.getGroup() != 1;
  if (!isCuda && byGroups && !kernel::canConvolveGroups(op))
    return "it has groups of one channel, or that do not run by lines";
  bool hasPairs = op.getChannelsLast() && filter.getDimSize(1) % 2 == 0;
  if (!isCuda && !byGroups && !hasPairs && !canPadChannels(op))
    return "channels do not lie in pairs";
  if (!isCuda && kernel::hasFewMaps(op))
    return "it has few maps, which are fast in f32";
  if (!isCuda && hasFewProducts(op))
    return "it multiplies little";
  return refusalOfRange(op.getFilter(), narrow);
}

/// Of a product of two that are no weights, or by one on the left.
std::string NarrowRules::refusalOfTwo(graph::MatmulOp op, Type narrow) {
  if (!narrow.isBF16()) {
    bool areExact = !kernel::behindWidening(op.getLhs()) &&
                    !kernel::behindWidening(op.getRhs());
    if (areExact && mayAddF16(op))
      return "";
    return "rhs is no weight, and no CPU level of the program would gain by "
           "adding up in f16";
  }
  if (!levels.havePairDots)
    return "rhs is no weight, and no CPU level of the program multiplies "
           "pairs of bf16";
  if (std::string why = refusalOfSizes(op); !why.empty())
    return why;
  for (Value operand : {op.getLhs(), op.getRhs()}) {
    if (operand.getDefiningOp<graph::WeightOp>()) {
      if (!isLargeWeight(operand))
        return "an operand is a small weight";
      continue;
    }
    std::optional<kernel::StridedView> view = kernel::stridedViewOf(operand);
    if (!view || !graph::getElementType(operand).isF32())
      return "an operand is not f32, or no view of memory";
    bool canBePairs =
        operand == op.getRhs()
            ? kernel::canPackPairs(*view)
            : kernel::liesInPairs(*view, view->strides.size() - 1);
    if (!canBePairs)
      return "pairs of steps of an operand do not lie together";
  }
  return "";
}

std::string NarrowRules::refusalOf(graph::MatmulOp op, Type narrow) {
  if (!op.getRhs().getDefiningOp<graph::WeightOp>())
    return refusalOfTwo(op, narrow);
  if (!isLargeWeight(op.getRhs()))
    return "rhs is no weight of f32 of some size";
  if (!kernel::isMatrixOrOnePerBatch(op))
    return "rhs is neither a matrix nor one for each batch";
  if (narrow.isBF16() && !hasDepthOf(op, 2))
    return "k is odd, and pairs of its steps lie together";
  return refusalOfRange(op.getRhs(), narrow);
}

float NarrowRules::largestOfRhs(graph::MatmulOp op) {
  Value rhs = op.getRhs();
  Value stored = kernel::behindWidening(rhs);
  for (Value value : {rhs, stored})
    if (value && value.getDefiningOp<graph::WeightOp>())
      return largestOf(value);
  // Numbers differ from their zero point by less than there are numbers.
  std::optional<kernel::QuantizedRhs> quantized = kernel::quantizedRhsOf(rhs);
  Value scales = quantized ? quantized->scales : Value();
  if (scales && kernel::behindWidening(scales))
    scales = kernel::behindWidening(scales);
  if (scales && scales.getDefiningOp<graph::WeightOp>())
    return largestOf(scales) * float(1 << quantized->bits);
  return std::numeric_limits<float>::infinity();
}

float NarrowRules::largestOf(Value value) {
  StringRef name = value.getDefiningOp<graph::WeightOp>().getName();
  const Weight *weight = weights ? weights->lookup(name) : nullptr;
  if (!weight)
    return 0;
  auto [known, isNew] = largest.try_emplace(weight, 0.0f);
  if (isNew)
    known->second = weight->largestFinite();
  return known->second;
}

std::string NarrowRules::refusalOfRange(Value value, Type narrow) {
  float largest = narrow.isF16() ? largestOf(value) : 0;
  if (largest <= largestF16)
    return "";
  std::string text;
  StringRef name = value.getDefiningOp<graph::WeightOp>().getName();
  llvm::raw_string_ostream(text)
      << "weight '" << name << "' has " << llvm::format("%g", largest)
      << " in it, and f16 ends at " << llvm::format("%g", largestF16);
  return text;
}

bool NarrowRules::isWorthTurning(OpOperand &operand, Type narrow) const {
  if (isCuda || !levels.havePairDots || !narrow.isBF16() ||
      operand.getOperandNumber() != 0 ||
      !operand.get().getDefiningOp<graph::TransposeOp>())
    return false;
  auto result = graph::getDims(operand.getOwner()->getResult(0));
  auto isFewer = [](graph::Expr dim, int64_t than) {
    std::optional<int64_t> size = dim.asConstant();
    return size && *size < than;
  };
  return !isFewer(result[result.size() - 2], kernel::fewRows + 1) &&
         !isFewer(result.back(), fewestColumns);
}

} // namespace tenon
