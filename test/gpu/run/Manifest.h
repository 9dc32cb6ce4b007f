//===- Manifest.h - What is to be run, and what it should give ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text file that prepare.py writes; its words have no spaces in them, and
// files are named relative to its folder:
//
//   model bert.fp32 bert.fp32.tenon 0.0001   a name, an artifact, and how much
//                                            its outputs may err
//   data                                     one run of the model above
//   input i64 1x9 bert/0/input_0.raw         all of its inputs, in order
//   output f32 1x9x64 bert/0/output_0.raw    all of its outputs; - has no dims
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_GPU_RUN_MANIFEST_H
#define TENON_TEST_GPU_RUN_MANIFEST_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon::trial {

/// Why something failed, in a sentence; nothing when it did not.
using Problem = std::optional<std::string>;

/// A dense, row-major tensor, and the file that holds its bytes.
struct Tensor {
  uint32_t dtype = 0;
  std::vector<int64_t> dims;
  std::string file;
  std::vector<char> bytes; // Empty until it is read.

  size_t size() const; // In bytes, by its type and dims.
  Problem read();
};

struct DataSet {
  std::vector<Tensor> inputs, outputs;
};

struct Case {
  std::string name, artifact;
  double tolerance = 0; // Relative to the largest magnitude of an output.
  std::vector<DataSet> sets;

  Problem read(); // All tensors.
  void forget();  // Gives their memory back.
};

Problem readManifest(const std::string &path, std::vector<Case> &cases);

} // namespace tenon::trial

#endif // TENON_TEST_GPU_RUN_MANIFEST_H
