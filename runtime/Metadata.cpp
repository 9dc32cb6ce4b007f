//===- Metadata.cpp - Check every table of an artifact once ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Metadata.h"
#include "runtime/Error.h"
#include "runtime/Expression.h"

#include <stddef.h>
#include <string.h>

using namespace tenon::runtime;

namespace tenon::runtime {

/// Checks one thing after another; the first failure sticks in `reason`.
class Validator {
public:
  Validator(Metadata &metadata, const Image &image, uint64_t bytes,
            uint32_t minor)
      : metadata(metadata), image(image), bytes(bytes), minor(minor) {}

  /// Of the header in an artifact of format 2.`minor`.
  static uint64_t headerBytes(uint32_t minor) {
    return minor == 0   ? offsetof(tenon_metadata_t, costs)
           : minor == 1 ? offsetof(tenon_metadata_t, target)
                        : sizeof(tenon_metadata_t);
  }

  /// Why the metadata is bad, or null.
  const char *check() {
    if (!tables() || !target() || !disjoint() || !expressions() || !values() ||
        !places() || !strings())
      return reason;
    for (const tenon_step_t &step : metadata.steps)
      if (!checkStep(step))
        return reason;
    for (const tenon_cost_t &cost : metadata.costs)
      if (!checkCost(cost))
        return reason;
    return nullptr;
  }

  /// Copies all strings, each with a NUL, behind the block.
  bool terminateStrings();

private:
  bool expect(bool holds, const char *otherwise) {
    if (!holds)
      reason = otherwise;
    return holds;
  }

  template <typename T>
  bool table(tenon_table_t source, Table<T> &target, const char *otherwise);
  bool tables();
  bool target();
  bool checkImage(const tenon_image_t &code);
  bool disjoint();
  bool expressions();
  bool values();
  bool places();
  bool strings();
  bool checkValue(const tenon_value_t &value);
  bool checkAppend(const tenon_value_t &output);
  bool checkStep(const tenon_step_t &step);
  bool checkLaunch(const tenon_step_t &step);
  bool checkCost(const tenon_cost_t &cost);
  bool writable(const tenon_buffer_t &buffer) {
    return expect(buffer.place == TENON_PLACE_OUTPUT ||
                      buffer.place == TENON_PLACE_ARENA,
                  "a copy writes what is read-only");
  }

  bool expr(uint32_t index, const char *otherwise) {
    return expect(index < metadata.exprs.count, otherwise);
  }

  static bool within(uint32_t first, uint32_t count, uint32_t size) {
    return uint64_t(first) + count <= size;
  }

  template <typename Visit> void forEachString(Visit visit);

  Metadata &metadata;
  const Image &image;
  uint64_t bytes;
  uint32_t minor;
  const char *reason = nullptr;
};

template <typename T>
bool Validator::table(tenon_table_t source, Table<T> &target,
                      const char *otherwise) {
  target.count = source.count;
  if (source.count == 0)
    return true;
  target.data = reinterpret_cast<T *>(metadata.base + source.offset);
  return expect(source.offset % 8 == 0 &&
                    source.offset + uint64_t(source.count) * sizeof(T) <= bytes,
                otherwise);
}

bool Validator::tables() {
  const tenon_metadata_t &from = metadata.header();
  Metadata &to = metadata;
  return expect(from.bytes == bytes, "its size is not what the footer says") &&
         expect(from.flags == 0, "it has flags that this runtime lacks") &&
         table(from.levels, to.levels, "the level table lies outside") &&
         table(from.kernels, to.kernels, "the kernel table lies outside") &&
         table(from.code, to.code, "the code table lies outside") &&
         table(from.symbols, to.symbols, "the symbol table lies outside") &&
         table(from.inputs, to.inputs, "the input table lies outside") &&
         table(from.outputs, to.outputs, "the output table lies outside") &&
         table(from.segments, to.segments, "the segment table lies outside") &&
         table(from.steps, to.steps, "the step table lies outside") &&
         table(from.buffers, to.buffers, "the buffer table lies outside") &&
         table(from.params, to.params, "the parameter table lies outside") &&
         table(from.dims, to.dims, "the dim table lies outside") &&
         table(from.exprs, to.exprs, "the expression table lies outside") &&
         table(from.words, to.words, "the word table lies outside") &&
         table(from.nodes, to.nodes, "the node table lies outside") &&
         table(from.weights, to.weights, "the weight table lies outside") &&
         (minor == 0 ||
          table(from.costs, to.costs, "the cost table lies outside")) &&
         (minor <= 1 ||
          (table(from.images, to.images, "the image table lies outside") &&
           table(from.blocks, to.blocks, "the block table lies outside"))) &&
         expect(to.costs.count == 0 || to.costs.count == to.steps.count,
                "its cost table does not fit its steps");
}

/// What runs the kernels fits the target.
bool Validator::target() {
  Metadata &m = metadata;
  m.target = minor <= 1 ? uint32_t(TENON_TARGET_CPU) : m.header().target;
  if (m.target == TENON_TARGET_CPU)
    return expect(m.images.count == 0 && m.blocks.count == 0,
                  "it is for CPUs but has code for devices") &&
           expect(m.levels.count <= 64, "it has over 64 levels") &&
           expect(m.levels.count != 0 || m.kernels.count == 0,
                  "it has kernels but no level") &&
           expect(uint64_t(m.kernels.count) * m.levels.count == m.code.count,
                  "its code table does not fit its kernels and levels");
  if (!expect(m.target == TENON_TARGET_CUDA, "its target is unknown") ||
      !expect(m.levels.count == 0 && m.code.count == 0,
              "it is for a device but has code for CPUs") ||
      !expect(m.images.count <= 64, "it has over 64 images") ||
      !expect(m.images.count != 0 || m.kernels.count == 0,
              "it has kernels but no image") ||
      !expect(m.blocks.count == m.kernels.count,
              "its block table does not fit its kernels"))
    return false;
  for (const tenon_image_t &code : m.images)
    if (!checkImage(code))
      return false;
  for (const tenon_block_t &block : m.blocks)
    if (!expect(block.threads >= 1 && block.threads <= 1024,
                "a block has no threads, or over 1024") ||
        !expect(block.shared_bytes <= 256 << 10,
                "a block has over 256 KiB of shared memory"))
      return false;
  return true;
}

bool Validator::checkImage(const tenon_image_t &code) {
  uint32_t kind = kindOf(code);
  return expect(kind == TENON_IMAGE_PTX || kind == TENON_IMAGE_CUBIN,
                "an image is of an unknown kind") &&
         expect(code.sm >= 50 && code.sm <= 999,
                "an image is for no known compute capability") &&
         expect(code.bytes != 0 && image.holds(code.offset, code.bytes),
                "an image lies outside") &&
         expect(kind != TENON_IMAGE_PTX ||
                    image.data[code.offset + code.bytes - 1] == 0,
                "an image's text has no end");
}

/// `terminateStrings` rewrites entries, so no two tables may share bytes.
bool Validator::disjoint() {
  struct Range {
    uint64_t begin, end;
  };
  Range ranges[19] = {{0, headerBytes(minor)}};
  uint32_t count = 1;
  auto add = [&](const auto &table) {
    uint64_t begin = reinterpret_cast<char *>(table.data) - metadata.base;
    if (table.count)
      ranges[count++] = {begin, begin + table.count * sizeof(table[0])};
  };
  const Metadata &m = metadata;
  add(m.levels), add(m.kernels), add(m.code), add(m.symbols), add(m.inputs);
  add(m.outputs), add(m.segments), add(m.steps), add(m.buffers);
  add(m.params), add(m.dims), add(m.exprs), add(m.words), add(m.nodes);
  add(m.weights), add(m.costs), add(m.images), add(m.blocks);
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t j = 0; j < i; ++j)
      if (!expect(ranges[i].end <= ranges[j].begin ||
                      ranges[j].end <= ranges[i].begin,
                  "its tables overlap"))
        return false;
  return true;
}

bool Validator::expressions() {
  // Code may be shared, but not so much that checking it takes forever.
  uint64_t budget = 64 * uint64_t(metadata.words.count);
  for (const tenon_expr_t &e : metadata.exprs) {
    if (!expect(within(e.first, e.count, metadata.words.count),
                "an expression lies outside the words") ||
        !expect(e.count <= budget, "its expressions are too long"))
      return false;
    budget -= e.count;
    const int64_t *code = metadata.words.data + e.first;
    reason = e.count ? checkExpression(code, e.count, metadata.symbols.count)
                     : "an expression is empty";
    if (reason)
      return false;
  }
  for (uint32_t dim : metadata.dims)
    if (!expr(dim, "a dim names no expression"))
      return false;
  for (uint32_t param : metadata.params)
    if (!expr(param, "a parameter names no expression"))
      return false;
  return true;
}

bool Validator::values() {
  for (const tenon_symbol_t &symbol : metadata.symbols)
    if (!expect(symbol.lo <= symbol.hi, "a symbol's range is empty"))
      return false;
  for (const tenon_value_t &input : metadata.inputs)
    if (!checkValue(input) ||
        !expect(input.appends_to == 0, "an input appends to something"))
      return false;
  for (const tenon_value_t &output : metadata.outputs)
    if (!checkValue(output) || !checkAppend(output))
      return false;
  return true;
}

bool Validator::checkValue(const tenon_value_t &value) {
  return expect(tenon_dtype_bytes(value.dtype), "a value has no known type") &&
         expect(value.rank <= TENON_MAX_RANK, "a value's rank is over 32") &&
         expect(within(value.first_dim, value.rank, metadata.dims.count),
                "a value's dims lie outside") &&
         expect(value.room <= metadata.symbols.count,
                "a value's room is no known symbol") &&
         expect(value.room == 0 || value.axis < value.rank,
                "a value grows along no axis");
}

bool Validator::checkAppend(const tenon_value_t &output) {
  if (output.appends_to == 0)
    return true;
  if (!expect(output.appends_to <= metadata.inputs.count && output.room != 0,
              "an output appends to no input"))
    return false;
  const tenon_value_t &input = metadata.inputs[output.appends_to - 1];
  return expect(input.room != 0 && input.room != output.room &&
                    input.axis == output.axis && input.rank == output.rank &&
                    input.dtype == output.dtype,
                "an output appends to an input that is not of its kind");
}

bool Validator::places() {
  for (const tenon_segment_t &segment : metadata.segments)
    if (!expr(segment.bytes, "a segment's size names no expression"))
      return false;
  for (const tenon_buffer_t &buffer : metadata.buffers) {
    uint32_t count = 0;
    switch (buffer.place) {
    case TENON_PLACE_NONE:
      continue;
    case TENON_PLACE_INPUT:
      count = metadata.inputs.count;
      break;
    case TENON_PLACE_OUTPUT:
      count = metadata.outputs.count;
      break;
    case TENON_PLACE_ARENA:
      count = metadata.segments.count;
      break;
    case TENON_PLACE_WEIGHTS:
      count = 1;
      break;
    }
    if (!expect(buffer.index < count, "a buffer names no place") ||
        !expr(buffer.offset, "a buffer's offset names no expression") ||
        !expr(buffer.bytes, "a buffer's size names no expression"))
      return false;
  }
  return true;
}

bool Validator::strings() {
  uint64_t total = 0;
  forEachString([&](tenon_string_t &string) {
    total += uint64_t(string.count) + 1;
    expect(uint64_t(string.offset) + string.count <= bytes,
           "a name lies outside");
  });
  return !reason && expect(total <= 64 * bytes && total + bytes <= UINT32_MAX,
                           "its names are too long");
}

template <typename Visit> void Validator::forEachString(Visit visit) {
  auto *header = reinterpret_cast<tenon_metadata_t *>(metadata.base);
  visit(header->model_name);
  visit(header->producer);
  for (tenon_level_t &level : metadata.levels)
    visit(level.name);
  for (tenon_kernel_t &kernel : metadata.kernels) {
    visit(kernel.name);
    visit(kernel.schedule);
  }
  for (tenon_symbol_t &symbol : metadata.symbols)
    visit(symbol.name);
  for (tenon_value_t &input : metadata.inputs)
    visit(input.name);
  for (tenon_value_t &output : metadata.outputs)
    visit(output.name);
  for (tenon_step_t &step : metadata.steps)
    visit(step.message);
  for (tenon_string_t &node : metadata.nodes)
    visit(node);
  for (tenon_weight_t &weight : metadata.weights) {
    visit(weight.name);
    visit(weight.layout);
  }
}

bool Validator::checkLaunch(const tenon_step_t &step) {
  return expect(step.a < metadata.kernels.count, "a launch has no kernel") &&
         expr(step.b, "a launch's rows name no expression") &&
         expr(step.c, "a launch's grain names no expression") &&
         expr(step.d, "a launch's scratch names no expression") &&
         (step.shared == 0 || expr(step.shared - 1, "a launch's shared memory "
                                                    "names no expression"));
}

bool Validator::checkCost(const tenon_cost_t &cost) {
  const uint32_t numbers[] = {cost.flops, cost.weight_bytes, cost.bytes};
  for (uint32_t number : numbers)
    if (number != 0 && !expr(number - 1, "a cost names no expression"))
      return false;
  return expect(cost.dtype == 0 || tenon_dtype_bytes(cost.dtype),
                "a cost is of no known type");
}

bool Validator::checkStep(const tenon_step_t &step) {
  const Metadata &m = metadata;
  if (!expect(within(step.first_buffer, step.buffer_count, m.buffers.count),
              "a step's buffers lie outside") ||
      !expect(within(step.first_param, step.param_count, m.params.count),
              "a step's parameters lie outside") ||
      !expect(within(step.first_node, step.node_count, m.nodes.count),
              "a step's nodes lie outside"))
    return false;
  switch (step.kind) {
  case TENON_STEP_SEGMENT:
    return expect(step.a < m.segments.count, "a step makes no known segment");
  case TENON_STEP_LAUNCH:
    return checkLaunch(step);
  case TENON_STEP_BIND:
    return expect(step.buffer_count >= 1, "a step binds nothing") &&
           expect(within(step.a, step.b, m.symbols.count),
                  "a step binds unknown symbols") &&
           expect(step.c == TENON_I64 || step.c == TENON_I32,
                  "a step binds values that are not i32 or i64");
  case TENON_STEP_SET:
    return expect(step.a < m.symbols.count, "a step sets no known symbol") &&
           expr(step.b, "a step's value names no expression");
  case TENON_STEP_REQUIRE:
    return expr(step.a, "a condition names no expression") &&
           expr(step.b, "a condition names no expression") &&
           expect(step.c >= TENON_EQUAL && step.c <= TENON_DIVIDES,
                  "a condition has an unknown relation");
  case TENON_STEP_JUMP_UNLESS:
    if (!expect(step.buffer_count >= 1, "a jump has no condition"))
      return false;
    [[fallthrough]];
  case TENON_STEP_JUMP:
    return expect(step.a <= m.steps.count, "a jump leaves the program");
  case TENON_STEP_JUMP_UNLESS_LESS:
    return expr(step.b, "a jump's size names no expression") &&
           expr(step.c, "a jump's size names no expression") &&
           expect(step.a <= m.steps.count, "a jump leaves the program");
  case TENON_STEP_COPY:
    return expect(step.buffer_count >= 2, "a copy lacks a buffer") &&
           writable(m.buffers[step.first_buffer + 1]);
  }
  return expect(false, "a step is of an unknown kind");
}

bool Validator::terminateStrings() {
  uint64_t total = bytes;
  forEachString(
      [&](tenon_string_t &string) { total += uint64_t(string.count) + 1; });
  char *larger = static_cast<char *>(realloc(metadata.base, total));
  if (!larger)
    return false;
  metadata.base = larger;
  tables(); // The block may have moved.
  uint64_t end = bytes;
  // The strings' own table entries are rewritten, so `text` finds the copies.
  forEachString([&](tenon_string_t &string) {
    memcpy(larger + end, larger + string.offset, string.count);
    larger[end + string.count] = 0;
    string.offset = uint32_t(end);
    end += uint64_t(string.count) + 1;
  });
  return true;
}

} // namespace tenon::runtime

tenon_status_t Metadata::adopt(const Image &image, uint64_t offset,
                               uint64_t bytes, uint32_t minor,
                               const char *path) {
  if (bytes < Validator::headerBytes(minor) || bytes > UINT32_MAX ||
      !image.holds(offset, bytes))
    return fail(TENON_BAD_FORMAT, "%.300s: its metadata is damaged: bad size",
                path);
  base = static_cast<char *>(malloc(bytes));
  if (!base)
    return fail(TENON_OUT_OF_MEMORY, "%.300s: no memory for its metadata",
                path);
  memcpy(base, image.data + offset, bytes);
  Validator validator(*this, image, bytes, minor);
  if (const char *reason = validator.check())
    return fail(TENON_BAD_FORMAT, "%.300s: its metadata is damaged: %s", path,
                reason);
  if (!validator.terminateStrings())
    return fail(TENON_OUT_OF_MEMORY, "%.300s: no memory for its metadata",
                path);
  return TENON_OK;
}
