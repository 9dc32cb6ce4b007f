//===- Bind.cpp - A run's tensors: shapes checked, memory found -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/DataType.h"
#include "runtime/Error.h"
#include "runtime/Session.h"

#include <string.h>

using namespace tenon::runtime;

namespace {
using Number = long long; // For printf.

/// The shape that the model declares for a value.
struct DeclaredShape {
  const char *dims[TENON_MAX_RANK];
  ShapeText shape;
  DeclaredShape(const tenon_model_t &model, const tenon_value_t &value)
      : shape(value.dtype, collect(model, value), value.rank) {}

private:
  const char *const *collect(const tenon_model_t &model,
                             const tenon_value_t &value) {
    for (uint32_t i = 0; i < value.rank; ++i)
      dims[i] = model.dimText(value.first_dim + i);
    return dims;
  }
};

/// The symbol that a dim is, or -1 when it is anything else.
int64_t symbolOf(const Metadata &m, uint32_t dim) {
  tenon_expr_t expr = m.exprs[m.dims[dim]];
  const int64_t *code = m.words.data + expr.first;
  return expr.count == 2 && code[0] == TENON_PUSH_SYMBOL ? code[1] : -1;
}

tenon_status_t checkRoom(const tenon_model_t &model, const tenon_value_t &value,
                         const char *kind, int64_t capacity) {
  const char *name = model.metadata.text(value.name);
  if (value.room == 0)
    return fail(TENON_BAD_INPUT,
                "%s \"%.200s\" has no axis that grows, so its capacity must "
                "be 0, not %lld",
                kind, name, Number(capacity));
  if (capacity < 0)
    return fail(TENON_BAD_INPUT, "%s \"%.200s\": capacity is %lld", kind, name,
                Number(capacity));
  return TENON_OK;
}
} // namespace

tenon_status_t tenon_session_t::bindInputs(const tenon_tensor_t *tensors) {
  for (bool &set : symbolSet)
    set = false;
  uint32_t count = uint32_t(inputs.size());
  for (uint32_t i = 0; i < count; ++i)
    if (tenon_status_t status = checkInput(i, tensors[i]))
      return status;
  for (uint32_t i = 0; i < count; ++i)
    if (tenon_status_t status = setInputDims(i, tensors[i]))
      return status;
  for (uint32_t i = 0; i < count; ++i)
    if (tenon_status_t status = checkInputDims(i, tensors[i]))
      return status;
  for (uint32_t i = 0; i < count; ++i)
    if (tenon_status_t status = placeInput(i, tensors[i]))
      return status;
  return TENON_OK;
}

/// What can be said of an input without its symbols.
tenon_status_t tenon_session_t::checkInput(uint32_t index,
                                           const tenon_tensor_t &tensor) {
  const tenon_value_t &value = model->metadata.inputs[index];
  const char *name = model->metadata.text(value.name);
  if (tensor.dtype != value.dtype) {
    const char *given = tenon_dtype_name(tensor.dtype);
    return fail(TENON_BAD_INPUT,
                "input \"%.200s\" is %s, but the model takes %s", name,
                given ? given : "of no known type",
                DeclaredShape(*model, value).shape.text);
  }
  if (tensor.rank != value.rank)
    return fail(
        TENON_BAD_INPUT,
        "input \"%.200s\" has rank %u: it is %s, but the model takes %s", name,
        tensor.rank, ShapeText(tensor.dtype, tensor.dims, tensor.rank).text,
        DeclaredShape(*model, value).shape.text);
  if (tensor.capacity != 0)
    if (tenon_status_t status =
            checkRoom(*model, value, "input", tensor.capacity))
      return status;
  int64_t stored[TENON_MAX_RANK];
  memcpy(stored, tensor.dims, sizeof stored);
  if (tensor.capacity != 0)
    stored[value.axis] = tensor.capacity;
  uint64_t bytes;
  if (!tensorBytes(tensor.dtype, stored, tensor.rank, bytes))
    return fail(TENON_BAD_INPUT,
                "input \"%.200s\": no tensor can be %s; the model takes %s",
                name, ShapeText(tensor.dtype, tensor.dims, tensor.rank).text,
                DeclaredShape(*model, value).shape.text);
  if (tensor.bytes != bytes)
    return fail(TENON_BAD_INPUT,
                "input \"%.200s\": %s takes %llu bytes, but bytes is %llu",
                name, ShapeText(tensor.dtype, stored, tensor.rank).text,
                static_cast<unsigned long long>(bytes),
                static_cast<unsigned long long>(tensor.bytes));
  if (!tensor.data && bytes != 0)
    return fail(TENON_BAD_INPUT, "input \"%.200s\": data is NULL", name);
  return TENON_OK;
}

tenon_status_t tenon_session_t::setInputDims(uint32_t index,
                                             const tenon_tensor_t &tensor) {
  const Metadata &m = model->metadata;
  const tenon_value_t &value = m.inputs[index];
  for (uint32_t i = 0; i < value.rank; ++i) {
    int64_t symbol = symbolOf(m, value.first_dim + i);
    if (symbol < 0 || symbolSet[symbol])
      continue;
    if (!symbolFits(uint32_t(symbol), tensor.dims[i]))
      return fail(TENON_BAD_INPUT,
                  "input \"%.200s\" is %s, but the model takes %s where %.60s "
                  "is from %lld to %lld",
                  m.text(value.name),
                  ShapeText(tensor.dtype, tensor.dims, tensor.rank).text,
                  DeclaredShape(*model, value).shape.text,
                  m.text(m.symbols[symbol].name), Number(m.symbols[symbol].lo),
                  Number(m.symbols[symbol].hi));
    setSymbol(uint32_t(symbol), tensor.dims[i]);
  }
  if (value.room == 0)
    return TENON_OK;
  return setRoom(value, "input", tensor.dims[value.axis], tensor.capacity);
}

/// How many rows the memory of a value that grows has room for.
tenon_status_t tenon_session_t::setRoom(const tenon_value_t &value,
                                        const char *kind, int64_t held,
                                        int64_t capacity) {
  const Metadata &m = model->metadata;
  uint32_t symbol = value.room - 1;
  if (capacity != 0 && capacity < held)
    return fail(TENON_BAD_INPUT,
                "%s \"%.200s\": capacity is %lld, but it holds %lld along "
                "axis %u",
                kind, m.text(value.name), Number(capacity), Number(held),
                value.axis);
  int64_t room = capacity != 0 ? capacity : held;
  if (!symbolFits(symbol, room))
    return fail(TENON_BAD_INPUT,
                "%s \"%.200s\": axis %u has %lld elements, but the model "
                "takes %lld to %lld",
                kind, m.text(value.name), value.axis, Number(room),
                Number(m.symbols[symbol].lo), Number(m.symbols[symbol].hi));
  setSymbol(symbol, room);
  return TENON_OK;
}

tenon_status_t tenon_session_t::checkInputDims(uint32_t index,
                                               const tenon_tensor_t &tensor) {
  const Metadata &m = model->metadata;
  const tenon_value_t &value = m.inputs[index];
  for (uint32_t i = 0; i < value.rank; ++i) {
    int64_t wanted;
    ExpressionFault fault = formula(m.dims[value.first_dim + i], wanted);
    if (fault != ExpressionFault::None)
      return fail(TENON_BAD_INPUT,
                  "input \"%.200s\": dim %u, %s, is unknown: %s",
                  m.text(value.name), i, model->dimText(value.first_dim + i),
                  faultText(fault));
    if (tensor.dims[i] != wanted)
      return fail(TENON_BAD_INPUT,
                  "input \"%.200s\" is %s, but the model takes %s: dim %u is "
                  "%lld, not %lld",
                  m.text(value.name),
                  ShapeText(tensor.dtype, tensor.dims, tensor.rank).text,
                  DeclaredShape(*model, value).shape.text, i,
                  Number(tensor.dims[i]), Number(wanted));
  }
  return TENON_OK;
}

tenon_status_t tenon_session_t::placeInput(uint32_t index,
                                           const tenon_tensor_t &tensor) {
  Input &input = inputs[index];
  input.bytes = tensor.bytes;
  input.data = input.callerData = static_cast<char *>(tensor.data);
  if (device)
    return placeInputOnDevice(index, tensor);
  // Kernels rely on the alignment of elements, and on no more.
  if (input.bytes == 0 || reinterpret_cast<uintptr_t>(tensor.data) %
                                  tenon_dtype_bytes(tensor.dtype) ==
                              0)
    return TENON_OK;
  if (!grow(input.copy, input.bytes))
    return fail(TENON_OUT_OF_MEMORY,
                "input \"%.200s\": no memory for an aligned copy",
                model->metadata.text(model->metadata.inputs[index].name));
  memcpy(input.copy.get(), tensor.data, input.bytes);
  input.data = input.copy.get();
  return TENON_OK;
}

/// Whether the output's memory is that of the input which it extends.
bool tenon_session_t::extendsInPlace(uint32_t index) const {
  const tenon_value_t &value = model->metadata.outputs[index];
  if (value.appends_to == 0)
    return false;
  const tenon_value_t &past = model->metadata.inputs[value.appends_to - 1];
  const Input &input = inputs[value.appends_to - 1];
  // On a device it may have been copied there.
  return (device ? input.callerData : input.data) ==
             outputs[index].callerData &&
         symbols[past.room - 1] == symbols[value.room - 1];
}

/// Whether the output's memory is that of an input, other than it may be.
bool tenon_session_t::overlapsInput(uint32_t index) const {
  const Output &output = outputs[index];
  uint32_t extended = model->metadata.outputs[index].appends_to;
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (output.callerData < inputs[i].data + inputs[i].bytes &&
        inputs[i].data < output.callerData + output.bytes &&
        !(i + 1 == extended && extendsInPlace(index)))
      return true;
  return false;
}

tenon_status_t tenon_session_t::bindOutputs(tenon_tensor_t *tensors) {
  const Metadata &m = model->metadata;
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    Output &output = outputs[i];
    output.data = nullptr;
    output.bytes = 0;
    output.callerData = static_cast<char *>(tensors[i].data);
    output.callerBytes = output.callerData ? tensors[i].bytes : 0;
    for (uint32_t j = 0; j < i; ++j)
      if (output.callerData < outputs[j].callerData + outputs[j].callerBytes &&
          outputs[j].callerData < output.callerData + output.callerBytes)
        return fail(TENON_INVALID_ARGUMENT,
                    "outputs \"%.200s\" and \"%.200s\" overlap in memory",
                    m.text(m.outputs[j].name), m.text(m.outputs[i].name));
    if (tenon_status_t status = bindRoom(i, tensors[i].capacity))
      return status;
  }
  return TENON_OK;
}

/// Sets the room of an output, before the first step needs it.
tenon_status_t tenon_session_t::bindRoom(uint32_t index, int64_t capacity) {
  const Metadata &m = model->metadata;
  const tenon_value_t &value = m.outputs[index];
  if (capacity != 0)
    if (tenon_status_t status = checkRoom(*model, value, "output", capacity))
      return status;
  if (value.room == 0)
    return TENON_OK;
  int64_t held;
  uint32_t dim = value.first_dim + value.axis;
  ExpressionFault fault = formula(m.dims[dim], held);
  if (fault != ExpressionFault::None)
    return fail(TENON_FAILED, "output \"%.200s\": dim %u, %s, is unknown: %s",
                m.text(value.name), value.axis, model->dimText(dim),
                faultText(fault));
  return setRoom(value, "output", held, capacity);
}

tenon_status_t tenon_session_t::makeOutput(uint32_t index) {
  const Metadata &m = model->metadata;
  const tenon_value_t &value = m.outputs[index];
  const char *name = m.text(value.name);
  Output &output = outputs[index];
  for (uint32_t i = 0; i < value.rank; ++i) {
    ExpressionFault fault =
        formula(m.dims[value.first_dim + i], output.dims[i]);
    if (fault != ExpressionFault::None)
      return fail(TENON_FAILED, "output \"%.200s\": dim %u, %s, is unknown: %s",
                  name, i, model->dimText(value.first_dim + i),
                  faultText(fault));
  }
  int64_t stored[TENON_MAX_RANK];
  memcpy(stored, output.dims, sizeof stored);
  if (value.room != 0)
    stored[value.axis] = symbols[value.room - 1];
  if (!tensorBytes(value.dtype, stored, value.rank, output.bytes))
    return fail(TENON_FAILED, "output \"%.200s\": no tensor can be %s", name,
                ShapeText(value.dtype, stored, value.rank).text);
  if (output.callerData && output.callerBytes < output.bytes)
    return fail(TENON_INVALID_ARGUMENT,
                "output \"%.200s\": %s takes %llu bytes, but the buffer has "
                "%llu",
                name, ShapeText(value.dtype, stored, value.rank).text,
                static_cast<unsigned long long>(output.bytes),
                static_cast<unsigned long long>(output.callerBytes));
  if (output.memory != Memory::Device && extendsInPlace(index)) {
    output.data = inputs[value.appends_to - 1].data;
    return TENON_OK;
  }
  bool direct =
      output.callerData && output.memory == Memory::Device &&
      reinterpret_cast<uintptr_t>(output.callerData) % TENON_BUFFER_ALIGN ==
          0 &&
      !overlapsInput(index);
  if (direct) {
    output.data = output.callerData;
    return TENON_OK;
  }
  uint64_t reserved = output.bytes ? output.bytes : TENON_BUFFER_ALIGN;
  if (!grow(output.own, reserved))
    return fail(TENON_OUT_OF_MEMORY,
                "output \"%.200s\": %s takes %llu bytes, over the session's "
                "memory limit of %llu%s",
                name, ShapeText(value.dtype, output.dims, value.rank).text,
                static_cast<unsigned long long>(output.bytes),
                static_cast<unsigned long long>(budget.limit), orOfDevice());
  output.data = output.own.get();
  return TENON_OK;
}

tenon_status_t tenon_session_t::finishOutputs(tenon_tensor_t *tensors) {
  const Metadata &m = model->metadata;
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    Output &output = outputs[i];
    if (!output.data) { // No step wrote it: it is empty, or all zero.
      if (tenon_status_t status = makeOutput(i))
        return status;
      memset(output.data, 0, output.bytes);
    }
    if (output.callerData && output.callerData != output.data)
      memcpy(output.callerData, output.data, output.bytes);
    tenon_tensor_t &tensor = tensors[i];
    tensor.dtype = m.outputs[i].dtype;
    tensor.rank = m.outputs[i].rank;
    memcpy(tensor.dims, output.dims, sizeof tensor.dims);
    tensor.data = output.callerData ? output.callerData : output.data;
    tensor.bytes = output.bytes;
  }
  return TENON_OK;
}
