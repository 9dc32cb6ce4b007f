//===- Manifest.cpp - Read what is to be run ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/run/Manifest.h"
#include "runtime/tenon.h"

#include <fstream>
#include <sstream>

using namespace tenon::trial;

size_t Tensor::size() const {
  size_t bytes = tenon_dtype_bytes(dtype);
  for (int64_t dim : dims)
    bytes *= size_t(dim);
  return bytes;
}

Problem Tensor::read() {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream)
    return "cannot open " + file;
  auto found = size_t(stream.tellg());
  if (found != size())
    return file + " has " + std::to_string(found) + " bytes, not the " +
           std::to_string(size()) + " of its type and dims; prepare it again";
  bytes.resize(found);
  stream.seekg(0);
  if (!stream.read(bytes.data(), std::streamsize(found)))
    return "cannot read " + file;
  return std::nullopt;
}

Problem Case::read() {
  for (DataSet &set : sets)
    for (auto *tensors : {&set.inputs, &set.outputs})
      for (Tensor &tensor : *tensors)
        if (Problem problem = tensor.read())
          return problem;
  return std::nullopt;
}

void Case::forget() {
  for (DataSet &set : sets)
    for (auto *tensors : {&set.inputs, &set.outputs})
      for (Tensor &tensor : *tensors)
        tensor.bytes = {};
}

namespace {

uint32_t dtypeNamed(const std::string &name) {
  for (uint32_t dtype = 1; dtype <= TENON_BF16; ++dtype) {
    const char *known = tenon_dtype_name(dtype);
    if (known && name == known)
      return dtype;
  }
  return 0;
}

/// "1x9", or "-" for none; false for anything else.
bool parseDims(const std::string &text, std::vector<int64_t> &dims) {
  if (text == "-")
    return true;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, 'x');) {
    // So short that products of a few do not overflow; files bound the rest.
    if (word.empty() || word.size() > 9 ||
        word.find_first_not_of("0123456789") != word.npos)
      return false;
    dims.push_back(std::stoll(word));
  }
  return !dims.empty() && dims.size() <= TENON_MAX_RANK;
}

bool parseTensor(std::istringstream &words, const std::string &folder,
                 std::vector<Tensor> &tensors) {
  std::string type, dims, file;
  if (!(words >> type >> dims >> file))
    return false;
  Tensor tensor;
  tensor.dtype = dtypeNamed(type);
  tensor.file = folder + file;
  if (!tensor.dtype || !parseDims(dims, tensor.dims))
    return false;
  tensors.push_back(std::move(tensor));
  return true;
}

bool parseSweep(std::istringstream &words, const std::string &folder,
                Case &one) {
  std::string type, dims;
  if (!(words >> one.sweep.kind >> type >> dims >> one.name >> one.artifact >>
        one.tolerance))
    return false;
  one.artifact = folder + one.artifact;
  one.sweep.dtype = dtypeNamed(type);
  if (!parseDims(dims, one.sweep.dims))
    return false;
  for (int64_t dim : one.sweep.dims)
    if (dim == 0)
      return false;
  static const std::pair<const char *, size_t> kinds[] = {
      {"gemm", 3},    {"attention", 4}, {"causal", 4},   {"add", 2},
      {"softmax", 2}, {"layernorm", 2}, {"transpose", 2}};
  for (auto [kind, rank] : kinds)
    if (one.sweep.kind == kind && one.sweep.dims.size() == rank)
      return one.sweep.dtype == TENON_F32 || one.sweep.dtype == TENON_F16 ||
             one.sweep.dtype == TENON_BF16;
  return false;
}

/// False when the line makes no sense where it is.
bool parseLine(const std::string &line, const std::string &folder,
               std::vector<Case> &cases) {
  std::istringstream words(line);
  std::string what;
  words >> what;
  if (what == "model") {
    Case one;
    if (!(words >> one.name >> one.artifact >> one.tolerance))
      return false;
    one.artifact = folder + one.artifact;
    cases.push_back(std::move(one));
    return true;
  }
  if (what == "sweep") {
    cases.emplace_back();
    return parseSweep(words, folder, cases.back());
  }
  if (cases.empty())
    return false;
  if (what == "predict") {
    Prediction prediction;
    if (!(words >> prediction.first >> prediction.second))
      return false;
    prediction.second /= 1e3;
    cases.back().predicted.push_back(std::move(prediction));
    return true;
  }
  std::vector<DataSet> &sets = cases.back().sets;
  if (what == "data") {
    sets.emplace_back();
    return true;
  }
  if (sets.empty() || (what != "input" && what != "output"))
    return false;
  return parseTensor(words, folder,
                     what == "input" ? sets.back().inputs
                                     : sets.back().outputs);
}

} // namespace

Problem tenon::trial::readManifest(const std::string &path,
                                   std::vector<Case> &cases) {
  std::ifstream stream(path);
  if (!stream)
    return "cannot open the manifest " + path;
  size_t slash = path.rfind('/');
  std::string folder = slash == path.npos ? "" : path.substr(0, slash + 1);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number)
    if (!parseLine(line, folder, cases))
      return path + ", line " + std::to_string(number) +
             ": it is none that Manifest.h describes";
  if (cases.empty())
    return path + " names no model";
  for (const Case &one : cases)
    if (one.sets.empty() && one.sweep.kind.empty())
      return path + ": the model " + one.name + " has no data";
  return std::nullopt;
}
