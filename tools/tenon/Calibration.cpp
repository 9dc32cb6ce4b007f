//===- Calibration.cpp - Static scales of int8 products -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program, of f32, returns the left operands of all products that int8
// takes (see ObserveProducts.cpp). It runs three times on all inputs: for the
// largest magnitude of each channel, which says what moves to the weights; for
// histograms of what that leaves, which say ranges; and for the errors that the
// ranges make, beside those that scales made at run time would.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Calibration.h"
#include "tools/tenon/CompiledModel.h"
#include "tools/tenon/LhsHistogram.h"
#include "tools/tenon/Smoothing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace tenon;

namespace {

/// Errors of static scales over those of dynamic ones, beyond which a product
/// stays dynamic.
constexpr double mostTimesWorse = 1.25;
/// Of fewer rows than that a product stays dynamic: the ends of so few, and the
/// channels that stand out in them, say nothing of those to come.
constexpr int64_t fewestRows = 16;
/// Errors of a convolution's results over these, beyond which it stays f32:
/// there are no dynamic ones.
constexpr double mostOfConv = 0.05;
/// What a weight is quantized to on either side of 0.
constexpr float largest = 127;

using Row = llvm::ArrayRef<float>;

RangeChoice choiceOf(const std::string &name) {
  return name == "minmax"       ? RangeChoice::MinMax
         : name == "percentile" ? RangeChoice::Percentile
                                : RangeChoice::Mse;
}

double square(double x) { return x * x; }

/// x as numbers from 0 to 255, and back.
float throughBytes(float x, float scale, float zero) {
  float number = std::nearbyint(x * (1 / scale)) + zero;
  return (std::clamp(number, 0.0f, 255.0f) - zero) * scale;
}

/// What products make of errors of their lhs and of the weights' own rounding;
/// for several products, their sum.
struct WeightErrors {
  std::vector<double> rows; // Squares of each row, summed.
  double steps = 0;         // Squares of columns' scales, over 12.
};

/// A way to quantize an lhs, and the squares of errors that it makes of the
/// results of products.
struct Candidate {
  StaticLhs lhs;
  LhsHistogram histogram;
  WeightErrors weights;
  std::vector<float> factors; // Of the channels.
  double error = 0;

  explicit Candidate(std::vector<int8_t> shifts, size_t channels)
      : factors(channels, 1) {
    for (auto [factor, shift] : llvm::zip(factors, shifts))
      factor = std::ldexp(1.0f, -shift);
    lhs.shifts = std::move(shifts);
  }
  void count(Row row);
  void measure(Row row);
};

void Candidate::count(Row row) {
  for (auto [x, factor] : llvm::zip_equal(row, factors))
    histogram.add(x * factor);
}

void Candidate::measure(Row row) {
  double ofLhs = 0, squares = 0;
  for (size_t k = 0; k < row.size(); ++k) {
    float x = row[k] * factors[k];
    if (!std::isfinite(x))
      continue;
    ofLhs += square(x - throughBytes(x, lhs.scale, float(lhs.zero))) *
             weights.rows[k];
    squares += square(x);
  }
  error += ofLhs + squares * weights.steps;
}

/// What the program returns for some products.
struct ObservedLhs {
  std::vector<const ObservedProduct *> products;
  std::vector<const Weight *> weights;
  std::vector<float> most; // Of each channel.
  bool mayShift = true;    // Nobody else reads the weights.
  bool isImage = false;    // Convolutions read it.
  std::vector<Candidate> candidates;
  double dynamicError = 0, whole = 0;
  int64_t rows = 0; // That were seen.

  WeightErrors weightErrors(llvm::ArrayRef<int8_t> shifts) const;
  std::vector<int8_t> smoothing() const;
  void measureDynamic(Row row);
  const Candidate &best() const {
    return *llvm::min_element(candidates, [](auto &one, auto &other) {
      return one.error < other.error;
    });
  }
  bool isKnown() const { return isImage || rows >= fewestRows; }
  bool isStatic() const {
    if (isImage)
      return best().error <= square(mostOfConv) * whole;
    return isKnown() && best().error <= square(mostTimesWorse) * dynamicError;
  }
};

/// Channels of what a weight multiplies: rows of a matrix, but of a filter
/// [M, C, taps..].
int64_t channelsOf(const Weight &weight) {
  return weight.shape[weight.shape.size() > 2 ? 1 : 0];
}
int64_t columnsOf(const Weight &weight) {
  return weight.shape[weight.shape.size() > 2 ? 0 : 1];
}

/// What a filter's channel and tap are for all maps.
template <typename Body> void forEachTap(const Weight &filter, Body body) {
  size_t maps = size_t(filter.shape[0]), channels = size_t(filter.shape[1]);
  std::vector<float> all(filter.bytes().size() / sizeof(float)), row(maps);
  std::memcpy(all.data(), filter.bytes().data(), filter.bytes().size());
  size_t depth = all.size() / maps, taps = depth / channels;
  for (size_t k = 0; k < depth; ++k) {
    for (size_t map = 0; map < maps; ++map)
      row[map] = all[map * depth + k];
    body(k / taps, Row(row));
  }
}

/// Calls body(k, row) for a stored matrix of f32, and for a filter as that of
/// its taps and channels, with k the channel.
template <typename Body> void forEachRow(const Weight &weight, Body body) {
  if (weight.shape.size() > 2)
    return forEachTap(weight, body);
  std::vector<float> row(size_t(weight.shape[1]));
  const char *source = weight.bytes().data();
  for (int64_t k = 0; k < weight.shape[0]; ++k) {
    std::memcpy(row.data(), source, row.size() * sizeof(float));
    source += row.size() * sizeof(float);
    body(size_t(k), Row(row));
  }
}

WeightErrors ObservedLhs::weightErrors(llvm::ArrayRef<int8_t> shifts) const {
  WeightErrors errors;
  errors.rows.assign(most.size(), 0);
  for (const Weight *weight : weights) {
    std::vector<float> columns(size_t(columnsOf(*weight)), 0);
    size_t rows = 0;
    forEachRow(*weight, [&](size_t k, Row row) {
      float factor = shifts.empty() ? 1 : std::ldexp(1.0f, shifts[k]);
      ++rows;
      for (auto [column, each] : llvm::zip_equal(columns, row)) {
        errors.rows[k] += square(each * factor);
        column = std::max(column, std::fabs(each * factor));
      }
    });
    // Each tap meets each number once.
    double taps = double(rows) / double(channelsOf(*weight));
    for (float column : columns)
      errors.steps += taps * square(column / largest) / 12;
  }
  return errors;
}

std::vector<int8_t> ObservedLhs::smoothing() const {
  std::vector<float> rows(most.size(), 0);
  for (const Weight *weight : weights)
    forEachRow(*weight, [&](size_t k, Row row) {
      for (float each : row)
        rows[k] = std::max(rows[k], std::fabs(each));
    });
  return smoothingShifts(most, rows);
}

void ObservedLhs::measureDynamic(Row row) {
  const WeightErrors &plain = candidates.front().weights;
  for (size_t k = 0; k < row.size(); ++k)
    if (std::isfinite(row[k]))
      whole += square(row[k]) * plain.rows[k];
  if (isImage)
    return;
  // The steps of graph.quantize_rows.
  float low = 0, high = 0;
  for (float x : row)
    if (std::isfinite(x)) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
  if (low == high)
    return;
  float scale = (high - low) / 255;
  float zero = std::nearbyint(-low / scale);
  double ofLhs = 0, squares = 0;
  for (size_t k = 0; k < row.size(); ++k) {
    if (!std::isfinite(row[k]))
      continue;
    ofLhs += square(row[k] - throughBytes(row[k], scale, zero)) * plain.rows[k];
    squares += square(row[k]);
  }
  dynamicError += ofLhs + squares * plain.steps;
}

class Calibration {
public:
  Calibration(const PrecisionRequest &request, bool keepsLast)
      : request(request), keepsLast(keepsLast) {}

  llvm::Expected<PrecisionPlan> run(const std::string &path,
                                    CompileOptions options, std::string &says);

private:
  void collect();
  llvm::Error
  forEachRow(llvm::function_ref<void(ObservedLhs &lhs, Row row)> body);
  llvm::Error chooseShifts();
  llvm::Error chooseRanges();
  llvm::Error measure();
  PrecisionPlan plan() const;
  std::string report() const;

  const PrecisionRequest &request;
  const bool keepsLast;
  std::shared_ptr<CompiledModel> model;
  std::vector<InputSet> sets;
  std::vector<ObservedLhs> lhs; // As the program returns them.
};

void Calibration::collect() {
  llvm::StringMap<size_t> readers;
  for (const ObservedProduct &product : model->compilation.probes.observed) {
    lhs.resize(std::max(lhs.size(), product.output + 1));
    const Weight *weight = model->compilation.weights.lookup(product.weight);
    ObservedLhs &own = lhs[product.output];
    own.products.push_back(&product);
    own.weights.push_back(weight);
    own.most.assign(size_t(channelsOf(*weight)), 0);
    own.isImage |= weight->shape.size() > 2;
    ++readers[product.weight];
  }
  // With several readers, each by shifts of its own, it would be stored twice.
  for (ObservedLhs &each : lhs)
    each.mayShift =
        !each.isImage && llvm::all_of(each.products, [&](const auto *product) {
          return readers[product->weight] == 1;
        });
}

llvm::Error Calibration::forEachRow(
    llvm::function_ref<void(ObservedLhs &lhs, Row row)> body) {
  for (const InputSet &set : sets) {
    std::vector<tenon_tensor_t> outputs;
    if (llvm::Error error = model->session->run(set.inputs, outputs))
      return sentence(set.folder + ": " + llvm::toString(std::move(error)));
    size_t first = outputs.size() - lhs.size();
    for (size_t i = 0; i < lhs.size(); ++i) {
      const tenon_tensor_t &output = outputs[first + i];
      auto data = static_cast<const float *>(output.data);
      size_t channels = lhs[i].most.size();
      for (size_t at = 0; at < output.bytes / sizeof(float); at += channels)
        body(lhs[i], {data + at, channels});
    }
  }
  return llvm::Error::success();
}

llvm::Error Calibration::chooseShifts() {
  llvm::Error error = forEachRow([](ObservedLhs &own, Row row) {
    for (auto [most, x] : llvm::zip(own.most, row))
      if (std::isfinite(x))
        most = std::max(most, std::fabs(x));
  });
  if (error)
    return error;
  for (ObservedLhs &each : lhs) {
    std::vector<std::vector<int8_t>> ways = {{}};
    if (std::vector<int8_t> shifts = each.smoothing();
        each.mayShift && !shifts.empty())
      ways.push_back(std::move(shifts));
    for (std::vector<int8_t> &shifts : ways) {
      WeightErrors weights = each.weightErrors(shifts);
      each.candidates.emplace_back(std::move(shifts), each.most.size());
      each.candidates.back().weights = std::move(weights);
    }
  }
  return llvm::Error::success();
}

llvm::Error Calibration::chooseRanges() {
  llvm::Error error = forEachRow([](ObservedLhs &own, Row row) {
    for (Candidate &candidate : own.candidates)
      candidate.count(row);
  });
  if (error)
    return error;
  for (ObservedLhs &each : lhs)
    for (Candidate &candidate : each.candidates) {
      StaticLhs chosen =
          candidate.histogram.choose(choiceOf(request.calibration));
      candidate.lhs.scale = chosen.scale;
      candidate.lhs.zero = chosen.zero;
    }
  return llvm::Error::success();
}

llvm::Error Calibration::measure() {
  return forEachRow([](ObservedLhs &own, Row row) {
    ++own.rows;
    own.measureDynamic(row);
    for (Candidate &candidate : own.candidates)
      candidate.measure(row);
  });
}

PrecisionPlan Calibration::plan() const {
  PrecisionPlan plan = model->compilation.precisions;
  llvm::StringMap<const ObservedLhs *> observed;
  for (const ObservedLhs &each : lhs)
    for (const ObservedProduct *product : each.products)
      observed[product->op] = &each;
  for (OpPrecision &row : plan.ops) {
    const ObservedLhs *own = row.kind == "matmul" || row.kind == "conv"
                                 ? observed.lookup(row.op)
                                 : nullptr;
    if (!own || (own->isImage && !own->isStatic()))
      continue;
    row.precision = Precision::Int8;
    if (own->isStatic())
      row.lhs = own->best().lhs;
  }
  return plan;
}

std::string Calibration::report() const {
  size_t products = 0, smoothed = 0, dynamic = 0, unknown = 0;
  size_t convs = 0, staticConvs = 0;
  double worst = 0;
  for (const ObservedLhs &each : lhs) {
    if (each.isImage) {
      convs += each.products.size();
      staticConvs += each.isStatic() ? each.products.size() : 0;
      continue;
    }
    products += each.products.size();
    if (!each.isKnown()) {
      unknown += each.products.size();
    } else if (!each.isStatic()) {
      dynamic += each.products.size();
      worst = std::max(worst, std::sqrt(each.best().error / each.dynamicError));
    } else if (!each.best().lhs.shifts.empty()) {
      smoothed += each.products.size();
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
       << fewestRows << " rows for them";
  if (convs)
    os << "; " << staticConvs << " of " << convs << " convolutions static";
  os << '\n';
  return text;
}

llvm::Expected<PrecisionPlan> Calibration::run(const std::string &path,
                                               CompileOptions options,
                                               std::string &says) {
  options.stage = EmitStage::Artifact;
  options.precision = Precision::Int8;
  options.observe = Observed::Int8;
  options.kvCache = CacheType::AsGiven;
  auto made = CompiledModel::make(path, options, request.threads);
  if (!made)
    return made.takeError();
  model = std::move(*made);
  auto found = readInputSets(*model->session, request.calibrate);
  if (!found)
    return found.takeError();
  sets = std::move(*found);
  if (keepsLast && sets.size() > 1)
    sets.pop_back();
  collect();
  if (llvm::Error error = chooseShifts())
    return error;
  if (llvm::Error error = chooseRanges())
    return error;
  if (llvm::Error error = measure())
    return error;
  says += report();
  return plan();
}

} // namespace

llvm::Expected<PrecisionPlan>
tenon::calibrateInt8(const std::string &path, const CompileOptions &options,
                     const PrecisionRequest &request, std::string &report,
                     bool keepsLast) {
  return Calibration(request, keepsLast).run(path, options, report);
}
