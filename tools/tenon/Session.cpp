//===- Session.cpp - An artifact, loaded and ready to run -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Session.h"

#include <algorithm>

using namespace tenon;

static tenon_session_options_t optionsOf(int threads) {
  tenon_session_options_t options = {};
  options.struct_size = sizeof options;
  options.threads = threads;
  return options;
}

llvm::Error tenon::lastError() { return sentence(tenon_last_error()); }

llvm::Expected<std::unique_ptr<Session>>
Session::open(const std::string &path, const std::string &level, int threads,
              const DeviceRequest &where) {
  std::unique_ptr<Session> result(new Session);
  if (llvm::Error error = result->openDevice(where))
    return error;
  tenon_load_options_t load = {};
  load.struct_size = sizeof load;
  load.level = level.empty() ? nullptr : level.c_str();
  load.device = result->onDevice;
  if (tenon_model_load(path.c_str(), &load, &result->loaded))
    return lastError();
  if (llvm::Error error = result->create(optionsOf(threads)))
    return error;
  return result;
}

llvm::Error Session::openDevice(const DeviceRequest &where) {
  if (where.isCpu())
    return llvm::Error::success();
  auto [kind, index] = llvm::StringRef(where.device).split(':');
  std::string name = kind.str();
  tenon_device_options_t options = {};
  options.struct_size = sizeof options;
  options.kind = name.c_str();
  options.driver = where.driver.empty() ? nullptr : where.driver.c_str();
  if (!index.empty() && index.getAsInteger(10, options.index))
    return sentence("--device " + where.device + ": give cpu, cuda or cuda:N");
  if (tenon_device_open(&options, &onDevice))
    return lastError();
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Session>> Session::another(int threads) const {
  return another(optionsOf(threads));
}

llvm::Expected<std::unique_ptr<Session>> Session::oneByOne(int threads) const {
  tenon_session_options_t options = optionsOf(threads);
  options.one_by_one = 1;
  return another(options);
}

llvm::Expected<std::unique_ptr<Session>>
Session::another(const tenon_session_options_t &options) const {
  std::unique_ptr<Session> result(new Session);
  tenon_device_retain(onDevice);
  result->onDevice = onDevice;
  tenon_model_retain(loaded);
  result->loaded = loaded;
  if (llvm::Error error = result->create(options))
    return error;
  return result;
}

llvm::Error Session::create(const tenon_session_options_t &options) {
  if (tenon_session_create(loaded, &options, &session))
    return lastError();
  return llvm::Error::success();
}

Session::~Session() {
  tenon_session_destroy(session);
  tenon_model_release(loaded);
  tenon_device_release(onDevice);
}

namespace {
template <typename Info>
std::vector<std::string> names(uint32_t count, tenon_model_t *model,
                               tenon_status_t (*get)(const tenon_model_t *,
                                                     uint32_t, Info *)) {
  std::vector<std::string> result(count);
  for (uint32_t i = 0; i < count; ++i) {
    Info info = {};
    info.struct_size = sizeof info;
    if (get(model, i, &info) == TENON_OK)
      result[i] = info.name;
  }
  return result;
}

tenon_model_info_t infoOf(tenon_model_t *model) {
  tenon_model_info_t info = {};
  info.struct_size = sizeof info;
  tenon_model_info(model, &info);
  return info;
}
} // namespace

std::vector<std::string> Session::inputNames() const {
  return names(infoOf(loaded).input_count, loaded, tenon_model_input);
}

std::vector<std::string> Session::outputNames() const {
  return names(infoOf(loaded).output_count, loaded, tenon_model_output);
}

std::vector<std::string> Session::symbolNames() const {
  return names(infoOf(loaded).symbol_count, loaded, tenon_model_symbol);
}

std::vector<tenon_tensor_t>
Session::arguments(const std::vector<Tensor> &inputs) {
  std::vector<tenon_tensor_t> arguments(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    tenon_tensor_t &argument = arguments[i];
    argument.struct_size = sizeof argument;
    argument.dtype = inputs[i].type;
    argument.rank = uint32_t(inputs[i].dims.size());
    std::copy(inputs[i].dims.begin(), inputs[i].dims.end(), argument.dims);
    argument.data = const_cast<char *>(inputs[i].bytes.data());
    argument.bytes = inputs[i].bytes.size();
  }
  return arguments;
}

llvm::Error Session::run(const std::vector<Tensor> &inputs,
                         std::vector<tenon_tensor_t> &outputs) {
  for (const Tensor &input : inputs)
    if (input.dims.size() > TENON_MAX_RANK)
      return sentence("an input has over " + llvm::Twine(TENON_MAX_RANK) +
                      " dims");
  std::vector<tenon_tensor_t> arguments = Session::arguments(inputs);
  outputs.assign(infoOf(loaded).output_count, {});
  for (tenon_tensor_t &output : outputs)
    output.struct_size = sizeof output;
  if (tenon_session_run(session, arguments.data(), uint32_t(arguments.size()),
                        outputs.data(), uint32_t(outputs.size())))
    return lastError();
  return llvm::Error::success();
}

llvm::Expected<std::vector<Tensor>>
Session::run(const std::vector<Tensor> &inputs) {
  std::vector<tenon_tensor_t> outputs;
  if (llvm::Error error = run(inputs, outputs))
    return error;
  std::vector<Tensor> result;
  for (const tenon_tensor_t &output : outputs) {
    const char *data = static_cast<const char *>(output.data);
    result.push_back({output.dtype,
                      {output.dims, output.dims + output.rank},
                      {data, data + output.bytes}});
  }
  return result;
}

std::string tenon::describeValue(const tenon_value_info_t &info) {
  std::string text = std::string(info.name) + ": ";
  const char *type = tenon_dtype_name(info.dtype);
  text += (type ? type : "?") + std::string("[");
  for (uint32_t i = 0; i < info.rank; ++i)
    text += (i ? " x " : "") + std::string(info.dim_texts[i]);
  text += "]";
  if (info.grows_axis >= 0)
    text += ", may grow along axis " + std::to_string(info.grows_axis);
  return text;
}
