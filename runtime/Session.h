//===- Session.h - The memory and threads of one run at a time ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_SESSION_H
#define TENON_RUNTIME_SESSION_H

#include "runtime/Cuda/Execution.h"
#include "runtime/Expression.h"
#include "runtime/Model.h"
#include "runtime/ThreadPool.h"

struct tenon_session_t {
  static constexpr uint32_t mostPieces = 256; // Of a launch.

  tenon_session_t() = default;
  tenon_session_t(const tenon_session_t &) = delete;
  tenon_session_t &operator=(const tenon_session_t &) = delete;
  ~tenon_session_t() { tenon::runtime::destroy(device); }

  // Session.cpp
  [[nodiscard]] tenon_status_t create(tenon_model_t *ofModel,
                                      const tenon_session_options_t &options);
  [[nodiscard]] tenon_status_t info(tenon_session_info_t &info) const;

  // Execute.cpp: a whole run; without `waits`, on a device, it goes on behind
  // the return, until `wait` (Cuda/Run.cpp).
  [[nodiscard]] tenon_status_t run(const tenon_tensor_t *inputs,
                                   tenon_tensor_t *outputs, bool waits);
  [[nodiscard]] tenon_status_t wait();

  /// Lets go of the model when all that is its device's is freed.
  struct Owner {
    tenon_model_t *model = nullptr;
    ~Owner() { tenon_model_release(model); }
  };

  Owner owner;
  std::atomic<bool> busy{false}, cancelled{false};
  tenon_model_t *model = nullptr;
  tenon_observer_t observer = nullptr;
  void *observerUser = nullptr;
  // Of callers who know another tenon_tensor_t.
  tenon::runtime::Array<tenon_tensor_t> inputTensors, outputTensors;

private:
  using Memory = tenon_device_t::Memory;

  struct Input {
    char *data = nullptr; // Where kernels read.
    uint64_t bytes = 0;
    char *callerData = nullptr;
    Memory memory = Memory::Device; // Of the caller; for models on a device.
    tenon::runtime::Block copy;     // Of data that kernels cannot read.
  };
  struct Output {
    char *data = nullptr; // Where kernels write; null: not made yet.
    uint64_t bytes = 0;
    char *callerData = nullptr;
    uint64_t callerBytes = 0;
    Memory memory = Memory::Device; // Of the caller; for models on a device.
    int64_t dims[TENON_MAX_RANK] = {};
    tenon::runtime::Block own;
    tenon::runtime::Block result; // On the host, of a model on a device.
  };
  struct Segment {
    tenon::runtime::Block block;
    uint64_t bytes = 0; // 0 until its step.
  };
  struct Formula {
    int64_t value;
    uint64_t epoch; // Of `value`.
  };
  /// What an error is about: a step's node, or its kernel.
  struct Subject {
    char text[200];
    Subject(const tenon_session_t &session, const tenon_step_t &step,
            uint32_t ordinal = 0);
  };

  // Session.cpp
  tenon_status_t createOnDevice(const tenon_model_t &ofModel,
                                const tenon_session_options_t &options);

  // Bind.cpp: tensors in and out.
  tenon_status_t bindInputs(const tenon_tensor_t *inputs);
  tenon_status_t checkInput(uint32_t index, const tenon_tensor_t &tensor);
  tenon_status_t setInputDims(uint32_t index, const tenon_tensor_t &tensor);
  tenon_status_t checkInputDims(uint32_t index, const tenon_tensor_t &tensor);
  tenon_status_t placeInput(uint32_t index, const tenon_tensor_t &tensor);
  tenon_status_t bindOutputs(tenon_tensor_t *outputs);
  tenon_status_t bindRoom(uint32_t index, int64_t capacity);
  tenon_status_t makeOutput(uint32_t index);
  tenon_status_t finishOutputs(tenon_tensor_t *outputs);
  bool overlapsInput(uint32_t output) const;
  bool extendsInPlace(uint32_t output) const;
  tenon_status_t setRoom(const tenon_value_t &value, const char *kind,
                         int64_t held, int64_t capacity);

  // Cuda/Bind.cpp: the same of a model on a device.
  tenon_status_t placeInputOnDevice(uint32_t index,
                                    const tenon_tensor_t &tensor);
  tenon_status_t findOutputs(bool waits);
  tenon_status_t finishOutputsOnDevice(tenon_tensor_t *outputs);
  tenon_status_t sendOutput(uint32_t index, char *&result);

  // Cuda/Run.cpp: runs and steps on a device.
  tenon_status_t runOnDevice(const tenon_tensor_t *inputs,
                             tenon_tensor_t *outputs, bool waits);
  tenon_status_t bindAndRun(const tenon_tensor_t *inputs,
                            tenon_tensor_t *outputs, bool waits);
  tenon_status_t executeOnDevice();
  tenon_status_t record();
  tenon_status_t replay(const tenon::cuda::Recording &recording);
  void fillKey();
  bool growShared(uint64_t bytes);
  tenon_status_t clearCounters();
  tenon_status_t launchOnDevice(const tenon_step_t &step, int64_t rows,
                                int64_t grain);
  tenon_status_t readBack(const tenon_step_t &step,
                          const tenon_operand_t &operand, const char *&bytes);
  tenon_status_t checkFaultsNow();
  tenon_status_t checkFaults();

  // Execute.cpp: steps.
  tenon_status_t execute();
  tenon_status_t checkCancelled() const;
  tenon_status_t step(uint32_t &next);
  tenon_status_t makeSegment(const tenon_step_t &step);
  tenon_status_t bindSymbols(const tenon_step_t &step);
  tenon_status_t require(const tenon_step_t &step);
  tenon_status_t copy(const tenon_step_t &step);
  tenon_status_t jumpUnless(const tenon_step_t &step, uint32_t &next);
  tenon_status_t jumpUnlessLess(const tenon_step_t &step, uint32_t &next);
  tenon_status_t resolve(const tenon_step_t &step, uint32_t number,
                         tenon_operand_t &operand);
  tenon_status_t size(const tenon_step_t &step, const char *what, uint32_t expr,
                      int64_t &value);
  tenon::runtime::ExpressionFault formula(uint32_t expr, int64_t &value);
  bool symbolFits(uint32_t symbol, int64_t value) const;
  void setSymbol(uint32_t symbol, int64_t value);
  bool grow(tenon::runtime::Block &block, uint64_t bytes);
  const char *orOfDevice() const;

  // Launch.cpp: one kernel.
  tenon_status_t launch(const tenon_step_t &step);
  tenon_status_t reserveScratch(const tenon_step_t &step, uint64_t users,
                                uint64_t &stride, uint64_t &shared);
  tenon_status_t fault(const tenon_step_t &step, uint32_t code) const;
  uint32_t piecesOf(const tenon_step_t &step, int64_t rows, int64_t grain);
  void observe(const tenon_step_t &step, int64_t rows, uint32_t pieces,
               uint64_t start, uint64_t nanoseconds);
  int64_t cost(uint32_t number);

  tenon::runtime::ThreadPool pool;
  tenon_parallel_for_t parallelFor = nullptr;
  void *parallelUser = nullptr;
  uint32_t threads = 1;
  tenon::runtime::Array<uint64_t> pieceNanoseconds; // Empty: not one by one.
  tenon::runtime::MemoryBudget budget;
  tenon::cuda::Execution *device = nullptr; // Null: it runs on the CPU.
  tenon::runtime::MemoryBudget hostBudget;  // Of results of a device.
  char *weights = nullptr, *nothing = nullptr;
  uint64_t runs = 0, graphRuns = 0;

  tenon::runtime::Array<int64_t> symbols;
  tenon::runtime::Array<bool> symbolSet; // In this run.
  tenon::runtime::Array<Formula> formulas;
  uint64_t epoch = 1; // Counts changes of `symbols`.

  tenon::runtime::Array<Input> inputs;
  tenon::runtime::Array<Output> outputs;
  tenon::runtime::Array<Segment> segments;
  tenon::runtime::Block scratch;
  tenon::runtime::Block shared; // Of pieces, on a device.

  // Of the launch in progress.
  tenon::runtime::Array<void *> pointers;
  tenon::runtime::Array<tenon_operand_t> operands;
  tenon::runtime::Array<int64_t> parameters;
};

#endif // TENON_RUNTIME_SESSION_H
