//===- RunInputs.cpp - The inputs that a command line asks for ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/CacheStorage.h"
#include "tools/tenon/CompileRequest.h"
#include "tools/tenon/DataSet.h"
#include "tools/tenon/Session.h"

#include "compiler/Weights/Printable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <map>
#include <random>

using namespace tenon;

std::string tenon::inputFolder(const std::vector<std::string> &inputs) {
  if (inputs.size() == 1 && llvm::sys::fs::is_directory(inputs[0]))
    return inputs[0];
  return "";
}

namespace {

template <typename T> void fill(Tensor &tensor, llvm::function_ref<T()> next) {
  for (size_t i = 0; i < tensor.bytes.size(); i += sizeof(T)) {
    T value = next();
    std::memcpy(tensor.bytes.data() + i, &value, sizeof value);
  }
}

/// Floats in [-1, 1); integers and booleans 0 or 1, which index any table.
void fillWithNoise(Tensor &tensor, std::mt19937 &noise) {
  auto unit = [&] {
    return float(int32_t(noise() & 0xffff) - 0x8000) / 0x8000;
  };
  switch (tensor.type) {
  case TENON_F32:
    return fill<float>(tensor, unit);
  case TENON_F64:
    return fill<double>(tensor, [&] { return double(unit()); });
  case TENON_F16: // +-[0.25, 0.5)
    return fill<uint16_t>(
        tensor, [&] { return uint16_t(0x3400 | (noise() & 0x83ff)); });
  case TENON_BF16: // +-[0.5, 1)
    return fill<uint16_t>(
        tensor, [&] { return uint16_t(0x3f00 | (noise() & 0x807f)); });
  }
  size_t width = *bytesOfType(tensor.type);
  for (size_t i = 0; i < tensor.bytes.size(); i += width)
    tensor.bytes[i] = char(noise() & 1);
}

/// Noise for an input of the model; `text` is what asked for these sizes.
llvm::Expected<Tensor> randomTensor(const tenon_value_info_t &info,
                                    std::vector<int64_t> dims,
                                    const llvm::Twine &text,
                                    std::mt19937 &noise) {
  Tensor tensor;
  tensor.type = info.dtype;
  tensor.dims = std::move(dims);
  auto bytes = bytesOfTensor(tensor.type, tensor.dims);
  if (!bytes || *bytes > (size_t(1) << 34))
    return sentence(text + ": too large");
  tensor.bytes.resize(*bytes);
  fillWithNoise(tensor, noise);
  return tensor;
}

/// "1x128" for an input of the model.
llvm::Expected<Tensor> randomTensor(const tenon_value_info_t &info,
                                    llvm::StringRef text, std::mt19937 &noise) {
  std::string option =
      ("--random " + llvm::Twine(info.name) + "=" + text).str();
  std::vector<int64_t> dims;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, 'x', -1, false);
  for (llvm::StringRef part : parts) {
    int64_t dim;
    if (part.getAsInteger(10, dim) || dim < 0)
      return sentence(option + ": sizes are written 1x128");
    dims.push_back(dim);
  }
  return randomTensor(info, std::move(dims), option, noise);
}

llvm::Error withoutValue(llvm::StringRef input, llvm::StringRef name,
                         const llvm::Twine &otherwise = "") {
  return sentence("the input '" + printable(input) + "' has no value; give " +
                  otherwise + "--inputs " + printable(name) +
                  "=FILE.npy or --random " + printable(name) + "=SIZES");
}

llvm::Expected<tenon_value_info_t> inputInfo(const Session &session,
                                             uint32_t index) {
  tenon_value_info_t info = {};
  info.struct_size = sizeof info;
  if (tenon_model_input(session.model(), index, &info))
    return lastError();
  return info;
}

/// The open sizes of the inputs, with what --dim says of them.
using OpenSizes = std::map<std::string, std::optional<int64_t>>;

llvm::Expected<OpenSizes> openSizes(const Session &session,
                                    const std::vector<std::string> &dims) {
  auto ranges = parseDimRanges(dims);
  if (!ranges)
    return ranges.takeError();
  OpenSizes sizes;
  std::vector<std::string> symbols = session.symbolNames();
  for (size_t i = 0; i < session.inputNames().size(); ++i) {
    auto info = inputInfo(session, i);
    if (!info)
      return info.takeError();
    for (const char *text : llvm::ArrayRef(info->dim_texts, info->rank))
      if (llvm::is_contained(symbols, text))
        sizes[text];
  }
  for (const DimRange &range : *ranges) {
    std::string option = "--dim " + printable(range.name);
    if (!range.same.empty() || range.lo != range.hi)
      return sentence(option + ": a run has one size, " + option + "=N");
    auto size = sizes.find(range.name);
    if (size == sizes.end())
      return sentence(
          option + ": no input has such a size; open are " +
          printable(sizes.empty()
                        ? "none"
                        : llvm::join(llvm::make_first_range(sizes), ", ")));
    size->second = range.lo;
  }
  return sizes;
}

/// Noise of the sizes that the model has.
llvm::Expected<Tensor> noiseFor(const tenon_value_info_t &info,
                                const OpenSizes &sizes, std::mt19937 &noise) {
  std::vector<int64_t> dims(info.dims, info.dims + info.rank);
  for (auto [dim, text] : llvm::zip(dims, info.dim_texts)) {
    if (dim >= 0)
      continue;
    auto size = sizes.find(text);
    std::string option = size == sizes.end() // A formula of such sizes.
                             ? ""
                             : "--dim " + printable(text) + "=N, ";
    if (size == sizes.end() || !size->second)
      return withoutValue(describeValue(info), info.name, option);
    dim = *size->second;
  }
  return randomTensor(info, std::move(dims),
                      "the input '" + printable(describeValue(info)) + "'",
                      noise);
}

/// A folder with input_I.pb, input_I.npy or NAME.npy.
llvm::Expected<std::vector<Tensor>>
readFolder(const std::string &folder, const std::vector<std::string> &names) {
  auto tensors = readDataSet(folder, "input");
  if (!tensors)
    return tensors.takeError();
  if (!tensors->empty() || names.empty())
    return arrange(std::move(*tensors), names, "input");
  for (const std::string &name : names) {
    llvm::SmallString<128> file(folder);
    llvm::sys::path::append(file, name + ".npy");
    auto tensor = readNpy(file);
    if (!tensor)
      return tensor.takeError();
    tensors->push_back({name, std::move(*tensor)});
  }
  return arrange(std::move(*tensors), names, "input");
}

} // namespace

/// Those of `name=file.npy` and `name=1x128`, and noise where that is asked
/// for.
static llvm::Expected<std::vector<Tensor>>
readNamedInputs(const Session &session, const InputRequest &request) {
  std::vector<std::string> names = session.inputNames();
  std::vector<Tensor> tensors(names.size());
  std::mt19937 noise(7);
  auto assign = [&](const std::string &text, bool isRandom) -> llvm::Error {
    auto [name, value] = llvm::StringRef(text).rsplit('=');
    uint32_t index;
    if (value.empty() && !isRandom)
      return sentence("--inputs " + text +
                      ": neither a folder nor name=file.npy");
    if (tenon_model_find_input(session.model(), name.str().c_str(), &index))
      return lastError();
    auto info = inputInfo(session, index);
    if (!info)
      return info.takeError();
    auto tensor = isRandom ? randomTensor(*info, value, noise) : readNpy(value);
    if (!tensor)
      return tensor.takeError();
    tensors[index] = std::move(*tensor);
    return llvm::Error::success();
  };
  for (const std::string &text : request.inputs)
    if (llvm::Error error = assign(text, false))
      return error;
  for (const std::string &text : request.random)
    if (llvm::Error error = assign(text, true))
      return error;
  auto sizes = openSizes(session, request.dims);
  if (!sizes)
    return sizes.takeError();
  storeCaches(session, tensors);
  for (size_t i = 0; i < names.size(); ++i) {
    if (tensors[i].type != 0)
      continue;
    if (!request.noise)
      return withoutValue(names[i], names[i]);
    auto info = inputInfo(session, i);
    if (!info)
      return info.takeError();
    auto tensor = noiseFor(*info, *sizes, noise);
    if (!tensor)
      return tensor.takeError();
    tensors[i] = std::move(*tensor);
  }
  return tensors;
}

llvm::Expected<std::vector<Tensor>>
tenon::readInputs(const Session &session, const InputRequest &request) {
  std::string folder = inputFolder(request.inputs);
  if (folder.empty())
    return readNamedInputs(session, request);
  if (!request.random.empty() || !request.dims.empty())
    return sentence("the folder has all inputs; leave out " +
                    llvm::Twine(request.dims.empty() ? "--random" : "--dim"));
  auto tensors = readFolder(folder, modelInputNames(session));
  if (tensors)
    storeCaches(session, *tensors);
  return tensors;
}

llvm::Expected<std::vector<InputSet>>
tenon::readInputSets(const Session &session, const std::string &folder) {
  std::vector<std::string> folders = dataSetsOf(folder);
  if (folders.empty())
    folders.push_back(folder);
  std::vector<InputSet> sets;
  for (std::string &each : folders) {
    auto inputs = readInputs(session, {{each}, {}});
    if (!inputs)
      return sentence(each + ": " + llvm::toString(inputs.takeError()));
    sets.push_back({std::move(each), std::move(*inputs)});
  }
  return sets;
}
