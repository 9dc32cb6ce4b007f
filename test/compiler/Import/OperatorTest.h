//===- OperatorTest.h - One ONNX node on a few numbers --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_IMPORT_OPERATORTEST_H
#define TENON_TEST_COMPILER_IMPORT_OPERATORTEST_H

#include "compiler/Reference/Evaluate.h"
#include "test/compiler/Import/ModelBuilder.h"

namespace tenon {

using Numbers = std::vector<double>;

/// Imports a model of one node and evaluates it.
class OperatorTest : public ImportTest {
protected:
  using Tensor = reference::Tensor;

  Tensor floats(llvm::ArrayRef<int64_t> shape, Numbers values) {
    return Tensor::fromFloats(mlir::Float32Type::get(&context), shape, values);
  }
  Tensor ints(llvm::ArrayRef<int64_t> shape, std::vector<int64_t> values,
              unsigned width = 64) {
    return Tensor::fromInts(mlir::IntegerType::get(&context, width), shape,
                            values);
  }
  Tensor bytes(llvm::ArrayRef<int64_t> shape, std::vector<int64_t> values) {
    auto type =
        mlir::IntegerType::get(&context, 8, mlir::IntegerType::Unsigned);
    return Tensor::fromInts(type, shape, values);
  }

  void setOpset(int64_t version) {
    model.mutable_opset_import(0)->set_version(version);
  }

  /// The only node of the model. An empty tensor is an input left out.
  onnx::NodeProto *node(const std::string &op, std::vector<Tensor> values,
                        int outputs = 1, const std::string &domain = "") {
    Names inputNames, outputNames;
    for (size_t i = 0; i < values.size(); ++i) {
      inputNames.push_back(values[i].data ? "x" + std::to_string(i) : "");
      if (!values[i].data)
        continue;
      graph.input(
          inputNames.back(),
          std::vector<Dim>(values[i].shape.begin(), values[i].shape.end()),
          typeNumber(values[i].element));
      inputs.push_back(values[i]);
    }
    for (int i = 0; i < outputs; ++i) {
      outputNames.push_back("y" + std::to_string(i));
      graph.output(outputNames.back());
    }
    if (!domain.empty())
      import(domain, 1);
    return graph.node(op, inputNames, outputNames, domain);
  }

  /// Another value for input i, or one for an input of the graph's own.
  void given(size_t i, Tensor value) {
    inputs.resize(std::max(inputs.size(), i + 1));
    inputs[i] = value;
  }

  /// All outputs; none after a failure, which fails the test.
  std::vector<Tensor> results() {
    if (!run()) {
      ADD_FAILURE() << report.str();
      return {};
    }
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    auto values = reference::evaluateFunction(function, inputs);
    if (!values) {
      ADD_FAILURE() << llvm::toString(values.takeError());
      return {};
    }
    return {values->begin(), values->end()};
  }

  static Numbers numbers(const Tensor &tensor) {
    Numbers list;
    for (int64_t i = 0; i < tensor.count(); ++i)
      list.push_back(tensor.number(i));
    return list;
  }
  static void expectNear(const Tensor &tensor, const Numbers &expected) {
    Numbers found = numbers(tensor);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-5) << "element " << i;
  }
  /// The first output is this.
  void expect(const Numbers &expected) {
    auto found = results();
    ASSERT_FALSE(found.empty());
    expectNear(found[0], expected);
  }
  /// The outputs are these two.
  void expectBoth(const Numbers &first, const Numbers &second) {
    auto found = results();
    ASSERT_EQ(found.size(), 2u);
    expectNear(found[0], first);
    expectNear(found[1], second);
  }

  static void addInts(onnx::NodeProto *node, const std::string &name,
                      std::vector<int64_t> values) {
    onnx::AttributeProto *attribute = addAttribute(node, name);
    attribute->set_type(onnx::AttributeProto::INTS);
    for (int64_t value : values)
      attribute->add_ints(value);
  }
  static void addFloat(onnx::NodeProto *node, const std::string &name,
                       float value) {
    onnx::AttributeProto *attribute = addAttribute(node, name);
    attribute->set_type(onnx::AttributeProto::FLOAT);
    attribute->set_f(value);
  }
  static void addFloats(onnx::NodeProto *node, const std::string &name,
                        std::vector<float> values) {
    onnx::AttributeProto *attribute = addAttribute(node, name);
    attribute->set_type(onnx::AttributeProto::FLOATS);
    for (float value : values)
      attribute->add_floats(value);
  }
  static void addText(onnx::NodeProto *node, const std::string &name,
                      const std::string &value) {
    onnx::AttributeProto *attribute = addAttribute(node, name);
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(value);
  }

private:
  static int typeNumber(mlir::Type element) {
    if (element.isF32())
      return onnx::TensorProto::FLOAT;
    if (element.isInteger(1))
      return onnx::TensorProto::BOOL;
    if (element.isUnsignedInteger(8))
      return onnx::TensorProto::UINT8;
    if (element.isInteger(8))
      return onnx::TensorProto::INT8;
    return element.isInteger(32) ? onnx::TensorProto::INT32
                                 : onnx::TensorProto::INT64;
  }

  std::vector<Tensor> inputs;
};

} // namespace tenon

#endif // TENON_TEST_COMPILER_IMPORT_OPERATORTEST_H
