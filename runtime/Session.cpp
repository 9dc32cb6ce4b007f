//===- Session.cpp - Create and destroy sessions --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Session.h"
#include "runtime/Cores.h"
#include "runtime/Error.h"
#include "runtime/Options.h"

#include <stddef.h>
#include <unistd.h>

using namespace tenon::runtime;

namespace {
constexpr int32_t maxThreads = 1024;
constexpr uint32_t defaultSpinMicroseconds = 100;

/// Where operands of no bytes point to.
alignas(TENON_BUFFER_ALIGN) char emptyPlace[TENON_BUFFER_ALIGN];

uint64_t physicalMemory() {
  long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? uint64_t(pages) * uint64_t(bytes)
                                : UINT64_MAX;
}

/// Marks a session as in use for a scope.
class Claim {
public:
  explicit Claim(tenon_session_t &session)
      : session(session),
        taken(!session.busy.exchange(true, std::memory_order_acquire)) {}
  Claim(const Claim &) = delete;
  Claim &operator=(const Claim &) = delete;
  ~Claim() {
    if (taken)
      session.busy.store(false, std::memory_order_release);
  }
  explicit operator bool() const { return taken; }

private:
  tenon_session_t &session;
  bool taken;
};

tenon_status_t busyError(const char *what) {
  return fail(TENON_BUSY,
              "%s: the session is running in another thread; give each thread "
              "a session of its own",
              what);
}
} // namespace

tenon_status_t tenon_session_t::create(tenon_model_t *ofModel,
                                       const tenon_session_options_t &options) {
  const Metadata &m = ofModel->metadata;
  uint32_t operandCount = 0, parameterCount = 0;
  for (const tenon_step_t &step : m.steps) {
    if (step.kind != TENON_STEP_LAUNCH)
      continue;
    if (step.buffer_count > operandCount)
      operandCount = step.buffer_count;
    if (step.param_count > parameterCount)
      parameterCount = step.param_count;
  }
  tenon_device_t *onDevice = ofModel->program.getDevice();
  threads = onDevice              ? 1
            : options.threads > 0 ? uint32_t(options.threads)
                                  : usableCores();
  uint32_t spin = options.spin_microseconds < 0 ? 0
                  : options.spin_microseconds == 0
                      ? defaultSpinMicroseconds
                      : uint32_t(options.spin_microseconds);
  parallelFor = options.parallel_for;
  parallelUser = options.parallel_user;
  bool isOneByOne = options.one_by_one != 0 && !onDevice;
  bool hasPool = !parallelFor && !isOneByOne;
  weights = ofModel->weights.get();
  nothing = emptyPlace;
  budget.device = onDevice;
  budget.limit = options.memory_limit ? options.memory_limit
                 : onDevice           ? onDevice->memoryBytes
                                      : physicalMemory();
  if (!symbols.allocate(m.symbols.count) ||
      !symbolSet.allocate(m.symbols.count) ||
      !formulas.allocate(m.exprs.count) || !inputs.allocate(m.inputs.count) ||
      !outputs.allocate(m.outputs.count) ||
      !segments.allocate(m.segments.count) ||
      !inputTensors.allocate(m.inputs.count) ||
      !outputTensors.allocate(m.outputs.count) ||
      !pointers.allocate(operandCount) || !operands.allocate(operandCount) ||
      !parameters.allocate(parameterCount) ||
      (isOneByOne && !pieceNanoseconds.allocate(mostPieces)) ||
      !pool.start(hasPool ? threads : 1, spin))
    return fail(TENON_OUT_OF_MEMORY, "no memory for a session");
  if (hasPool)
    threads = pool.size();
  if (onDevice)
    if (tenon_status_t status = createOnDevice(*ofModel, options))
      return status;
  tenon_model_retain(ofModel);
  owner.model = model = ofModel;
  return TENON_OK;
}

tenon_status_t
tenon_session_t::createOnDevice(const tenon_model_t &ofModel,
                                const tenon_session_options_t &options) {
  device = ::create<tenon::cuda::Execution>();
  if (!device)
    return fail(TENON_OUT_OF_MEMORY, "no memory for a session");
  if (tenon_status_t status =
          device->create(ofModel.program, ofModel.metadata, options))
    return status;
  parallelFor = nullptr;
  weights = ofModel.program.getWeights();
  nothing = device->emptyPlace();
  return TENON_OK;
}

tenon_status_t tenon_session_t::info(tenon_session_info_t &info) const {
  info.threads = threads;
  info.runs = runs;
  for (const Segment &segment : segments)
    info.arena_bytes += segment.block.capacity();
  for (const Input &input : inputs)
    info.output_bytes += input.copy.capacity();
  for (const Output &output : outputs)
    info.output_bytes += output.own.capacity() + output.result.capacity();
  info.scratch_bytes = scratch.capacity() + shared.capacity();
  info.graph_runs = graphRuns;
  return TENON_OK;
}

tenon_status_t tenon_session_create(tenon_model_t *model,
                                    const tenon_session_options_t *options,
                                    tenon_session_t **out_session) {
  const char *what = "tenon_session_create";
  if (!out_session)
    return fail(TENON_INVALID_ARGUMENT, "%s: out_session is NULL", what);
  *out_session = nullptr;
  if (!model)
    return fail(TENON_INVALID_ARGUMENT, "%s: model is NULL", what);
  tenon_session_options_t known = {};
  if (tenon_status_t status =
          readOptions(options, known, "tenon_session_create: options"))
    return status;
  if (known.threads < 0 || known.threads > maxThreads)
    return fail(TENON_INVALID_ARGUMENT, "%s: threads is %d, not 0 to %d", what,
                known.threads, maxThreads);
  if (known.spin_microseconds < -1)
    return fail(TENON_INVALID_ARGUMENT,
                "%s: spin_microseconds is %d, not -1 or more", what,
                known.spin_microseconds);
  if (model->described)
    return fail(TENON_INVALID_ARGUMENT,
                "%s: the model was loaded to be described, not to run", what);
  if (!model->program.getDevice() &&
      (known.stream || known.results_on_device || known.no_graphs))
    return fail(TENON_INVALID_ARGUMENT,
                "%s: stream, results_on_device and no_graphs are for models "
                "on a device",
                what);
  auto *session = ::create<tenon_session_t>();
  if (!session)
    return fail(TENON_OUT_OF_MEMORY, "no memory for a session");
  if (tenon_status_t status = session->create(model, known)) {
    destroy(session);
    return status;
  }
  *out_session = session;
  return TENON_OK;
}

tenon_status_t tenon_session_destroy(tenon_session_t *session) {
  if (!session)
    return TENON_OK;
  if (session->busy.exchange(true, std::memory_order_acquire))
    return busyError("tenon_session_destroy");
  destroy(session);
  return TENON_OK;
}

void tenon_session_cancel(tenon_session_t *session, int32_t cancelled) {
  if (session)
    session->cancelled.store(cancelled != 0, std::memory_order_relaxed);
}

tenon_status_t tenon_session_info(tenon_session_t *session,
                                  tenon_session_info_t *out_info) {
  const char *what = "tenon_session_info";
  if (!session)
    return fail(TENON_INVALID_ARGUMENT, "%s: session is NULL", what);
  Claim claim(*session);
  if (!claim)
    return busyError(what);
  tenon_session_info_t info = {};
  if (tenon_status_t status = session->info(info))
    return status;
  return writeInfo(info, out_info, what);
}

tenon_status_t tenon_session_set_observer(tenon_session_t *session,
                                          tenon_observer_t observer,
                                          void *user) {
  const char *what = "tenon_session_set_observer";
  if (!session)
    return fail(TENON_INVALID_ARGUMENT, "%s: session is NULL", what);
  Claim claim(*session);
  if (!claim)
    return busyError(what);
  session->observer = observer;
  session->observerUser = user;
  return TENON_OK;
}

namespace {
/// The tensors of one call: an array of the caller's idea of the struct, which
/// may be older or newer than ours. Then they are copied to and fro.
class Tensors {
public:
  Tensors(tenon_tensor_t *callers, const char *what, const char *kind)
      : callers(callers), what(what), kind(kind) {}

  tenon_status_t read(uint32_t count, uint32_t wanted,
                      Array<tenon_tensor_t> &copies) {
    ours = callers;
    if (count != wanted)
      return fail(TENON_BAD_INPUT, "%u %ss given, but the model has %u", count,
                  kind, wanted);
    if (count == 0)
      return TENON_OK;
    if (!callers)
      return fail(TENON_INVALID_ARGUMENT, "%s: %ss is NULL", what, kind);
    size = callers->struct_size;
    if (size < smallest || size > largest || size % alignof(tenon_tensor_t))
      return wrongSize(0, size, sizeof(tenon_tensor_t));
    for (uint32_t i = 0; i < count; ++i)
      if (at(i)->struct_size != size)
        return wrongSize(i, at(i)->struct_size, size);
    if (size == sizeof(tenon_tensor_t))
      return TENON_OK;
    for (uint32_t i = 0; i < count; ++i)
      if (tenon_status_t status =
              readOptions(at(i), copies[i], "a run: a tensor"))
        return status;
    ours = copies.begin();
    return TENON_OK;
  }

  /// Gives the caller what we set.
  void write(uint32_t count) const {
    if (ours == callers)
      return;
    for (uint32_t i = 0; i < count; ++i)
      memcpy(at(i), &ours[i],
             size < sizeof(tenon_tensor_t) ? size : sizeof(tenon_tensor_t));
  }

  tenon_tensor_t *ours = nullptr;

private:
  static constexpr size_t smallest = offsetof(tenon_tensor_t, capacity);
  static constexpr size_t largest = 65536;

  tenon_tensor_t *at(uint32_t i) const {
    return reinterpret_cast<tenon_tensor_t *>(
        reinterpret_cast<char *>(callers) + i * size);
  }

  tenon_status_t wrongSize(uint32_t i, size_t is, size_t wanted) const {
    return fail(TENON_INVALID_ARGUMENT,
                "%s: %s %u: struct_size is %zu, not %zu", what, kind, i, is,
                wanted);
  }

  tenon_tensor_t *callers;
  const char *what, *kind;
  size_t size = sizeof(tenon_tensor_t);
};

tenon_status_t run(tenon_session_t &session, const char *what, bool waits,
                   const tenon_tensor_t *inputs, uint32_t inputCount,
                   tenon_tensor_t *outputs, uint32_t outputCount) {
  Claim claim(session);
  if (!claim)
    return busyError(what);
  const Metadata &m = session.model->metadata;
  // Inputs are only read.
  Tensors in(const_cast<tenon_tensor_t *>(inputs), what, "input");
  Tensors out(outputs, what, "output");
  if (tenon_status_t status =
          in.read(inputCount, m.inputs.count, session.inputTensors))
    return status;
  if (tenon_status_t status =
          out.read(outputCount, m.outputs.count, session.outputTensors))
    return status;
  tenon_status_t status = session.run(in.ours, out.ours, waits);
  if (status == TENON_OK)
    out.write(outputCount);
  return status;
}
} // namespace

tenon_status_t tenon_session_run(tenon_session_t *session,
                                 const tenon_tensor_t *inputs,
                                 uint32_t input_count, tenon_tensor_t *outputs,
                                 uint32_t output_count) {
  const char *what = "tenon_session_run";
  if (!session)
    return fail(TENON_INVALID_ARGUMENT, "%s: session is NULL", what);
  return run(*session, what, /*waits=*/true, inputs, input_count, outputs,
             output_count);
}

tenon_status_t tenon_session_enqueue(tenon_session_t *session,
                                     const tenon_tensor_t *inputs,
                                     uint32_t input_count,
                                     tenon_tensor_t *outputs,
                                     uint32_t output_count) {
  const char *what = "tenon_session_enqueue";
  if (!session)
    return fail(TENON_INVALID_ARGUMENT, "%s: session is NULL", what);
  if (!session->model->program.getDevice())
    return fail(TENON_INVALID_ARGUMENT,
                "%s: the model runs on CPUs, where a run is over at the return "
                "of tenon_session_run",
                what);
  return run(*session, what, /*waits=*/false, inputs, input_count, outputs,
             output_count);
}

tenon_status_t tenon_session_wait(tenon_session_t *session) {
  const char *what = "tenon_session_wait";
  if (!session)
    return fail(TENON_INVALID_ARGUMENT, "%s: session is NULL", what);
  Claim claim(*session);
  if (!claim)
    return busyError(what);
  return session->wait();
}
