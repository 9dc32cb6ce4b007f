//===- KernelCheck.cpp - Each kernel of a run against its specification ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/tenon/KernelCheck.h"

#include "tools/tenon/UnpackWeight.h"
#include "tools/tenon/Verify.h"

#include "compiler/Package/ElementTypes.h"
#include "compiler/Weights/Printable.h"
#include "dialects/Kernel/ResultPlaces.h"

#include <cstring>

using namespace mlir;
using namespace tenon;

namespace {

bool isIntegers(kernel::FuncOp function) {
  auto integers = [](TypeRange types) {
    return llvm::all_of(types, [](Type type) {
      return isa<IntegerType>(cast<RankedTensorType>(type).getElementType());
    });
  };
  return llvm::all_of(function.getBlock(), [&](Operation &op) {
    return integers(op.getOperandTypes()) && integers(op.getResultTypes());
  });
}

std::optional<std::vector<int64_t>>
shapeOf(Value value, const reference::SymbolMap &symbols) {
  std::vector<int64_t> shape;
  for (graph::Expr dim : graph::getDims(value)) {
    std::optional<int64_t> size = reference::evaluateSize(dim, symbols);
    if (!size)
      return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

std::string nodesOf(const tenon_launch_t &launch) {
  std::string text;
  for (uint32_t i = 0; i < launch.node_count; ++i) {
    std::string node = "'" + printable(launch.nodes[i]) + "'";
    if (!StringRef(text).contains(node))
      text += (text.empty() ? "" : ", ") + node;
  }
  return text;
}

/// What a kernel wrote, whose rows may lie apart.
TensorBytes resultOf(kernel::FuncOp function, const char *data,
                     const Tensor &like) {
  TensorBytes bytes(data, data + like.bytes.size());
  auto pitch = function->getAttrOfType<IntegerAttr>(kernel::pitch);
  if (!pitch || like.bytes.empty())
    return bytes;
  size_t element = like.bytes.size() / like.count();
  size_t row = like.dims.back() * element, apart = pitch.getInt() * element;
  for (size_t i = 0; i < bytes.size() / row; ++i)
    std::memcpy(bytes.data() + i * row, data + i * apart, row);
  return bytes;
}

/// Where a result has room for more rows than it holds, what lies there is
/// anything: as expected, then.
void acceptRoom(Value result, const reference::SymbolMap &symbols,
                const Tensor &got, Tensor &wanted) {
  auto append = result.getDefiningOp<graph::AppendOp>();
  if (!append || got.bytes.empty())
    return;
  size_t axis = append.getAxis(), inner = got.bytes.size() / got.count();
  auto known = reference::evaluateSize(append.getLength()[0], symbols);
  auto rows = shapeOf(append.getRows(), symbols);
  if (!known || !rows)
    return;
  for (int64_t size : ArrayRef(got.dims).drop_front(axis + 1))
    inner *= size;
  size_t all = got.dims[axis] * inner, held = (*known + (*rows)[axis]) * inner;
  for (size_t at = 0; at < got.bytes.size(); at += all)
    std::memcpy(wanted.bytes.data() + at + held, got.bytes.data() + at + held,
                all - held);
}

/// What a kernel may err for what it gives in 16 bits, where rounding may go
/// either way, and what it rounds to multiply it: the weights of attention
/// where it reads such. 0 of others.
double lastBitOf(kernel::FuncOp function) {
  double most = 0;
  auto add = [&](Value value) {
    Type type = graph::getElementType(value);
    most = std::max(most, type.isBF16() ? 0x1p-7 : type.isF16() ? 0x1p-10 : 0);
  };
  llvm::for_each(function.getYielded(), add);
  if (isa_and_present<graph::AttentionOp>(
          kernel::findRoot(function.getBlock())))
    llvm::for_each(function.getBlock().getArguments(), add);
  return most;
}

} // namespace

KernelCheck::KernelCheck(ModuleOp module, KernelsToCheck which,
                         double tolerance, tenon_device_t *device)
    : which(which), tolerance(tolerance), device(device) {
  for (auto function : module.getOps<kernel::FuncOp>())
    functions[function.getSymName()] = function;
}

void KernelCheck::observe(void *user, const tenon_launch_t *launch) {
  static_cast<KernelCheck *>(user)->check(*launch);
}

const char *KernelCheck::read(const tenon_operand_t &operand,
                              TensorBytes &copy) {
  if (!device || !operand.data)
    return static_cast<const char *>(operand.data);
  copy.resize(std::max<size_t>(operand.bytes, 1));
  if (tenon_device_copy(device, copy.data(), operand.data, operand.bytes))
    sentence = tenon_last_error();
  return copy.data();
}

void KernelCheck::remember(const tenon_operand_t &operand) {
  TensorBytes copy;
  const char *data = read(operand, copy);
  if (!data)
    return;
  // Of a join, each part is written by itself.
  auto begin = reinterpret_cast<uintptr_t>(operand.data);
  for (auto &[place, bytes] : written) {
    auto other = reinterpret_cast<uintptr_t>(place);
    auto from = std::max(begin, other);
    auto to = std::min<uintptr_t>(begin + operand.bytes, other + bytes.size());
    if (from < to)
      std::memcpy(bytes.data() + (from - other), data + (from - begin),
                  to - from);
  }
  written[operand.data].assign(data, data + operand.bytes);
}

void KernelCheck::check(const tenon_launch_t &launch) {
  kernel::FuncOp function = functions.lookup(launch.kernel_name);
  if (!sentence.empty() || !function)
    return;
  bool wanted = which == KernelsToCheck::All || isIntegers(function);
  auto names = function.getSymbols().getAsRange<StringAttr>();
  if (wanted && launch.parameter_count == function.getSymbols().size()) {
    reference::SymbolMap symbols;
    for (auto [i, name] : llvm::enumerate(names))
      symbols[name] = launch.parameters[i];
    checkResults(function, launch, symbols);
  }
  for (uint32_t i = function.getBlock().getNumArguments();
       i < launch.operand_count; ++i)
    remember(launch.operands[i]);
}

std::optional<Tensor>
KernelCheck::argument(kernel::FuncOp function, unsigned i,
                      const tenon_launch_t &launch,
                      const reference::SymbolMap &symbols) {
  BlockArgument value = function.getBlock().getArgument(i);
  auto shape = shapeOf(value, symbols);
  if (!shape || i >= launch.operand_count)
    return std::nullopt;
  Tensor tensor{dtypeOf(graph::getElementType(value)), *shape, {}};
  size_t bytes = bytesOfTensor(tensor.type, *shape).value_or(0);
  const tenon_operand_t &operand = launch.operands[i];
  bool overwritten = false;
  for (uint32_t j = function.getBlock().getNumArguments();
       j < launch.operand_count; ++j)
    overwritten |= launch.operands[j].data == operand.data && operand.data;
  TensorBytes copy;
  const char *data = overwritten ? nullptr : read(operand, copy);
  if (overwritten) {
    auto before = written.find(operand.data);
    if (before == written.end() || before->second.size() < bytes)
      return std::nullopt;
    data = before->second.data();
  }
  auto layout = cast<StringAttr>(function.getLayouts()[i]).getValue();
  auto weight =
      unpackWeight(layout, data, *shape, graph::getElementType(value));
  if (weight)
    tensor.bytes = std::move(*weight);
  else if (operand.bytes >= bytes)
    tensor.bytes.assign(data, data + bytes);
  else
    return std::nullopt;
  return tensor;
}

void KernelCheck::checkResults(kernel::FuncOp function,
                               const tenon_launch_t &launch,
                               const reference::SymbolMap &symbols) {
  SmallVector<reference::Tensor> arguments;
  unsigned count = function.getBlock().getNumArguments();
  for (unsigned i = 0; i < count; ++i) {
    std::optional<Tensor> tensor = argument(function, i, launch, symbols);
    if (!tensor)
      return;
    auto converted = toReference(function.getContext(), *tensor);
    if (!converted)
      return llvm::consumeError(converted.takeError());
    arguments.push_back(std::move(*converted));
  }
  reference::SymbolMap copy = symbols;
  auto expected =
      reference::evaluateBlock(function.getBlock(), arguments, copy);
  if (!expected)
    return llvm::consumeError(expected.takeError());
  for (auto [i, result] : llvm::enumerate(*expected)) {
    if (count + i >= launch.operand_count)
      return;
    Tensor wanted = fromReference(result);
    const tenon_operand_t &operand = launch.operands[count + i];
    if (operand.bytes < wanted.bytes.size())
      return;
    TensorBytes copy;
    const char *data = read(operand, copy);
    Tensor got{wanted.type, wanted.dims, resultOf(function, data, wanted)};
    acceptRoom(function.getYielded()[i], symbols, got, wanted);
    Agreement agreement = compare(got, wanted);
    if (agreement.within(std::max(tolerance, lastBitOf(function))))
      continue;
    char error[40];
    std::snprintf(error, sizeof error, "relative error %.3g", agreement.error);
    sentence = "the first kernel that differs from its specification is " +
               function.getSymName().str() + " (" + nodesOf(launch) + "): " +
               (agreement.mismatch.empty() ? error : agreement.mismatch);
    return;
  }
}
