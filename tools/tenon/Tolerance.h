//===- Tolerance.h - How exact a model's results can be -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TOOLS_TENON_TOLERANCE_H
#define TENON_TOOLS_TENON_TOLERANCE_H

namespace onnx {
class ModelProto;
}

namespace tenon {

/// Relative to the largest magnitude of an output: 1e-4; 1e-2 where the model
/// stores f16 or bf16; 1e-1 where it is quantized.
double defaultTolerance(const onnx::ModelProto &model);

/// True when an op of the model quantizes or computes on quantized values.
bool isQuantized(const onnx::ModelProto &model);

} // namespace tenon

#endif // TENON_TOOLS_TENON_TOLERANCE_H
