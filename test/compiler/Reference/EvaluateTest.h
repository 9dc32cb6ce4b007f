//===- EvaluateTest.h - Running a few lines of text in a test -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TENON_TEST_COMPILER_REFERENCE_EVALUATETEST_H
#define TENON_TEST_COMPILER_REFERENCE_EVALUATETEST_H

#include "compiler/Reference/Evaluate.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

namespace tenon::reference {

class EvaluateTest : public testing::Test {
protected:
  EvaluateTest() {
    context.loadDialect<graph::GraphDialect, mlir::func::FuncDialect>();
  }

  mlir::Type f32() { return mlir::Float32Type::get(&context); }
  mlir::Type f64() { return mlir::Float64Type::get(&context); }
  mlir::Type f16() { return mlir::Float16Type::get(&context); }
  mlir::Type bf16() { return mlir::BFloat16Type::get(&context); }
  mlir::Type integer(unsigned width) {
    return mlir::IntegerType::get(&context, width);
  }
  mlir::Type natural(unsigned width) {
    return mlir::IntegerType::get(&context, width, mlir::IntegerType::Unsigned);
  }
  Tensor floats(Shape shape, std::vector<double> values) {
    return Tensor::fromFloats(f32(), shape, values);
  }
  Tensor ints(Shape shape, std::vector<int64_t> values, unsigned width = 64) {
    return Tensor::fromInts(integer(width), shape, values);
  }
  Tensor naturals(Shape shape, std::vector<int64_t> values, unsigned width) {
    return Tensor::fromInts(natural(width), shape, values);
  }

  /// Parses a module of one function; kept until the next call.
  mlir::func::FuncOp parse(llvm::StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << "the text does not parse";
      return {};
    }
    return *module->getOps<mlir::func::FuncOp>().begin();
  }

  /// The results of the function, none after a failure.
  std::vector<Tensor> run(llvm::StringRef text, std::vector<Tensor> inputs = {},
                          const EvaluateOptions &options = {}) {
    auto function = parse(text);
    if (!function)
      return {};
    auto results = evaluateFunction(function, inputs, options);
    if (!results) {
      ADD_FAILURE() << llvm::toString(results.takeError());
      return {};
    }
    return {results->begin(), results->end()};
  }

  /// The sentence with which the function fails.
  std::string fault(llvm::StringRef text, std::vector<Tensor> inputs = {},
                    const EvaluateOptions &options = {}) {
    auto function = parse(text);
    if (!function)
      return "";
    auto results = evaluateFunction(function, inputs, options);
    if (results) {
      ADD_FAILURE() << "the function does not fail";
      return "";
    }
    return llvm::toString(results.takeError());
  }

  /// One op on values %0, %1, ... of the inputs' types.
  std::vector<Tensor> op(llvm::StringRef name, llvm::StringRef attributes,
                         std::vector<Tensor> inputs,
                         std::vector<std::string> results) {
    return run(opText(name, attributes, inputs, results), inputs);
  }
  std::string opFault(llvm::StringRef name, llvm::StringRef attributes,
                      std::vector<Tensor> inputs,
                      std::vector<std::string> results) {
    return fault(opText(name, attributes, inputs, results), inputs);
  }

  static std::vector<double> numbers(const Tensor &tensor) {
    std::vector<double> result;
    for (int64_t i = 0; i < tensor.count(); ++i)
      result.push_back(tensor.number(i));
    return result;
  }
  static std::vector<double> numbers(const std::vector<Tensor> &tensors) {
    return tensors.empty() ? std::vector<double>() : numbers(tensors[0]);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

private:
  static std::string typeOf(const Tensor &tensor) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << mlir::RankedTensorType::get(tensor.shape, tensor.element);
    return text;
  }
  static std::string opText(llvm::StringRef name, llvm::StringRef attributes,
                            const std::vector<Tensor> &inputs,
                            const std::vector<std::string> &results) {
    std::string arguments, operands, types;
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::string comma = i ? ", " : "", value = "%a" + std::to_string(i);
      arguments += comma + value + ": " + typeOf(inputs[i]);
      operands += comma + value;
      types += comma + typeOf(inputs[i]);
    }
    std::string resultTypes = llvm::join(results, ", "), values;
    for (size_t i = 0; i < results.size(); ++i)
      values += (i ? ", %r#" : "%r#") + std::to_string(i);
    return "func.func @main(" + arguments + ") -> (" + resultTypes + ") {\n" +
           "%r:" + std::to_string(results.size()) + " = " + name.str() + " " +
           operands + " " + attributes.str() + " : (" + types + ") -> (" +
           resultTypes + ")\nreturn " + values + " : " + resultTypes + "\n}";
  }
};

} // namespace tenon::reference

#endif // TENON_TEST_COMPILER_REFERENCE_EVALUATETEST_H
