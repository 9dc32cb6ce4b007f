//===- ProbePrecision.cpp - What each precision does to each op -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beside an op stand copies of it that ask for other precisions, which the
// passes behind lower as they would lower the op itself. An input of the
// program says which of them run: what such a copy gives is compared with the
// op's result, and takes its place. So one program measures what any choice of
// precisions does, to each op and to the outputs, and a run takes little longer
// than the copies that it is about.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/PrecisionAttributes.h"
#include "compiler/Transforms/PrecisionProbes.h"
#include "dialects/Graph/Terms.h"
#include "dialects/Kernel/StridedView.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tenon {
#define GEN_PASS_DEF_PROBEPRECISIONPASS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using graph::Expr;

ProbedOp probedOp(Operation *op, StringRef name) {
  ProbedOp probed;
  probed.op = name.str();
  probed.kind = op->getName().stripDialect().str();
  probed.terms = graph::termsOf(op);
  probed.weightElements = Expr::constant(op->getContext(), 0);
  probed.dataElements = graph::elementCount(op->getResult(0));
  // Of a table, only what is looked up is read.
  if (isa<graph::GatherOp>(op))
    return probed;
  for (Value operand : op->getOperands()) {
    bool isWeight = operand.getDefiningOp<graph::WeightOp>();
    Expr &sum = isWeight ? probed.weightElements : probed.dataElements;
    sum = sum + graph::elementCount(operand);
  }
  return probed;
}

/// The sum of all elements' squares, as tensor<1xf32>.
Value squareSum(OpBuilder &b, Location loc, Value value) {
  Value squares = graph::MulOp::create(b, loc, value.getType(), value, value);
  SmallVector<Expr> ones(graph::getRank(value),
                         Expr::constant(b.getContext(), 1));
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, graph::getRank(value)));
  Type element = b.getF32Type();
  Value sum = squares;
  if (!axes.empty())
    sum = graph::ReduceOp::create(
        b, loc, graph::tensorOf(ones, element), squares,
        b.getDenseI64ArrayAttr(axes),
        graph::ReduceKindAttr::get(b.getContext(), graph::ReduceKind::Sum));
  return graph::ReshapeOp::create(b, loc, RankedTensorType::get({1}, element),
                                  sum);
}

class Probing {
public:
  Probing(func::FuncOp function, ArrayRef<Precision> candidates,
          PrecisionProbes &probes)
      : function(function), candidates(candidates), probes(probes),
        b(function.getContext()) {}

  void run() {
    for (Type type : function.getArgumentTypes())
      probes.inputDims.push_back(graph::getDims(type));
    SmallVector<Operation *> ops;
    // What a branch or a loop computes cannot be returned: it stays f32.
    for (Operation &op : function.getBody().front())
      if (op.hasAttr(opNameAttribute) &&
          graph::getElementType(op.getResult(0)).isF32())
        ops.push_back(&op);
    if (ops.empty() || candidates.empty())
      return;
    for (Operation *op : ops)
      addProbes(op);
    addMask();
    for (auto [i, op] : llvm::enumerate(ops))
      probe(op, i);
    returnErrors();
  }

private:
  void addProbes(Operation *op) {
    for (Precision candidate : candidates)
      probes.probes.push_back({probes.ops.size(), candidate});
    probes.ops.push_back(
        probedOp(op, op->getAttrOfType<StringAttr>(opNameAttribute)));
  }

  void addMask() {
    unsigned index = function.getNumArguments();
    int64_t bits = PrecisionMask(probes).bits.size();
    (void)function.insertArgument(
        index, RankedTensorType::get({bits}, b.getI1Type()),
        named("graph.precision_mask"), function.getLoc());
    mask = function.getArgument(index);
  }

  DictionaryAttr named(StringRef name) {
    return b.getDictionaryAttr(
        b.getNamedAttr("graph.name", b.getStringAttr(name)));
  }

  /// A bit of the mask, of as many axes.
  Value bit(Location loc, size_t number, int64_t rank) {
    auto at = [&](int64_t i) { return Expr::constant(b.getContext(), i); };
    auto dims = [&](int64_t i) {
      return graph::DimsAttr::get(b.getContext(), {at(i)});
    };
    Type flag = b.getI1Type();
    Value slice =
        graph::SliceOp::create(b, loc, RankedTensorType::get({1}, flag), mask,
                               dims(int64_t(number)), dims(1));
    SmallVector<Expr> ones(rank, at(1));
    return graph::ReshapeOp::create(b, loc, graph::tensorOf(ones, flag), slice);
  }

  /// What `computed` adds where a bit of the mask is 1, else `otherwise`.
  SmallVector<Value> where(Location loc, size_t number,
                           ArrayRef<Value> otherwise,
                           function_ref<SmallVector<Value>()> computed) {
    Value condition = bit(loc, number, /*rank=*/0);
    OperationState state(loc, graph::IfOp::getOperationName());
    state.addOperands(condition);
    state.addTypes(ValueRange(otherwise).getTypes());
    for (bool isThen : {true, false}) {
      OpBuilder::InsertionGuard guard(b);
      b.createBlock(state.addRegion());
      SmallVector<Value> values =
          isThen ? computed() : SmallVector<Value>(otherwise);
      graph::YieldOp::create(b, loc, values);
    }
    return llvm::to_vector(ValueRange(b.create(state)->getResults()));
  }

  /// Behind an op, what the mask has its readers read.
  void probe(Operation *op, size_t ordinal) {
    Location loc = op->getLoc();
    SmallVector<Value> exact = llvm::to_vector(ValueRange(op->getResults()));
    std::vector<SmallVector<OpOperand *>> readers;
    for (Value each : exact)
      readers.push_back(
          llvm::to_vector(llvm::make_pointer_range(each.getUses())));
    b.setInsertionPointAfter(op);
    auto single = RankedTensorType::get({1}, b.getF32Type());
    Value none = graph::ConstantOp::create(
        b, loc, single, DenseElementsAttr::get(single, 0.0f));
    SmallVector<Value> given = exact;
    given.append(candidates.size(), none);
    given = where(loc, PrecisionMask::ofOp(probes, ordinal), given, [&] {
      SmallVector<Value> chosen = exact, found;
      size_t first = ordinal * candidates.size();
      for (size_t i = 0; i < candidates.size(); ++i) {
        SmallVector<Value> otherwise = chosen;
        otherwise.push_back(none);
        chosen = where(loc, first + i, otherwise,
                       [&] { return copyOf(op, first + i, chosen); });
        found.push_back(chosen.pop_back_val());
      }
      chosen.append(found);
      return chosen;
    });
    for (auto [uses, value] : llvm::zip(readers, given))
      for (OpOperand *reader : uses)
        reader->set(value);
    errors.append(given.begin() + exact.size(), given.end());
  }

  /// An operand as a branch's own ops name it: what passes lower and kernels
  /// read they look for in their own block, weights and views of memory.
  Value ownView(Value operand) {
    std::optional<kernel::StridedView> view = kernel::stridedViewOf(operand);
    Value value = view ? view->base : operand;
    SmallVector<Operation *> links;
    if (view)
      links = kernel::viewOpsOf(operand, *view);
    if (auto weight = value.getDefiningOp<graph::WeightOp>())
      value = b.clone(*weight)->getResult(0);
    for (Operation *link : llvm::reverse(links)) {
      Operation *copy = b.clone(*link);
      copy->setOperand(0, value);
      value = copy->getResult(0);
    }
    return value;
  }

  /// The results of a copy of an op in the precision of a probe, or `others`
  /// where errors are measured, and the error of the first.
  SmallVector<Value> copyOf(Operation *op, size_t number,
                            ArrayRef<Value> others) {
    Location loc = op->getLoc();
    Precision precision = probes.probes[number].precision;
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, ownView(operand));
    Operation *copy = b.clone(*op, mapping);
    copy->setAttr(precisionAttribute, b.getStringAttr(nameOf(precision)));
    if (precision != Precision::Int8)
      copy->removeAttr(lhsAttribute);
    copy->setAttr(opNameAttribute,
                  b.getStringAttr(Twine(probeName) + Twine(number)));
    Value exact = op->getResult(0), result = copy->getResult(0);
    Value whole = squareSum(b, loc, exact);
    Value difference =
        graph::SubOp::create(b, loc, exact.getType(), result, exact);
    Value error = graph::DivOp::create(b, loc, whole.getType(),
                                       squareSum(b, loc, difference), whole);
    SmallVector<Value> given;
    for (auto [other, made] : llvm::zip_equal(others, copy->getResults())) {
      Value isMeasured =
          bit(loc, PrecisionMask::measures(probes), graph::getRank(made));
      given.push_back(graph::SelectOp::create(b, loc, made.getType(),
                                              isMeasured, other, made));
    }
    given.push_back(error);
    return given;
  }

  void returnErrors() {
    Operation *last = function.getBody().front().getTerminator();
    b.setInsertionPoint(last);
    auto type = RankedTensorType::get({int64_t(errors.size())}, b.getF32Type());
    Value all = graph::ConcatOp::create(b, function.getLoc(), type, errors,
                                        b.getI64IntegerAttr(0));
    unsigned index = function.getNumResults();
    (void)function.insertResult(index, type, named("graph.precision_errors"));
    last->insertOperands(index, all);
  }

  func::FuncOp function;
  ArrayRef<Precision> candidates;
  PrecisionProbes &probes;
  OpBuilder b;
  Value mask;
  SmallVector<Value> errors;
};

struct ProbePrecision : impl::ProbePrecisionPassBase<ProbePrecision> {
  using Base = impl::ProbePrecisionPassBase<ProbePrecision>;
  using Base::Base;
  ProbePrecision(ArrayRef<Precision> candidates, PrecisionProbes &probes)
      : candidates(candidates), probes(&probes) {}

  void runOnOperation() override {
    PrecisionProbes own;
    if (!probes)
      for (StringRef name : llvm::split(precisions, '+')) {
        std::optional<Precision> known = findPrecision(name);
        if (!known) {
          getOperation().emitError("there is no precision '") << name << "'";
          return signalPassFailure();
        }
        candidates.push_back(*known);
      }
    Probing(getOperation(), candidates, probes ? *probes : own).run();
  }

  SmallVector<Precision> candidates;
  PrecisionProbes *probes = nullptr;
};

} // namespace

PrecisionMask::PrecisionMask(const PrecisionProbes &probes)
    : bits(probes.probes.size() + probes.ops.size() + 1, false) {}

PrecisionMask PrecisionMask::ofErrors(const PrecisionProbes &probes) {
  PrecisionMask mask(probes);
  mask.bits.assign(mask.bits.size(), true);
  return mask;
}

PrecisionMask PrecisionMask::ofChoice(const PrecisionProbes &probes,
                                      ArrayRef<Precision> ofOps) {
  PrecisionMask mask(probes);
  for (auto [i, probe] : llvm::enumerate(probes.probes))
    if (probe.isTaken() && ofOps[probe.op] == probe.precision)
      mask.bits[i] = mask.bits[ofOp(probes, probe.op)] = true;
  return mask;
}

size_t PrecisionMask::ofOp(const PrecisionProbes &probes, size_t op) {
  return probes.probes.size() + op;
}

size_t PrecisionMask::measures(const PrecisionProbes &probes) {
  return probes.probes.size() + probes.ops.size();
}

std::unique_ptr<Pass> createProbePrecisionPass(ArrayRef<Precision> candidates,
                                               PrecisionProbes &probes) {
  return std::make_unique<ProbePrecision>(candidates, probes);
}

bool isProbe(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(opNameAttribute);
  return name && name.getValue().starts_with(probeName);
}

void markTaken(PrecisionProbes &probes, const PrecisionPlan &lowered) {
  for (const OpPrecision &row : lowered.ops) {
    StringRef number(row.op);
    size_t index;
    if (!number.consume_front(probeName) || number.getAsInteger(10, index) ||
        index >= probes.probes.size())
      continue;
    probes.probes[index].made = row.precision;
  }
}

} // namespace tenon
