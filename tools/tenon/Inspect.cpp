//===- Inspect.cpp - tenon inspect ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Commands.h"
#include "tools/tenon/Session.h"

#include "compiler/Weights/Printable.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon;
namespace json = llvm::json;

namespace {

template <typename Info, typename Get>
std::vector<Info> list(uint32_t count, const tenon_model_t *model, Get get) {
  std::vector<Info> infos(count);
  for (uint32_t i = 0; i < count; ++i) {
    infos[i].struct_size = sizeof(Info);
    get(model, i, &infos[i]);
  }
  return infos;
}

struct Contents {
  tenon_model_info_t info = {};
  std::vector<tenon_value_info_t> inputs, outputs;
  std::vector<tenon_symbol_info_t> symbols;
  std::vector<tenon_level_info_t> levels;
  std::vector<tenon_kernel_info_t> kernels;
  std::vector<tenon_weight_info_t> weights;
  std::vector<tenon_image_info_t> images;
  std::string checksum;

  explicit Contents(const tenon_model_t *model) {
    info.struct_size = sizeof info;
    tenon_model_info(model, &info);
    inputs =
        list<tenon_value_info_t>(info.input_count, model, tenon_model_input);
    outputs =
        list<tenon_value_info_t>(info.output_count, model, tenon_model_output);
    symbols =
        list<tenon_symbol_info_t>(info.symbol_count, model, tenon_model_symbol);
    levels =
        list<tenon_level_info_t>(info.level_count, model, tenon_model_level);
    kernels =
        list<tenon_kernel_info_t>(info.kernel_count, model, tenon_model_kernel);
    weights =
        list<tenon_weight_info_t>(info.weight_count, model, tenon_model_weight);
    images =
        list<tenon_image_info_t>(info.image_count, model, tenon_model_image);
    llvm::raw_string_ostream(checksum)
        << llvm::format_hex_no_prefix(info.image_checksum[1], 16)
        << llvm::format_hex_no_prefix(info.image_checksum[0], 16);
  }
};

json::Array toJson(const std::vector<tenon_value_info_t> &values) {
  json::Array array;
  for (const tenon_value_info_t &value : values) {
    json::Array dims;
    for (uint32_t i = 0; i < value.rank; ++i)
      dims.push_back(value.dims[i] < 0 ? json::Value(value.dim_texts[i])
                                       : json::Value(value.dims[i]));
    array.push_back(json::Object{{"name", json::fixUTF8(value.name)},
                                 {"type", tenon_dtype_name(value.dtype)},
                                 {"dims", std::move(dims)}});
  }
  return array;
}

/// What differs from program to program of an artifact.
json::Object programToJson(const Contents &c) {
  json::Array levels, images, kernels;
  for (const tenon_level_info_t &level : c.levels)
    levels.push_back(json::Object{{"name", level.name},
                                  {"runs_here", level.runs_here != 0},
                                  {"in_use", level.in_use != 0}});
  for (const tenon_image_info_t &image : c.images)
    images.push_back(
        json::Object{{"kind", image.kind},
                     {"compute_capability", image.compute_capability},
                     {"bytes", image.bytes}});
  for (const tenon_kernel_info_t &kernel : c.kernels) {
    json::Object row{{"name", kernel.name},
                     {"schedule", kernel.schedule},
                     {"launches", kernel.launch_count}};
    if (kernel.threads) {
      row["threads"] = kernel.threads;
      row["shared_bytes"] = kernel.shared_bytes;
    }
    kernels.push_back(std::move(row));
  }
  return json::Object{{"target", c.info.target},
                      {"levels", std::move(levels)},
                      {"images", std::move(images)},
                      {"kernels", std::move(kernels)},
                      {"steps", c.info.step_count},
                      {"segments", c.info.segment_count},
                      {"metadata_bytes", c.info.metadata_bytes}};
}

void printJson(llvm::ArrayRef<Contents> programs) {
  const Contents &c = programs.front();
  json::Array symbols, weights, others;
  for (const tenon_symbol_info_t &symbol : c.symbols)
    symbols.push_back(json::Object{
        {"name", symbol.name}, {"lo", symbol.lo}, {"hi", symbol.hi}});
  for (const tenon_weight_info_t &weight : c.weights)
    weights.push_back(json::Object{{"name", json::fixUTF8(weight.name)},
                                   {"layout", weight.layout},
                                   {"offset", weight.offset},
                                   {"bytes", weight.bytes}});
  for (const Contents &other : programs.drop_front())
    others.push_back(programToJson(other));
  json::Object object = programToJson(c);
  object["name"] = json::fixUTF8(c.info.name);
  object["producer"] = c.info.producer;
  object["inputs"] = toJson(c.inputs);
  object["outputs"] = toJson(c.outputs);
  object["symbols"] = std::move(symbols);
  object["weights"] = std::move(weights);
  object["other_programs"] = std::move(others);
  object["file_bytes"] = c.info.file_bytes;
  object["image_bytes"] = c.info.image_bytes;
  object["weights_bytes"] = c.info.weights_bytes;
  object["image_xxh3"] = c.checksum;
  llvm::outs() << llvm::formatv("{0:2}", json::Value(std::move(object)))
               << '\n';
}

/// What differs from program to program of an artifact.
void printProgram(llvm::raw_ostream &os, const Contents &c) {
  os << "program   for " << c.info.target << ": " << c.info.step_count
     << " steps, " << c.info.segment_count << " arena segments\n";
  for (const tenon_level_info_t &level : c.levels)
    os << "level     " << printable(level.name)
       << (level.in_use      ? " (used here)"
           : level.runs_here ? " (runs here)"
                             : " (not on this machine)")
       << '\n';
  for (const tenon_image_info_t &image : c.images)
    os << "image     " << image.kind << " for compute capability "
       << image.compute_capability / 10 << '.' << image.compute_capability % 10
       << ", " << image.bytes << " bytes\n";
  os << "\nkernels   " << c.kernels.size() << '\n';
  for (const tenon_kernel_info_t &kernel : c.kernels) {
    os << "  " << printable(kernel.name) << ' ' << kernel.schedule << ", ";
    if (kernel.threads)
      os << "blocks of " << kernel.threads << " threads with "
         << kernel.shared_bytes << " shared bytes, ";
    os << kernel.launch_count
       << (kernel.launch_count == 1 ? " launch\n" : " launches\n");
  }
}

void printText(llvm::ArrayRef<Contents> programs) {
  const Contents &c = programs.front();
  llvm::raw_ostream &os = llvm::outs();
  os << printable(c.info.name) << ", made by " << printable(c.info.producer)
     << "\n\nfile      " << c.info.file_bytes << " bytes\n  code    "
     << c.info.image_bytes << " bytes (" << c.info.metadata_bytes
     << " of them metadata), XXH3 " << c.checksum << "\n  weights "
     << c.info.weights_bytes << " bytes in " << c.weights.size()
     << " tensors\n\n";
  for (const tenon_value_info_t &value : c.inputs)
    os << "input     " << printable(describeValue(value)) << '\n';
  for (const tenon_value_info_t &value : c.outputs)
    os << "output    " << printable(describeValue(value)) << '\n';
  for (const tenon_symbol_info_t &symbol : c.symbols)
    os << "size      " << printable(symbol.name) << ": " << symbol.lo << ".."
       << symbol.hi << '\n';
  for (const Contents &program : programs) {
    if (&program != &c)
      os << '\n';
    printProgram(os, program);
  }
}

/// Loads an artifact to describe its program 1, 2, ....
tenon_model_t *describe(const std::string &artifact, uint32_t program) {
  tenon_load_options_t options = {};
  options.struct_size = sizeof options;
  options.describe = int32_t(program);
  tenon_model_t *model = nullptr;
  if (tenon_model_load(artifact.c_str(), &options, &model))
    llvm::errs() << "tenon inspect: " << tenon_last_error() << '\n';
  return model;
}

/// All programs of an artifact.
class Programs {
public:
  Programs() = default;
  Programs(const Programs &) = delete;
  Programs &operator=(const Programs &) = delete;
  ~Programs() {
    for (tenon_model_t *model : models)
      tenon_model_release(model);
  }

  bool load(const std::string &artifact) {
    do {
      tenon_model_t *model = describe(artifact, uint32_t(models.size()) + 1);
      if (!model)
        return false;
      models.push_back(model);
      contents.emplace_back(model);
    } while (models.size() < contents.front().info.program_count);
    return true;
  }

  std::vector<tenon_model_t *> models;
  std::vector<Contents> contents;
};

} // namespace

int tenon::runInspect(const InspectCommand &command) {
  Programs programs;
  if (!programs.load(command.artifact))
    return kInvalid;
  if (command.json)
    printJson(programs.contents);
  else
    printText(programs.contents);
  if (!command.verify)
    return kSuccess;
  if (tenon_model_verify_weights(programs.models.front())) {
    llvm::errs() << "tenon inspect: " << tenon_last_error() << '\n';
    return kInvalid;
  }
  if (!command.json)
    llvm::outs() << "\nevery checksum of the weights holds\n";
  return kSuccess;
}
