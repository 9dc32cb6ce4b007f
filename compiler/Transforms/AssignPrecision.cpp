//===- AssignPrecision.cpp - The precision that each op asks for ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes that lower go by the attributes that assign-precision puts on ops, and
// take back to fp32 what they leave as it was. Record-precision reads what has
// become of them, and takes the attributes away: equal kernels must be equal,
// whichever node they are of.
//
//===----------------------------------------------------------------------===//

#include "compiler/PrecisionPlan.h"
#include "compiler/Transforms/FewBitFloats.h"
#include "compiler/Transforms/Matching.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/PrecisionAttributes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_ASSIGNPRECISIONPASS
#define GEN_PASS_DEF_RECORDPRECISIONPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

bool isStoredFloats(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return value.getDefiningOp<graph::WeightOp>() && type.hasStaticShape() &&
         isa<FloatType>(type.getElementType());
}

/// What may be computed in other precisions than its own.
bool hasChoice(Operation *op) {
  if (auto gather = dyn_cast<graph::GatherOp>(op))
    return gather.getAxis() == 0 && isStoredFloats(gather.getInput());
  if (auto cell = dyn_cast<graph::RecurrentOp>(op))
    return isStoredFloats(cell.getRecurrence()) &&
           graph::getElementType(cell.getInput()).isF32();
  return isa<graph::AttentionOp, graph::ConvOp, graph::MatmulOp>(op) &&
         isa<FloatType>(graph::getElementType(op->getOperand(0)));
}

/// Columns that experts are as many as at most; a vocabulary's are more.
constexpr int64_t mostExperts = 512;
/// Ops between a product and a choice.
constexpr size_t mostBetween = 16;

/// Whether what a product gives is compared, to take the largest: a router,
/// whose rounding would not change a result by a little, but send a token to
/// another expert.
bool isRouter(Operation *op) {
  auto matmul = dyn_cast<graph::MatmulOp>(op);
  if (!matmul || !isStoredFloats(matmul.getRhs()) ||
      graph::getRank(matmul.getRhs()) != 2 ||
      *graph::getDims(matmul.getRhs()).back().asConstant() > mostExperts)
    return false;
  llvm::SmallSetVector<Operation *, 16> behind;
  behind.insert(op);
  for (size_t i = 0; i < behind.size() && i < mostBetween; ++i)
    for (Operation *user : behind[i]->getUsers()) {
      if (isa<graph::TopkOp, graph::ArgReduceOp>(user))
        return true;
      if (graph::isPointwise(user) ||
          isa<graph::ReshapeOp, graph::SoftmaxOp, graph::LogSoftmaxOp>(user))
        behind.insert(user);
    }
  return false;
}

StringRef kindOf(Operation *op) { return op->getName().stripDialect(); }

Attribute attributeOf(Builder &builder, const StaticLhs &lhs) {
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("scale", builder.getF32FloatAttr(lhs.scale)),
       builder.getNamedAttr("shifts", builder.getDenseI8ArrayAttr(lhs.shifts)),
       builder.getNamedAttr("zero", builder.getI64IntegerAttr(lhs.zero))});
}

/// Gives ops names that a plan can tell apart.
class OpNames {
public:
  std::string next(Operation *op) {
    std::string node = nodeOf(op->getLoc());
    unsigned count = ++counts[(node + "\n" + kindOf(op)).str()];
    return count == 1 ? node : node + "#" + std::to_string(count);
  }

private:
  llvm::StringMap<unsigned> counts;
};

struct AssignPrecision : impl::AssignPrecisionPassBase<AssignPrecision> {
  using Base = impl::AssignPrecisionPassBase<AssignPrecision>;
  using Base::Base;
  explicit AssignPrecision(const PrecisionPlan &plan) : plan(&plan) {}

  void runOnOperation() override {
    std::optional<Precision> all = findPrecision(precision);
    if (!all) {
      getOperation().emitError("there is no precision '")
          << precision << "'; say one of " << precisionNames();
      return signalPassFailure();
    }
    llvm::StringMap<const OpPrecision *> rows;
    if (plan)
      for (const OpPrecision &row : plan->ops)
        rows[key(row.op, row.kind)] = &row;
    OpNames names;
    Builder builder(&getContext());
    bool isRefused = false;
    getOperation().walk([&](Operation *op) {
      if (!hasChoice(op))
        return;
      std::string name = names.next(op);
      Precision wanted = isRouter(op) ? Precision::Fp32 : *all;
      bool isCompensated = compensates && isOfFewBits(wanted);
      if (plan) {
        const OpPrecision *row = take(rows, name, kindOf(op));
        wanted = row ? row->precision : Precision::Fp32;
        if (row && row->lhs)
          op->setAttr(lhsAttribute, attributeOf(builder, *row->lhs));
        if (isOfFewBits(wanted))
          op->setAttr(blockAttribute, builder.getI64IntegerAttr(row->block));
        isCompensated = row && row->compensated;
        isRefused |= isCompensated && failed(checkCompensated(op));
      }
      if (isCompensated)
        op->setAttr(compensatedAttribute, builder.getUnitAttr());
      op->setAttr(opNameAttribute, builder.getStringAttr(name));
      op->setAttr(precisionAttribute, builder.getStringAttr(nameOf(wanted)));
    });
    if (failed(refuseUnknown(rows)) || isRefused)
      signalPassFailure();
  }

private:
  /// Errors are spread over the columns of products alone.
  static LogicalResult checkCompensated(Operation *op) {
    if (!isa<graph::RecurrentOp>(op))
      return success();
    return op->emitError("the precision plan wants its recurrence rounded by "
                         "inputs, but only weights of products are: take "
                         "\"compensated\" out of its line");
  }

  static std::string key(StringRef op, StringRef kind) {
    return (op + "\n" + kind).str();
  }

  /// The plan's row of an op, whose kind the plan may leave out. What is left
  /// in `rows` at the end is of no op.
  static const OpPrecision *take(llvm::StringMap<const OpPrecision *> &rows,
                                 StringRef name, StringRef kind) {
    for (StringRef each : {kind, StringRef()})
      if (auto found = rows.find(key(name, each)); found != rows.end()) {
        const OpPrecision *row = found->second;
        rows.erase(found);
        return row;
      }
    return nullptr;
  }

  /// A row that means nothing is a slip of whoever edited the plan, or the plan
  /// is of another model.
  LogicalResult
  refuseUnknown(const llvm::StringMap<const OpPrecision *> &rows) {
    if (rows.empty())
      return success();
    const OpPrecision *first = nullptr;
    for (const OpPrecision &row : plan->ops)
      if (!first && rows.contains(key(row.op, row.kind)))
        first = &row;
    return emitError(UnknownLoc::get(&getContext()))
           << "the precision plan names "
           << (first->kind.empty() ? "" : first->kind + " ") << "'" << first->op
           << "'"
           << (rows.size() > 1 ? " and " + Twine(rows.size() - 1) + " more"
                               : Twine())
           << ", which this model does not have; write the plan again with "
              "--precision=P --precision-plan FILE";
  }

  const PrecisionPlan *plan = nullptr;
};

struct RecordPrecision : impl::RecordPrecisionPassBase<RecordPrecision> {
  using Base = impl::RecordPrecisionPassBase<RecordPrecision>;
  using Base::Base;
  explicit RecordPrecision(PrecisionPlan &plan) : plan(&plan) {}

  void runOnOperation() override {
    if (plan)
      plan->ops.clear();
    getOperation().walk([&](Operation *op) {
      auto name = op->getAttrOfType<StringAttr>(opNameAttribute);
      auto precision = op->getAttrOfType<StringAttr>(precisionAttribute);
      std::optional<StaticLhs> lhs = staticLhsOf(op);
      auto block = op->getAttrOfType<IntegerAttr>(blockAttribute);
      bool isCompensated = op->hasAttr(compensatedAttribute);
      for (StringRef each :
           {blockAttribute, compensatedAttribute, exactAttribute, lhsAttribute,
            opNameAttribute, precisionAttribute})
        op->removeAttr(each);
      if (!plan || !name || !precision)
        return;
      Precision own =
          findPrecision(precision.getValue()).value_or(Precision::Fp32);
      if (own != Precision::Int8)
        lhs.reset();
      plan->ops.push_back(
          {name.str(), kindOf(op).str(), own, std::nullopt, std::move(lhs)});
      if (!isOfFewBits(own))
        return;
      if (block)
        plan->ops.back().block = block.getInt();
      plan->ops.back().compensated = isCompensated;
    });
  }

  PrecisionPlan *plan = nullptr;
};

} // namespace

std::unique_ptr<Pass> createAssignPrecisionPass(const PrecisionPlan &plan) {
  return std::make_unique<AssignPrecision>(plan);
}

std::unique_ptr<Pass> createRecordPrecisionPass(PrecisionPlan &plan) {
  return std::make_unique<RecordPrecision>(plan);
}

Precision precisionOf(Operation *op, Precision otherwise) {
  auto name = op->getAttrOfType<StringAttr>(precisionAttribute);
  return name ? findPrecision(name.getValue()).value_or(otherwise) : otherwise;
}

std::optional<StaticLhs> staticLhsOf(Operation *op) {
  auto members = op->getAttrOfType<DictionaryAttr>(lhsAttribute);
  if (!members)
    return std::nullopt;
  StaticLhs lhs;
  if (auto scale = members.getAs<FloatAttr>("scale"))
    lhs.scale = scale.getValue().convertToFloat();
  if (auto zero = members.getAs<IntegerAttr>("zero"))
    lhs.zero = zero.getInt();
  if (auto shifts = members.getAs<DenseI8ArrayAttr>("shifts"))
    lhs.shifts.assign(shifts.asArrayRef().begin(), shifts.asArrayRef().end());
  return lhs;
}

void leaveInFp32(Operation *op, const Twine &why, bool explain) {
  if (op->hasAttr(precisionAttribute))
    op->setAttr(precisionAttribute,
                StringAttr::get(op->getContext(), nameOf(Precision::Fp32)));
  if (explain)
    op->emitRemark("stays in f32: ") << why;
}

} // namespace tenon
