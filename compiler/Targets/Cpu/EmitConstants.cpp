//===- EmitConstants.cpp - Tensors that the code itself holds -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cpu/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cpu {
namespace {

constexpr char constantTag = 0;

/// The elements as they lie in memory.
std::string bytesOf(DenseElementsAttr elements) {
  std::string bytes;
  unsigned width = graph::byteWidth(elements.getElementType());
  auto append = [&](APInt bits) {
    uint64_t word = bits.getZExtValue();
    bytes.append(reinterpret_cast<const char *>(&word), width);
  };
  if (isa<FloatType>(elements.getElementType()))
    for (const APFloat &value : elements.getValues<APFloat>())
      append(value.bitcastToAPInt());
  else
    for (const APInt &value : elements.getValues<APInt>())
      append(value);
  return bytes;
}

Value splat(Emitter &e, DenseElementsAttr elements) {
  Type type = elements.getElementType(), compute = computeType(type);
  if (isa<FloatType>(type)) {
    APFloat value = elements.getSplatValue<APFloat>();
    bool losesInfo;
    value.convert(cast<FloatType>(compute).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &losesInfo);
    return arith::ConstantOp::create(e.b, FloatAttr::get(compute, value));
  }
  return arith::ConstantOp::create(
      e.b, IntegerAttr::get(compute, elements.getSplatValue<APInt>()));
}

} // namespace

Value Emitter::constantBase(Operation *op) {
  auto constant = cast<graph::ConstantOp>(op);
  return bytesBase(op, bytesOf(cast<DenseElementsAttr>(constant.getValue())));
}

Value Emitter::bytesBase(Operation *op, StringRef bytes) {
  return atEntry([&] {
    return memo({&constantTag, op}, [&]() -> Value {
      auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
      int64_t ordinal =
          std::distance(op->getBlock()->begin(), Block::iterator(op));
      std::string name =
          (rowsFunction.getName() + ".constant" + Twine(ordinal)).str();
      LLVM::GlobalOp global;
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(rowsFunction);
        global = LLVM::GlobalOp::create(b, type, /*isConstant=*/true,
                                        LLVM::Linkage::Private, name,
                                        b.getStringAttr(bytes),
                                        /*alignment=*/64);
      }
      return LLVM::AddressOfOp::create(b, global);
    });
  });
}

Value Emitter::sizesBase(Operation *op) {
  return atEntry([&] {
    return memo({&constantTag, op}, [&]() -> Value {
      auto sizes = cast<graph::SizesOp>(op);
      Type type = graph::getElementType(sizes.getResult());
      size_t count = sizes.getValue().size();
      Value slots =
          LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(b.getContext()),
                                 type, number(std::max<size_t>(count, 1)));
      for (size_t i = 0; i < count; ++i)
        store(emitCast(b, evaluate(sizes.getValue()[i]), b.getI64Type(), type),
              slots, type, number(i));
      return slots;
    });
  });
}

Value Emitter::constantElement(Operation *op, ArrayRef<Value> index) {
  Value tensor = op->getResult(0);
  if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements) {
      giveUp("holds a constant of an unknown form");
      return zero(computeType(graph::getElementType(tensor)));
    }
    if (elements.isSplat())
      return splat(*this, elements);
    return loadRowMajor(constantBase(op), tensor, index);
  }
  return loadRowMajor(sizesBase(op), tensor, index);
}

} // namespace tenon::cpu
