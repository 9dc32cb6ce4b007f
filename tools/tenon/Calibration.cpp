//===- Calibration.cpp - Static scales of int8 products -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program, of f32, returns the left operands of all products that int8
// takes (see ObserveProducts.cpp). It runs on all inputs as often as these want
// to be seen.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Calibration.h"
#include "tools/tenon/CompiledModel.h"
#include "tools/tenon/ObservedLhs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon;

namespace {

RangeChoice choiceOf(const std::string &name) {
  return name == "minmax"       ? RangeChoice::MinMax
         : name == "percentile" ? RangeChoice::Percentile
                                : RangeChoice::Mse;
}

/// What the program returns, and what reads it.
struct Lhs {
  std::vector<const ObservedProduct *> products;
  std::optional<ObservedLhs> observed;
};

class Calibration {
public:
  Calibration(const PrecisionRequest &request, std::optional<size_t> without)
      : request(request), without(without) {}

  llvm::Expected<PrecisionPlan> run(const std::string &path,
                                    CompileOptions options, std::string &says);

private:
  void collect();
  llvm::Error
  forEachRow(llvm::function_ref<void(ObservedLhs &observed,
                                     ObservedLhs::Row row, size_t set)>
                 body);
  llvm::Error observe();
  PrecisionPlan plan() const;
  std::string report() const;

  const PrecisionRequest &request;
  const std::optional<size_t> without;
  std::shared_ptr<CompiledModel> model;
  std::vector<InputSet> sets;
  std::vector<Lhs> lhs; // As the program returns them.
};

void Calibration::collect() {
  llvm::StringMap<size_t> readers;
  for (const ObservedProduct &product : model->compilation.probes.observed) {
    lhs.resize(std::max(lhs.size(), product.output + 1));
    lhs[product.output].products.push_back(&product);
    ++readers[product.weight];
  }
  for (Lhs &each : lhs) {
    std::vector<const Weight *> weights;
    bool areShared = false;
    for (const ObservedProduct *product : each.products) {
      weights.push_back(model->compilation.weights.lookup(product->weight));
      areShared |= readers[product->weight] > 1;
    }
    each.observed.emplace(std::move(weights), areShared, sets.size());
  }
}

llvm::Error Calibration::forEachRow(
    llvm::function_ref<void(ObservedLhs &observed, ObservedLhs::Row row,
                            size_t set)>
        body) {
  for (size_t set = 0; set < sets.size(); ++set) {
    std::vector<tenon_tensor_t> outputs;
    if (llvm::Error error = model->session->run(sets[set].inputs, outputs))
      return sentence(sets[set].folder + ": " +
                      llvm::toString(std::move(error)));
    size_t first = outputs.size() - lhs.size();
    for (size_t i = 0; i < lhs.size(); ++i) {
      const tenon_tensor_t &output = outputs[first + i];
      auto data = static_cast<const float *>(output.data);
      size_t channels = lhs[i].observed->channels();
      for (size_t at = 0; at < output.bytes / sizeof(float); at += channels)
        body(*lhs[i].observed, {data + at, channels}, set);
    }
  }
  return llvm::Error::success();
}

llvm::Error Calibration::observe() {
  using Row = ObservedLhs::Row;
  if (llvm::Error error = forEachRow(
          [](ObservedLhs &own, Row row, size_t) { own.seeMagnitudes(row); }))
    return error;
  for (Lhs &each : lhs)
    each.observed->chooseShifts();
  if (llvm::Error error =
          forEachRow([](ObservedLhs &own, Row row, size_t) { own.count(row); }))
    return error;
  for (Lhs &each : lhs)
    each.observed->chooseRanges(choiceOf(request.calibration));
  return forEachRow(
      [](ObservedLhs &own, Row row, size_t set) { own.measure(row, set); });
}

PrecisionPlan Calibration::plan() const {
  PrecisionPlan plan = model->compilation.precisions;
  llvm::StringMap<const ObservedLhs *> observed;
  for (const Lhs &each : lhs)
    for (const ObservedProduct *product : each.products)
      observed[product->op] = &*each.observed;
  for (OpPrecision &row : plan.ops) {
    const ObservedLhs *own = row.kind == "matmul" || row.kind == "conv"
                                 ? observed.lookup(row.op)
                                 : nullptr;
    if (!own || (own->isImage() && !own->isStatic()))
      continue;
    row.precision = Precision::Int8;
    if (own->isStatic())
      row.lhs = own->best();
  }
  return plan;
}

std::string Calibration::report() const {
  size_t products = 0, smoothed = 0, dynamic = 0, unknown = 0;
  size_t convs = 0, staticConvs = 0;
  double worst = 0;
  for (const Lhs &each : lhs) {
    const ObservedLhs &observed = *each.observed;
    size_t count = each.products.size();
    if (observed.isImage()) {
      convs += count;
      staticConvs += observed.isStatic() ? count : 0;
      continue;
    }
    products += count;
    if (!observed.isKnown()) {
      unknown += count;
    } else if (!observed.isStatic()) {
      dynamic += count;
      worst = std::max(worst, observed.timesWorse());
    } else if (!observed.best().shifts.empty()) {
      smoothed += count;
    }
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "int8 by " << request.calibration << " of " << sets.size()
     << (sets.size() == 1 ? " set" : " sets")
     << " of inputs: " << products - dynamic - unknown << " of " << products
     << " products static, " << smoothed << " of them with channels smoothed";
  if (dynamic)
    os << "; " << dynamic << " dynamic, as static errs up to "
       << llvm::format("%.2g", worst) << " times as much";
  if (unknown)
    os << "; " << unknown << " dynamic, as inputs have fewer than "
       << ObservedLhs::fewestRows << " rows for them";
  if (convs)
    os << "; " << staticConvs << " of " << convs << " convolutions static";
  os << '\n';
  return text;
}

llvm::Expected<PrecisionPlan> Calibration::run(const std::string &path,
                                               CompileOptions options,
                                               std::string &says) {
  options.precision = Precision::Int8;
  options.observe = Observed::Int8;
  auto made = CompiledModel::toMeasure(path, options, request.threads);
  if (!made)
    return made.takeError();
  model = std::move(*made);
  auto found = readInputSets(*model->session, request.calibrate);
  if (!found)
    return found.takeError();
  sets = std::move(*found);
  if (without)
    sets.erase(sets.begin() + *without);
  collect();
  if (llvm::Error error = observe())
    return error;
  says += report();
  return plan();
}

} // namespace

llvm::Expected<PrecisionPlan>
tenon::calibrateInt8(const std::string &path, const CompileOptions &options,
                     const PrecisionRequest &request, std::string &report,
                     std::optional<size_t> without) {
  return Calibration(request, without).run(path, options, report);
}
