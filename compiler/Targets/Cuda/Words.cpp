//===- Words.cpp - Vectors that a thread holds in registers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/Words.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::cuda {

static Value numberOf(DeviceEmitter &e, int64_t i) {
  return arith::ConstantIntOp::create(e.b, i, 32);
}

Value together(DeviceEmitter &e, ArrayRef<Value> values) {
  auto type = VectorType::get({int64_t(values.size())}, values[0].getType());
  Value all = LLVM::PoisonOp::create(e.b, type);
  for (auto [i, each] : llvm::enumerate(values))
    all =
        LLVM::InsertElementOp::create(e.b, all, each, numberOf(e, int64_t(i)));
  return all;
}

Value elementOf(DeviceEmitter &e, Value vector, int64_t i) {
  return LLVM::ExtractElementOp::create(e.b, vector, numberOf(e, i));
}

Value halfOf(DeviceEmitter &e, Value vector, int64_t half) {
  return together(
      e, {elementOf(e, vector, 2 * half), elementOf(e, vector, 2 * half + 1)});
}

SmallVector<Value> loadWords(DeviceEmitter &e, Value address, int64_t count) {
  Type i32 = e.b.getI32Type();
  Type type = count == 1 ? i32 : Type(VectorType::get({count}, i32));
  Value loaded = LLVM::LoadOp::create(e.b, type, address, unsigned(count * 4));
  if (count == 1)
    return {loaded};
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; ++i)
    words.push_back(elementOf(e, loaded, i));
  return words;
}

} // namespace tenon::cuda
