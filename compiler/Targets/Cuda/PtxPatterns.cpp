//===- PtxPatterns.cpp - Writes intrinsics and inline assembly ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets/Cuda/PtxPatterns.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tenon::cuda {

SmallVector<Value> PtxBuilder::elements(Value vector) {
  SmallVector<Value> elements;
  auto type = cast<VectorType>(vector.getType());
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    elements.push_back(LLVM::ExtractElementOp::create(*this, vector, word(i)));
  return elements;
}

Value PtxBuilder::vector(ArrayRef<Value> elements, Type type) {
  Value vector = LLVM::PoisonOp::create(*this, type);
  for (auto [i, element] : llvm::enumerate(elements))
    vector = LLVM::InsertElementOp::create(*this, vector, element, word(i));
  return vector;
}

SmallVector<Type> PtxBuilder::elementTypes(Type vector) {
  auto type = cast<VectorType>(vector);
  return SmallVector<Type>(type.getNumElements(), type.getElementType());
}

Value PtxBuilder::word(int64_t value) {
  return LLVM::ConstantOp::create(*this, getI32Type(),
                                  getI32IntegerAttr(int32_t(value)));
}

Value PtxBuilder::sharedAddress(Value pointer) {
  return LLVM::PtrToIntOp::create(*this, getI32Type(), pointer);
}

Type PtxBuilder::packed(TypeRange types) {
  if (types.empty())
    return LLVM::LLVMVoidType::get(getContext());
  if (types.size() == 1)
    return types[0];
  return LLVM::LLVMStructType::getLiteral(getContext(), llvm::to_vector(types));
}

SmallVector<Value> PtxBuilder::unpack(Value made, TypeRange types) {
  if (types.size() == 1)
    return {made};
  SmallVector<Value> values;
  for (size_t i = 0; i < types.size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(*this, made, int64_t(i)));
  return values;
}

SmallVector<Value> PtxBuilder::intrinsic(StringRef name, ValueRange operands,
                                         TypeRange results) {
  if (results.empty()) {
    LLVM::CallIntrinsicOp::create(*this, getStringAttr(name), operands);
    return {};
  }
  auto call = LLVM::CallIntrinsicOp::create(*this, packed(results),
                                            getStringAttr(name), operands);
  return unpack(call.getResult(0), results);
}

/// The constraint on the register of a value.
static StringRef registerOf(Type type) {
  if (type.isF32())
    return "f";
  if (type.isInteger(16))
    return "h";
  return type.isInteger(32) ? "r" : "l";
}

SmallVector<Value> PtxBuilder::assembly(StringRef text, ValueRange operands,
                                        TypeRange results) {
  SmallVector<std::string> constraints;
  for (Type type : results)
    constraints.push_back(("=" + registerOf(type)).str());
  for (size_t i = 0; i < operands.size(); ++i)
    constraints.push_back(i < results.size()
                              ? std::to_string(i)
                              : registerOf(operands[i].getType()).str());
  constraints.push_back("~{memory}");
  auto call = LLVM::InlineAsmOp::create(
      *this, results.empty() ? TypeRange() : TypeRange(packed(results)),
      operands, text, llvm::join(constraints, ","), /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  return results.empty() ? SmallVector<Value>()
                         : unpack(call->getResult(0), results);
}

} // namespace tenon::cuda
