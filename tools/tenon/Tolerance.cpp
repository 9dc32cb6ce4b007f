//===- Tolerance.cpp - How exact a model's results can be -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/Tolerance.h"

#include "onnx-ml.pb.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace tenon;

namespace {

enum Precision { Full, Half, Quantized };

Precision ofType(int type) {
  return type == onnx::TensorProto::FLOAT16 ||
                 type == onnx::TensorProto::BFLOAT16
             ? Half
             : Full;
}

Precision ofValues(
    const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> &values) {
  Precision precision = Full;
  for (const onnx::ValueInfoProto &value : values)
    precision =
        std::max(precision, ofType(value.type().tensor_type().elem_type()));
  return precision;
}

bool isQuantizedOp(llvm::StringRef op) {
  return op.contains("QuantizeLinear") || op.starts_with("QLinear") ||
         op.ends_with("Integer") || op.ends_with("NBits") || op == "QGemm" ||
         op == "QAttention" || op == "DynamicQuantizeMatMul" ||
         op == "DynamicQuantizeLSTM";
}

// Depth is bounded by protobuf's parser.
Precision ofGraph(const onnx::GraphProto &graph);

template <typename Nodes> Precision ofNodes(const Nodes &nodes) {
  Precision precision = Full;
  for (const onnx::NodeProto &node : nodes) {
    if (isQuantizedOp(node.op_type()))
      return Quantized;
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      // A model of 16 bits may have f32 outside.
      if (node.op_type() == "Cast" && attribute.name() == "to")
        precision = std::max(precision, ofType(int(attribute.i())));
      if (attribute.has_t())
        precision = std::max(precision, ofType(attribute.t().data_type()));
      if (attribute.has_g())
        precision = std::max(precision, ofGraph(attribute.g()));
    }
  }
  return precision;
}

Precision ofGraph(const onnx::GraphProto &graph) {
  Precision precision =
      std::max(ofValues(graph.input()), ofValues(graph.output()));
  for (const onnx::TensorProto &tensor : graph.initializer())
    precision = std::max(precision, ofType(tensor.data_type()));
  return std::max(precision, ofNodes(graph.node()));
}

} // namespace

static Precision ofModel(const onnx::ModelProto &model) {
  Precision precision = ofGraph(model.graph());
  for (const onnx::FunctionProto &function : model.functions())
    precision = std::max(precision, ofNodes(function.node()));
  return precision;
}

double tenon::defaultTolerance(const onnx::ModelProto &model) {
  Precision precision = ofModel(model);
  return precision == Quantized ? 1e-1 : precision == Half ? 1e-2 : 1e-4;
}

bool tenon::isQuantized(const onnx::ModelProto &model) {
  return ofModel(model) == Quantized;
}
