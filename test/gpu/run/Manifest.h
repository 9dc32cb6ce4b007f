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
//   output f32 1x9x64 bert/0/output_0.raw    all of its outputs; - has no dims;
//                                            none: nobody knows what they are
//
// and for one op at one size, which needs no data (see Sweep.h):
//
//   sweep gemm f16 64x96x32 gemm.f16.0 gemm.f16.0.tenon 0.01
//
// where the sizes are M x N x K of a gemm, batch x heads x rows x width of an
// attention or a causal one, and rows x columns of an add, a softmax, a
// layernorm or a transpose. Behind a model or a sweep may stand what its
// kernels are predicted to take in a run:
//
//   predict matmul_f16_0 12.5                microseconds
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

/// One op at one size.
struct Sweep {
  std::string kind; // Empty: none.
  uint32_t dtype = 0;
  std::vector<int64_t> dims;
};

/// A kernel's name, and its time in milliseconds.
using Prediction = std::pair<std::string, double>;

struct Case {
  std::string name, artifact;
  double tolerance = 0; // Relative to the largest magnitude of an output.
  std::vector<DataSet> sets;
  Sweep sweep;
  std::vector<Prediction> predicted;

  Problem read(); // All tensors.
  void forget();  // Gives their memory back.
};

Problem readManifest(const std::string &path, std::vector<Case> &cases);

} // namespace tenon::trial

#endif // TENON_TEST_GPU_RUN_MANIFEST_H
