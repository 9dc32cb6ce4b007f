//===- RunInputs.cpp - The inputs that a command line asks for ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/CacheStorage.h"
#include "tools/tenon/DataSet.h"
#include "tools/tenon/Session.h"

#include "compiler/Weights/Printable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>
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

/// "1x128" for an input of the model.
llvm::Expected<Tensor> randomTensor(const tenon_value_info_t &info,
                                    llvm::StringRef text, std::mt19937 &noise) {
  Tensor tensor;
  tensor.type = info.dtype;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, 'x', -1, false);
  for (llvm::StringRef part : parts) {
    int64_t dim;
    if (part.getAsInteger(10, dim) || dim < 0)
      return sentence("--random " + llvm::Twine(info.name) + "=" + text +
                      ": sizes are written 1x128");
    tensor.dims.push_back(dim);
  }
  auto bytes = bytesOfTensor(tensor.type, tensor.dims);
  if (!bytes || *bytes > (size_t(1) << 34))
    return sentence("--random " + llvm::Twine(info.name) + "=" + text +
                    ": too large");
  tensor.bytes.resize(*bytes);
  fillWithNoise(tensor, noise);
  return tensor;
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

/// Those of `name=file.npy` and `name=1x128`.
static llvm::Expected<std::vector<Tensor>>
readNamedInputs(const Session &session, const std::vector<std::string> &inputs,
                const std::vector<std::string> &random) {
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
    tenon_value_info_t info = {};
    info.struct_size = sizeof info;
    if (tenon_model_input(session.model(), index, &info))
      return lastError();
    auto tensor = isRandom ? randomTensor(info, value, noise) : readNpy(value);
    if (!tensor)
      return tensor.takeError();
    tensors[index] = std::move(*tensor);
    return llvm::Error::success();
  };
  for (const std::string &text : inputs)
    if (llvm::Error error = assign(text, false))
      return error;
  for (const std::string &text : random)
    if (llvm::Error error = assign(text, true))
      return error;
  storeCaches(session, tensors);
  for (size_t i = 0; i < names.size(); ++i)
    if (tensors[i].type == 0)
      return sentence("the input '" + printable(names[i]) +
                      "' has no value; give --inputs " + printable(names[i]) +
                      "=FILE.npy or --random " + printable(names[i]) +
                      "=SIZES");
  return tensors;
}

llvm::Expected<std::vector<Tensor>>
tenon::readInputs(const Session &session,
                  const std::vector<std::string> &inputs,
                  const std::vector<std::string> &random) {
  std::string folder = inputFolder(inputs);
  if (folder.empty())
    return readNamedInputs(session, inputs, random);
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
    auto inputs = readInputs(session, {each}, {});
    if (!inputs)
      return sentence(each + ": " + llvm::toString(inputs.takeError()));
    sets.push_back({std::move(each), std::move(*inputs)});
  }
  return sets;
}
