//===- WideLoads.cpp - Neighbours that are loaded together ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/WideLoads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {

WideLoad loadWide(DeviceEmitter &e, const MatrixOperand &matrix, Value offset,
                  int64_t count) {
  int64_t bytes = count * graph::byteWidth(matrix.type);
  Value at = e.address(matrix.base, e.memoryType(matrix.type), offset);
  Type type = e.memoryType(matrix.type);
  if (matrix.type.isF32() && count > 1)
    type = VectorType::get({count}, e.b.getF32Type());
  else if (count > 1)
    type = bytes == 4 ? Type(e.b.getI32Type())
                      : VectorType::get({bytes / 4}, e.b.getI32Type());
  return {LLVM::LoadOp::create(e.b, type, at, unsigned(bytes)), matrix.type,
          count};
}

static void appendHalves(DeviceEmitter &e, Value word, Type element,
                         SmallVectorImpl<Value> &floats) {
  auto number = [&](int64_t value) {
    return arith::ConstantIntOp::create(e.b, value, 32);
  };
  if (element.isBF16()) {
    Value low = arith::ShLIOp::create(e.b, word, number(16));
    Value high = arith::AndIOp::create(e.b, word, number(int32_t(0xffff0000)));
    for (Value bits : {low, high})
      floats.push_back(arith::BitcastOp::create(e.b, e.b.getF32Type(), bits));
    return;
  }
  for (Value half :
       {word, Value(arith::ShRUIOp::create(e.b, word, number(16)))}) {
    Value bits = arith::TruncIOp::create(e.b, e.b.getI16Type(), half);
    floats.push_back(e.fromMemory(
        arith::BitcastOp::create(e.b, e.memoryType(element), bits), element));
  }
}

void appendFloats(DeviceEmitter &e, const WideLoad &loaded,
                  SmallVectorImpl<Value> &floats) {
  if (loaded.count == 1)
    return floats.push_back(e.fromMemory(loaded.raw, loaded.element));
  auto type = dyn_cast<VectorType>(loaded.raw.getType());
  for (int64_t i = 0; i < (type ? type.getNumElements() : 1); ++i) {
    Value word = loaded.raw;
    if (type)
      word = LLVM::ExtractElementOp::create(
          e.b, loaded.raw, arith::ConstantIntOp::create(e.b, i, 32));
    if (loaded.element.isF32())
      floats.push_back(word);
    else
      appendHalves(e, word, loaded.element, floats);
  }
}

} // namespace tenon::cuda
