//===- PtxDialect.cpp - Registration and verifiers ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/Ptx/Ptx.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Ptx/PtxDialect.cpp.inc"
#include "dialects/Ptx/PtxEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Ptx/PtxAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Ptx/PtxOps.cpp.inc"

using namespace mlir;

namespace tenon::ptx {

void PtxDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Ptx/PtxAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Ptx/PtxOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult MmaOp::verify() {
  bool isFloat =
      llvm::is_contained({Mma::F16, Mma::BF16, Mma::TF32}, getKind());
  auto wanted =
      VectorType::get({4}, isFloat ? Type(Float32Type::get(getContext()))
                                   : IntegerType::get(getContext(), 32));
  if (getSums().getType() != wanted)
    return emitOpError("sums of ") << stringifyMma(getKind()) << " are "
                                   << wanted << ", not " << getSums().getType();
  return success();
}

LogicalResult MmaOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                      ValueRange operands, DictionaryAttr,
                                      OpaqueProperties, RegionRange,
                                      SmallVectorImpl<Type> &types) {
  types.push_back(operands[2].getType());
  return success();
}

LogicalResult WgmmaMmaOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>,
                                           ValueRange operands, DictionaryAttr,
                                           OpaqueProperties, RegionRange,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(operands[2].getType());
  return success();
}

LogicalResult WgmmaWaitOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location>,
                                            ValueRange operands, DictionaryAttr,
                                            OpaqueProperties, RegionRange,
                                            SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.getTypes());
  return success();
}

LogicalResult WgmmaDescriptorOp::verify() {
  for (auto [name, distance] :
       {std::pair("leading", getLeading()), std::pair("stride", getStride())})
    if (distance % 16 != 0 || distance >= 1u << 18)
      return emitOpError(name) << " is " << int32_t(distance)
                               << ", but must be a multiple of 16 below 262144";
  return success();
}

LogicalResult WgmmaMmaOp::verify() {
  StringRef kind = stringifyWgmma(getKind());
  auto sums = cast<VectorType>(getSums().getType());
  bool isInteger = getKind() == Wgmma::S8 || getKind() == Wgmma::U8;
  if (sums.getElementType().isF32() == isInteger)
    return emitOpError("sums of ")
           << kind << " are " << (isInteger ? "i32" : "f32") << ", not "
           << sums.getElementType();
  int64_t columns = wgmmaColumns(sums);
  if (columns % 8 != 0 || columns > 256)
    return emitOpError("has ") << columns
                               << " columns, two for each sum of a thread, but "
                                  "they must be a multiple of 8 up to 256";
  // Of bytes, there are fewer shapes.
  if (isInteger && columns > 32 && columns % 16 != 0)
    return emitOpError("has ") << columns << " columns, but beyond 32 those of "
                               << kind << " must be a multiple of 16";
  bool isHalf = getKind() == Wgmma::F16 || getKind() == Wgmma::BF16;
  if ((getTransLhs() || getTransRhs()) && !isHalf)
    return emitOpError("transposes operands of ")
           << kind << ", but only those of f16 and bf16 may be";
  if (getTransLhs() && !getLhs().getType().isInteger(64))
    return emitOpError("transposes a lhs in registers");
  return success();
}

LogicalResult WgmmaWaitOp::verify() {
  if (getPending() > 7)
    return emitOpError("leaves ")
           << int32_t(getPending()) << " groups pending, but at most 7 may be";
  for (Type type : getValues().getTypes())
    if (auto vector = cast<VectorType>(type);
        vector.getRank() != 1 || vector.isScalable() ||
        !(vector.getElementType().isF32() ||
          vector.getElementType().isInteger(32)))
      return emitOpError("waits for vectors of f32 or i32, not ") << type;
  return success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

LogicalResult CpAsyncOp::verify() {
  if (!llvm::is_contained({4u, 8u, 16u}, getBytes()))
    return emitOpError("copies ")
           << int32_t(getBytes()) << " bytes, but must copy 4, 8 or 16";
  if (getCache() == Cache::CG && getBytes() != 16)
    return emitOpError("copies ")
           << getBytes() << " bytes by cg, which copies 16";
  return success();
}

/// The groups that an op waits for are all but so many.
static LogicalResult verifyPending(Operation *op, int32_t pending) {
  if (pending < 0)
    return op->emitOpError("leaves ") << pending << " groups pending";
  return success();
}

LogicalResult CpAsyncWaitOp::verify() {
  return verifyPending(*this, getPending());
}

LogicalResult TmaWaitOp::verify() { return verifyPending(*this, getPending()); }

static LogicalResult verifyCoordinates(Operation *op,
                                       OperandRange coordinates) {
  if (coordinates.empty() || coordinates.size() > 5)
    return op->emitOpError("has ")
           << coordinates.size()
           << " coordinates, but tensors have 1 to 5 axes";
  return success();
}

LogicalResult TmaLoadOp::verify() {
  return verifyCoordinates(*this, getCoordinates());
}

LogicalResult TmaLoadMulticastOp::verify() {
  return verifyCoordinates(*this, getCoordinates());
}

LogicalResult TmaStoreOp::verify() {
  return verifyCoordinates(*this, getCoordinates());
}

//===----------------------------------------------------------------------===//
// Barriers and registers
//===----------------------------------------------------------------------===//

LogicalResult NamedBarrierOp::verify() {
  if (getId() > 15)
    return emitOpError("has id ")
           << int32_t(getId()) << ", but there are barriers 0 to 15";
  if (getThreads() % 32 != 0 || getThreads() == 0 || getThreads() > 1024)
    return emitOpError("is for ")
           << int32_t(getThreads())
           << " threads, but it must be for whole warps: a multiple of 32 up "
              "to 1024";
  return success();
}

LogicalResult SetmaxnregOp::verify() {
  if (getRegisters() % 8 != 0 || getRegisters() < 24 || getRegisters() > 256)
    return emitOpError("sets ")
           << int32_t(getRegisters())
           << " registers, but must set a multiple of 8 from 24 to 256";
  return success();
}

} // namespace tenon::ptx
