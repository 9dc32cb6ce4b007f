//===- Model.cpp - Load an artifact ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Model.h"
#include "runtime/Error.h"
#include "runtime/Expression.h"
#include "runtime/Level.h"
#include "runtime/Options.h"
#include "runtime/ProgramList.h"

#include <stdio.h>
#include <string.h>

using namespace tenon::runtime;

tenon_status_t tenon_model_t::load(const char *path,
                                   const tenon_load_options_t &options) {
  Artifact artifact;
  if (tenon_status_t status = artifact.open(path))
    return status;
  footer = artifact.getFooter();
  Array<char> bytes;
  if (tenon_status_t status = artifact.readImage(bytes))
    return status;
  Image image = {bytes.begin(), footer.image_bytes};
  if (tenon_status_t status = chooseProgram(image, options, path))
    return status;
  if (tenon_status_t status = prepareFormulas(path))
    return status;
  if (tenon_status_t status = weights.map(artifact))
    return status;
  if (options.verify_weights)
    if (tenon_status_t status = weights.verify(footer))
      return status;
  return loadCode(image, artifact, options);
}

tenon_status_t tenon_model_t::chooseProgram(const Image &image,
                                            const tenon_load_options_t &options,
                                            const char *path) {
  ProgramList programs;
  if (tenon_status_t status = programs.read(image, footer, path))
    return status;
  programCount = programs.size();
  described = options.describe != 0;
  const ProgramList::Entry *chosen;
  if (described) {
    if (options.describe < 0 || uint32_t(options.describe) > programCount)
      return fail(TENON_NOT_FOUND, "%.300s: it has %u programs, and none is %d",
                  path, programCount, options.describe);
    chosen = &programs[uint32_t(options.describe) - 1];
  } else if (options.device) {
    chosen = programs.find(TENON_TARGET_CUDA);
    if (!chosen)
      return fail(TENON_UNSUPPORTED,
                  "%.300s: it has no program for CUDA devices; compile the "
                  "model for them (tenon compile --target=cuda), or run it on "
                  "the CPU",
                  path);
  } else {
    chosen = programs.find(TENON_TARGET_CPU);
    if (!chosen)
      return fail(TENON_UNSUPPORTED,
                  "%.300s: it has no program for CPUs; load it for a device, "
                  "or compile the model for CPUs (tenon compile --target=cpu)",
                  path);
  }
  return metadata.adopt(image, chosen->offset, chosen->bytes,
                        footer.format_minor, path);
}

/// Code, and where it needs them there, weights.
tenon_status_t tenon_model_t::loadCode(const Image &image, Artifact &artifact,
                                       const tenon_load_options_t &options) {
  const char *path = artifact.getPath();
  if (metadata.target != TENON_TARGET_CPU)
    return described ? TENON_OK
                     : program.load(*options.device, metadata, image, artifact);
  tenon_status_t status = chooseLevel(path, options.level);
  if (described)
    return TENON_OK;
  if (status)
    return status;
  if (metadata.kernels.count != 0)
    if (tenon_status_t status = code.load(image.data, image.bytes, path))
      return status;
  return resolveKernels(path);
}

tenon_status_t tenon_model_t::chooseLevel(const char *path,
                                          const char *wanted) {
  cacheWays = tenon::runtime::cacheWays();
  uint64_t features = machineFeatures(), used = 0;
  for (uint32_t i = 0; i < metadata.levels.count; ++i)
    used |= metadata.levels[i].features;
  if ((features & used & TENON_CPU_AMX) && !requestAmx())
    features &= ~uint64_t(TENON_CPU_AMX);
  auto missing = [&](uint32_t i) {
    return metadata.levels[i].features & ~features;
  };
  auto name = [&](uint32_t i) {
    return metadata.text(metadata.levels[i].name);
  };

  if (wanted) {
    for (uint32_t i = 0; i < metadata.levels.count; ++i) {
      if (strcmp(name(i), wanted) != 0)
        continue;
      if (!missing(i)) {
        level = i;
        return TENON_OK;
      }
      return fail(TENON_UNSUPPORTED,
                  "%.300s: level %.60s needs %s, which this CPU lacks", path,
                  wanted, featureName(missing(i)));
    }
    return fail(TENON_NOT_FOUND, "%.300s: it has no code for level %.60s", path,
                wanted);
  }
  bool avoidsPairDots = hasSlowPairDots(features);
  auto isSlow = [&](uint32_t i) {
    uint64_t own = metadata.levels[i].features;
    return avoidsPairDots && (own & TENON_CPU_AVX512_BF16) &&
           !(own & TENON_CPU_AMX);
  };
  for (bool mayBeSlow : {false, true})
    for (uint32_t i = metadata.levels.count; i-- > 0;)
      if (!missing(i) && (mayBeSlow || !isSlow(i))) {
        level = i;
        return TENON_OK;
      }
  if (metadata.levels.count == 0)
    return TENON_OK;
  return fail(TENON_UNSUPPORTED,
              "%.300s: this CPU lacks %s, which even its lowest level, %.60s, "
              "needs; compile the model for this CPU",
              path, featureName(missing(0)), name(0));
}

tenon_status_t tenon_model_t::resolveKernels(const char *path) {
  if (!functions.allocate(metadata.kernels.count))
    return fail(TENON_OUT_OF_MEMORY, "%.300s: no memory to load it", path);
  for (size_t entry = 0; entry < metadata.code.count; ++entry) {
    const void *function = code.find(metadata.code[entry]);
    if (!function)
      return fail(TENON_BAD_FORMAT,
                  "%.300s: its metadata is damaged: a kernel has no code",
                  path);
    if (entry % metadata.levels.count == level)
      functions[entry / metadata.levels.count] =
          reinterpret_cast<tenon_kernel_fn_t>(const_cast<void *>(function));
  }
  return TENON_OK;
}

tenon_status_t tenon_model_t::prepareFormulas(const char *path) {
  Array<const char *> symbolNames;
  Array<bool> noneSet;
  if (!symbolNames.allocate(metadata.symbols.count) ||
      !noneSet.allocate(metadata.symbols.count) ||
      !formulas.allocate(metadata.exprs.count) ||
      !dimTexts.allocate(metadata.dims.count) ||
      !nodeNames.allocate(metadata.nodes.count))
    return fail(TENON_OUT_OF_MEMORY, "%.300s: no memory to load it", path);
  for (uint32_t i = 0; i < metadata.symbols.count; ++i)
    symbolNames[i] = metadata.text(metadata.symbols[i].name);
  for (uint32_t i = 0; i < metadata.nodes.count; ++i)
    nodeNames[i] = metadata.text(metadata.nodes[i]);
  for (uint32_t i = 0; i < metadata.exprs.count; ++i) {
    tenon_expr_t expr = metadata.exprs[i];
    formulas[i].constant =
        evaluate(metadata.words.data + expr.first, expr.count, nullptr,
                 noneSet.begin(), formulas[i].value) == ExpressionFault::None;
  }
  for (uint32_t i = 0; i < metadata.dims.count; ++i) {
    tenon_expr_t expr = metadata.exprs[metadata.dims[i]];
    printExpression(metadata.words.data + expr.first, expr.count,
                    symbolNames.begin(), dimTexts[i].text,
                    sizeof dimTexts[i].text);
  }
  return TENON_OK;
}

tenon_status_t tenon_model_load(const char *path,
                                const tenon_load_options_t *options,
                                tenon_model_t **out_model) {
  if (!out_model)
    return fail(TENON_INVALID_ARGUMENT, "tenon_model_load: out_model is NULL");
  *out_model = nullptr;
  if (!path)
    return fail(TENON_INVALID_ARGUMENT, "tenon_model_load: path is NULL");
  tenon_load_options_t known = {};
  if (tenon_status_t status =
          readOptions(options, known, "tenon_model_load: options"))
    return status;
  tenon_model_t *model = create<tenon_model_t>();
  if (!model)
    return fail(TENON_OUT_OF_MEMORY, "%.300s: no memory to load it", path);
  tenon_status_t status = model->load(path, known);
  if (status) {
    destroy(model);
    return status;
  }
  *out_model = model;
  return TENON_OK;
}

void tenon_model_retain(tenon_model_t *model) {
  if (model)
    model->references.fetch_add(1, std::memory_order_relaxed);
}

void tenon_model_release(tenon_model_t *model) {
  if (model && model->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    destroy(model);
}
