//===- Metadata.h - The tables of an artifact, checked --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_RUNTIME_METADATA_H
#define TENON_RUNTIME_METADATA_H

#include "runtime/Memory.h"
#include "runtime/model_format.h"
#include "runtime/tenon.h"

namespace tenon::runtime {

/// A table of the metadata.
template <typename T> struct Table {
  T *data = nullptr;
  uint32_t count = 0;

  T &operator[](size_t index) const { return data[index]; }
  T *begin() const { return data; }
  T *end() const { return data + count; }
};

/// The ELF image of an artifact, which metadata is part of.
struct Image {
  const char *data = nullptr;
  uint64_t bytes = 0;

  bool holds(uint64_t offset, uint64_t count) const {
    return offset <= bytes && count <= bytes - offset;
  }
};

/// A tenon_image_kind_t.
inline uint32_t kindOf(const tenon_image_t &image) {
  return image.kind & ~uint32_t(TENON_IMAGE_WAITS);
}

/// A private copy of an artifact's metadata. After `adopt` every offset,
/// count, index, enum and expression in it is in range, so that its users
/// need no check of their own.
class Metadata {
public:
  Metadata() = default;
  Metadata(const Metadata &) = delete;
  Metadata &operator=(const Metadata &) = delete;
  ~Metadata() { free(base); }

  /// Copies and checks `bytes` of metadata of format 2.`minor` that lie in an
  /// image. `path` is for the error.
  [[nodiscard]] tenon_status_t adopt(const Image &image, uint64_t offset,
                                     uint64_t bytes, uint32_t minor,
                                     const char *path);

  /// A string of the metadata, NUL-terminated.
  const char *text(tenon_string_t string) const { return base + string.offset; }

  const tenon_metadata_t &header() const {
    return *reinterpret_cast<const tenon_metadata_t *>(base);
  }

  Table<tenon_level_t> levels;
  Table<tenon_kernel_t> kernels;
  Table<uint64_t> code;
  Table<tenon_symbol_t> symbols;
  Table<tenon_value_t> inputs, outputs;
  Table<tenon_segment_t> segments;
  Table<tenon_step_t> steps;
  Table<tenon_buffer_t> buffers;
  Table<uint32_t> params, dims;
  Table<tenon_expr_t> exprs;
  Table<int64_t> words;
  Table<tenon_string_t> nodes;
  Table<tenon_weight_t> weights;
  Table<tenon_cost_t> costs;   // Of each step, or none.
  Table<tenon_image_t> images; // Of a program for a device, as are
  Table<tenon_block_t> blocks; // these, of each kernel.
  uint32_t target = TENON_TARGET_CPU;

private:
  friend class Validator;

  char *base = nullptr; // The block, then its strings with NULs.
};

} // namespace tenon::runtime

#endif // TENON_RUNTIME_METADATA_H
