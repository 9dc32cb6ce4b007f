//===- ModelBuilder.h - Small ONNX models for tests -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_IMPORT_MODELBUILDER_H
#define TENON_TEST_COMPILER_IMPORT_MODELBUILDER_H

#include "compiler/Import/Import.h"
#include "compiler/Import/ModelFile.h"
#include "compiler/Weights/WeightStore.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <gtest/gtest.h>

namespace tenon {

using Names = std::vector<std::string>;

/// A dim: a number, or the name of a symbol.
struct Dim {
  Dim(int64_t number) : number(number) {}
  Dim(const char *name) : name(name) {}
  int64_t number = -1;
  std::string name;
};

inline void setType(onnx::ValueInfoProto *value, const std::string &name,
                    std::vector<Dim> dims, int type) {
  value->set_name(name);
  auto *tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (const Dim &dim : dims) {
    auto *proto = tensor->mutable_shape()->add_dim();
    if (dim.name.empty())
      proto->set_dim_value(dim.number);
    else
      proto->set_dim_param(dim.name);
  }
}

/// A graph under construction.
struct GraphBuilder {
  explicit GraphBuilder(onnx::GraphProto *graph) : graph(graph) {}
  onnx::GraphProto *graph;

  void input(const std::string &name, std::vector<Dim> dims,
             int type = onnx::TensorProto::FLOAT) {
    setType(graph->add_input(), name, std::move(dims), type);
  }
  void output(const std::string &name) { graph->add_output()->set_name(name); }
  onnx::NodeProto *node(const std::string &op, const Names &inputs,
                        const Names &outputs, const std::string &domain = "") {
    onnx::NodeProto *node = graph->add_node();
    fill(node, op, inputs, outputs, domain);
    return node;
  }
  static void fill(onnx::NodeProto *node, const std::string &op,
                   const Names &inputs, const Names &outputs,
                   const std::string &domain = "") {
    node->set_op_type(op);
    node->set_domain(domain);
    for (const std::string &name : inputs)
      node->add_input(name);
    for (const std::string &name : outputs)
      node->add_output(name);
  }
  onnx::TensorProto *ints(const std::string &name,
                          std::vector<int64_t> values) {
    onnx::TensorProto *tensor = graph->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    tensor->add_dims(int64_t(values.size()));
    for (int64_t value : values)
      tensor->add_int64_data(value);
    return tensor;
  }
  onnx::TensorProto *floats(const std::string &name, std::vector<int64_t> dims,
                            std::vector<float> values) {
    onnx::TensorProto *tensor = graph->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    for (int64_t dim : dims)
      tensor->add_dims(dim);
    for (float value : values)
      tensor->add_float_data(value);
    return tensor;
  }
};

inline onnx::AttributeProto *addAttribute(onnx::NodeProto *node,
                                          const std::string &name) {
  onnx::AttributeProto *attribute = node->add_attribute();
  attribute->set_name(name);
  return attribute;
}
inline void addInt(onnx::NodeProto *node, const std::string &name,
                   int64_t value) {
  onnx::AttributeProto *attribute = addAttribute(node, name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}
inline GraphBuilder addBody(onnx::NodeProto *node, const std::string &name) {
  onnx::AttributeProto *attribute = addAttribute(node, name);
  attribute->set_type(onnx::AttributeProto::GRAPH);
  return GraphBuilder(attribute->mutable_g());
}

/// Builds a model and imports it.
class ImportTest : public testing::Test {
protected:
  ImportTest() : graph(model.mutable_graph()) {
    model.set_ir_version(8);
    import("", 17);
  }

  void import(const std::string &domain, int64_t version) {
    onnx::OperatorSetIdProto *opset = model.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }

  /// True when the model was imported.
  bool run() {
    auto file = ModelFile::parse(model.SerializeAsString());
    if (!file) {
      report.invalid = llvm::toString(file.takeError());
      return false;
    }
    module = importModel(&context, *file, weights, options, report);
    return bool(module);
  }
  /// The module's text, or why there is none.
  std::string text() {
    if (!run())
      return report.str();
    std::string result;
    llvm::raw_string_ostream stream(result);
    module->print(stream);
    return result;
  }
  void expectText(llvm::StringRef part) {
    std::string all = text();
    EXPECT_TRUE(llvm::StringRef(all).contains(part)) << all;
  }
  void expectReason(llvm::StringRef part) {
    EXPECT_FALSE(run());
    EXPECT_TRUE(llvm::StringRef(report.str()).contains(part)) << report.str();
  }
  /// How many ops of a name the module has.
  int count(llvm::StringRef name) {
    int found = 0;
    module->walk([&](mlir::Operation *op) {
      found += op->getName().getStringRef() == name;
    });
    return found;
  }

  onnx::ModelProto model;
  GraphBuilder graph;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  WeightStore weights;
  ImportOptions options;
  ImportReport report;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace tenon

#endif // TENON_TEST_COMPILER_IMPORT_MODELBUILDER_H
