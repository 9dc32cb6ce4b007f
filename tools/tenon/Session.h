//===- Session.h - An artifact, loaded and ready to run -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_SESSION_H
#define TENON_TOOLS_TENON_SESSION_H

#include "tools/tenon/Commands.h"
#include "tools/tenon/TensorFile.h"

#include <memory>

namespace tenon {

/// A model with one session. Errors are the runtime's sentences.
class Session {
public:
  /// An empty level is the best one; 0 threads are one per CPU.
  static llvm::Expected<std::unique_ptr<Session>>
  open(const std::string &path, const std::string &level, int threads,
       const DeviceRequest &where = {});
  /// One more session of the same model.
  llvm::Expected<std::unique_ptr<Session>> another(int threads) const;
  /// One whose launches are cut for so many threads, but run by the caller.
  llvm::Expected<std::unique_ptr<Session>> oneByOne(int threads) const;
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  tenon_model_t *model() const { return loaded; }
  tenon_session_t *handle() const { return session; }
  /// Null for the CPU.
  tenon_device_t *device() const { return onDevice; }

  std::vector<std::string> inputNames() const;
  std::vector<std::string> outputNames() const;
  /// Of the sizes that only a run knows.
  std::vector<std::string> symbolNames() const;

  /// Views of tensors, in the runtime's terms. They must have at most
  /// TENON_MAX_RANK dims.
  static std::vector<tenon_tensor_t>
  arguments(const std::vector<Tensor> &inputs);

  /// Runs once; the outputs stay in the session's memory until the next run.
  llvm::Error run(const std::vector<Tensor> &inputs,
                  std::vector<tenon_tensor_t> &outputs);
  /// Runs once and copies the outputs.
  llvm::Expected<std::vector<Tensor>> run(const std::vector<Tensor> &inputs);

private:
  Session() = default;
  llvm::Error openDevice(const DeviceRequest &where);
  /// A session of the loaded model.
  llvm::Error create(const tenon_session_options_t &options);
  llvm::Expected<std::unique_ptr<Session>>
  another(const tenon_session_options_t &options) const;

  tenon_device_t *onDevice = nullptr;
  tenon_model_t *loaded = nullptr;
  tenon_session_t *session = nullptr;
};

/// The inputs that a command line asks for, in the model's order.
llvm::Expected<std::vector<Tensor>> readInputs(const Session &session,
                                               const InputRequest &request);

struct InputSet {
  std::string folder;
  std::vector<Tensor> inputs;
};

/// The inputs of each test_data_set_* in a folder, or those that it holds
/// itself.
llvm::Expected<std::vector<InputSet>> readInputSets(const Session &session,
                                                    const std::string &folder);

/// The folder among --inputs, or empty.
std::string inputFolder(const std::vector<std::string> &inputs);

/// A description of the model's input, "ids: i64[batch x seq]", and whether it
/// may have room to grow.
std::string describeValue(const tenon_value_info_t &info);

/// The runtime's last error as an error of ours.
llvm::Error lastError();

} // namespace tenon

#endif // TENON_TOOLS_TENON_SESSION_H
