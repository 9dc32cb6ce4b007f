//===- MainFunction.cpp - The function of a model: inputs and outputs -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Import/DimNames.h"
#include "compiler/Import/GraphImporter.h"
#include "compiler/Weights/Printable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tenon {
namespace {

constexpr size_t maxNameBytes = 4096;

/// The inputs that a caller gives: those without an initializer.
SmallVector<const onnx::ValueInfoProto *>
callerInputs(const onnx::GraphProto &graph) {
  llvm::DenseSet<StringRef> initialized;
  for (const onnx::TensorProto &tensor : graph.initializer())
    initialized.insert(tensor.name());
  SmallVector<const onnx::ValueInfoProto *> inputs;
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!initialized.contains(input.name()))
      inputs.push_back(&input);
  return inputs;
}

/// What a caller must be able to say: no NUL, no megabytes.
llvm::Error checkName(StringRef what, StringRef name) {
  if (name.size() <= maxNameBytes && !name.contains('\0'))
    return llvm::Error::success();
  return llvm::createStringError("the name of the " + what + " '" +
                                 printable(name) +
                                 "' is too long or contains a NUL byte");
}

/// The shape of one input; a sentence when it cannot have one.
llvm::Expected<Type> inputType(const onnx::ValueInfoProto &input,
                               DimNames &names, MLIRContext *context) {
  std::string what = "the graph input '" + printable(input.name()) + "'";
  auto refuse = [&](const Twine &reason) {
    return llvm::createStringError(what + " " + reason);
  };
  if (llvm::Error error = checkName("input", input.name()))
    return std::move(error);
  if (!input.type().has_tensor_type())
    return refuse("is no tensor; sequences, maps and optionals are not "
                  "supported");
  const onnx::TypeProto::Tensor &tensor = input.type().tensor_type();
  Type element = elementType(context, tensor.elem_type());
  if (!element)
    return refuse("has the element type " +
                  elementTypeName(tensor.elem_type()) +
                  ", which is not supported");
  if (!tensor.has_shape())
    return refuse("states no rank; give it a shape, with symbolic dims where "
                  "they vary");
  if (tensor.shape().dim_size() > kMaxRank)
    return refuse("has more than " + Twine(kMaxRank) + " dims");
  SmallVector<graph::Expr> dims;
  SmallVector<int64_t> numbers;
  for (auto [i, dim] : llvm::enumerate(tensor.shape().dim())) {
    // Against ONNX, but exporters do write -1 for what varies.
    bool varies = !dim.has_dim_value() || dim.dim_value() == -1;
    if (!varies && dim.dim_value() < 0)
      return refuse("has the negative dim " + Twine(dim.dim_value()));
    if (!varies) {
      dims.push_back(graph::Expr::constant(context, dim.dim_value()));
      numbers.push_back(dim.dim_value());
    } else {
      std::string hint = input.name() + "_dim" + std::to_string(i);
      dims.push_back(names.get(dim.dim_param(), hint));
    }
  }
  if (!tensorBytes(element, numbers))
    return refuse("is larger than any memory");
  return graph::tensorOf(dims, element);
}

NamedAttrList nameAttr(OpBuilder &builder, StringRef name) {
  NamedAttrList attrs;
  attrs.set("graph.name", builder.getStringAttr(name));
  return attrs;
}

} // namespace

void GraphImporter::importMain(ModuleOp module) {
  const onnx::GraphProto &graph = file.model().graph();
  auto refuse = [&](llvm::Error error) {
    report.invalid = llvm::toString(std::move(error));
  };
  auto inputs = callerInputs(graph);
  DimNames dims(state, options.dims, options.same);
  for (const onnx::ValueInfoProto *input : inputs)
    for (const auto &dim : input->type().tensor_type().shape().dim())
      dims.announce(dim.dim_param());
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> inputAttrs, outputAttrs;
  for (const onnx::ValueInfoProto *input : inputs) {
    auto type = inputType(*input, dims, state.context);
    if (!type)
      return refuse(type.takeError());
    types.push_back(*type);
    inputAttrs.push_back(
        nameAttr(builder, input->name()).getDictionary(state.context));
  }
  if (!options.seed) {
    for (const onnx::ValueInfoProto *input : inputs)
      if (input->name() == kSeedInput)
        return refuse(llvm::createStringError(
            "the graph has an input 'seed' of its own; rename it, or compile "
            "with --seed=N"));
    types.push_back(graph::tensorOf({}, builder.getI64Type()));
    inputAttrs.push_back(
        nameAttr(builder, kSeedInput).getDictionary(state.context));
  }
  auto function = func::FuncOp::create(module.getLoc(), "main",
                                       builder.getFunctionType(types, {}));
  module.push_back(function);
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);

  Scope main;
  scope = &main;
  for (auto [input, value] : llvm::zip(inputs, block->getArguments())) {
    value.setLoc(NameLoc::get(builder.getStringAttr(printable(input->name()))));
    define(names.id(input->name()), value);
  }
  state.seed = options.seed.value_or(0);
  if (!options.seed) {
    state.seedInput = block->getArguments().back();
    state.seedInput.setLoc(NameLoc::get(builder.getStringAttr(kSeedInput)));
  }
  const Body &body = names.body(graph);
  auto live = liveNodes(body, orderNodes(body).nodes, body.outputs);
  importInitializers(graph, live);
  importNodes(body, live);

  if (state.seedInput && state.draws == 0 && report.ok())
    return refuse(llvm::createStringError(
        "no node of the model draws random numbers by the model's seed; "
        "compile without --seed"));
  report.drawsNumbers = state.draws != 0;

  SmallVector<Value> results;
  for (auto [id, output] : llvm::zip_equal(body.outputs, graph.output())) {
    if (llvm::Error error = checkName("output", output.name()))
      return refuse(std::move(error));
    NamedValue named = lookup(id);
    if (named.state == NamedValue::State::Poisoned)
      continue; // Its node has been reported.
    Value value = named.value;
    if (!value) {
      report.invalid = "the graph output '" + printable(output.name()) +
                       "' is no tensor; sequences, maps and optionals are not "
                       "supported; give their tensors instead";
      return;
    }
    const onnx::TypeProto::Tensor &stated = output.type().tensor_type();
    Type element = elementType(state.context, stated.elem_type());
    if (state.fewBits.contains(value)) {
      report.invalid = "the graph output '" + printable(output.name()) +
                       "' has the element type " +
                       elementTypeName(stated.elem_type()) +
                       ", which is not supported; dequantize or cast it first";
      return;
    }
    if (stated.elem_type() && element != graph::getElementType(value)) {
      report.invalid = "the graph output '" + printable(output.name()) +
                       "' is declared as " +
                       elementTypeName(stated.elem_type()) +
                       " but computed as another element type";
      return;
    }
    results.push_back(value);
    outputAttrs.push_back(
        nameAttr(builder, output.name()).getDictionary(state.context));
  }
  func::ReturnOp::create(builder, module.getLoc(), results);
  function.setFunctionType(
      builder.getFunctionType(types, ValueRange(results).getTypes()));
  function.setAllArgAttrs(inputAttrs);
  function.setAllResultAttrs(outputAttrs);
  scope = nullptr;
}

} // namespace tenon
