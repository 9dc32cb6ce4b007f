//===- ArtifactBuilder.h - Small artifacts for tests ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_RUNTIME_ARTIFACTBUILDER_H
#define TENON_TEST_RUNTIME_ARTIFACTBUILDER_H

#include "runtime/model_format.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace tenon::test {

/// Writes artifacts without the compiler, right or deliberately wrong: the
/// tables are public, and nothing is checked.
class ArtifactBuilder {
public:
  using Words = std::vector<int64_t>;

  /// Starts with the code of kernels.c.
  ArtifactBuilder();

  /// Expressions.
  uint32_t expr(Words code);
  uint32_t constant(int64_t value) {
    return expr({TENON_PUSH_CONSTANT, value});
  }
  uint32_t size(uint32_t symbol) { return expr({TENON_PUSH_SYMBOL, symbol}); }
  /// symbol * factor + addend
  uint32_t linear(uint32_t symbol, int64_t factor, int64_t addend = 0);

  uint32_t symbol(const std::string &name, int64_t lo = 0,
                  int64_t hi = INT32_MAX);
  uint32_t input(const std::string &name, tenon_dtype_t dtype,
                 const std::vector<uint32_t> &dims);
  uint32_t output(const std::string &name, tenon_dtype_t dtype,
                  const std::vector<uint32_t> &dims);
  uint32_t segment(uint32_t bytes);
  uint32_t level(const std::string &name, uint64_t features);

  /// A kernel whose code is the function `symbol` at every level.
  uint32_t kernel(const std::string &symbol);

  /// Makes it a program for CUDA devices, without levels.
  void forDevices();

  /// A kernel of such a program: the entry `symbol` of its images.
  uint32_t deviceKernel(const std::string &symbol, uint32_t threads = 32,
                        uint32_t sharedBytes = 0);

  /// Puts code for devices into the image; of PTX with a NUL behind it.
  void addImage(tenon_image_kind_t kind, uint32_t sm, const std::string &bytes,
                bool waits = false);

  /// Puts another program's metadata into the image, to follow this one's.
  void next(const std::string &metadata);

  /// A buffer of `bytes`, an expression, at `offset`, another or 0.
  static tenon_buffer_t at(tenon_place_t place, uint32_t index, uint32_t bytes,
                           uint32_t offset = UINT32_MAX) {
    return {uint32_t(place), index, offset, bytes};
  }

  struct Launch {
    uint32_t kernel, rows;
    std::vector<tenon_buffer_t> buffers;
    std::vector<uint32_t> params = {};
    std::vector<std::string> nodes = {};
    uint32_t grain = UINT32_MAX;   // 1
    uint32_t scratch = UINT32_MAX; // 0
    uint32_t shared = UINT32_MAX;  // None.
  };
  void launch(const Launch &launch);

  /// Any other step. Returns it, valid until the next.
  tenon_step_t &step(tenon_step_kind_t kind, uint32_t a = 0, uint32_t b = 0,
                     uint32_t c = 0,
                     const std::vector<tenon_buffer_t> &buffers = {},
                     const std::vector<std::string> &nodes = {});

  tenon_string_t string(const std::string &text);

  /// The address of a function of kernels.c; 0 when it has none.
  uint64_t address(const std::string &symbol) const;

  /// The whole file.
  std::string build();

  /// The metadata alone.
  std::string buildMetadata();

  /// Wraps metadata and the image into a file with good checksums.
  std::string wrap(const std::string &metadata);

  tenon_metadata_t header = {};
  std::vector<tenon_level_t> levels;
  std::vector<tenon_kernel_t> kernels;
  std::vector<uint64_t> code;
  std::vector<tenon_symbol_t> symbols;
  std::vector<tenon_value_t> inputs, outputs;
  std::vector<tenon_segment_t> segments;
  std::vector<tenon_step_t> steps;
  std::vector<tenon_buffer_t> buffers;
  std::vector<uint32_t> params, dims;
  std::vector<tenon_expr_t> exprs;
  std::vector<int64_t> words;
  std::vector<tenon_string_t> nodes;
  std::vector<tenon_weight_t> weightTable;
  std::vector<tenon_cost_t> costs; // None, or of each step.
  std::vector<tenon_image_t> images;
  std::vector<tenon_block_t> blocks;
  std::string weights;
  std::string image; // ELF; metadata is put behind it.

private:
  uint32_t addBuffers(const std::vector<tenon_buffer_t> &list);
  uint32_t addNodes(const std::vector<std::string> &list);

  std::string strings;
};

/// Recomputes a file's checksums after its footer or image was changed.
void sealArtifact(std::string &file);

/// The footer of a file.
tenon_footer_t footerOf(const std::string &file);

/// Replaces the footer, without sealing it.
void setFooter(std::string &file, const tenon_footer_t &footer);

/// A file in memory that ends with the scope: disks are slow.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &contents);
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile();

  const char *path() const { return name.c_str(); }
  void overwrite(const std::string &contents) const;

private:
  int descriptor;
  std::string name;
};

} // namespace tenon::test

#endif // TENON_TEST_RUNTIME_ARTIFACTBUILDER_H
