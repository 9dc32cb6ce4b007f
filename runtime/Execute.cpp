//===- Execute.cpp - Walk the steps of a model ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Error.h"
#include "runtime/FloatMode.h"
#include "runtime/Session.h"

#include <stdio.h>
#include <string.h>

using namespace tenon::runtime;

namespace {
using Number = long long; // For printf.
} // namespace

tenon_status_t tenon_session_t::run(const tenon_tensor_t *inputTensors,
                                    tenon_tensor_t *outputTensors, bool waits) {
  if (tenon_status_t status = checkCancelled())
    return status;
  if (device)
    return runOnDevice(inputTensors, outputTensors, waits);
  FloatMode mode;
  if (tenon_status_t status = bindInputs(inputTensors))
    return status;
  if (tenon_status_t status = bindOutputs(outputTensors))
    return status;
  for (Segment &segment : segments)
    segment.bytes = 0;
  if (tenon_status_t status = execute())
    return status;
  if (tenon_status_t status = finishOutputs(outputTensors))
    return status;
  ++runs;
  return TENON_OK;
}

tenon_status_t tenon_session_t::execute() {
  uint32_t next = 0, count = model->metadata.steps.count;
  while (next < count) {
    if (tenon_status_t status = checkCancelled())
      return status;
    if (tenon_status_t status = step(next))
      return status;
  }
  return TENON_OK;
}

tenon_status_t tenon_session_t::checkCancelled() const {
  if (__builtin_expect(!cancelled.load(std::memory_order_relaxed), true))
    return TENON_OK;
  return fail(TENON_CANCELLED, "the run was cancelled");
}

/// Runs step `next`, and sets `next` to the one after it.
tenon_status_t tenon_session_t::step(uint32_t &next) {
  const tenon_step_t &step = model->metadata.steps[next++];
  switch (step.kind) {
  case TENON_STEP_SEGMENT:
    return makeSegment(step);
  case TENON_STEP_LAUNCH:
    return launch(step);
  case TENON_STEP_BIND:
    return bindSymbols(step);
  case TENON_STEP_SET: {
    int64_t value;
    if (tenon_status_t status = size(step, "a size", step.b, value))
      return status;
    if (symbolFits(step.a, value)) {
      setSymbol(step.a, value);
      return TENON_OK;
    }
    const tenon_symbol_t &symbol = model->metadata.symbols[step.a];
    return fail(TENON_FAILED,
                "%s: the size %.100s is %lld, but must be from %lld to %lld",
                Subject(*this, step).text, model->metadata.text(symbol.name),
                Number(value), Number(symbol.lo), Number(symbol.hi));
  }
  case TENON_STEP_REQUIRE:
    return require(step);
  case TENON_STEP_JUMP:
    next = step.a;
    return TENON_OK;
  case TENON_STEP_JUMP_UNLESS:
    return jumpUnless(step, next);
  case TENON_STEP_JUMP_UNLESS_LESS:
    return jumpUnlessLess(step, next);
  default: // TENON_STEP_COPY; loading refused any other.
    return copy(step);
  }
}

tenon_session_t::Subject::Subject(const tenon_session_t &session,
                                  const tenon_step_t &step, uint32_t ordinal) {
  const tenon_model_t &model = *session.model;
  if (step.node_count != 0) {
    uint32_t node = ordinal < step.node_count ? ordinal : 0;
    snprintf(text, sizeof text, "node \"%.180s\"",
             model.nodeNames[step.first_node + node]);
  } else if (step.kind == TENON_STEP_LAUNCH) {
    snprintf(text, sizeof text, "kernel %.180s",
             model.metadata.text(model.metadata.kernels[step.a].name));
  } else {
    snprintf(text, sizeof text, "step %u of the model",
             uint32_t(&step - model.metadata.steps.data));
  }
}

ExpressionFault tenon_session_t::formula(uint32_t expr, int64_t &value) {
  const tenon_model_t::Formula &known = model->formulas[expr];
  if (known.constant) {
    value = known.value;
    return ExpressionFault::None;
  }
  Formula &mine = formulas[expr];
  if (mine.epoch != epoch) {
    tenon_expr_t code = model->metadata.exprs[expr];
    ExpressionFault fault =
        evaluate(model->metadata.words.data + code.first, code.count,
                 symbols.begin(), symbolSet.begin(), mine.value);
    if (fault != ExpressionFault::None)
      return fault;
    mine.epoch = epoch;
  }
  value = mine.value;
  return ExpressionFault::None;
}

/// A formula that must yield a size.
tenon_status_t tenon_session_t::size(const tenon_step_t &step, const char *what,
                                     uint32_t expr, int64_t &value) {
  ExpressionFault fault = formula(expr, value);
  if (__builtin_expect(fault == ExpressionFault::None, true))
    return TENON_OK;
  return fail(TENON_FAILED, "%s: cannot compute %s: %s",
              Subject(*this, step).text, what, faultText(fault));
}

bool tenon_session_t::symbolFits(uint32_t symbol, int64_t value) const {
  const tenon_symbol_t &range = model->metadata.symbols[symbol];
  return value >= range.lo && value <= range.hi;
}

void tenon_session_t::setSymbol(uint32_t symbol, int64_t value) {
  symbolSet[symbol] = true;
  if (symbols[symbol] == value)
    return;
  symbols[symbol] = value;
  ++epoch;
}

tenon_status_t tenon_session_t::makeSegment(const tenon_step_t &step) {
  int64_t bytes;
  if (tenon_status_t status =
          size(step, "the memory it needs",
               model->metadata.segments[step.a].bytes, bytes))
    return status;
  if (bytes < 0)
    return fail(TENON_FAILED, "%s: it would need %lld bytes of memory",
                Subject(*this, step).text, Number(bytes));
  Segment &segment = segments[step.a];
  segment.bytes = 0;
  if (!grow(segment.block, uint64_t(bytes)))
    return fail(TENON_OUT_OF_MEMORY,
                "%s: it needs %lld bytes of memory, over the session's limit "
                "of %llu (%llu in use)%s",
                Subject(*this, step).text, Number(bytes),
                static_cast<unsigned long long>(budget.limit),
                static_cast<unsigned long long>(budget.used), orOfDevice());
  segment.bytes = uint64_t(bytes);
  return TENON_OK;
}

/// Makes room in a block that nothing uses any more, but perhaps what a device
/// still has to do.
bool tenon_session_t::grow(Block &block, uint64_t bytes) {
  if (bytes <= block.capacity())
    return true;
  if (device && block.get() && device->finish() != TENON_OK)
    return false;
  return block.reserve(bytes, budget);
}

/// The end of a sentence on memory that is short.
const char *tenon_session_t::orOfDevice() const {
  return device ? ", or more than the device has left" : "";
}

/// Where operand `number` of a step lies. Makes outputs at their first use.
tenon_status_t tenon_session_t::resolve(const tenon_step_t &step,
                                        uint32_t number,
                                        tenon_operand_t &operand) {
  const tenon_buffer_t &buffer =
      model->metadata.buffers[step.first_buffer + number];
  char *place = nullptr;
  uint64_t placeBytes = 0;
  switch (buffer.place) {
  case TENON_PLACE_NONE:
    operand = {};
    return TENON_OK;
  case TENON_PLACE_INPUT:
    place = inputs[buffer.index].data;
    placeBytes = inputs[buffer.index].bytes;
    break;
  case TENON_PLACE_OUTPUT:
    if (!outputs[buffer.index].data)
      if (tenon_status_t status = makeOutput(buffer.index))
        return status;
    place = outputs[buffer.index].data;
    placeBytes = outputs[buffer.index].bytes;
    break;
  case TENON_PLACE_ARENA:
    place = segments[buffer.index].block.get();
    placeBytes = segments[buffer.index].bytes;
    break;
  case TENON_PLACE_WEIGHTS:
    place = weights;
    placeBytes = model->footer.weights_bytes;
    break;
  }
  int64_t offset, bytes;
  if (tenon_status_t status =
          size(step, "an operand's place", buffer.offset, offset))
    return status;
  if (tenon_status_t status =
          size(step, "an operand's size", buffer.bytes, bytes))
    return status;
  if (__builtin_expect(offset < 0 || bytes < 0 ||
                           uint64_t(offset) > placeBytes ||
                           uint64_t(bytes) > placeBytes - uint64_t(offset),
                       false))
    return fail(TENON_FAILED,
                "%s: operand %u, %lld bytes at %lld, lies outside its %llu "
                "bytes of memory",
                Subject(*this, step).text, number, Number(bytes),
                Number(offset), static_cast<unsigned long long>(placeBytes));
  operand = {bytes ? place + offset : nothing, size_t(bytes)};
  return TENON_OK;
}

tenon_status_t tenon_session_t::bindSymbols(const tenon_step_t &step) {
  tenon_operand_t operand;
  if (tenon_status_t status = resolve(step, 0, operand))
    return status;
  size_t element = tenon_dtype_bytes(step.c);
  if (operand.bytes / element < step.b)
    return fail(TENON_FAILED, "%s: %u sizes expected, but only %zu given",
                Subject(*this, step).text, step.b, operand.bytes / element);
  operand.bytes = step.b * element;
  const char *sizes = static_cast<char *>(operand.data);
  if (device)
    if (tenon_status_t status = readBack(step, operand, sizes))
      return status;
  for (uint32_t i = 0; i < step.b; ++i) {
    const char *source = sizes + i * element;
    int64_t value;
    int32_t narrow;
    if (step.c == TENON_I64) {
      memcpy(&value, source, sizeof value);
    } else {
      memcpy(&narrow, source, sizeof narrow);
      value = narrow;
    }
    const tenon_symbol_t &symbol = model->metadata.symbols[step.a + i];
    if (!symbolFits(step.a + i, value))
      return fail(TENON_FAILED,
                  "%s: the size %.100s is %lld, but must be from %lld to %lld",
                  Subject(*this, step).text, model->metadata.text(symbol.name),
                  Number(value), Number(symbol.lo), Number(symbol.hi));
    setSymbol(step.a + i, value);
  }
  return TENON_OK;
}

static bool holds(uint32_t relation, int64_t a, int64_t b) {
  switch (relation) {
  case TENON_EQUAL:
    return a == b;
  case TENON_LESS_EQUAL:
    return a <= b;
  case TENON_BROADCASTS:
    return a == b || a == 1 || b == 1;
  default: // TENON_DIVIDES
    return a > 0 ? b % a == 0 : a == 0 && b == 0;
  }
}

tenon_status_t tenon_session_t::require(const tenon_step_t &step) {
  int64_t a, b;
  if (tenon_status_t status = size(step, "a size", step.a, a))
    return status;
  if (tenon_status_t status = size(step, "a size", step.b, b))
    return status;
  if (holds(step.c, a, b))
    return TENON_OK;
  const char *message = model->metadata.text(step.message);
  return fail(
      TENON_FAILED, "%s: %.300s (%lld and %lld)", Subject(*this, step).text,
      *message ? message : "its sizes do not fit", Number(a), Number(b));
}

tenon_status_t tenon_session_t::jumpUnless(const tenon_step_t &step,
                                           uint32_t &next) {
  tenon_operand_t condition;
  if (tenon_status_t status = resolve(step, 0, condition))
    return status;
  if (condition.bytes < 1)
    return fail(TENON_FAILED, "%s: its condition is empty",
                Subject(*this, step).text);
  condition.bytes = 1;
  const char *flag = static_cast<char *>(condition.data);
  if (device)
    if (tenon_status_t status = readBack(step, condition, flag))
      return status;
  if (*flag == 0)
    next = step.a;
  return TENON_OK;
}

tenon_status_t tenon_session_t::jumpUnlessLess(const tenon_step_t &step,
                                               uint32_t &next) {
  int64_t a, b;
  if (tenon_status_t status = size(step, "a size", step.b, a))
    return status;
  if (tenon_status_t status = size(step, "a size", step.c, b))
    return status;
  if (a >= b)
    next = step.a;
  return TENON_OK;
}

tenon_status_t tenon_session_t::copy(const tenon_step_t &step) {
  tenon_operand_t from, to;
  if (tenon_status_t status = resolve(step, 0, from))
    return status;
  if (tenon_status_t status = resolve(step, 1, to))
    return status;
  if (to.bytes < from.bytes)
    return fail(TENON_FAILED, "%s: %zu bytes do not fit where %zu do",
                Subject(*this, step).text, from.bytes, to.bytes);
  if (from.bytes == 0)
    return TENON_OK;
  if (device)
    return device->copy(to.data, from.data, from.bytes);
  memmove(to.data, from.data, from.bytes);
  return TENON_OK;
}
