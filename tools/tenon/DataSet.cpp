//===- DataSet.cpp - Models in ONNX's test layout -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/DataSet.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>

using namespace tenon;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

std::string tenon::modelFileOf(const std::string &folder) {
  if (!fs::is_directory(folder))
    return folder;
  llvm::SmallString<128> file(folder);
  path::append(file, "model.onnx");
  return file.str().str();
}

std::vector<std::string> tenon::dataSetsOf(const std::string &folder) {
  std::vector<std::pair<uint64_t, std::string>> sets;
  if (!fs::is_directory(folder))
    return {};
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; entry != end && !error;
       entry.increment(error)) {
    llvm::StringRef name = path::filename(entry->path());
    uint64_t number;
    if (name.consume_front("test_data_set_") && !name.getAsInteger(10, number))
      sets.push_back({number, entry->path()});
  }
  llvm::sort(sets);
  std::vector<std::string> paths;
  for (auto &set : sets)
    paths.push_back(std::move(set.second));
  return paths;
}

llvm::Expected<std::vector<Tensor>>
tenon::arrange(std::vector<NamedTensor> tensors,
               const std::vector<std::string> &names, const std::string &what) {
  if (tensors.size() != names.size())
    return sentence("there are " + llvm::Twine(tensors.size()) + " " + what +
                    " files for " + llvm::Twine(names.size()) + " " + what +
                    "s of the model");
  // A model may give one value twice, and has a file of that name for each.
  std::vector<NamedTensor *> places;
  for (const std::string &name : names) {
    auto it = llvm::find_if(tensors, [&](NamedTensor &t) {
      return !name.empty() && t.name == name && !llvm::is_contained(places, &t);
    });
    if (it != tensors.end())
      places.push_back(&*it);
  }
  bool named = places.size() == names.size();
  std::vector<Tensor> arranged;
  for (size_t i = 0; i < names.size(); ++i)
    arranged.push_back(
        std::move(named ? places[i]->tensor : tensors[i].tensor));
  return arranged;
}
