//===- Inspect.cpp - Questions about a model ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Error.h"
#include "runtime/Level.h"
#include "runtime/Model.h"
#include "runtime/Options.h"

#include <string.h>

using namespace tenon::runtime;

#define TENON_STRING(x) #x
#define TENON_VERSION(major, minor) TENON_STRING(major) "." TENON_STRING(minor)

const char *tenon_version(void) {
  return TENON_VERSION(TENON_FORMAT_MAJOR, TENON_FORMAT_MINOR);
}

tenon_status_t tenon_model_verify_weights(const tenon_model_t *model) {
  if (!model)
    return fail(TENON_INVALID_ARGUMENT,
                "tenon_model_verify_weights: model is NULL");
  return model->weights.verify(model->footer);
}

tenon_status_t tenon_model_info(const tenon_model_t *model,
                                tenon_model_info_t *out_info) {
  if (!model)
    return fail(TENON_INVALID_ARGUMENT, "tenon_model_info: model is NULL");
  const Metadata &m = model->metadata;
  tenon_model_info_t info = {};
  info.name = m.text(m.header().model_name);
  info.producer = m.text(m.header().producer);
  info.level =
      model->level < m.levels.count ? m.text(m.levels[model->level].name) : "";
  info.input_count = m.inputs.count;
  info.output_count = m.outputs.count;
  info.symbol_count = m.symbols.count;
  info.level_count = m.levels.count;
  info.kernel_count = m.kernels.count;
  info.weight_count = m.weights.count;
  info.step_count = m.steps.count;
  info.segment_count = m.segments.count;
  info.file_bytes = model->footer.file_bytes;
  info.image_bytes = model->footer.image_bytes;
  info.metadata_bytes = model->footer.metadata_bytes;
  info.weights_bytes = model->footer.weights_bytes;
  info.image_checksum[0] = model->footer.image_xxh3[0];
  info.image_checksum[1] = model->footer.image_xxh3[1];
  info.target = m.target == TENON_TARGET_CUDA ? "cuda" : "cpu";
  info.program_count = model->programCount;
  info.image_count = m.images.count;
  return writeInfo(info, out_info, "tenon_model_info");
}

/// Entry `index` of a table of the model; null, with the error set, where
/// there is none.
template <typename T>
static const T *entry(const tenon_model_t *model, Table<T> Metadata::*table,
                      uint32_t index, const char *what) {
  if (!model) {
    (void)fail(TENON_INVALID_ARGUMENT, "%s: model is NULL", what);
    return nullptr;
  }
  const Table<T> &entries = model->metadata.*table;
  if (index < entries.count)
    return &entries[index];
  (void)fail(TENON_INVALID_ARGUMENT, "%s: index %u, but there are only %u",
             what, index, entries.count);
  return nullptr;
}

static tenon_status_t valueInfo(const tenon_model_t *model,
                                Table<tenon_value_t> Metadata::*table,
                                uint32_t index, tenon_value_info_t *out_info,
                                const char *what) {
  const tenon_value_t *value = entry(model, table, index, what);
  if (!value)
    return TENON_INVALID_ARGUMENT;
  tenon_value_info_t info = {};
  info.name = model->metadata.text(value->name);
  info.dtype = value->dtype;
  info.rank = value->rank;
  for (uint32_t i = 0; i < value->rank; ++i) {
    uint32_t dim = value->first_dim + i;
    const tenon_model_t::Formula &formula =
        model->formulas[model->metadata.dims[dim]];
    info.dims[i] = formula.constant ? formula.value : -1;
    info.dim_texts[i] = model->dimText(dim);
  }
  info.grows_axis = value->room ? int32_t(value->axis) : -1;
  info.appends_to = int32_t(value->appends_to - 1);
  return writeInfo(info, out_info, what);
}

tenon_status_t tenon_model_input(const tenon_model_t *model, uint32_t index,
                                 tenon_value_info_t *out_info) {
  return valueInfo(model, &Metadata::inputs, index, out_info,
                   "tenon_model_input");
}

tenon_status_t tenon_model_output(const tenon_model_t *model, uint32_t index,
                                  tenon_value_info_t *out_info) {
  return valueInfo(model, &Metadata::outputs, index, out_info,
                   "tenon_model_output");
}

static tenon_status_t findValue(const tenon_model_t *model,
                                Table<tenon_value_t> Metadata::*table,
                                const char *name, uint32_t *out_index,
                                const char *kind) {
  if (!out_index)
    return fail(TENON_INVALID_ARGUMENT,
                "tenon_model_find_%s: out_index is NULL", kind);
  *out_index = UINT32_MAX;
  if (!model || !name)
    return fail(TENON_INVALID_ARGUMENT, "tenon_model_find_%s: %s is NULL", kind,
                model ? "name" : "model");
  const Table<tenon_value_t> &values = model->metadata.*table;
  for (uint32_t i = 0; i < values.count; ++i)
    if (strcmp(model->metadata.text(values[i].name), name) == 0) {
      *out_index = i;
      return TENON_OK;
    }
  return fail(TENON_NOT_FOUND, "the model has no %s named \"%.200s\"%s%.200s%s",
              kind, name, values.count ? "; its first is \"" : "",
              values.count ? model->metadata.text(values[0].name) : "",
              values.count ? "\"" : "");
}

tenon_status_t tenon_model_find_input(const tenon_model_t *model,
                                      const char *name, uint32_t *out_index) {
  return findValue(model, &Metadata::inputs, name, out_index, "input");
}

tenon_status_t tenon_model_find_output(const tenon_model_t *model,
                                       const char *name, uint32_t *out_index) {
  return findValue(model, &Metadata::outputs, name, out_index, "output");
}

tenon_status_t tenon_model_symbol(const tenon_model_t *model, uint32_t index,
                                  tenon_symbol_info_t *out_info) {
  const char *what = "tenon_model_symbol";
  const tenon_symbol_t *symbol = entry(model, &Metadata::symbols, index, what);
  if (!symbol)
    return TENON_INVALID_ARGUMENT;
  tenon_symbol_info_t info = {};
  info.name = model->metadata.text(symbol->name);
  info.lo = symbol->lo;
  info.hi = symbol->hi;
  return writeInfo(info, out_info, what);
}

tenon_status_t tenon_model_level(const tenon_model_t *model, uint32_t index,
                                 tenon_level_info_t *out_info) {
  const char *what = "tenon_model_level";
  const tenon_level_t *level = entry(model, &Metadata::levels, index, what);
  if (!level)
    return TENON_INVALID_ARGUMENT;
  tenon_level_info_t info = {};
  info.name = model->metadata.text(level->name);
  info.runs_here = (level->features & ~machineFeatures()) == 0;
  info.in_use = index == model->level;
  return writeInfo(info, out_info, what);
}

tenon_status_t tenon_model_kernel(const tenon_model_t *model, uint32_t index,
                                  tenon_kernel_info_t *out_info) {
  const char *what = "tenon_model_kernel";
  const tenon_kernel_t *kernel = entry(model, &Metadata::kernels, index, what);
  if (!kernel)
    return TENON_INVALID_ARGUMENT;
  tenon_kernel_info_t info = {};
  info.name = model->metadata.text(kernel->name);
  info.schedule = model->metadata.text(kernel->schedule);
  for (const tenon_step_t &step : model->metadata.steps)
    info.launch_count += step.kind == TENON_STEP_LAUNCH && step.a == index;
  if (model->metadata.target != TENON_TARGET_CPU) {
    info.threads = model->metadata.blocks[index].threads;
    info.shared_bytes = model->metadata.blocks[index].shared_bytes;
  }
  return writeInfo(info, out_info, what);
}

tenon_status_t tenon_model_weight(const tenon_model_t *model, uint32_t index,
                                  tenon_weight_info_t *out_info) {
  const char *what = "tenon_model_weight";
  const tenon_weight_t *weight = entry(model, &Metadata::weights, index, what);
  if (!weight)
    return TENON_INVALID_ARGUMENT;
  tenon_weight_info_t info = {};
  info.name = model->metadata.text(weight->name);
  info.layout = model->metadata.text(weight->layout);
  info.offset = weight->offset;
  info.bytes = weight->bytes;
  info.dtype = weight->dtype;
  info.rank = weight->rank;
  return writeInfo(info, out_info, what);
}

tenon_status_t tenon_model_image(const tenon_model_t *model, uint32_t index,
                                 tenon_image_info_t *out_info) {
  const char *what = "tenon_model_image";
  const tenon_image_t *image = entry(model, &Metadata::images, index, what);
  if (!image)
    return TENON_INVALID_ARGUMENT;
  tenon_image_info_t info = {};
  info.kind = kindOf(*image) == TENON_IMAGE_PTX ? "ptx" : "cubin";
  info.bytes = image->bytes;
  info.compute_capability = image->sm;
  info.in_use = index == model->program.imageInUse();
  return writeInfo(info, out_info, what);
}
