//===- RoundingCalibration.cpp - What weights in few bits meet ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/RoundingCalibration.h"
#include "tools/tenon/CompiledModel.h"

using namespace tenon;

namespace {

/// Sums for more channels than that would take half a gigabyte: such a weight
/// is rounded to nearest.
constexpr int64_t mostChannels = int64_t(1) << 14;

/// A sum for each weight, which all outputs that meet it go to.
SquaresByWeight noSquares(const Compilation &compilation) {
  SquaresByWeight squares;
  for (const ObservedProduct &product : compilation.probes.observed) {
    int64_t depth = compilation.weights.lookup(product.weight)->shape[0];
    if (depth <= mostChannels)
      squares.try_emplace(product.weight, depth);
  }
  return squares;
}

llvm::ArrayRef<float> floatsOf(const tenon_tensor_t &tensor) {
  return {static_cast<const float *>(tensor.data),
          size_t(tensor.bytes / sizeof(float))};
}

} // namespace

llvm::Expected<std::shared_ptr<const SquaresByWeight>>
tenon::observeSquares(const std::string &path, CompileOptions options,
                      const PrecisionRequest &request) {
  options.observe = Observed::Weights;
  auto made = CompiledModel::toMeasure(path, options, request.threads);
  if (!made)
    return made.takeError();
  CompiledModel &model = **made;
  auto sets = readInputSets(*model.session, request.calibrate);
  if (!sets)
    return sets.takeError();
  const auto &observed = model.compilation.probes.observed;
  size_t added = 0;
  for (const ObservedProduct &product : observed)
    added = std::max(added, product.output + 1);
  SquaresByWeight squares = noSquares(model.compilation);
  for (const InputSet &set : *sets) {
    std::vector<tenon_tensor_t> outputs;
    if (llvm::Error error = model.session->run(set.inputs, outputs))
      return sentence(set.folder + ": " + llvm::toString(std::move(error)));
    for (const ObservedProduct &product : observed)
      if (auto sum = squares.find(product.weight); sum != squares.end())
        sum->second.add(
            floatsOf(outputs[outputs.size() - added + product.output]));
  }
  return std::make_shared<const SquaresByWeight>(std::move(squares));
}
