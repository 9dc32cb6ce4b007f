//===- ProbePrecision.cpp - What each precision does to each op -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beside an op stand copies of it that ask for other precisions, which the
// passes behind lower as they would lower the op itself. What a copy gives is
// compared with the op's result, and takes its place where an input of the
// program says so: one program measures what any choice of precisions does, to
// each op and to the outputs.
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/PrecisionAttributes.h"
#include "compiler/Transforms/PrecisionProbes.h"
#include "dialects/Graph/Terms.h"
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
      : function(function), candidates(candidates), probes(probes) {}

  void run() {
    for (Type type : function.getArgumentTypes())
      probes.inputDims.push_back(graph::getDims(type));
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) {
      if (op->hasAttr(opNameAttribute) &&
          graph::getElementType(op->getResult(0)).isF32())
        ops.push_back(op);
    });
    if (ops.empty() || candidates.empty())
      return;
    addMask(ops.size() * candidates.size());
    for (Operation *op : ops)
      probe(op);
    returnErrors();
  }

private:
  void addMask(int64_t count) {
    OpBuilder b(function.getContext());
    unsigned index = function.getNumArguments();
    (void)function.insertArgument(
        index, RankedTensorType::get({count}, b.getI1Type()),
        named(b, "graph.precision_mask"), function.getLoc());
    mask = function.getArgument(index);
  }

  static DictionaryAttr named(OpBuilder &b, StringRef name) {
    return b.getDictionaryAttr(
        b.getNamedAttr("graph.name", b.getStringAttr(name)));
  }

  /// `copy` where the mask has 1 for this probe, else `value`.
  Value chosen(OpBuilder &b, Location loc, size_t probe, Value copy,
               Value value) {
    auto at = [&](int64_t i) { return Expr::constant(b.getContext(), i); };
    auto dims = [&](int64_t i) {
      return graph::DimsAttr::get(b.getContext(), {at(i)});
    };
    Value bit = graph::SliceOp::create(
        b, loc, RankedTensorType::get({1}, b.getI1Type()), mask,
        dims(int64_t(probe)), dims(1));
    SmallVector<Expr> ones(graph::getRank(value), at(1));
    bit = graph::ReshapeOp::create(b, loc, graph::tensorOf(ones, b.getI1Type()),
                                   bit);
    return graph::SelectOp::create(b, loc, value.getType(), bit, copy, value);
  }

  void probe(Operation *op) {
    auto name = op->getAttrOfType<StringAttr>(opNameAttribute);
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    Location loc = op->getLoc();
    auto readers =
        llvm::to_vector(llvm::make_pointer_range(op->getResult(0).getUses()));
    Value exact = op->getResult(0), whole = squareSum(b, loc, exact);
    Value result = exact;
    for (Precision candidate : candidates) {
      Operation *copy = b.clone(*op);
      copy->setAttr(precisionAttribute, b.getStringAttr(nameOf(candidate)));
      if (candidate != Precision::Int8)
        copy->removeAttr(lhsAttribute);
      copy->setAttr(
          opNameAttribute,
          b.getStringAttr(Twine(probeName) + Twine(probes.probes.size())));
      Value difference = graph::SubOp::create(b, loc, exact.getType(),
                                              copy->getResult(0), exact);
      errors.push_back(graph::DivOp::create(
          b, loc, whole.getType(), squareSum(b, loc, difference), whole));
      result = chosen(b, loc, probes.probes.size(), copy->getResult(0), result);
      probes.probes.push_back({probes.ops.size(), candidate, false});
    }
    for (OpOperand *reader : readers)
      reader->set(result);
    probes.ops.push_back(probedOp(op, name));
  }

  void returnErrors() {
    Operation *last = function.getBody().front().getTerminator();
    OpBuilder b(last);
    auto type = RankedTensorType::get({int64_t(errors.size())}, b.getF32Type());
    Value all = graph::ConcatOp::create(b, function.getLoc(), type, errors,
                                        b.getI64IntegerAttr(0));
    unsigned index = function.getNumResults();
    (void)function.insertResult(index, type,
                                named(b, "graph.precision_errors"));
    last->insertOperands(index, all);
  }

  func::FuncOp function;
  ArrayRef<Precision> candidates;
  PrecisionProbes &probes;
  Value mask; // i1, for each probe.
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
    PrecisionProbe &probe = probes.probes[index];
    probe.isTaken = probe.precision == row.precision;
  }
}

} // namespace tenon
