//===- SeededInputs.cpp - Inputs for a model that comes without data ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/DataSet.h"
#include "tools/tenon/Verify.h"

#include "compiler/Import/Import.h"
#include "compiler/Package/ElementTypes.h"
#include "compiler/Reference/Tensor.h"
#include "compiler/Weights/Printable.h"
#include "dialects/Graph/Graph.h"

#include <algorithm>

using namespace mlir;
using namespace tenon;

namespace {

/// The splitmix64 generator: the same numbers everywhere.
class Noise {
public:
  uint64_t bits() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double unit() { return double(bits() >> 11) * 0x1p-53; }
  int64_t below(int64_t bound) { return int64_t(bits() % uint64_t(bound)); }

private:
  uint64_t state = 7;
};

bool mentions(StringRef name, std::initializer_list<const char *> words) {
  std::string lower = name.lower();
  return llvm::any_of(
      words, [&](const char *word) { return StringRef(lower).contains(word); });
}

enum class Role { Batch, Past, Sequence, Total, Channels, Image, Other };

/// What a size is, by its name or else by where it stands.
Role roleOf(StringRef symbol, StringRef input, unsigned axis) {
  if (mentions(symbol, {"total"}))
    return Role::Total;
  if (mentions(symbol, {"batch"}))
    return Role::Batch;
  if (mentions(symbol, {"past"}))
    return Role::Past;
  if (mentions(symbol, {"channel"}))
    return Role::Channels;
  if (mentions(symbol, {"height", "width"}))
    return Role::Image;
  if (axis == 0)
    return Role::Batch;
  if (mentions(input, {"past"}))
    return axis < 3 ? Role::Past : Role::Other;
  if (mentions(input, {"mask"}))
    return Role::Total;
  return mentions(symbol, {"seq", "length"}) ? Role::Sequence : Role::Other;
}

/// Small sizes. Some models take few sizes only, so there are several tries.
class Sizes {
public:
  Sizes(ImportedModel &model, ArrayRef<DimRange> dims, unsigned attempt)
      : attempt(attempt) {
    for (const DimRange &range : dims)
      if (range.same.empty())
        sizes[range.name] = range.lo;
      else
        same[range.name] = range.same;
    // What only masks have comes last: it may be the sum of the others.
    for (bool masks : {false, true})
      for (BlockArgument argument : model.main.getArguments()) {
        StringRef input = model.inputs[argument.getArgNumber()];
        if (mentions(input, {"mask"}) == masks)
          for (auto [axis, dim] : llvm::enumerate(graph::getDims(argument)))
            dim.forEachSymbol([&](graph::Expr symbol) {
              if (!dim.isSymbol())
                return;
              add(symbol.name(), roleOf(symbol.name(), input, axis));
            });
      }
  }

  std::optional<int64_t> get(StringRef name) {
    name = meantDim(same, name).value_or(name);
    return sizes.try_emplace(name, sizeOf(Role::Other)).first->second;
  }

private:
  void add(StringRef name, Role role) {
    name = meantDim(same, name).value_or(name);
    int64_t size = sizes.try_emplace(name, sizeOf(role)).first->second;
    if (role == Role::Past)
      past = size;
    if (role == Role::Sequence || role == Role::Other)
      sequence = size;
  }

  int64_t sizeOf(Role role) const {
    static constexpr int64_t images[] = {64, 32, 224}, others[] = {5, 16, 64};
    switch (role) {
    case Role::Batch:
      return 2;
    case Role::Past:
      return 3;
    case Role::Sequence:
      return 5;
    case Role::Total: // A mask covers the past, too.
      return past + sequence;
    case Role::Channels:
      return 3;
    case Role::Image:
      return images[attempt % 3];
    case Role::Other:
      break;
    }
    return others[attempt % 3];
  }

  unsigned attempt;
  int64_t past = 0, sequence = 5;
  llvm::StringMap<int64_t> sizes;
  llvm::StringMap<std::string> same;
};

/// How many entries the table has that `ids` selects from; 0 when none does.
int64_t tableSize(Value ids, int depth = 0) {
  int64_t smallest = 0;
  auto consider = [&](std::optional<int64_t> size) {
    if (size && *size > 0)
      smallest = smallest ? std::min(smallest, *size) : *size;
  };
  for (OpOperand &use : ids.getUses()) {
    Operation *user = use.getOwner();
    if (isa<graph::GatherOp>(user) && use.getOperandNumber() == 1) {
      auto axis = user->getAttrOfType<IntegerAttr>("axis");
      int64_t at = axis ? axis.getInt() : 0;
      consider(graph::getDim(user->getOperand(0), at).asConstant());
    } else if (depth < 8 &&
               isa<graph::CastOp, graph::ReshapeOp, graph::BroadcastOp,
                   graph::SliceOp, graph::TransposeOp>(user)) {
      int64_t inner = tableSize(user->getResult(0), depth + 1);
      consider(inner ? std::optional(inner) : std::nullopt);
    }
  }
  return smallest;
}

reference::Tensor integers(Value argument, StringRef name, Type element,
                           ArrayRef<int64_t> shape, Noise &noise) {
  reference::Tensor tensor(element, shape);
  int64_t bound = tableSize(argument), row = shape.empty() ? 1 : shape.back();
  bool mask = element.isInteger(1) || mentions(name, {"mask"});
  bool position = mentions(name, {"position"});
  MutableArrayRef<int64_t> values = tensor.writeInts();
  for (size_t i = 0; i < values.size(); ++i) {
    // The first of a row is never masked: a row without any has no result.
    if (mask)
      values[i] = int64_t(i) % row == 0 || noise.below(4) != 0;
    else if (position)
      values[i] = int64_t(i) % row % std::max<int64_t>(bound, row);
    else
      values[i] = noise.below(bound ? bound : 2);
  }
  return tensor;
}

reference::Tensor floats(StringRef name, Type element, ArrayRef<int64_t> shape,
                         Noise &noise) {
  reference::Tensor tensor(element, shape);
  bool mask = mentions(name, {"mask"});
  for (double &value : tensor.writeFloats())
    value = mask ? double(noise.below(4) != 0) : 2 * noise.unit() - 1;
  return tensor;
}

} // namespace

llvm::Expected<std::vector<Tensor>> tenon::seededInputs(ImportedModel &model,
                                                        ArrayRef<DimRange> dims,
                                                        unsigned attempt) {
  Sizes sizes(model, dims, attempt);
  auto lookup = [&](StringRef name) { return sizes.get(name); };
  Noise noise;
  std::vector<Tensor> inputs;
  for (BlockArgument argument : model.main.getArguments()) {
    StringRef name = model.inputs[argument.getArgNumber()];
    Type element = graph::getElementType(argument);
    std::vector<int64_t> shape;
    for (graph::Expr dim : graph::getDims(argument))
      shape.push_back(dim.evaluate(lookup).value_or(-1));
    auto bytes = bytesOfTensor(dtypeOf(element), shape);
    if (!bytes || *bytes > size_t(1) << 30)
      return sentence("no small default for the size of input '" +
                      printable(name) + "'; give its dims with --dim name=N");
    reference::Tensor tensor =
        isa<FloatType>(element)
            ? floats(name, element, shape, noise)
            : integers(argument, name, element, shape, noise);
    inputs.push_back(fromReference(tensor));
  }
  return inputs;
}
